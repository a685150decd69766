"""Figures of the operators, as ratios: `python benchmarks/operators.py [--json FILE] [--quick]`.

Each row is an operator on shapes of real models: we, torch on the CPU with as many threads, and the
limit of the machine (see operator_limits.py), measured in one process in alternating rounds; the
best round of each counts. `x torch` above 1 means that infinicore is faster; `of limit` is the part
of the machine's limit that it reaches. Absolute times are for information. Needs torch and a C++
compiler.

    python benchmarks/operators.py --json here.json             # all rows, about 4 minutes
    python benchmarks/operators.py --only 'softmax/*F32'        # some
    python benchmarks/operators.py --from here.json --markdown docs/performance.md --chart x.png
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import platform
import subprocess
import sys
import time
import timeit
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import operator_report as report
from operator_cases import Call, Case, Tensors, Work, walking
from operator_cases_models import computing
from operator_limits import MIB, Machine, Native, cpu_name, measure, native_products

SLOW = 0.7  # seconds: what takes longer is measured once
STREAMING = {"elementwise", "norm", "softmax", "rope", "copy"}


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
    ours_s: float = 0.0
    against: str = ""
    theirs_s: float | None = None
    limit_s: float = 0.0
    bound: str = ""
    x_torch: float | None = None
    of_limit: float | None = None
    missed: list[str] = field(default_factory=list)
    failed: str = ""


def seconds(call: Call, repeats: int) -> float:
    return timeit.timeit(call, number=repeats) / repeats


def first(call: Call) -> float:
    """The time of a call that finds everything ready, or of the first one when that is long."""
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


def differ(ours: Any, theirs: Any, tolerance: float | None, dtype: str) -> bool:
    """Whether results are so far apart that the figures mean nothing. The tests look closer."""
    if tolerance is None:
        tolerance = 1e-3 if dtype == "F32" else 0.05
    a, b = (x.reshape(-1) for x in (ours, theirs))
    parts = [(x[: 1 << 14].double(), x[-(1 << 14) :].double()) for x in (a, b)]
    return any(
        not (abs(x - y) <= tolerance * (1 + abs(y))).all() for x, y in zip(*parts, strict=True)
    )


def fastest(work: Work, row: Row) -> list[tuple[float, str, Call]]:
    """The best of torch's ways that this torch has on this CPU; none when it has no way."""
    found = []
    for label, call in work.theirs:
        try:
            found.append((first(call), label, call))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            row.against = f"n/a: {label}: {error}".splitlines()[0][:80]
        if found and found[-1][0] > 3 * SLOW:
            break  # the others take as long
    return [min(found, key=lambda way: way[0])] if found else []


def run(case: Case, tensors: Tensors, pace: Pace) -> Row:
    row = Row(case.group, case.name, case.shape, case.dtype, case.decode)
    work = case.build(tensors)
    row.reads, row.writes = work.reads, work.writes
    row.elementwise, row.products = work.elementwise, work.products
    ours, theirs = first(work.ours), fastest(work, row)
    calls = [work.ours, *(call for *_, call in theirs)]
    times = duel(calls, [ours, *(once for once, *_ in theirs)], pace)
    row.ours_s = times[0]
    if theirs:
        row.against, row.theirs_s = theirs[0][1], times[1]
        row.x_torch = row.theirs_s / row.ours_s
        comparable = work.tolerance is None or work.tolerance >= 0
        if comparable and row.theirs_s < SLOW:  # what takes longer is left to the tests
            work.ours()
            if differ(work.result, theirs[0][2](), work.tolerance, case.dtype):
                row.failed = "the result differs from torch's"
    return row


def judge(rows: Sequence[Row], machine: Machine) -> None:
    """Compares with the limits, and says which goals a row misses. 0.995 counts as 1."""
    exact = {(row.group, row.name, row.shape): row for row in rows if row.dtype == "F32"}
    attention = 2.0 if platform.machine() == "aarch64" else 1.0
    for row in rows:
        if not row.ours_s:
            continue
        traffic = machine.traffic(row.reads, row.writes)
        arithmetic = machine.arithmetic(row.elementwise, row.products, row.dtype)
        row.limit_s, row.bound = max((traffic, "memory"), (arithmetic, "arithmetic"))
        row.of_limit = row.limit_s / row.ours_s
        wanted = attention if row.group == "attention" else 1.0
        if row.x_torch is not None and row.x_torch < wanted * 0.995:
            row.missed.append(f">= {wanted:g}x torch")
        large = row.group in STREAMING and row.reads + row.writes > 16 * MIB
        if (large or row.decode) and row.of_limit < 0.85:
            row.missed.append(">= 85 % of limit")
        plain = exact.get((row.group, row.name, row.shape))
        if (
            row.group == "gemm"
            and row.dtype not in ("F32", *native_products())
            and plain
            and plain.ours_s < 0.8 * row.ours_s
        ):
            row.missed.append(">= 0.8 of F32's rate")


