"""The runtime against the host's own means: `python benchmarks/runtime.py [--quick]`.

Everything runs in one process, native loops in alternating rounds; the best round of each side
counts. The ratio is their time divided by ours: above 1 infinicore is faster. Needs a C++ compiler
(the timed loops are native); torch is compared with where it is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import report

NATIVE = Path(__file__).parent / "native" / "runtime_bench.cc"
KIB, MIB = 1 << 10, 1 << 20


@dataclass
class Row:
    what: str
    case: str
    ours_s: float | None
    against: str
    theirs_s: float | None
    failed: str = ""


@dataclass
class Bench:
    """Resources of a measurement. The loops are compiled when first needed."""

    threads: int
    quick: bool
    torch: Any

    def native(self, name: str, *arguments: object) -> list[float]:
        """Seconds, from nanoseconds."""
        result = (ctypes.c_double * 4)()
        getattr(library(), name)(*arguments, result)
        return [value / 1e9 for value in result]

    @property
    def rounds(self) -> int:
        return 5 if self.quick else 25


@cache
def library() -> ctypes.CDLL:
    """The timed loops, compiled against the installed package."""
    file = Path(tempfile.mkdtemp(prefix="infini-bench-")) / "runtime_bench.so"

    def config(option: str) -> list[str]:
        command = [sys.executable, "-m", "infinicore", "config", option]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    compiler = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-pthread"]
    files = [str(NATIVE), "-o", str(file)]
    subprocess.run([*compiler, *config("--cflags"), *files, *config("--libs")], check=True)
    return ctypes.CDLL(str(file))


def best_s(operation: Callable[[], object], repeats: int, rounds: int) -> float:
    return min(timeit.repeat(operation, number=repeats, repeat=rounds)) / repeats


def copies(bench: Bench, size: int) -> list[Row]:
    """All sides copy between the same two buffers, which have been written before."""
    from infinicore import rt

    to, source = rt.Malloc(size), rt.Malloc(size)
    rt.Memset(to, 1, size)
    rt.Memset(source, 2, size)
    repeats = max(1, min(20_000, 64 * MIB // size))
    rounds = (5 if bench.quick else 15) if size <= 64 * MIB else 7
    sized = (ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size))
    times = [float("inf")] * 4  # ours, memcpy, the fastest way, torch
    right = 1.0
    for _ in range(2):
        counted = (bench.threads, rounds, ctypes.c_long(repeats))
        *found, same = bench.native("bench_copy", *sized, *counted)
        right = min(right, same)
        if bench.torch is not None:
            found.append(torch_copy(bench.torch, to, source, size, repeats, rounds))
        times = [min(pair) for pair in zip(times, (*found, float("inf"))[:4], strict=True)]
    rt.Free(to)
    rt.Free(source)
    ours, plain, fastest, torch = times
    case = report.size_text(size)
    if not right:
        return [Row("Memcpy", case, None, "", None, "the copy differs from its source")]
    rows = [
        Row("Memcpy", case, ours, "memcpy", plain),
        Row("Memcpy", case, ours, "fastest copy", min(fastest, torch, ours)),
    ]
    return rows + [Row("Memcpy", case, ours, "torch copy_", torch)] * (bench.torch is not None)


def torch_copy(torch: Any, to: int, source: int, size: int, repeats: int, rounds: int) -> float:
    memory = [(ctypes.c_char * size).from_address(address) for address in (to, source)]
    a, b = (torch.frombuffer(each, dtype=torch.uint8) for each in memory)
    return best_s(lambda: a.copy_(b), repeats, rounds)


def allocations(bench: Bench, size: int) -> list[Row]:
    what, rows, untouched = "MallocAsync + FreeAsync", [], 0.0
    for touch in (0, 1):
        repeats = 200 if touch and size > MIB else 5_000
        sized = (ctypes.c_size_t(size), touch, bench.rounds, ctypes.c_long(repeats))
        ours, plain, *_ = bench.native("bench_allocate", *sized)
        case = report.size_text(size) + (", touched" if touch else "")
        rows.append(Row(what, case, ours, "malloc + free", plain))
        untouched = untouched or ours
    if bench.torch is not None:
        theirs = best_s(lambda: bench.torch.empty(size, dtype=bench.torch.uint8), 5_000, 7)
        rows.append(Row(what, report.size_text(size), untouched, "torch.empty", theirs))
    return rows


def events(bench: Bench) -> list[Row]:
    ours, clock, *_ = bench.native("bench_event", bench.rounds, ctypes.c_long(20_000))
    return [Row("EventRecord + EventQuery", "idle stream", ours, "2 clock reads", clock)]


def latency(bench: Bench) -> list[Row]:
    ours, woken, *_ = bench.native("bench_latency", bench.rounds, ctypes.c_long(2_000))
    return [Row("enqueue to run", "host function", ours, "condition variable", woken)]


def graphs(bench: Bench, nodes: int) -> list[Row]:
    repeats = ctypes.c_long(max(1, 20_000 // nodes))
    graph, eager, *_ = bench.native("bench_graph", nodes, bench.rounds, repeats)
    return [Row("graph launch, per node", f"{nodes} nodes", graph, "one by one", eager)]


def overlap(bench: Bench) -> list[Row]:
    both, single, *_ = bench.native("bench_overlap", ctypes.c_size_t(64 * MIB), bench.rounds)
    return [Row("copies on two streams", "2 x 64 MiB", both, "one stream", single)]


def python_call(bench: Bench, name: str) -> list[Row]:
    """The cost of a call from Python. ctypes calls the same C function."""
    from infinicore import rt
    from infinicore.cli.config import root

    stream, event, memory = rt.StreamCreate(), rt.EventCreate(), rt.Malloc(4096)
    plain = ctypes.CDLL(str(root() / "lib" / "libinfinirt.so"))
    number, pointer = ctypes.c_int(), ctypes.c_void_p
    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "GetDevice": (rt.GetDevice, lambda: plain.infinirtGetDevice_v2(ctypes.byref(number))),
        "StreamQuery": (
            lambda: rt.StreamQuery(stream),
            lambda: plain.infinirtStreamQuery(pointer(stream)),
        ),
        "EventRecord": (
            lambda: rt.EventRecord(event, stream),
            lambda: plain.infinirtEventRecord_v2(pointer(event), pointer(stream)),
        ),
        "MemsetAsync 64 B": (
            lambda: rt.MemsetAsync(memory, 0, 64, 0),
            lambda: plain.infinirtMemsetAsync_v2(pointer(memory), 0, ctypes.c_size_t(64), 0),
        ),
    }
    ours, theirs = (best_s(call, 20_000, bench.rounds) for call in calls[name])
    rt.Free(memory)
    rt.EventDestroy(event)
    rt.StreamDestroy(stream)
    return [Row("Python call", name, ours, "ctypes", theirs)]


def cases(bench: Bench) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Titles, and the functions that measure their rows."""
    for power in range(12, 27 if bench.quick else 31, 2):
        yield f"Memcpy {report.size_text(1 << power)}", lambda n=1 << power: copies(bench, n)
    for size in (256, 64 * KIB, 4 * MIB):
        title = f"MallocAsync + FreeAsync {report.size_text(size)}"
        yield title, lambda n=size: allocations(bench, n)
    yield "EventRecord + EventQuery", lambda: events(bench)
    yield "enqueue to run", lambda: latency(bench)
    for nodes in (10, 100, 1000):
        yield f"graph launch, per node {nodes} nodes", lambda n=nodes: graphs(bench, n)
    yield "copies on two streams", lambda: overlap(bench)
    for name in ("GetDevice", "StreamQuery", "EventRecord", "MemsetAsync 64 B"):
        yield f"Python call {name}", lambda n=name: python_call(bench, n)


