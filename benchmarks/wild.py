"""`benchmarks/operators.py --wild N`: N random cases over all operators that torch has, too.

Operator, dtype, sizes (log-uniform, to 32 MiB), ranks and strides are random; results are compared
with the tests' tolerances, then both sides are timed in alternating rounds with as many threads.
The worst cases come first, each with the line that repeats it. Cases run in a process of their own:
one that crashes or hangs is a line of the report.

    python benchmarks/operators.py --wild 60                                  # a new seed
    python benchmarks/operators.py --wild 500 --seed 7 --budget 300 --json wild.json
    python benchmarks/operators.py --wild 1 --only 'softmax/float32/3/81726/1048576'    # or several
    python benchmarks/operators.py --wild 200 --device nvidia
"""

from __future__ import annotations

import argparse
import collections
import functools
import gc
import json
import math
import os
import queue
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASE_SECONDS = 60  # after this a case counts as hanging
TORCH_SECONDS = 0.03  # a case is made smaller until torch takes no longer
ROUNDS, ROUND_SECONDS, CASE_BUDGET = 5, 0.002, 0.4
SLOWER, MUCH_SLOWER = 0.995, 0.8
TRIES = 40  # at a case that torch accepts
# Any index of equal elements is right.
TIES = ("sort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian")


# ---- The process that measures -------------------------------------------------------------------


class Side:
    """The device, and how to wait for it."""

    def __init__(self, kind: str, threads: int) -> None:
        import torch

        import infinicore

        self.torch, self.ic = torch, infinicore
        torch.set_grad_enabled(False)
        torch.set_num_threads(threads)
        if kind == "cpu":
            infinicore.rt.set_kind(kind)
        else:
            infinicore.set_device(kind)
            infinicore.set_default_device(kind)
            torch.backends.cuda.matmul.allow_tf32 = False
            torch._C._set_cudnn_allow_tf32(False)  # the public flag is locked by torch.testing
        self.device = "cpu" if kind == "cpu" else "cuda"

    def wait(self) -> None:
        if self.device != "cpu":
            self.ic.sync_device()
            self.torch.cuda.synchronize()

    def seconds(self, call: Callable[[], Any], repeats: int) -> float:
        self.wait()
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        self.wait()
        return (time.perf_counter() - begin) / repeats

    def timed(self, calls: list[Callable[[], Any]]) -> list[float]:
        """The best round of each. Before a round the threads of the other side fall asleep: they
        spin for milliseconds first."""
        best = [min(self.seconds(call, 1), self.seconds(call, 1)) for call in calls]
        begin = time.perf_counter()
        for done in range(ROUNDS):
            if done >= 2 and time.perf_counter() - begin > CASE_BUDGET:
                break
            for i, call in enumerate(calls):
                if best[i] > CASE_BUDGET:
                    continue
                time.sleep(0.01)
                self.seconds(call, max(1, min(20, math.ceil(0.0005 / best[i]))))
                repeats = min(max(1, math.ceil(ROUND_SECONDS / best[i])), 2000)
                best[i] = min(best[i], self.seconds(call, repeats))
        return best


def difference(side: Side, operator: Any, call: Any, expected: Any, made: Any) -> str:
    """What is wrong with our results: tolerances of the tests, else no further from the result in
    double precision than torch's. Of random results only the shape is compared."""
    import checks

    from opdb import compare
    from opdb.samples import mapped, to_theirs

    structure = compare._structure(expected, made)
    ours = list(compare.leaves(mapped(to_theirs, made)))
    if structure and structure[0] != "dtype":
        return ": ".join(structure)
    theirs = list(compare.leaves(expected))
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, side.torch.Tensor):
            if operator.name in TIES and not a.dtype.is_floating_point:
                continue
            if a.dtype.itemsize == 2:  # where torch overflows in between, and we do not
                b = b.where(a.isfinite(), a) if a.dtype.is_floating_point else b
            wrong = checks.difference(b.to(a.dtype), a)
            if wrong:
                same = functools.partial(compare._values, operator, call, lambda each: each)
                worse = same(expected, mapped(to_theirs, made))
                return f"{wrong}: {worse[1]}" if worse else ""
    return ""


