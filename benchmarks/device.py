"""`benchmarks/operators.py --device KIND`: operators on an accelerator, side by side with torch.

Device time is that of replaying a graph (infinicore's recorded one; torch's CUDAGraph) over sets of
tensors that together exceed the caches, in alternating rounds; the best round counts. Host time is
the wall clock of calls that are not waited for. The limits are the best of several ways to copy,
read, write and multiply, by either side. Rows are measured in a process of their own, which is
started again when one of them breaks the device. A row whose result differs from torch's has no
figure.

    python benchmarks/operators.py --device nvidia --json h200.json         # all rows
    python benchmarks/operators.py --device nvidia --rows add,softmax       # some, by name
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checks
from device_cases import BYTES, Case, Set, Way, all_cases
from device_clocks import Device, best_of, ours_replayed, theirs_replayed
from device_factors import factor_rows
from device_host import host_rows
from report import wanted

CACHE = 192 << 20  # the least number of bytes of a round
MOST_SETS = 48
ROW_SECONDS = 60  # after this a row counts as hanging


def run_case(device: Device, case: Case, budget: float) -> dict[str, Any]:
    size = sum(BYTES[d] * math.prod(s) for s, d in case.tensors.values())
    count = 1 if device.tiny else min(max(1, math.ceil(CACHE / size)), MOST_SETS)
    sets = [device.tensors(case) for _ in range(count)]
    repeats = max(1, 8 // count)
    row: dict[str, Any] = {"group": case.group, "title": case.title, "unit": case.unit}
    row |= {"reads": case.reads, "writes": case.writes, "flops": case.flops, "others": {}}
    clocks: dict[str, Callable[[], float]] = {}
    clocks["ours"] = ours_replayed(device, case.ours, [ours for ours, _ in sets], repeats)
    if device.torch is not None:
        for label, way in case.theirs:
            try:
                given = [theirs for _, theirs in sets]
                clocks[label] = theirs_replayed(device, way, given, repeats)
            except Exception as error:
                row["others"][label] = str(error).splitlines()[0][:100] if str(error) else "failed"
                device.wait()
    times = best_of(clocks, budget)
    ours = times.pop("ours")
    row["others"] |= times
    row["against"], row["theirs_s"] = min(
        times.items(), key=lambda item: item[1], default=("", None)
    )
    if times and (wrong := _difference(device, case, dict(case.theirs)[row["against"]], *sets[0])):
        return {"group": case.group, "title": case.title, "failed": wrong}
    return {**row, "ours_s": ours}


def _difference(device: Device, case: Case, way: Way, ours: Set, theirs: Set) -> str:
    """What is wrong with our result. Of several results the first is compared."""
    torch = device.torch
    expected = way(theirs)
    expected = expected[0] if isinstance(expected, tuple) else expected
    expected = expected.clone()  # `out` may be one memory of both sides
    made = case.ours(ours)
    made = made[0] if isinstance(made, tuple) else made
    device.ic.sync_stream()
    got = torch.from_dlpack(made)
    device.wait()
    if case.picks:
        source = theirs[case.picks]
        got, expected = (source.gather(-1, each.long()[..., None]) for each in (got, expected))
    return checks.difference(got, expected, case.close)


# ---- Limits --------------------------------------------------------------------------------------


def limits_of(device: Device) -> dict[str, float]:
    """Bytes per second of a copy, of reading, of writing, and operations per second of a product:
    the best of both sides, for products also of several shapes."""
    ic, torch = device.ic, device.torch
    size = 256 if device.tiny else 8192
    wide = ((4 * size, 4 * size // 2), "bf16")  # 1 GiB
    amount = 2.0 * 8 * size * size
    ways: list[tuple[str, Case]] = []

    def add(name: str, tensors: Any, ours: Way, theirs: Way, **amounts: float) -> None:
        ways.append(
            (name, Case(name, "", "", "bf16", tensors, ours, [("torch", theirs)], **amounts))
        )

    copy = lambda t: t["out"].copy_(t["x"])  # noqa: E731
    add("copy", {"x": wide, "out": wide}, copy, copy, reads=amount, writes=amount)
    fold = {"x": wide, "out": ((wide[0][0],), "bf16")}
    add(
        "read",
        fold,
        lambda t: ic.sum(t["x"], dim=-1, out=t["out"]),
        lambda t: torch.sum(t["x"], dim=-1, out=t["out"]),
        reads=amount,
    )
    fill = lambda t: t["out"].fill_(1.0)  # noqa: E731
    add("write", {"out": wide}, fill, fill, writes=amount)
    for m, n, k in ((size, size, size), (size // 2, size // 2, size // 2), (size, size, size // 2)):
        tensors = {"x": ((m, k), "bf16"), "w": ((n, k), "bf16"), "out": ((m, n), "bf16")}
        add(
            "product",
            tensors,
            lambda t: ic.nn.functional.linear(t["x"], t["w"], out=t["out"]),
            lambda t: torch.mm(t["x"], t["w"].T, out=t["out"]),
            flops=2.0 * m * n * k,
        )
    found: dict[str, float] = {}
    for name, case in ways:
        try:
            row = run_case(device, case, 0.1)
            if row.get("failed"):
                raise RuntimeError(row["failed"])
            best = min(row["ours_s"], row["theirs_s"] or math.inf)
            found[name] = max(found.get(name, 0.0), (case.reads + case.writes + case.flops) / best)
        except Exception as error:
            print(json.dumps({"failed": f"limit of a {name}: {_sentence(error)}"}), flush=True)
    return found


# ---- The process that measures -------------------------------------------------------------------


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def work(options: argparse.Namespace) -> None:
    """Prints a line of JSON for each row, before and after it."""
    device = Device(options.device, options.tiny)
    facts = {"processor": _name(device)}
    facts["torch"] = device.torch.__version__ if device.torch else "none for this device"
    print(json.dumps({"facts": facts}), flush=True)
    done = set(options.done)
    if "limits" not in done:
        print(json.dumps({"begin": "limits"}), flush=True)
        print(json.dumps({"limits": limits_of(device)}), flush=True)
    rows: dict[str, Callable[[], dict[str, Any]]] = {}
    budget = 0.0 if options.tiny else 0.25
    for case in all_cases(device.ic, device.torch, options.tiny):
        rows[case.title] = lambda case=case: run_case(device, case, budget)
    rows |= factor_rows(device)
    rows |= host_rows(device)
    for title, measure in rows.items():
        if title in done or not wanted(title, options.rows):
            continue
        print(json.dumps({"begin": title}), flush=True)
        try:
            row = measure()
        except Exception as error:
            row = {"group": "failed", "title": title, "failed": _sentence(error)}
        print(json.dumps({"row": {**row, "key": title}}), flush=True)
        gc.collect()
        device.ic.trim_memory()
        try:
            if device.torch is not None:
                device.torch.cuda.empty_cache()
            device.wait()
        except Exception as error:  # this process cannot use the device any more
            print(json.dumps({"broken": _sentence(error)}), flush=True)
            return
    print(json.dumps({"end": True}), flush=True)


def _name(device: Device) -> str:
    if device.torch is not None:
        return str(device.torch.cuda.get_device_name())
    from infinicore import rt

    try:
        return str(rt.Device().name)
    except Exception:
        return str(device.ic.get_default_device())


# ---- The controlling process
# -----------------------------------------------------------------------


def measured(options: argparse.Namespace) -> dict[str, Any]:
    run: dict[str, Any] = {"device": options.device, "rows": [], "limits": {}}
    done: list[str] = []
    for _ in range(12):  # the most rows that may break the device
        begun = _attend(options, done, run)
        if begun is None:
            break
        run["rows"].append({"group": "failed", "title": begun[0], "failed": begun[1]})
        if begun[0] == "start":
            break
        done.append(begun[0])
    return run


def _attend(options: argparse.Namespace, done: list[str], run: dict[str, Any]) -> Any:
    """Starts a process for the remaining rows; None, or the row that crashed it and why."""
    command = [sys.executable, str(Path(__file__).with_name("operators.py"))]
    command += ["--device", options.device, "--worker", "--rows", ",".join(options.rows)]
    command += ["--tiny"] * options.tiny
    command += ["--done", json.dumps(done)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    begun = "start"
    while True:
        try:
            line = lines.get(timeout=ROW_SECONDS)
        except queue.Empty:
            process.kill()
            return begun, f"no answer for {ROW_SECONDS} s"
        if line is None:
            return begun, f"the process ended with {process.wait()}"
        try:
            said = json.loads(line)
        except ValueError:
            print(line, end="")
            continue
        begun = said.get("begin", begun)
        run |= said.get("facts", {})
        if "limits" in said:
            run["limits"] = said["limits"]
            done.append("limits")
        if "row" in said:
            row = said["row"]
            done.append(row.pop("key"))
            run["rows"].append(row)
            begun = "what comes next"
            print(f"  {row['title']}: {row.get('failed') or _time(row)}", file=sys.stderr)
        if "failed" in said:
            print(said["failed"], file=sys.stderr)
        if "broken" in said:
            process.wait()
            return f"(after {done[-1]})", f"the device is lost: {said['broken']}"
        if "end" in said:
            process.wait()
            return None


def _time(row: dict[str, Any]) -> str:
    ratio = f", {row['theirs_s'] / row['ours_s']:.2f}x torch" if row.get("theirs_s") else ""
    return f"{row['ours_s'] * 1e6:.4g} us{ratio}"