def import_torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def table(rows: list[Row]) -> str:
    head = ("what", "case", "ours", "against", "theirs", "ratio")
    lines = []
    for row in rows:
        ratio = row.theirs_s / row.ours_s if row.ours_s and row.theirs_s else None
        times = (report.time_text(row.ours_s), row.against, report.time_text(row.theirs_s))
        lines.append((row.what, row.case, *times, row.failed or report.ratio_text(ratio)))
    return report.plain_table(head, lines, {2, 4, 5})


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, sizes up to 64 MiB")
    parser.add_argument("--rows", type=report.patterns, default=[], help="'Memcpy 4*,graph'")
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=processors, help="of both sides")
    options = parser.parse_args()

    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the library is loaded
    from infinicore import rt

    rt.set_kind("cpu")
    torch = import_torch()
    if torch is not None:
        torch.set_num_threads(options.threads)
    bench = Bench(options.threads, options.quick, torch)
    rows: list[Row] = []
    for title, measure in cases(bench):
        if report.wanted(title, options.rows):
            print(f"\r{title}\033[K", end="", file=sys.stderr, flush=True)
            rows += measure()
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"rows": [asdict(row) for row in rows]}))
    return any(row.failed for row in rows)


if __name__ == "__main__":
    sys.exit(main())