def is_view(side: Side, call: Any, result: Any) -> bool:
    from opdb import compare

    held = {each.untyped_storage().data_ptr() for each in compare.tensors(call)}
    made = [each for each in compare.leaves(result) if isinstance(each, side.torch.Tensor)]
    return not made or any(each.untyped_storage().data_ptr() in held for each in made)


def measure(side: Side, case: Any, exact_size: bool) -> dict[str, Any]:
    import wild_cases

    from opdb import compare
    from opdb.samples import operators, our_call

    operator = operators()[case.operator]

    def runs(call: Any) -> float:
        run = functools.partial(compare.run, operator.theirs, call)
        once = side.seconds(run, 1)
        return once if once > TORCH_SECONDS else side.seconds(run, 1)

    if exact_size:
        attempt = wild_cases.first_accepted(case, side.device, runs)
    else:
        case, attempt = wild_cases.largest(case, side.device, runs, TORCH_SECONDS)
    call = wild_cases.build(case, attempt, side.device)
    expected = compare.run(operator.theirs, call)
    if is_view(side, call, expected):
        raise wild_cases.NotMeasuredError(f"{case.line}: a view")
    row = {"case": case.line, "call": f"{operator.name}({wild_cases.text(call)})", "failed": ""}
    print(json.dumps({"begin": row["call"], "case": case.line}), flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        side.wait()  # torch's stream has made the tensors
        given = our_call(call)
        try:
            made = operator.ours(given.input, *given.args, **given.kwargs)
            side.wait()
        except Exception as error:
            return {**row, "failed": f"refused: {_sentence(error)}"}
        if wrong := difference(side, operator, call, expected, made):
            return {**row, "failed": wrong}
        del expected, made
        ours, theirs = side.timed(
            [
                functools.partial(operator.ours, given.input, *given.args, **given.kwargs),
                functools.partial(operator.theirs, call.input, *call.args, **call.kwargs),
            ]
        )
    return {**row, "ours_s": ours, "theirs_s": theirs}


def work(options: argparse.Namespace) -> None:
    """Prints a line of JSON for each case, before and after it."""
    os.environ["INFINI_NUM_THREADS"] = str(options.threads)  # before the library is loaded
    import wild_cases

    side = Side(options.device, options.threads)
    versions = {"torch": side.torch.__version__, "threads": options.threads}
    print(json.dumps({"facts": versions}), flush=True)
    given = [wild_cases.parsed(line) for line in options.only]
    for index in range(options.first, options.wild):
        rng = random.Random(f"{options.seed} {index}")
        for _ in range(TRIES):
            line = f"case {index}"
            try:
                case = given[index] if given else wild_cases.random_case(rng, side.device)
                line = case.line
                print(json.dumps({"begin": line, "case": line, "index": index}), flush=True)
                row = measure(side, case, bool(given))
            except wild_cases.NotMeasuredError as error:
                if not given:
                    continue
                row = {"case": line, "call": line, "failed": str(error)}
            except Exception as error:
                row = {"case": line, "call": line, "failed": _sentence(error)}
            print(json.dumps({"row": {**row, "index": index}}), flush=True)
            break
        gc.collect()
        if side.device != "cpu":
            side.ic.trim_memory()
            side.torch.cuda.empty_cache()
    print(json.dumps({"end": True}), flush=True)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


# ---- The controlling process
# -----------------------------------------------------------------------


class Run:
    """The results so far, and the process that produces more."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.rows, self.facts = options, [], {}
        self.first = 0
        self.end = time.monotonic() + options.budget if options.budget else math.inf

    def attend(self) -> bool:
        """Starts a process for the remaining cases; returns whether another one is needed."""
        given = self.options
        command = [sys.executable, str(Path(__file__).with_name("operators.py")), "--worker"]
        command += ["--wild", str(given.wild), "--seed", str(given.seed), "--device", given.device]
        command += ["--threads", str(given.threads), "--first", str(self.first)]
        command += ["--only", ",".join(given.only)] if given.only else []
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, errors="replace")
        self.last_words: collections.deque[str] = collections.deque(maxlen=3)
        threading.Thread(target=self._overhear, args=(process,), daemon=True).start()
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, args=(process, lines), daemon=True).start()
        self.begun: dict[str, Any] = {"begin": "the start", "case": "the start"}
        try:
            return self._listen(process, lines)
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _read(process: Any, lines: queue.Queue[str | None]) -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    def _overhear(self, process: Any) -> None:
        for line in process.stderr:
            if line.strip():
                self.last_words.append(line.strip()[:200])

    def _listen(self, process: Any, lines: queue.Queue[str | None]) -> bool:
        while True:
            left = self.end - time.monotonic()
            try:
                line = lines.get(timeout=max(0.01, min(CASE_SECONDS, left)))
            except queue.Empty:
                if left <= CASE_SECONDS:
                    return False  # the budget is spent
                in_torch = "index" in self.begun and self.begun["begin"] == self.begun["case"]
                side = " from torch" if in_torch else ""
                return self._lost(f"no answer{side} for {CASE_SECONDS} s")
            if line is None:
                code = process.wait()
                time.sleep(0.1)  # its last output arrives
                return self._lost(f"the process ended with {code}: {' | '.join(self.last_words)}")
            try:
                said = json.loads(line)
            except ValueError:
                continue
            self.facts |= said.get("facts", {})
            if "begin" in said:
                self.begun |= said
            if "row" in said:
                self.add(said["row"])
            if "end" in said:
                return False

    def _lost(self, why: str) -> bool:
        index = self.begun.get("index")
        row = {"case": self.begun["case"], "call": self.begun["begin"], "failed": why}
        self.add({**row, "index": self.first if index is None else index})
        return index is not None and self.first < self.options.wild

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.first = row["index"] + 1
        print(f"{self.first}/{self.options.wild} {line_of(row)}", file=sys.stderr, flush=True)


def ratio(row: dict[str, Any]) -> float:
    return float(row["theirs_s"] / row["ours_s"])


def line_of(row: dict[str, Any]) -> str:
    if row["failed"]:
        return f"FAILED {row['call']}: {row['failed']}   --only '{row['case']}'"
    ours, theirs = 1e6 * row["ours_s"], 1e6 * row["theirs_s"]
    times = f"{ratio(row):6.2f} {ours:10.1f} us, torch {theirs:10.1f} us"
    return f"{times}  {row['call']}   --only '{row['case']}'"


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [ratio(row) for row in rows if not row["failed"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0
    return {
        "cases": len(ratios),
        "failed": len(rows) - len(ratios),
        "mean": mean,
        "worst": min(ratios, default=0.0),
        "slower": sum(each < SLOWER for each in ratios),
        "much_slower": sum(each < MUCH_SLOWER for each in ratios),
    }


def worst(run: dict[str, Any], least: int = 20) -> list[dict[str, Any]]:
    """The rows that failed, then the slowest ones: all below 1.0, and at least this many."""
    rows = sorted((row for row in run["rows"] if not row["failed"]), key=ratio)
    failed = [row for row in run["rows"] if row["failed"]]
    return failed + rows[: max(least, run["summary"]["slower"])]


def text(run: dict[str, Any]) -> str:
    found = run["summary"]
    head = f"--wild {run['wild']} --seed {run['seed']} on {run['device']}, {run['threads']} threads"
    lines = [f"{head}, torch {run.get('torch', '?')}; x torch, worst first:"]
    lines += map(line_of, worst(run))
    count = max(found["cases"], 1)
    lines.append(
        f"{found['cases']} cases: geometric mean {found['mean']:.2f} x torch, worst "
        f"{found['worst']:.2f}; below 1.0: {found['slower']} ({found['slower'] / count:.1%}), "
        f"below {MUCH_SLOWER}: {found['much_slower']}; failed or different: {found['failed']}; "
        f"seed {run['seed']}"
    )
    return "\n".join(lines)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {options.seed}", file=sys.stderr, flush=True)
    if options.only:
        options.wild = len(options.only)
    run = Run(options)
    while run.first < options.wild and time.monotonic() < run.end and run.attend():
        pass
    known = {"wild": options.wild, "seed": options.seed, "device": options.device}
    found = {**known, "threads": options.threads, **run.facts, "rows": run.rows}
    return {**found, "summary": summary(run.rows)}
