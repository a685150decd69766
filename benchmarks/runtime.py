"""Figures of the runtime, as ratios: `python benchmarks/runtime.py [--json FILE] [--quick]`.

Everything runs in one process, native pairs in alternating rounds, because machines are noisy and
ratios are less so; the best round of each side counts. A ratio above 1 means that infinicore is
faster than what it is compared with; 0.995 and above counts as 1. Needs a C++ compiler (the timed
loops are native); torch is compared with where it is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import infinicore
from infinicore import rt
from infinicore.cli.config import root

NATIVE = Path(__file__).parent / "native" / "runtime_bench.cc"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass
class Row:
    what: str
    case: str
    ours_ns: float
    against: str
    theirs_ns: float
    goal: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float:
        return self.theirs_ns / self.ours_ns


def build() -> ctypes.CDLL:
    """Compile the timed loops against the installed package."""
    folder = Path(tempfile.mkdtemp(prefix="infini-bench-"))
    library = folder / "runtime_bench.so"

    def config(option: str) -> list[str]:
        command = [sys.executable, "-m", "infinicore", "config", option]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    compiler = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-pthread"]
    files = [str(NATIVE), "-o", str(library)]
    subprocess.run([*compiler, *config("--cflags"), *files, *config("--libs")], check=True)
    return ctypes.CDLL(str(library))


class Native:
    def __init__(self) -> None:
        self.library = build()

    def __call__(self, name: str, *arguments: int) -> tuple[float, float]:
        result = (ctypes.c_double * 2)()
        getattr(self.library, name)(*map(ctypes.c_size_t, arguments), result)
        return result[0], result[1]


def best_ns(operation: Callable[[], object], repeats: int, rounds: int) -> float:
    return min(timeit.repeat(operation, number=repeats, repeat=rounds)) / repeats * 1e9


def size_text(size: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def import_torch() -> object | None:
    try:
        import torch
    except ImportError:
        return None
    return torch


def copies(native: Native, torch, quick: bool) -> list[Row]:
    rows = []
    for power in range(12, 27 if quick else 31, 2):
        size = 1 << power
        repeats = max(1, min(20_000, 64 * MIB // size))
        rounds = 15 if size <= 64 * MIB else 7
        ours, plain = native("bench_copy", size, rounds, repeats)
        goal = {"goal": ">= 1.0", "met": plain / ours >= 0.995}
        rows.append(Row("Memcpy", size_text(size), ours, "memcpy", plain, **goal))
        if torch is not None:
            source = torch.ones(size, dtype=torch.uint8)
            target = torch.zeros(size, dtype=torch.uint8)
            theirs = best_ns(lambda s=source, t=target: t.copy_(s), repeats, rounds)
            goal = {"goal": ">= 1.0", "met": theirs / ours >= 0.995}
            rows.append(Row("Memcpy", size_text(size), ours, "torch copy_", theirs, **goal))
    return rows


def allocations(native: Native, torch, quick: bool) -> list[Row]:
    rows = []
    untouched = 0.0
    for size in (256, 64 * KIB, 4 * MIB):
        for touch in (0, 1):
            repeats = 200 if touch and size > MIB else 5_000
            ours, plain = native("bench_allocate", size, touch, 7 if quick else 25, repeats)
            case = size_text(size) + (", touched" if touch else "")
            rows.append(Row("MallocAsync+FreeAsync", case, ours, "malloc+free", plain))
            if not touch:
                untouched = ours
        if torch is not None:
            theirs = best_ns(lambda n=size: torch.empty(n, dtype=torch.uint8), 5_000, 7)
            rows.append(
                Row("MallocAsync+FreeAsync", size_text(size), untouched, "torch.empty", theirs)
            )
    return rows


def queues(native: Native, quick: bool) -> list[Row]:
    rounds = 5 if quick else 25
    record, clock = native("bench_event", rounds, 20_000)
    latency, woken = native("bench_latency", rounds, 2_000)
    rows = [
        Row("EventRecord+Query", "idle stream", record, "2 clock reads", clock),
        Row("enqueue to run", "host function", latency, "condition variable", woken),
    ]
    for nodes in (10, 100, 1000):
        graph, eager = native("bench_graph", nodes, rounds, max(1, 20_000 // nodes))
        rows.append(Row("graph launch, per node", f"{nodes} nodes", graph, "one by one", eager))
    both, single = native("bench_overlap", 64 * MIB, rounds)
    rows.append(Row("copies on two streams", "2 x 64 MiB", both, "one stream", single))
    return rows


def python_calls(quick: bool) -> list[Row]:
    """The price of a call from Python; the goal is 300 ns. ctypes calls the same C function."""
    stream, event = rt.StreamCreate(), rt.EventCreate()
    memory = rt.Malloc(4096)
    plain = ctypes.CDLL(str(root() / "lib" / "libinfinirt.so"))
    number = ctypes.c_int()
    cases: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("GetDevice", rt.GetDevice, lambda: plain.infinirtGetDevice_v2(ctypes.byref(number))),
        ("StreamQuery", lambda: rt.StreamQuery(stream),
         lambda: plain.infinirtStreamQuery(ctypes.c_void_p(stream))),
        ("EventRecord", lambda: rt.EventRecord(event, stream),
         lambda: plain.infinirtEventRecord_v2(ctypes.c_void_p(event), ctypes.c_void_p(stream))),
        ("MemsetAsync 64 B, null stream", lambda: rt.MemsetAsync(memory, 0, 64, 0),
         lambda: plain.infinirtMemsetAsync_v2(ctypes.c_void_p(memory), 0, ctypes.c_size_t(64), 0)),
    ]  # fmt: skip
    rows = []
    for name, ours, theirs in cases:
        rounds = 5 if quick else 25
        cost, other = best_ns(ours, 20_000, rounds), best_ns(theirs, 20_000, rounds)
        rows.append(Row("Python call", name, cost, "ctypes", other, "<= 300 ns", cost <= 300))
    rt.Free(memory)
    rt.EventDestroy(event)
    rt.StreamDestroy(stream)
    return rows


def table(rows: list[Row]) -> str:
    head = ("what", "case", "ours ns", "against", "theirs ns", "ratio", "goal", "")
    lines = [head]
    for row in rows:
        mark = "" if row.met is None else ("met" if row.met else "NOT MET")
        times = (f"{row.ours_ns:,.1f}", row.against, f"{row.theirs_ns:,.1f}", f"{row.ratio:.2f}")
        lines.append((row.what, row.case, *times, row.goal, mark))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    right = {2, 4, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def main() -> None:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, sizes up to 64 MiB")
    options = parser.parse_args()

    rt.set_kind("cpu")
    torch = import_torch()
    native = Native()
    rows = copies(native, torch, options.quick)
    rows += allocations(native, torch, options.quick)
    rows += queues(native, options.quick)
    rows += python_calls(options.quick)
    machine = f"{platform.machine()}, {rt.GetDeviceProperties(0).name}"
    print(f"infinicore {infinicore.__version__} on {machine}")
    print(f"torch: {torch.__version__ if torch is not None else 'not installed'}\n")
    print(table(rows))
    if options.json:
        figures = [{**asdict(row), "ratio": row.ratio} for row in rows]
        options.json.write_text(json.dumps({"machine": machine, "rows": figures}, indent=1))


if __name__ == "__main__":
    main()
