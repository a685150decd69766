"""Collectives side by side: `python benchmarks/collectives.py [-n RANKS] [--json FILE] [--quick]`.

infinicore, torch's gloo and plain MPI (through mpi4py) do the same operations on CPUs in the same
processes, in alternating rounds; the best round of each counts, and of a round the slowest rank.
What is not installed is left out. The limit of bus bandwidth is how fast memory is copied.

Without a launcher it starts its ranks itself: with mpirun where mpi4py and an MPI are installed,
else with `infini launch`. Between hosts: start it with either, one rank for each host; or see what
`--two-hosts mpich` (openmpi) does with two network namespaces of this one, as root.
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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import infinicore
from infinicore import ccl
from infinicore.cli.remote import find_mpirun

SIZES = [8 << shift for shift in range(0, 26, 3)] + [256 << 20]
QUICK = [8, 4096, 1 << 20]
# Bytes that each rank must send for a buffer of one byte, by the number of ranks.
BUS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1,
}
GOALS = {False: {"gloo": 2.0}, True: {"MPI": 0.95}}  # inside one host, and between hosts


@dataclass
class Row:
    operation: str
    bytes: int
    ranks: int
    seconds: dict[str, float] = field(default_factory=dict)  # by who did it

    def bandwidth(self, who: str) -> float:
        return self.bytes * BUS[self.operation](self.ranks) / self.seconds[who]

    def ratio(self, against: str) -> float | None:
        """How many times as fast as the other we are."""
        if against not in self.seconds:
            return None
        return self.seconds[against] / self.seconds["infinicore"]


# ---- The three, each with buffers of its own -----------------------------------------------------


class Ours:
    def __init__(self, comm: ccl.Communicator) -> None:
        self.comm = comm

    def prepare(self, operation: str, count: int) -> Callable[[int], None]:
        comm = self.comm
        whole = infinicore.ones(count, device=comm.device)
        part = infinicore.ones(count // comm.ranks, device=comm.device)
        once: Callable[[], object] = {
            "all_reduce": lambda: comm.all_reduce(whole),
            "all_gather": lambda: comm.all_gather(part, out=whole),
            "reduce_scatter": lambda: comm.reduce_scatter(whole, out=part),
            "broadcast": lambda: comm.broadcast(whole),
        }[operation]

        def run(repeats: int) -> None:
            for _ in range(repeats):
                once()
            infinicore.context.sync_stream()

        return run


class Gloo:
    def __init__(self, comm: ccl.Communicator) -> None:
        import torch.distributed as dist

        warnings.simplefilter("ignore", FutureWarning)  # names of operations change in torch
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        port = np.array([free_port()], np.int32) if comm.rank == 0 else np.zeros(1, np.int32)
        shared = infinicore.from_numpy(port)
        comm.broadcast(shared)
        address = f"tcp://{os.environ['MASTER_ADDR']}:{shared.tolist()[0]}"
        dist.init_process_group("gloo", address, timedelta(seconds=60), comm.ranks, comm.rank)
        self.ranks = comm.ranks

    def prepare(self, operation: str, count: int) -> Callable[[int], None]:
        import torch
        import torch.distributed as dist

        whole, part = torch.ones(count), torch.ones(count // self.ranks)
        once: Callable[[], object] = {
            "all_reduce": lambda: dist.all_reduce(whole),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
            "broadcast": lambda: dist.broadcast(whole, 0),
        }[operation]
        return lambda repeats: [once() for _ in range(repeats)] and None


class Mpi:
    def __init__(self, comm: ccl.Communicator) -> None:
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD.Dup()

    def prepare(self, operation: str, count: int) -> Callable[[int], None]:
        world, in_place = self.world, self.mpi.IN_PLACE
        whole = np.ones(count, np.float32)
        part = np.ones(count // world.size, np.float32)
        once: Callable[[], object] = {
            "all_reduce": lambda: world.Allreduce(in_place, whole),
            "all_gather": lambda: world.Allgather(part, whole),
            "reduce_scatter": lambda: world.Reduce_scatter_block(whole, part),
            "broadcast": lambda: world.Bcast(whole, 0),
        }[operation]
        return lambda repeats: [once() for _ in range(repeats)] and None


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("", 0))
        number: int = listener.getsockname()[1]
        return number


# ---- Measuring -----------------------------------------------------------------------------------


def measure(
    comm: ccl.Communicator, systems: dict[str, Any], operation: str, size: int, budget: float
) -> Row:
    """Every rank gets the same row."""
    row = Row(operation, size, comm.ranks)
    count = max(size // 4 // comm.ranks, 1) * comm.ranks
    runs = {who: system.prepare(operation, count) for who, system in systems.items()}
    repeats = {}
    for who, run in runs.items():
        run(1)
        # A single look may have met with something else that the machine did.
        once = min(slowest(comm, run, 2) for _ in range(3))
        repeats[who] = max(1, min(2000, int(budget / 8 / once)))
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(5):
        for who, run in runs.items():
            best[who] = min(best[who], slowest(comm, run, repeats[who]))
    row.seconds = best
    return row


def slowest(comm: ccl.Communicator, run: Callable[[int], None], repeats: int) -> float:
    """Seconds of one operation, of the rank that took longest."""
    comm.barrier()
    began = time.perf_counter()
    run(repeats)
    mine = infinicore.from_numpy(np.array([(time.perf_counter() - began) / repeats]))
    comm.all_reduce(mine, "max")
    infinicore.context.sync_stream()
    return float(mine.tolist()[0])


def floor() -> float:
    """Bytes per second that one thread copies, in memory that no cache holds."""
    source, target = np.ones(64 << 20, np.uint8), np.empty(64 << 20, np.uint8)
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - began)
    return source.nbytes / best


# ---- Telling -------------------------------------------------------------------------------------


def spelled(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def table(rows: list[Row], names: list[str], goals: dict[str, float]) -> str:
    others = [name for name in names if name != "infinicore"]
    head = ["operation", "bytes", *(f"{name} us" for name in names), "GB/s"]
    head += [f"x {name}" + (f" (goal {goals[name]})" if name in goals else "") for name in others]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row.operation, spelled(row.bytes)]
        cells += [f"{row.seconds[name] * 1e6:.1f}" for name in names]
        cells.append(f"{row.bandwidth('infinicore') / 1e9:.2f}")
        for name in others:
            ratio = row.ratio(name) or 0
            cells.append(f"{ratio:.2f}" + ("" if ratio >= goals.get(name, 0) else " missed"))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def is_one_host(comm: ccl.Communicator) -> bool:
    name = np.frombuffer(platform.node().encode()[:64].ljust(64), np.uint8)
    here = infinicore.from_numpy(name.copy())
    names = comm.all_gather(here).tolist()
    return all(names[64 * rank : 64 * rank + 64] == here.tolist() for rank in range(comm.ranks))


def work(options: argparse.Namespace) -> None:
    with ccl.init(device="cpu") as comm:
        systems: dict[str, Any] = {"infinicore": Ours(comm)}
        if find_spec("torch"):
            systems["gloo"] = Gloo(comm)
        if "mpi4py" in sys.modules:
            systems["MPI"] = Mpi(comm)
        rows = []
        for operation in options.operations.split(","):
            for size in QUICK if options.quick else SIZES:
                row = measure(comm, systems, operation, size, 0.05 if options.quick else 1.0)
                rows.append(row)
                if comm.rank == 0:
                    ratios = " ".join(f"{name} {row.ratio(name):.2f}" for name in systems)
                    print(f"{operation} {spelled(size)}: {ratios}", file=sys.stderr, flush=True)
        one_host = is_one_host(comm)
        if comm.rank == 0:
            where = f"{'one host' if one_host else 'several hosts'}, {platform.machine()}"
            limit = f"one thread copies {floor() / 1e9:.1f} GB/s"
            print(f"{comm.ranks} ranks on {where}, {os.cpu_count()} processors; {limit}\n")
            print(table(rows, list(systems), GOALS[not one_host]))
            if options.json:
                with open(options.json, "w") as file:
                    json.dump([asdict(row) for row in rows], file, indent=1)
        comm.barrier()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--operations", default=",".join(BUS), help="default: %(default)s")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--quick", action="store_true", help="three sizes, short rounds")
    parser.add_argument("--two-hosts", choices=["mpich", "openmpi"])
    options = parser.parse_args()
    for name in options.operations.split(","):
        if name not in BUS:
            parser.error(f"--operations: {name} is none of {', '.join(BUS)}")
    launched = {"RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"} & set(os.environ)
    if launched:
        if "INFINI_TEST_HOSTS" in os.environ:
            os.environ["INFINI_CCL_HOST"] = platform.node()
        if find_spec("mpi4py") and launched != {"RANK"}:
            import mpi4py.MPI  # noqa: F401  before infinicore looks for MPI
        work(options)
        return 0
    return start_on_two_hosts(options.two_hosts) if options.two_hosts else start(options.ranks)


def start_on_two_hosts(name: str) -> int:
    """One rank on each of two hosts that the tests make of network namespaces."""
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
    launcher = "mpirun" if find_spec("mpi4py") and find_mpirun() else "local"
    command = [sys.executable, "-m", "infinicore", "launch", "-n", str(ranks), "--no-prefix"]
    command += ["--launcher", launcher, *sys.argv]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
