"""`infini launch`: starts a program as several ranks, here or on several hosts, and stops them."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infinicore.cli.crew import Crew

DESCRIPTION = """\
Start a program as several ranks, and stop all when one fails.

  infini launch -n 4 train.py --epochs 3         four ranks on this host
  infini launch -n 4 -m package.module           a module, as with python -m
  infini launch -n 8 --host a,b train.py         four on each of two hosts
  infini launch --host a:2,b:6 ./program         two on the one, six on the other

Each line of output begins with the rank that wrote it, standard output and error stay apart. When
a rank fails, the others get SIGTERM, and SIGKILL after the grace period; the exit status is that
of the rank (128 and the number of the signal that killed it). Ctrl-C stops all, twice at once.
"""
EPILOG = """\
Ranks find RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in their
environment, as with torchrun; infinicore.ccl.init() reads them. The processors of a host are
shared out: INFINI_NUM_THREADS and OMP_NUM_THREADS are set where they are not. Ranks have no
standard input. On other hosts the working folder, Python and the program are expected at the same
paths.
"""
# What goes to ranks on other hosts without being asked for.
PASSED_ON = ("INFINI_", "NCCL_", "OMP_", "PYTHONPATH")


class LaunchError(Exception):
    """A launch that can't begin."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "infini launch -n N [options] (script.py | -m module | program) [arguments]"
    add = parser.add_argument
    add("-n", "--ranks", type=int, metavar="N", help="how many ranks; default: the --host numbers")
    add("-m", "--module", action="store_true", help="the program is a Python module")
    add("--host", metavar="a,b:2", help="hosts, each with its number of ranks or an equal share")
    add(
        "--launcher",
        choices=("auto", "local", "mpirun", "ssh"),
        default="auto",
        help="auto: local processes on this host; on others mpirun where it is installed, else ssh",
    )
    add("--master-addr", metavar="ADDR", help="where rank 0 is found; default: its host")
    add("--master-port", type=int, metavar="PORT", help="default: a free one")
    add("--no-prefix", action="store_true", help="leave out the ranks before the lines of output")
    add(
        "--grace",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="between SIGTERM and SIGKILL (default: 5)",
    )
    add(
        "-x",
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set a variable for the ranks, or pass it on to other hosts; may be repeated",
    )
    add("--python", metavar="PATH", default=sys.executable, help="of the ranks; default: this one")
    add("--mpirun", metavar="COMMAND", help="the mpirun or mpiexec to use, with options")
    add("--ssh", metavar="COMMAND", help="default: ssh -o BatchMode=yes")
    add("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """The exit status of the command."""
    try:
        crew = plan(options)
    except LaunchError as error:
        print(f"infini launch: {error}", file=sys.stderr)
        return 2
    return crew.run()


@dataclass(frozen=True)
class Host:
    name: str
    ranks: range


def plan(options: argparse.Namespace) -> Crew:
    """What to start, where."""
    from infinicore.cli import remote
    from infinicore.cli.agent import Orders
    from infinicore.cli.crew import Crew

    hosts = share(options.ranks, options.host)
    here = [host for host in hosts if is_here(host.name)]
    launcher = options.launcher
    if launcher == "auto":
        launcher = "local" if len(here) == len(hosts) else _found_launcher(options)
    if launcher == "local" and len(here) < len(hosts):
        others = ", ".join(host.name for host in hosts if host not in here)
        raise LaunchError(f"--launcher is local, but {others} is another host: expected ssh")
    if not 0 <= options.grace < math.inf:
        raise LaunchError(f"--grace is {options.grace:g}: expected 0 or more seconds")
    for name in ("python", "mpirun", "ssh"):
        if (command := getattr(options, name)) is not None and not _words(command):
            raise LaunchError(f"--{name} is {command!r}: expected a command")
    orders = Orders(
        command=command_of(options, look=len(here) > 0),
        ranks=[],
        size=hosts[-1].ranks.stop,
        job=secrets.token_hex(8),
        environment=_variables(options, everything=launcher == "local"),
        folder=os.getcwd(),
        prefix=not options.no_prefix,
        grace=options.grace,
        master=_master(options, hosts, alone=len(here) == len(hosts)),
    )
    if launcher == "mpirun":
        return remote.by_mpirun(options, hosts, orders)
    if launcher == "ssh":
        return remote.by_ssh(options, hosts, orders)
    orders.ranks = list(range(orders.size))
    return Crew(orders.children(os.environ), orders.grace)


def _words(command: str) -> list[str]:
    """None, if it is no command."""
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark without its end
        return []


def _found_launcher(options: argparse.Namespace) -> str:
    from infinicore.cli import remote

    if options.ssh is None and (options.mpirun or remote.find_mpirun()):
        return "mpirun"
    if options.ssh or shutil.which("ssh"):
        return "ssh"
    raise LaunchError(
        "--host names other hosts: looked for "
        f"{', '.join(remote.MPIRUNS)} and ssh in PATH and beside {sys.executable}, found none"
    )


# ---- Hosts ---------------------------------------------------------------------------------------


def share(ranks: int | None, hosts: str | None) -> list[Host]:
    """Which ranks go where: one block of numbers to each host."""
    if ranks is not None and ranks < 1:
        raise LaunchError(f"-n is {ranks}: expected at least 1")
    if hosts is None:
        if ranks is None:
            raise LaunchError("expected -n, the number of ranks")
        return [Host("localhost", range(ranks))]
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
            blocks.append(Host(name, range(first, first + count)))
        first += count
    return blocks


def is_here(name: str) -> bool:
    """Whether a name means this host: one can listen at its address."""
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


def _master(options: argparse.Namespace, hosts: list[Host], alone: bool) -> tuple[str, int]:
    """Where the others find rank 0."""
    first = hosts[0].name
    address = options.master_addr
    if not address:
        loopback = first in ("localhost", "127.0.0.1", "::1")
        address = "127.0.0.1" if alone else socket.gethostname() if loopback else first
    port = options.master_port
    if port is None and is_here(first):
        with socket.create_server(("", 0)) as probe:
            port = probe.getsockname()[1]
    elif port is None:
        port = random.SystemRandom().randrange(20000, 30000)
    if not 0 < port < 65536:
        raise LaunchError(f"--master-port is {port}: expected a number from 1 to 65535")
    return address, port


# ---- The program ---------------------------------------------------------------------------------


def command_of(options: argparse.Namespace, look: bool) -> list[str]:
    """The command of a rank. Where ranks run here too, a file that is not there is told now."""
    words: list[str] = options.program
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise LaunchError("expected a program: script.py, -m module, or an executable")
    first, python = words[0], shlex.split(options.python)
    if options.module:
        return [*python, "-m", *words]
    if first.endswith(".py"):
        if look and not Path(first).is_file():
            raise LaunchError(f"there is no file {first}")
        return [*python, *words]
    if look and shutil.which(first) is None:
        there = Path(first).is_file()
        hint = ": it is a file: expected ./ before it, or the right to run it" if there else ""
        raise LaunchError(f"there is no program {first} to run{hint}")
    return words


def _variables(options: argparse.Namespace, everything: bool) -> dict[str, str]:
    """For the ranks, beside what they get from where they are started."""
    chosen = {}
    if not everything:
        chosen = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    for word in options.env:
        name, equals, value = word.partition("=")
        if not name or (not equals and name not in os.environ):
            raise LaunchError(f"-x has {word}: expected NAME=VALUE, or a NAME that is set here")
        chosen[name] = value if equals else os.environ[name]
    return chosen
