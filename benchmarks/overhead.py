"""What a call costs: `python benchmarks/overhead.py [--quick]`.

Tensors so small that the work is nothing, next to torch in the same process, in alternating rounds;
the best round of each side counts. Both sides have the same number of threads. The ratio is torch's
time divided by ours: above 1 infinicore takes less time. The decode block (a small Llama-type
layer) runs eagerly and recorded; torch's also with one thread. Results are compared with torch's
first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import checks
import report

Call = Callable[[], Any]


@dataclass
class Timed:
    """A call with its own timer: the seconds of this many calls."""

    call: Call
    seconds: Callable[[int], float]

    def __call__(self) -> Any:
        return self.call()


@dataclass
class Row:
    what: str
    ours_s: float | None
    against: str = ""
    theirs_s: float | None = None
    failed: str = ""


@dataclass
class Case:
    what: str
    ours: Call
    theirs: Call | None = None  # None: torch is not installed
    against: str = "torch"
    result: Call | None = None  # holds our result, if the call does not return it
    repeats: int = 10_000
    compared: bool = True


def calls(ic: Any, torch: Any) -> Iterator[Case]:
    if torch is None:
        x, y, z = (ic.rand(8, 8) for _ in range(3))
        a = b = c = None
    else:
        a, b, c = (torch.rand(8, 8) for _ in range(3))
        x, y = (ic.from_torch(t) for t in (a, b))
        z = ic.empty((8, 8))  # not c: the results are compared

    def case(what: str, ours: Call, theirs: Call, **more: Any) -> Case:
        return Case(what, ours, theirs if torch is not None else None, **more)

    yield case("add(x, y, out=z)", lambda: ic.add(x, y, out=z), lambda: torch.add(a, b, out=c))
    yield case("add(x, y)", lambda: ic.add(x, y), lambda: torch.add(a, b))
    yield case("x + y", lambda: x + y, lambda: a + b)
    yield case("x * 0.5", lambda: x * 0.5, lambda: a * 0.5)
    yield case("matmul(x, y)", lambda: ic.matmul(x, y), lambda: torch.matmul(a, b))
    yield case("x.softmax(-1)", lambda: x.softmax(-1), lambda: a.softmax(-1))
    yield case("x.sum(-1)", lambda: x.sum(-1), lambda: a.sum(-1))
    yield case("x[2]", lambda: x[2], lambda: a[2])
    yield case("x[1:5, ::2]", lambda: x[1:5, ::2], lambda: a[1:5, ::2])
    yield case("x.transpose(0, 1)", lambda: x.transpose(0, 1), lambda: a.transpose(0, 1))
    yield case("x.view(64)", lambda: x.view(64), lambda: a.view(64))
    empty = lambda: torch.empty((8, 8))  # noqa: E731
    yield case("empty((8, 8))", lambda: ic.empty((8, 8)), empty, compared=False)
    if torch is not None:
        other = lambda: torch.from_dlpack(a)  # noqa: E731
        yield case("from_torch(t)", lambda: ic.from_torch(a), other, against="torch.from_dlpack")
        yield case("from_dlpack(t)", lambda: ic.from_dlpack(a), other, against="torch.from_dlpack")


def blocks(ic: Any, torch: Any) -> Iterator[Case]:
    from infinicore.cli.block import DecodeBlock

    for hidden in (64, 256, 576):
        block = DecodeBlock(hidden=hidden, heads=max(hidden // 64, 2))
        eager, recorded = block.eager(), block.recorded()
        reference, what = block.torch(), f"decode block, hidden {hidden}"
        replayed = {"result": lambda block=block: block.result, "repeats": 20}
        yield Case(f"{what}, recorded", recorded, eager, "eager", **replayed)
        yield Case(f"{what}, eager", eager, reference, repeats=20)
        yield Case(f"{what}, recorded", recorded, reference, **replayed)
        if torch is not None and torch.get_num_threads() > 1:
            # Work this small may be faster on one thread.
            alone = single_threaded(torch, reference)
            yield Case(f"{what}, eager", eager, alone, "torch, 1 thread", repeats=20)
            yield Case(f"{what}, recorded", recorded, alone, "torch, 1 thread", **replayed)


def single_threaded(torch: Any, call: Call) -> Timed:
    """The call, to be timed while torch has one thread."""
    threads = torch.get_num_threads()

    def repeat(number: int) -> float:
        torch.set_num_threads(1)
        took = timeit.timeit(call, number=number)
        torch.set_num_threads(threads)
        return took

    return Timed(call, repeat)


def difference(case: Case, ic: Any, torch: Any) -> str:
    """Compares with torch's result, or with our eager one."""
    if torch is None or case.theirs is None or not case.compared:
        return ""
    made = case.ours()
    if case.result:
        made = case.result()
    expected = case.theirs()
    ic.context.sync_stream()
    if isinstance(expected, ic.Tensor):
        expected = torch.from_dlpack(expected)
    return checks.difference(torch.from_dlpack(made.contiguous()), expected)


def compare(case: Case, repeats: int, rounds: int) -> tuple[float, float | None]:
    """Seconds of each: the rounds alternate, the best of each side counts."""
    sides = [case.ours, case.theirs] if case.theirs else [case.ours]
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for side, operation in enumerate(sides):
            time.sleep(0.01)  # the other side's threads spin for a while after their work
            operation()
            best[side] = min(best[side], seconds(operation, repeats) / repeats)
    return best[0], best[1] if len(best) > 1 else None


def seconds(operation: Call, number: int) -> float:
    if isinstance(operation, Timed):
        return operation.seconds(number)
    return timeit.timeit(operation, number=number)


def measure(case: Case, ic: Any, torch: Any, quick: bool) -> Row:
    case.ours()
    if wrong := difference(case, ic, torch):
        return Row(case.what, None, failed=wrong)
    repeats = max(case.repeats // 5, 20) if quick else case.repeats
    ours, theirs = compare(case, repeats, 5 if quick else 15)
    return Row(case.what, ours, case.against if case.theirs else "", theirs)


def table(rows: list[Row]) -> str:
    head = ("what", "ours", "against", "theirs", "ratio")
    lines = []
    for row in rows:
        ratio = row.theirs_s / row.ours_s if row.ours_s and row.theirs_s else None
        times = (report.time_text(row.ours_s), row.against, report.time_text(row.theirs_s))
        lines.append((row.what, *times, row.failed or report.ratio_text(ratio)))
    return report.plain_table(head, lines, {1, 3, 4})


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--rows", type=report.patterns, default=[], help="'add,decode*64'")
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=processors, help="of both sides")
    options = parser.parse_args()

    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the library is loaded
    import infinicore

    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None:
        torch.set_num_threads(options.threads)
        torch.set_grad_enabled(False)
    rows = []
    for make in (calls, blocks):
        for case in make(infinicore, torch):
            if report.wanted(case.what, options.rows):
                rows.append(measure(case, infinicore, torch, options.quick))
    print(f"{options.threads} threads on both sides\n\n{table(rows)}")
    if options.json:
        options.json.write_text(json.dumps({"rows": [asdict(row) for row in rows]}))
    return any(row.failed for row in rows)


if __name__ == "__main__":
    sys.exit(main())