def native_rates(tensors: Tensors, machine: Machine, pace: Pace) -> None:
    """Multiply-adds of types that the CPU has instructions for: a large product of ours or
    torch's, whichever is faster."""
    size = 2048
    for dtype in sorted(native_products()):
        a, b, c, d = (tensors.normal(size, size, dtype=dtype) for _ in range(4))
        plan = tensors.op.describe("gemm", a, b, out=c)
        ours = lambda p=plan, a=a, b=b, c=c: p(c, a, b)  # noqa: E731
        theirs = lambda a=a, b=b, d=d: tensors.torch.mm(a, b, out=d)  # noqa: E731
        machine.products[dtype] = size**3 / min(
            duel([ours, theirs], [first(ours), first(theirs)], pace)
        )


def commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def is_slow(case: Case) -> bool:
    """Whether torch takes seconds: products of types that the CPU has no instructions for."""
    products = case.group in ("gemm", "conv") or "prefill" in case.name
    wide = case.dtype == "F32" or case.dtype in native_products()
    return not wide and (products or (case.group == "gemv" and case.dtype == "F16"))


def chosen(only: Sequence[str], dtype: str, quick: bool = False) -> Iterable[Case]:
    patterns = [f"*{pattern.lower()}*" for pattern in only]
    for case in (*walking(), *computing()):
        fits = any(fnmatch.fnmatchcase(case.title.lower(), pattern) for pattern in patterns)
        if fits and dtype in ("", case.dtype) and not (quick and is_slow(case)):
            yield case


def measured(options: argparse.Namespace) -> dict[str, Any]:
    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the library is loaded
    import torch

    import infinicore
    from infinicore import op, rt

    rt.set_kind("cpu")
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    pace = QUICK if options.quick else FULL
    native, machine, tensors = Native(), Machine(options.threads), Tensors(torch, op)
    measure(native, machine, options.quick)
    native_rates(tensors, machine, pace)
    cases, rows = list(chosen(options.only, options.dtype, options.quick)), []
    for i, case in enumerate(cases):
        print(f"\r{i + 1}/{len(cases)} {case.title}\033[K", end="", file=sys.stderr, flush=True)
        try:
            rows.append(run(case, tensors, pace))
        except Exception as error:  # one that fails must not hide the others
            sentence = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(Row(case.group, case.name, case.shape, case.dtype, failed=sentence))
        if i % 50 == 49 or i + 1 == len(cases):
            measure(native, machine, options.quick)
    print("\r\033[K", end="", file=sys.stderr, flush=True)
    judge(rows, machine)
    return {
        "machine": f"{cpu_name()}, {platform.machine()}, {options.threads} threads",
        "architecture": platform.machine(),
        "infinicore": infinicore.__version__,
        "commit": options.commit or commit(),
        "torch": torch.__version__,
        "limits": asdict(machine),
        "rows": [asdict(row) for row in rows],
    }


def is_of_device(path: Path) -> bool:
    return "device" in json.loads(path.read_text())


def on_device(options: argparse.Namespace) -> int:
    import device
    import device_report

    if options.worker:
        device.work(options)
        return 0
    if options.files:
        runs = [json.loads(path.read_text()) for path in options.files]
    else:
        runs = [device.measured(options, options.commit or commit())]
    for run in runs:
        print(device_report.text(run))
        if options.markdown:
            device_report.write(run, options.markdown)
    if options.json and not options.files:
        options.json.write_text(json.dumps(runs[0], indent=1) + "\n")
    return any(row.get("failed") or row.get("differs") for run in runs for row in run["rows"])


def main() -> int:
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    processors = len(os.sched_getaffinity(0))
    rows = "rows that fit one of these: 'group/name shape type'"
    parser.add_argument("--only", default=[""], nargs="+", metavar="PATTERN", help=rows)
    parser.add_argument("--dtype", default="", choices=("", "F32", "BF16", "F16"))
    parser.add_argument("--threads", type=int, default=processors, help="of both sides")
    parser.add_argument(
        "--quick", action="store_true", help="short measurements, no row that takes torch seconds"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables, or renew a page's")
    parser.add_argument("--chart", type=Path, help="draw the speed-ups (PNG needs matplotlib)")
    parser.add_argument("--commit", default="", help="what was measured, where git does not know")
    files = {"dest": "files", "nargs": "+", "type": Path, "metavar": "JSON"}
    parser.add_argument("--from", **files, help="report these instead of measuring")
    accelerator = parser.add_argument_group("on an accelerator (see device.py)")
    accelerator.add_argument("--device", default="cpu", help="kind of device: nvidia")
    names = lambda text: [each for each in text.split(",") if each]  # noqa: E731
    accelerator.add_argument(
        "--rows", type=names, default=[], help="parts of rows' names: add,topk"
    )
    accelerator.add_argument("--all", action="store_true", help="more rows than the usual ones")
    accelerator.add_argument("--tiny", action="store_true", help="few elements: to try the program")
    accelerator.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    accelerator.add_argument("--done", type=json.loads, default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.device != "cpu" or (options.files and is_of_device(options.files[0])):
        return on_device(options)

    if options.files:
        runs = [json.loads(path.read_text()) for path in options.files]
    else:
        runs = [measured(options)]
        print(report.text(runs[0]))
    if options.json and not options.files:
        options.json.write_text(json.dumps(runs[0], indent=1) + "\n")
    chart = report.draw(runs, options.chart) if options.chart else None
    if options.markdown:
        report.write_markdown(runs, options.markdown, chart)
    return any(row["failed"] for one in runs for row in one["rows"])


if __name__ == "__main__":
    sys.exit(main())
