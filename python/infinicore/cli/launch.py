"""`infini launch`: starts a program as several ranks on this host, or through mpirun, srun or
torchrun on several."""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import secrets
import shlex
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from infinicore.cli.handover import PROGRAMS, Handover, Host, Job, LaunchError

if TYPE_CHECKING:
    from infinicore.cli.supervisor import Rank

DESCRIPTION = """\
Start a program as several ranks.

  infini launch -n 4 train.py --epochs 3         four ranks on this host
  infini launch -n 4 -m package.module           a module, as with python -m
  infini launch -n 8 --host a,b train.py         four on each of two hosts, by mpirun or srun
  infini launch --host a:2,b:6 ./program         two on the first host, six on the second
  infini launch -n 8 --launcher srun train.py    on the hosts of a Slurm allocation

On this host, every line of output is prefixed with its rank; standard output and error stay
separate. If a rank fails, the others get SIGTERM, and SIGKILL after the grace period; the exit
status is that rank's (128 plus the number of the signal that killed it). Ctrl-C stops all ranks;
pressed twice, it kills them.

On several hosts, the command runs mpirun, srun or torchrun, and prints that command on standard
error. torchrun starts the ranks of one host, so run the same command on every host. In pods that
have RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (Kubernetes), or with --launcher env, -n ranks
are started here, and RANK and WORLD_SIZE count the hosts. The exit status is not 0 if any rank
failed.
"""
EPILOG = """\
infinicore.ccl.init() finds rank and number of ranks in the variables of the launcher: RANK,
WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT here and with torchrun, those
of MPI or Slurm otherwise. INFINI_NUM_THREADS and OMP_NUM_THREADS divide the processors of a host
unless they are set. Other hosts need Python and the program at the same paths.
"""
# A rank with a failed communicator exits with an error, even if it caught the exception.
STRICT = {"INFINI_CCL_STRICT_EXIT": "1"}
NODE_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "infini launch -n N [options] (script.py | -m module | program) [arguments]"
    add = parser.add_argument
    add("-n", "--ranks", type=int, metavar="N", help="number of ranks; default: those of --host")
    add("-m", "--module", action="store_true", help="the program is a Python module")
    add("--host", metavar="a,b:2", help="hosts, with numbers of ranks; default: equal shares")
    add(
        "--launcher",
        choices=("auto", "local", "env", *PROGRAMS),
        default="auto",
        help="default: local on this host; for several the first found of mpirun, srun, torchrun",
    )
    add("--dry-run", action="store_true", help="print the command and exit")
    add("--master-addr", metavar="ADDR", help="the address of rank 0; default: its host")
    add("--master-port", type=int, metavar="PORT", help="default: a free one; 29500 for torchrun")
    add("--no-prefix", action="store_true", help="do not prefix output lines with ranks")
    add(
        "--unbuffered",
        action="store_true",
        help="with --no-prefix on this host: pass on partial lines too",
    )
    add(
        "--grace",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="time between SIGTERM and SIGKILL on this host (default: 5)",
    )
    add(
        "-x",
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set a variable for the ranks, or forward it to other hosts; may be repeated",
    )
    add(
        "--python",
        metavar="PATH",
        default=sys.executable,
        help="Python for the ranks; default: this one",
    )
    for name in PROGRAMS:
        add(f"--{name}", metavar="COMMAND", help=f"the {name} command to use, with options")
    add("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """The exit status of the command."""
    try:
        plan = make_plan(options)
    except LaunchError as error:
        print(f"infini launch: {error}", file=sys.stderr)
        return 2
    if isinstance(plan, Handover):
        if options.dry_run:
            print(plan.line())
            return 0
        return plan.execute()
    if options.dry_run:
        for rank in plan:
            print(_shell_line(rank))
        return 0
    from infinicore.cli.supervisor import Supervisor

    return Supervisor(plan, options.grace, whole_lines=not options.unbuffered).run()


def make_plan(options: argparse.Namespace) -> Handover | list[Rank]:
    """The ranks to start here, or the command that starts them."""
    from infinicore.cli import handover

    hosts = share(options.ranks, options.host)
    _check(options)
    launcher = _choose(options, hosts)
    others = [host.name for host in hosts if not host.is_here]
    if launcher in ("local", "env") and others:
        names = ", ".join(others)
        raise LaunchError(
            f"--launcher is {launcher}, which starts ranks on this host only, but --host has "
            f"{names}: expected mpirun, srun or torchrun"
        )
    job = Job(
        command=command_of(options, check=len(others) < len(hosts)),
        hosts=hosts,
        named_hosts=options.host is not None,
        prefix=not options.no_prefix,
        master=None,
        name=secrets.token_hex(8),
        variables={**STRICT, **_variables(options)},
    )
    if launcher == "env":
        return _ranks_of_node(job, os.environ)
    needs_master = launcher != "mpirun" or options.master_addr or options.master_port
    if needs_master:
        job.master = _master(options, hosts, launcher)
    if launcher == "local":
        return local_ranks(job, 0, job.size)
    return handover.plan(launcher, getattr(options, launcher), job)


def _choose(options: argparse.Namespace, hosts: list[Host]) -> str:
    from infinicore.cli import handover

    launcher: str = options.launcher
    if launcher != "auto":
        return launcher
    if not all(host.is_here for host in hosts):
        return handover.choose(vars(options), hosts)
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ and options.host is None
    return "env" if in_pod and all(map(os.environ.get, NODE_VARIABLES)) else "local"


def _check(options: argparse.Namespace) -> None:
    if not 0 <= options.grace < math.inf:
        raise LaunchError(f"--grace is {options.grace:g}: expected 0 or more seconds")
    if options.unbuffered and not options.no_prefix:
        raise LaunchError("--unbuffered: expected --no-prefix with it")
    for name in ("python", *PROGRAMS):
        if (command := getattr(options, name)) is not None and not _words(command):
            raise LaunchError(f"--{name} is {command!r}: expected a command")


def _words(command: str) -> list[str]:
    """The words of a shell command; none if it is malformed."""
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark without its end
        return []


# ---- Ranks of this host --------------------------------------------------------------------------


def local_ranks(job: Job, first: int, size: int) -> list[Rank]:
    """The job's ranks, numbered from `first`, of `size` in all."""
    from infinicore.cli.handover import thread_variables
    from infinicore.cli.supervisor import Rank

    address, port = job.master_address()
    ranks = []
    for local in range(job.size):
        variables = {**os.environ, **job.variables}
        variables |= thread_variables(job.size, variables)
        variables.setdefault("PYTHONUNBUFFERED", "1")  # lines appear immediately
        variables |= {
            "RANK": str(first + local),
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(job.size),
            "MASTER_ADDR": address,
            "MASTER_PORT": str(port),
        }
        if job.name:
            variables["INFINI_CCL_JOB"] = job.name
        prefix = f"[{first + local}] ".encode() if job.prefix else b""
        ranks.append(Rank(first + local, job.command, variables, prefix))
    return ranks


def _ranks_of_node(job: Job, environment: Mapping[str, str]) -> list[Rank]:
    """For one host of several: its RANK and WORLD_SIZE count hosts."""
    absent = [name for name in NODE_VARIABLES if not environment.get(name)]
    if absent:
        raise LaunchError(
            f"--launcher is env, but {', '.join(absent)} not set: expected RANK (of this host), "
            "WORLD_SIZE (the number of hosts), MASTER_ADDR and MASTER_PORT"
        )
    numbers = [environment[name] for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")]
    if not all(number.isdecimal() for number in numbers) or int(numbers[0]) >= int(numbers[1]):
        raise LaunchError(
            "--launcher is env: RANK is {}, WORLD_SIZE is {}, MASTER_PORT is {}: expected numbers, "
            "with RANK below WORLD_SIZE".format(*numbers)
        )
    node, nodes, port = map(int, numbers)
    job.master = (environment["MASTER_ADDR"], port)
    job.name = environment.get("INFINI_CCL_JOB", "")  # one that all hosts know
    return local_ranks(job, node * job.size, nodes * job.size)


def _shell_line(rank: Rank) -> str:
    added = {k: v for k, v in rank.environment.items() if os.environ.get(k) != v}
    words = [f"{name}={shlex.quote(value)}" for name, value in added.items()]
    return " ".join([*words, shlex.join(rank.command)])


# ---- Hosts ---------------------------------------------------------------------------------------


def share(ranks: int | None, hosts: str | None) -> list[Host]:
    """The placement of ranks: consecutive numbers on each host."""
    if ranks is not None and ranks < 1:
        raise LaunchError(f"-n is {ranks}: expected at least 1")
    if hosts is None:
        if ranks is None:
            raise LaunchError("expected -n, the number of ranks")
        return [Host("localhost", range(ranks), is_here=True)]
    names, numbers = [], []
    for word in hosts.split(","):
        # A name, or an address in brackets where it has colons, and the number behind a colon.
        match = re.fullmatch(r"(\[[^\]]+\]|[^:\[\]\s]+)(?::(\d+))?", word.strip())
        if not match or match[2] == "0":
            raise LaunchError(f"--host has {word!r}: expected a name, or a name:number")
        names.append(match[1].strip("[]"))
        numbers.append(int(match[2]) if match[2] else None)
    given = [number for number in numbers if number is not None]
    if given and len(given) < len(names):
        raise LaunchError(f"--host is {hosts}: expected numbers for all hosts, or for none")
    if given:
        room = sum(given)
        left = room if ranks is None else ranks
        if left > room:
            raise LaunchError(f"-n is {ranks}, but --host has room for {room} ranks")
        counts = [min(number, max(0, left - sum(given[:i]))) for i, number in enumerate(given)]
    elif ranks is None:
        raise LaunchError("expected -n, the number of ranks, or one behind each host: a:2,b:2")
    else:
        counts = [ranks // len(names) + (i < ranks % len(names)) for i in range(len(names))]
    blocks, first = [], 0
    for name, count in zip(names, counts, strict=True):
        if count:
            blocks.append(Host(name, range(first, first + count), is_here(name)))
        first += count
    return blocks


def is_here(name: str) -> bool:
    """Whether a name refers to this host: its address can be bound."""
    if name in ("localhost", socket.gethostname()):
        return True
    try:
        found = socket.getaddrinfo(name, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(address)
            return True
        except OSError:
            continue
    return False


def _master(options: argparse.Namespace, hosts: list[Host], launcher: str) -> tuple[str, int]:
    """The address and port at which rank 0 listens."""
    first = hosts[0]
    address = options.master_addr
    knows_hosts = launcher == "srun" and options.host is None
    if not address and knows_hosts:
        address = first_of_allocation(os.environ.get("SLURM_JOB_NODELIST", ""))
    elif not address:
        alone = len(hosts) == 1 and first.is_here
        loopback = first.name in ("localhost", "127.0.0.1", "::1")
        address = "127.0.0.1" if alone else socket.gethostname() if loopback else first.name
    port = options.master_port
    if port is None and launcher == "torchrun" and len(hosts) > 1:
        port = 29500  # the commands on all hosts must agree
    elif port is None and first.is_here and not knows_hosts:
        with socket.create_server(("", 0)) as probe:
            port = probe.getsockname()[1]
    elif port is None:
        port = random.SystemRandom().randrange(20000, 30000)
    if not 0 < port < 65536:
        raise LaunchError(f"--master-port is {port}: expected a number from 1 to 65535")
    return address, port


def first_of_allocation(hosts: str) -> str:
    """The first name in a list of hosts as Slurm writes it."""
    from infinicore.ccl._by_slurm import first_host

    found = first_host(hosts)
    if found is None:
        raise LaunchError(
            "--launcher is srun, but this is no Slurm allocation (SLURM_JOB_NODELIST is not set): "
            "expected --host or --master-addr"
        )
    return found


# ---- The program ---------------------------------------------------------------------------------


def command_of(options: argparse.Namespace, check: bool) -> list[str]:
    """The command of a rank; `check` reports a missing file now, where ranks run here too."""
    words: list[str] = options.program
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise LaunchError("expected a program: script.py, -m module, or an executable")
    first, python = words[0], shlex.split(options.python)
    if options.module:
        return [*python, "-m", *words]
    if first.endswith(".py"):
        if check and not Path(first).is_file():
            raise LaunchError(f"there is no file {first}")
        return [*python, *words]
    if check and shutil.which(first) is None:
        exists = Path(first).is_file()
        hint = ": it is a file: expected ./ before it, or permission to run it" if exists else ""
        raise LaunchError(f"there is no program {first} to run{hint}")
    return words


def _variables(options: argparse.Namespace) -> dict[str, str]:
    """The variables of -x."""
    chosen = {}
    for word in options.env:
        name, equals, value = word.partition("=")
        if not name or (not equals and name not in os.environ):
            raise LaunchError(f"-x has {word}: expected NAME=VALUE, or a NAME that is set here")
        chosen[name] = value if equals else os.environ[name]
    return chosen
