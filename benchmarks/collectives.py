"""Collectives side by side: `python benchmarks/collectives.py [-n RANKS] [--json FILE] [--quick]`.

infinicore, torch's gloo and plain MPI (through mpi4py) do the same operations on CPUs in the same
processes, in alternating rounds; the best round of each counts, and of a round the slowest rank.
What is not installed is left out. There are two modes, with the same rules for all:

    latency      every operation is waited for before the next one is started
    throughput   up to WINDOW operations are started, each with buffers of its own; then all of
                 them are waited for (gloo: async_op=True; MPI: Iallreduce and the like, Waitall)

Before a row is measured, each one's result is compared with the expected values. Without a launcher
it starts its ranks itself: with mpirun where mpi4py and an MPI are installed, else with `infini
launch`. Between hosts: start it with either, one rank for each host; or `--two-hosts mpich`
(openmpi) makes two network namespaces of this one, as root.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import report

import infinicore
from infinicore import ccl
from infinicore.cli.handover import find

SIZES = [8 << shift for shift in range(0, 26, 3)] + [256 << 20]
QUICK = [8, 4096, 1 << 20]
MODES = ("latency", "throughput")
WINDOW = 16  # operations in flight
WINDOW_BYTES = 16 << 20  # the largest buffer of which WINDOW are allocated
# Bytes that each rank must send for a buffer of one byte, by the number of ranks.
BUS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1,
}
Buffers = tuple[Any, Any]  # the whole, and one rank's part


@dataclass
class Row:
    mode: str
    operation: str
    bytes: int
    ranks: int
    seconds: dict[str, float] = field(default_factory=dict)  # by who did it
    failed: str = ""

    def bandwidth(self, who: str) -> float:
        return self.bytes * BUS[self.operation](self.ranks) / self.seconds[who]

    def ratio(self, against: str) -> float | None:
        """The other's time divided by ours."""
        if against not in self.seconds:
            return None
        return self.seconds[against] / self.seconds["infinicore"]


# ---- The three, each with buffers of its own -----------------------------------------------------


