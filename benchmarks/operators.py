"""The operators against torch: `python benchmarks/operators.py [--json FILE] [--quick]`.

Each row is an operator on shapes of real models: we, torch on the CPU with as many threads, and the
limit of the machine (see operator_limits.py), measured in one process in alternating rounds; the
best round of each counts. `x torch` is torch's time divided by ours: above 1 infinicore is faster.
`of limit` is the part of the machine's limit that we reach. A row whose result differs from torch's
has no figure. Needs torch and a C++ compiler.

    python benchmarks/operators.py                          # all rows
    python benchmarks/operators.py --rows 'softmax/*F32'    # some: group/name shape type
    python benchmarks/operators.py --device nvidia          # on an accelerator: see device.py
    python benchmarks/operators.py --wild 60                # random cases: see wild.py
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import timeit
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import checks
import operator_report
import report
from operator_cases import Call, Case, Tensors, Work, walking
from operator_cases_factors import factoring
from operator_cases_models import computing
from operator_limits import Machine, Native, measure, measure_operators, native_products

SLOW = 0.7  # seconds: what takes longer is measured once


@dataclass
class Pace:
    """How much time a row may take."""

    least: float  # seconds of one measurement
    rounds: int
    budget: float  # seconds of a row's rounds


FULL, QUICK = Pace(0.004, 9, 0.9), Pace(0.001, 3, 0.12)


@dataclass
class Row:
    group: str
    name: str
    shape: str
    dtype: str
    decode: bool = False
    reads: float = 0.0  # bytes
    writes: float = 0.0
    elementwise: float = 0.0  # instructions, counted by element
    products: float = 0.0  # multiply-adds
    ours_s: float | None = None
    against: str = ""
    theirs_s: float | None = None
    limit_s: float | None = None
    bound: str = ""
    failed: str = ""


def seconds(call: Call, repeats: int) -> float:
    return timeit.timeit(call, number=repeats) / repeats


def first(call: Call) -> float:
    """The time of a warm call, or of the first call when that is long."""
    once = seconds(call, 1)
    return once if once > SLOW else min(once, seconds(call, 1))


def duel(calls: Sequence[Call], best: Sequence[float], pace: Pace) -> list[float]:
    """Runs all in turn; the best round of each, those that are given among them. Before a round the
    threads of the other side get time to fall asleep: they spin for milliseconds first."""
    best = list(best)
    begin = time.perf_counter()
    for done in range(pace.rounds):
        if done >= 2 and time.perf_counter() - begin > pace.budget:
            break
        for i, call in enumerate(calls):
            if best[i] > SLOW:
                continue
            time.sleep(0.01)
            until = time.perf_counter() + 0.0005
            call()
            while time.perf_counter() < until:
                call()
            repeats = max(1, math.ceil(pace.least / max(best[i], 1e-8)))
            best[i] = min(best[i], seconds(call, repeats))
    return best


def difference(work: Work, theirs: Call) -> str:
    """What is wrong with our result."""
    work.ours()
    if work.check:
        return work.check()
    return checks.difference(work.result, theirs(), work.close)


def fastest(work: Work, row: Row) -> list[tuple[float, str, Call]]:
    """The best of torch's implementations that work on this CPU; none if none does."""
    found = []
    for label, call in work.theirs:
        try:
            found.append((first(call), label, call))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            row.against = f"n/a: {label}: {error}".splitlines()[0][:80]
        if found and found[-1][0] > 3 * SLOW:
            break  # the others take about as long
    return [min(found, key=lambda way: way[0])] if found else []


def run(case: Case, tensors: Tensors, pace: Pace) -> Row:
    row = Row(case.group, case.name, case.shape, case.dtype, case.decode)
    work = case.build(tensors)
    row.reads, row.writes = work.reads, work.writes
    row.elementwise, row.products = work.elementwise, work.products
    ours, theirs = first(work.ours), fastest(work, row)
    calls = [work.ours, *(call for *_, call in theirs)]
    if theirs and (wrong := difference(work, theirs[0][2])):
        row.failed = wrong
        return row
    times = duel(calls, [ours, *(once for once, *_ in theirs)], pace)
    row.ours_s = times[0]
    if theirs:
        row.against, row.theirs_s = theirs[0][1], times[1]
    return row


