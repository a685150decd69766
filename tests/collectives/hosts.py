"""Two hosts made of network namespaces, connected by a veth pair."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.requirements import need

from . import mpi_launch
from .mpi_launch import ROOT, Mpi

ADDRESSES = ("192.0.2.1", "192.0.2.2")  # set aside for examples
CARD = "eth0"  # the same name on both: launchers take only one


def call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


class Hosts:
    """Their names are those of their namespaces."""

    def __init__(self) -> None:
        self.names = [f"infini-{os.getpid()}-{letter}" for letter in "ab"]

    def connect(self) -> None:
        for name in self.names:
            call("ip", "netns", "add", name)
        first, second = self.names
        cable = ("type", "veth", "peer", "name", CARD, "netns", second)
        call("ip", "-n", first, "link", "add", CARD, *cable)
        for name, address in zip(self.names, ADDRESSES, strict=True):
            call("ip", "-n", name, "address", "add", f"{address}/24", "dev", CARD)
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "link", "set", CARD, "up")
        # If this is not permitted, that is known before any test starts.
        call(*self.on(0), "true")
        for name in self.names:
            self._wait_for_link(name)

    def _wait_for_link(self, name: str) -> None:
        """MPI does not use an interface immediately after it was brought up."""
        for _ in range(500):
            command = ["ip", "-n", name, "-o", "link", "show", CARD]
            if "state UP" in subprocess.run(command, capture_output=True, text=True).stdout:
                return
            time.sleep(0.01)
        raise OSError(f"{CARD} of {name} does not come up")

    def remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)

    def on(self, host: int) -> list[str]:
        """A command prefix that runs the rest of its line on that host."""
        name = self.names[host]
        there = ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c"]
        return [*there, 'hostname "$0" && exec "$@"', name]

    def set_link(self, state: str) -> None:
        call("ip", "-n", self.names[0], "link", "set", CARD, state)

    @contextmanager
    def slowed(self, rate: str) -> Iterator[None]:
        limit = ("tbf", "rate", rate, "burst", "16kb", "latency", "200ms")
        for name in self.names:
            call("tc", "-n", name, "qdisc", "replace", "dev", CARD, "root", *limit)
        try:
            yield
        finally:
            for name in self.names:
                call("tc", "-n", name, "qdisc", "delete", "dev", CARD, "root")

    def agent(self, folder: Path) -> Path:
        """A replacement of ssh for MPI launchers: `agent [options] address command...`."""
        script = folder / "agent"
        cases = "\n".join(
            f'    {address}) exec {shlex.join(self.on(host))} sh -c "$*" ;;'
            for host, address in enumerate(ADDRESSES)
        )
        script.write_text(
            '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n'
            f"address=$1\nshift\ncase $address in\n{cases}\nesac\n"
        )
        script.chmod(0o755)
        return script

    def mpirun(self, mpi: Mpi, folder: Path, each: int) -> tuple[list[str], dict[str, str]]:
        """The command and the environment with which MPI starts ranks, `each` on both."""
        agent = str(self.agent(folder))
        where = ",".join(f"{address}:{each}" for address in ADDRESSES)
        installed = mpi_launch.folder_of(mpi)
        flags = {
            "mpich": [
                *("-launcher", "ssh", "-launcher-exec", agent, "-iface", CARD, "-hosts", where)
            ],
            "openmpi": [
                *("--prefix", str(installed), "--allow-run-as-root"),
                *("--prtemca", "plm_ssh_agent", agent, "--host", where),
            ],
        }[mpi.name]
        # The hosts share a machine: what MPI uses only inside of one is switched off.
        settings = mpi_launch.settings_of(
            mpi,
            INFINI_TEST_HOSTS="1",
            INFINI_CCL_TRANSPORT="",
            UCX_TLS="tcp,self",
            OMPI_MCA_btl="tcp,self",
        )
        launcher = str(installed / "bin" / mpi.launcher)
        return [*self.on(0), launcher, *flags, "-n", str(2 * each)], settings


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    need("network-namespaces")
    hosts = Hosts()
    try:
        hosts.connect()
        yield hosts
    finally:
        hosts.remove()


class Job:
    """Four ranks, two on each host, that run a body of rank_program.py."""

    def __init__(self, hosts: Hosts, folder: Path) -> None:
        self.hosts, self.folder = hosts, folder
        self.started: list[subprocess.Popen[str]] = []

    def start(self, mpi: Mpi | None, body: str) -> None:
        if mpi is None:
            self._start_alone(body)
        else:
            self._start_mpi(mpi, body)

    def _begin(self, command: list[str], settings: dict[str, str]) -> None:
        output = open(self.folder / f"output-{len(self.started)}", "w")  # noqa: SIM115
        with output:
            self.started.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=settings,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
            )

    def _start_alone(self, body: str) -> None:
        settings = {
            **os.environ,
            **{"INFINI_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            **{"INFINI_TEST_HOSTS": "1", "PYTHONPATH": str(ROOT), "WORLD_SIZE": "4"},
        }
        for rank in range(4):
            command = [*self.hosts.on(rank // 2), *mpi_launch.program(body, self.folder)]
            self._begin(command, {**settings, "RANK": str(rank)})

    def _start_mpi(self, mpi: Mpi, body: str) -> None:
        command, settings = self.hosts.mpirun(mpi, self.folder, 2)
        self._begin([*command, *mpi.survive, *mpi_launch.program(body, self.folder)], settings)

    def output(self) -> str:
        return "\n".join(file.read_text()[-3000:] for file in self.folder.glob("output-*"))

    def wait_for(self, pattern: str, count: int = 4, seconds: float = 60) -> None:
        """Waits until there are this many files with the name."""
        end = time.monotonic() + seconds
        while len(list(self.folder.glob(pattern))) < count:
            alive = any(process.poll() is None for process in self.started)
            assert alive or len(list(self.folder.glob(pattern))) >= count, self.output()
            assert time.monotonic() < end, f"{pattern} did not come: {self.output()}"
            time.sleep(0.02)

    def answers(self) -> dict[int, Any]:
        self.wait_for("answer-*.json")
        return mpi_launch.answers(self.folder)

    def close(self) -> None:
        end = time.monotonic() + 4
        for process in self.started:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


@contextmanager
def job(hosts: Hosts, mpi: Mpi | None, body: str, folder: Path) -> Iterator[Job]:
    made = Job(hosts, folder)
    try:
        made.start(mpi, body)
        yield made
    finally:
        made.close()