class Ours:
    def __init__(self, comm: ccl.Communicator) -> None:
        self.comm = comm

    def buffers(self, count: int) -> Buffers:
        sizes = (count, count // self.comm.ranks)
        whole, part = (infinicore.zeros(size, device=self.comm.device) for size in sizes)
        return whole, part

    def array(self, buffer: Any) -> np.ndarray:
        return buffer.numpy()

    def start(self, operation: str, whole: Any, part: Any) -> Any:
        comm = self.comm
        if operation == "all_reduce":
            return comm.all_reduce(whole)
        if operation == "all_gather":
            return comm.all_gather(part, out=whole)
        if operation == "reduce_scatter":
            return comm.reduce_scatter(whole, out=part)
        return comm.broadcast(whole)

    def wait(self, started: list[Any]) -> None:
        infinicore.context.sync_stream()

    def once(self, operation: str, whole: Any, part: Any) -> None:
        self.start(operation, whole, part)
        infinicore.context.sync_stream()


class Gloo:
    def __init__(self, comm: ccl.Communicator) -> None:
        import torch
        import torch.distributed as dist

        warnings.simplefilter("ignore", FutureWarning)  # names of operations change in torch
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        port = np.array([free_port()], np.int32) if comm.rank == 0 else np.zeros(1, np.int32)
        shared = infinicore.from_numpy(port)
        comm.broadcast(shared)
        address = f"tcp://{os.environ['MASTER_ADDR']}:{shared.tolist()[0]}"
        dist.init_process_group("gloo", address, timedelta(seconds=60), comm.ranks, comm.rank)
        self.torch, self.dist, self.ranks = torch, dist, comm.ranks

    def buffers(self, count: int) -> Buffers:
        return self.torch.zeros(count), self.torch.zeros(count // self.ranks)

    def array(self, buffer: Any) -> np.ndarray:
        return buffer.numpy()

    def start(self, operation: str, whole: Any, part: Any, is_async: bool = True) -> Any:
        dist = self.dist
        if operation == "all_reduce":
            return dist.all_reduce(whole, async_op=is_async)
        if operation == "all_gather":
            return dist.all_gather_into_tensor(whole, part, async_op=is_async)
        if operation == "reduce_scatter":
            return dist.reduce_scatter_tensor(part, whole, async_op=is_async)
        return dist.broadcast(whole, 0, async_op=is_async)

    def wait(self, started: list[Any]) -> None:
        for each in started:
            each.wait()

    def once(self, operation: str, whole: Any, part: Any) -> None:
        self.start(operation, whole, part, is_async=False)


class Mpi:
    def __init__(self, comm: ccl.Communicator) -> None:
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD.Dup()

    def buffers(self, count: int) -> Buffers:
        return np.zeros(count, np.float32), np.zeros(count // self.world.size, np.float32)

    def array(self, buffer: Any) -> np.ndarray:
        return buffer

    def start(self, operation: str, whole: Any, part: Any) -> Any:
        if operation == "all_reduce":
            return self.world.Iallreduce(self.mpi.IN_PLACE, whole)
        if operation == "all_gather":
            return self.world.Iallgather(part, whole)
        if operation == "reduce_scatter":
            return self.world.Ireduce_scatter_block(whole, part)
        return self.world.Ibcast(whole, 0)

    def wait(self, started: list[Any]) -> None:
        self.mpi.Request.Waitall(started)

    def once(self, operation: str, whole: Any, part: Any) -> None:
        if operation == "all_reduce":
            self.world.Allreduce(self.mpi.IN_PLACE, whole)
        elif operation == "all_gather":
            self.world.Allgather(part, whole)
        elif operation == "reduce_scatter":
            self.world.Reduce_scatter_block(whole, part)
        else:
            self.world.Bcast(whole, 0)


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("", 0))
        number: int = listener.getsockname()[1]
        return number


# ---- Measuring -----------------------------------------------------------------------------------


def runner(system: Any, mode: str, operation: str, count: int) -> Callable[[int], None]:
    """Performs the operation this many times."""
    if mode == "latency":
        whole, part = system.buffers(count)

        def one_by_one(repeats: int) -> None:
            for _ in range(repeats):
                system.once(operation, whole, part)

        return one_by_one
    window = [system.buffers(count) for _ in range(WINDOW)]

    def pipelined(repeats: int) -> None:
        while repeats > 0:
            started = [system.start(operation, *pair) for pair in window[:repeats]]
            system.wait(started)
            repeats -= len(started)

    return pipelined


def is_right(system: Any, mode: str, operation: str, count: int, comm: ccl.Communicator) -> bool:
    """Whether a result is what NumPy expects. Small integers: sums are exact in any order."""
    ranks, rank = comm.ranks, comm.rank
    share = count // ranks
    pattern = np.arange(count, dtype=np.float32) % 5
    buffers = whole, part = system.buffers(count)
    system.array(whole)[:] = pattern + rank
    system.array(part)[:] = pattern[rank * share : (rank + 1) * share]
    if mode == "latency":
        system.once(operation, *buffers)
    else:
        system.wait([system.start(operation, *buffers)])
    total = ranks * pattern + ranks * (ranks - 1) / 2
    if operation == "reduce_scatter":
        return bool((system.array(part) == total[rank * share : (rank + 1) * share]).all())
    expected = total if operation == "all_reduce" else pattern  # broadcast: of rank 0
    return bool((system.array(whole) == expected).all())


def measure(
    comm: ccl.Communicator,
    systems: dict[str, Any],
    mode: str,
    operation: str,
    size: int,
    budget: float,
) -> Row:
    """Every rank receives the same row."""
    row = Row(mode, operation, size, comm.ranks)
    count = max(size // 4 // comm.ranks, 1) * comm.ranks
    right = {who: is_right(each, mode, operation, count, comm) for who, each in systems.items()}
    wrong = [who for who in systems if highest(comm, 0.0 if right[who] else 1.0)]
    if wrong:
        row.failed = f"wrong result of {', '.join(wrong)}"
        return row
    runs = {who: runner(each, mode, operation, count) for who, each in systems.items()}
    repeats = {}
    for who, run in runs.items():
        run(1)
        # The best of three, because a single one may have been disturbed.
        once = min(slowest(comm, run, WINDOW if mode == "throughput" else 2) for _ in range(3))
        repeats[who] = max(1, min(2000, int(budget / 8 / once)))
        if mode == "throughput":
            repeats[who] = -(-repeats[who] // WINDOW) * WINDOW
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(5):
        for who, run in runs.items():
            best[who] = min(best[who], slowest(comm, run, repeats[who]))
    row.seconds = best
    return row


def slowest(comm: ccl.Communicator, run: Callable[[int], None], repeats: int) -> float:
    """Seconds of one operation on the slowest rank."""
    comm.barrier()
    began = time.perf_counter()
    run(repeats)
    return highest(comm, (time.perf_counter() - began) / repeats)


def highest(comm: ccl.Communicator, value: float) -> float:
    """The largest value of all ranks."""
    shared = infinicore.from_numpy(np.array([value]))
    comm.all_reduce(shared, "max")
    infinicore.context.sync_stream()
    return float(shared.tolist()[0])


# ---- Printing ------------------------------------------------------------------------------------


def table(rows: list[Row], names: list[str]) -> str:
    others = [name for name in names if name != "infinicore"]
    head = ["mode", "operation", "bytes", *names, "GB/s", *(f"x {name}" for name in others)]
    lines = []
    for row in rows:
        cells = [row.mode, row.operation, report.size_text(row.bytes)]
        if row.failed:
            lines.append([*cells, row.failed, *[""] * (len(head) - 4)])
            continue
        cells += [report.time_text(row.seconds[name]) for name in names]
        cells.append(f"{row.bandwidth('infinicore') / 1e9:.2f}")
        lines.append([*cells, *(report.ratio_text(row.ratio(name)) for name in others)])
    return report.plain_table(head, lines, range(3, len(head)))


def is_one_host(comm: ccl.Communicator) -> bool:
    name = np.frombuffer(platform.node().encode()[:64].ljust(64), np.uint8)
    here = infinicore.from_numpy(name.copy())
    names = comm.all_gather(here).tolist()
    return all(names[64 * rank : 64 * rank + 64] == here.tolist() for rank in range(comm.ranks))


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    for mode in options.modes.split(","):
        for operation in options.operations.split(","):
            for size in QUICK if options.quick else SIZES:
                title = f"{mode} {operation} {report.size_text(size)}"
                fits = mode == "latency" or size <= WINDOW_BYTES
                if fits and report.wanted(title, options.rows):
                    yield mode, operation, size


def work(options: argparse.Namespace) -> int:
    with ccl.init(device="cpu") as comm:
        systems: dict[str, Any] = {"infinicore": Ours(comm)}
        if find_spec("torch"):
            systems["gloo"] = Gloo(comm)
        if "mpi4py" in sys.modules:
            systems["MPI"] = Mpi(comm)
        rows = []
        for mode, operation, size in cases(options):
            if comm.rank == 0:
                title = f"{mode} {operation} {report.size_text(size)}"
                print(f"\r{title}\033[K", end="", file=sys.stderr, flush=True)
            budget = 0.05 if options.quick else 1.0
            rows.append(measure(comm, systems, mode, operation, size, budget))
        one_host = is_one_host(comm)
        if comm.rank == 0:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            where = f"{'one host' if one_host else 'several hosts'}, {platform.machine()}"
            print(f"{comm.ranks} ranks on {where}, {os.cpu_count()} processors\n")
            print(table(rows, list(systems)))
            if options.json:
                figures = {"rows": [asdict(row) for row in rows], "one_host": one_host}
                options.json.write_text(json.dumps(figures))
        comm.barrier()
        return any(row.failed for row in rows)


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--operations", default=",".join(BUS), help="default: %(default)s")
    parser.add_argument("--modes", default=",".join(MODES), help="default: %(default)s")
    parser.add_argument("--rows", type=report.patterns, default=[], help="'latency*8 B'")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--quick", action="store_true", help="three sizes, short rounds")
    parser.add_argument("--two-hosts", choices=["mpich", "openmpi"])
    options = parser.parse_args()
    for option, known in (("operations", tuple(BUS)), ("modes", MODES)):
        for name in getattr(options, option).split(","):
            if name not in known:
                parser.error(f"--{option}: {name} is none of {', '.join(known)}")
    launched = {"RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"} & set(os.environ)
    if launched:
        if "INFINI_TEST_HOSTS" in os.environ:
            os.environ["INFINI_CCL_HOST"] = platform.node()
        if find_spec("mpi4py") and launched != {"RANK"}:
            import mpi4py.MPI  # noqa: F401  before infinicore looks for MPI
        return work(options)
    return start_on_two_hosts(options.two_hosts) if options.two_hosts else start(options.ranks)


def start_on_two_hosts(name: str) -> int:
    """One rank on each of two hosts, which are the network namespaces of the tests."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.collectives import hosts, mpi_launch

    mpi = {each.name: each for each in mpi_launch.ALL}[name]
    arguments = [word for word in sys.argv if word not in ("--two-hosts", name)]
    with hosts.two_hosts() as pair, tempfile.TemporaryDirectory() as folder:
        command, settings = pair.mpirun(mpi, Path(folder), 1)
        settings["MASTER_ADDR"] = hosts.ADDRESSES[0]
        settings |= {"GLOO_SOCKET_IFNAME": hosts.CARD, "UCX_NET_DEVICES": hosts.CARD}
        settings["MPI4PY_LIBMPI"] = str(mpi_launch.folder_of(mpi) / "lib" / mpi.own_library)
        command += [sys.executable, *arguments]
        return subprocess.run(command, env=settings, check=False).returncode


def start(ranks: int) -> int:
    launcher = "mpirun" if find_spec("mpi4py") and find("mpirun") else "local"
    command = [sys.executable, "-m", "infinicore", "launch", "-n", str(ranks), "--no-prefix"]
    command += ["--launcher", launcher, *sys.argv]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
