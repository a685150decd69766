"""`benchmarks/operators.py --device KIND`: operators on an accelerator, side by side with torch.

Device time is that of replaying a graph (infinicore's recorded one; torch's CUDAGraph) over sets of
tensors that together exceed the caches, in alternating rounds; the best round counts. Host time is
the wall clock of calls that are not waited for. The limits are a copy of 1 GiB and a large product,
of whichever side is faster. Rows are measured in a process of their own, which is started again
when one of them breaks the device.

    python benchmarks/operators.py --device nvidia                          # the rows of the issue
    python benchmarks/operators.py --device nvidia --rows add,softmax       # some, by name
    python benchmarks/operators.py --device nvidia --all --json h200.json   # and the others
    python benchmarks/operators.py --from h200.json --markdown docs/performance.md
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from device_cases import BYTES, Case, Set, Way, all_cases
from device_clocks import Device, best_of, ours_replayed, theirs_replayed
from device_host import host_rows

CACHE = 192 << 20  # bytes that a round goes over at least
MOST_SETS = 48
ROW_SECONDS = 60  # then a row counts as hanging


def run_case(device: Device, case: Case, budget: float) -> dict[str, Any]:
    size = sum(BYTES[d] * math.prod(s) for s, d in case.tensors.values())
    count = 1 if device.tiny else min(max(1, math.ceil(CACHE / size)), MOST_SETS)
    sets = [device.tensors(case) for _ in range(count)]
    repeats = max(1, 8 // count)
    row: dict[str, Any] = {"title": case.title, "unit": case.unit, "figure": case.figure}
    row |= {"moved": case.moved, "flops": case.flops, "issue": case.issue, "others": {}}
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
    row["ours_s"] = times.pop("ours")
    row["others"] |= times
    if times:
        row["against"], row["theirs_s"] = min(times.items(), key=lambda item: item[1])
        if case.tolerance is not None:
            way = dict(case.theirs)[row["against"]]
            row["differs"] = _differ(device, case, way, *sets[0])
    return row


def _differ(device: Device, case: Case, way: Way, ours: Set, theirs: Set) -> bool:
    """Whether results are so far apart that the figures mean nothing."""
    torch = device.torch
    expected = way(theirs)
    expected = expected[0] if isinstance(expected, tuple) else expected
    expected = expected.double().clone()  # `out` may be one memory of both sides
    made = case.ours(ours)
    made = made[0] if isinstance(made, tuple) else made
    device.ic.sync_stream()
    got = torch.from_dlpack(made).double()
    device.wait()
    limit = (case.tolerance or 0.0) * (1 + expected.abs())
    return bool(((got - expected).abs() > limit).any().item())


# ---- Limits --------------------------------------------------------------------------------------


def limits_of(device: Device) -> dict[str, float]:
    """Bytes per second of a copy, and operations per second of a product."""
    size = 256 if device.tiny else 8192
    wide = dict.fromkeys(("x", "out"), ((4 * size, 4 * size // 2), "bf16"))
    copy = Case(
        "copy",
        "",
        "bf16",
        wide,
        lambda t: t["out"].copy_(t["x"]),
        [("copy_", lambda t: t["out"].copy_(t["x"]))],
        moved=2 * 2 * 8 * size * size,
    )
    square = dict.fromkeys(("x", "w", "out"), ((size, size), "bf16"))
    product = Case(
        "product",
        "",
        "bf16",
        square,
        lambda t: device.ic.nn.functional.linear(t["x"], t["w"], out=t["out"]),
        [("mm", lambda t: device.torch.mm(t["x"], t["w"].T, out=t["out"]))],
        flops=2.0 * size**3,
        tolerance=None,
    )
    found = {}
    for name, case, amount in (
        ("copy", copy, copy.moved),
        ("product", product, product.flops),
    ):
        try:
            row = run_case(device, case, 0.1)
            found[name] = amount / min(row["ours_s"], row.get("theirs_s", math.inf))
        except Exception as error:
            found[name] = 0.0
            print(json.dumps({"failed": f"limit of a {name}: {_sentence(error)}"}), flush=True)
    return found


# ---- The process that measures -------------------------------------------------------------------


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def work(options: argparse.Namespace) -> None:
    """Prints a line of JSON for each row, before and after it."""
    device = Device(options.device, options.tiny)
    facts: dict[str, Any] = {"infinicore": device.ic.__version__, "machine": _machine(device)}
    facts["torch"] = device.torch.__version__ if device.torch else "none for this device"
    print(json.dumps({"facts": facts}), flush=True)
    done = set(options.done)
    if "limits" not in done:
        print(json.dumps({"begin": "limits"}), flush=True)
        print(json.dumps({"limits": limits_of(device)}), flush=True)
    rows: dict[str, Callable[[], dict[str, Any]]] = {}
    budget = 0.0 if options.tiny else 0.25
    for case in all_cases(device.ic, device.torch, options.tiny):
        if options.all or case.issue or options.rows:
            rows[case.title] = lambda case=case: run_case(device, case, budget)
    rows |= host_rows(device)
    for title, measure in rows.items():
        if title in done or not _wanted(title, options.rows):
            continue
        print(json.dumps({"begin": title}), flush=True)
        try:
            row = measure()
        except Exception as error:
            row = {"title": title, "failed": _sentence(error)}
        print(json.dumps({"row": {**row, "key": title}}), flush=True)
        gc.collect()
        device.ic.trim_memory()
        try:
            if device.torch is not None:
                device.torch.cuda.empty_cache()
            device.wait()
        except Exception as error:  # nothing works any more in this process
            print(json.dumps({"broken": _sentence(error)}), flush=True)
            return
    print(json.dumps({"end": True}), flush=True)


def _wanted(title: str, names: Sequence[str]) -> bool:
    return not names or any(name.lower() in title.lower() for name in names)


def _machine(device: Device) -> str:
    if device.torch is not None:
        return str(device.torch.cuda.get_device_name())
    from infinicore import rt

    try:
        return str(rt.Device().name)
    except Exception:
        return str(device.ic.get_default_device())


# ---- The process that asks -----------------------------------------------------------------------


def measured(options: argparse.Namespace, commit: str) -> dict[str, Any]:
    run: dict[str, Any] = {"device": options.device, "commit": commit, "rows": [], "limits": {}}
    done: list[str] = []
    for _ in range(12):  # so many rows may break the device
        begun = _attend(options, done, run)
        if begun is None:
            break
        run["rows"].append({"title": begun[0], "failed": begun[1]})
        if begun[0] == "start":
            break
        done.append(begun[0])
    return run


def _attend(options: argparse.Namespace, done: list[str], run: dict[str, Any]) -> Any:
    """Starts a process for what is left; None, or the row that it did not survive and why."""
    command = [sys.executable, str(Path(__file__).with_name("operators.py"))]
    command += ["--device", options.device, "--worker", "--rows", ",".join(options.rows)]
    command += ["--all"] * options.all + ["--tiny"] * options.tiny
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
