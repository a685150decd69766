"""Fourier transforms and linear algebra on an accelerator, compared with torch.

The rows are those of operators.py on the CPU. Neither side is replayed from a graph: torch's
solvers read results on the host, which a graph cannot hold. Both sides are called as users call
them, and the time is that of the calls and of waiting for the last one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from device_clocks import LEAST, Device, best_of
from operator_cases import Case
from operator_cases_factors import factoring


def factor_rows(device: Device) -> dict[str, Callable[[], dict[str, Any]]]:
    if device.torch is None:  # the rows use torch's tensors
        return {}
    cases = [case for case in factoring() if not device.tiny or "1024" not in case.shape]
    return {
        f"{case.group}.{case.name} {case.shape} {case.dtype}": lambda case=case: _row(device, case)
        for case in cases
    }


def _row(device: Device, case: Case) -> dict[str, Any]:
    title = f"{case.group}.{case.name} {case.shape} {case.dtype}"
    with device.torch.device("cuda"):
        work = case.build(SimpleNamespace(torch=device.torch))
    device.wait()
    if wrong := work.check():
        return {"group": case.group, "title": title, "failed": wrong}
    label, theirs = work.theirs[0]
    clocks = {"ours": _clock(device, work.ours), label: _clock(device, theirs)}
    times = best_of(clocks, 0.0 if device.tiny else 0.2)
    row = {"group": case.group, "title": title, "unit": "us", "flops": 0.0}
    row |= {"reads": work.reads, "writes": work.writes, "against": label}
    return {**row, "ours_s": times["ours"], "theirs_s": times[label]}


def _clock(device: Device, call: Callable[[], Any]) -> Callable[[], float]:
    def seconds(calls: int) -> float:
        device.wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        device.wait()
        return (time.perf_counter() - begin) / calls

    seconds(1)  # kernels are compiled, libraries are opened
    calls = min(max(1, math.ceil(LEAST / seconds(1))), 100)
    return lambda: seconds(calls)