def judge(rows: Sequence[Row], machine: Machine) -> None:
    """Compares with the limits; the rows are themselves measurements of these."""
    known = [row for row in rows if row.ours_s]
    for row in known:
        best = min(row.ours_s or math.inf, row.theirs_s or math.inf)
        machine.learn(row.group, row.dtype, (row.reads, row.writes, row.products), best)
    for row in known:
        traffic = machine.traffic(row.reads, row.writes)
        arithmetic = machine.arithmetic(row.elementwise, row.products, row.dtype)
        row.limit_s, row.bound = max((traffic, "memory"), (arithmetic, "arithmetic"))


def is_slow(case: Case) -> bool:
    """Whether torch takes seconds: products of types that the CPU has no instructions for."""
    products = case.group in ("gemm", "conv") or "prefill" in case.name
    wide = case.dtype == "F32" or case.dtype in native_products()
    return not wide and (products or (case.group == "gemv" and case.dtype == "F16"))


def chosen(rows: Sequence[str], quick: bool) -> Iterator[Case]:
    for case in (*walking(), *computing(), *factoring()):
        if report.wanted(case.title, rows) and not (quick and is_slow(case)):
            yield case


def measured(options: argparse.Namespace) -> dict[str, Any]:
    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the library is loaded
    import torch

    from infinicore import op, rt

    rt.set_kind("cpu")
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    pace = QUICK if options.quick else FULL
    native, machine, tensors = Native(), Machine(options.threads), Tensors(torch, op)
    measure(native, machine, options.quick)
    measure_operators(tensors, machine, lambda calls: duel(calls, list(map(first, calls)), pace))
    cases, rows = list(chosen(options.rows, options.quick)), []
    for i, case in enumerate(cases):
        print(f"\r{i + 1}/{len(cases)} {case.title}\033[K", end="", file=sys.stderr, flush=True)
        try:
            rows.append(run(case, tensors, pace))
        except Exception as error:  # a failing row must not hide the others
            sentence = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(Row(case.group, case.name, case.shape, case.dtype, failed=sentence))
        if i % 50 == 49 or i + 1 == len(cases):
            measure(native, machine, options.quick)
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    judge(rows, machine)
    return {"limits": asdict(machine), "rows": [asdict(row) for row in rows]}


def on_device(options: argparse.Namespace) -> dict[str, Any]:
    import device
    import device_report

    run = device.measured(options)
    print(device_report.text(run))
    return run


def on_random_cases(options: argparse.Namespace) -> int:
    import wild

    if options.worker:
        wild.work(options)
        return 0
    run = wild.measured(options)
    print(wild.text(run))
    if options.json:
        options.json.write_text(json.dumps(run))
    return 0


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    processors = len(os.sched_getaffinity(0))
    parser.add_argument("--rows", type=report.patterns, default=[], help="'softmax/,gelu*F32'")
    parser.add_argument("--threads", type=int, default=processors, help="of both sides")
    quick = "short measurements, no row that takes torch seconds"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    accelerator = parser.add_argument_group("on an accelerator (see device.py)")
    accelerator.add_argument("--device", default="cpu", help="device type: nvidia")
    accelerator.add_argument("--tiny", action="store_true", help="few elements: to try the program")
    accelerator.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    accelerator.add_argument("--done", type=json.loads, default=[], help=argparse.SUPPRESS)
    random = parser.add_argument_group("random cases over all operators (see wild.py)")
    random.add_argument("--wild", type=int, metavar="N", help="how many")
    random.add_argument("--seed", type=int, help="of the cases; a new one if it is not given")
    random.add_argument("--budget", type=float, help="seconds in all")
    cases = "cases as the report prints them, separated by commas"
    random.add_argument("--only", type=report.patterns, default=[], help=cases)
    random.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.wild is not None:
        return on_random_cases(options)
    if options.worker:
        import device

        device.work(options)
        return 0
    if options.device != "cpu":
        found = on_device(options)
    else:
        found = measured(options)
        print(operator_report.text(found))
    if options.json:
        options.json.write_text(json.dumps(found))
    return any(row.get("failed") for row in found["rows"])


if __name__ == "__main__":
    sys.exit(main())
