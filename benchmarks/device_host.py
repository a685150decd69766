"""The host time of calls, and of replaying a graph of small kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import checks
from device_cases import Case
from device_clocks import Device, best_of, ours_replayed, theirs_replayed

HOST_CALLS = 300  # fewer than a device's queue holds


def host_rows(device: Device) -> dict[str, Callable[[], dict[str, Any]]]:
    ic, torch = device.ic, device.torch

    def pairs(*shapes: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
        if torch is None:
            return [ic.randn(*shape) for shape in shapes], []
        theirs = [torch.randn(*shape, device="cuda") for shape in shapes]
        return [ic.from_torch(each) for each in theirs], theirs

    square = (64, 64)
    (x, y, z), given = pairs(square, square, square)
    (w,), (v, *_) = (lambda p: (p[0], p[1] or [None]))(pairs((64,)))
    a, b, c = given or (None, None, None)
    norm = ic.nn.functional.rms_norm
    calls: dict[str, tuple[Any, Any]] = {
        "add, out=": (lambda: ic.add(x, y, out=z), lambda: torch.add(a, b, out=c)),
        "add": (lambda: ic.add(x, y), lambda: torch.add(a, b)),
        "mm": (lambda: ic.mm(x, y), lambda: torch.mm(a, b)),
        "rms_norm": (
            lambda: norm(x, (64,), w, 1e-5),
            lambda: torch.nn.functional.rms_norm(a, (64,), v, 1e-5),
        ),
        "x * 0.5": (lambda: x * 0.5, lambda: a * 0.5),
        "silu": (
            lambda: ic.nn.functional.silu(x),
            lambda: torch.nn.functional.silu(a),
        ),
    }

    def wall(call: Any) -> float:
        for _ in range(20):
            call()
        device.wait()
        begin = time.perf_counter()
        for _ in range(HOST_CALLS):
            call()
        took = (time.perf_counter() - begin) / HOST_CALLS
        device.wait()
        return took

    def row(name: str) -> dict[str, Any]:
        ours, theirs = calls[name]
        if torch is not None:
            made = ours()
            device.ic.sync_stream()
            got = torch.from_dlpack(made).clone()  # `out` may be one memory of both sides
            if wrong := checks.difference(got, theirs()):
                return {"group": "host", "title": f"host time of {name}", "failed": wrong}
        clocks = {"ours": lambda: wall(ours)}
        if torch is not None:
            clocks["torch"] = lambda: wall(theirs)
        times = best_of(clocks, 0.0 if device.tiny else 0.3)
        return host_row(f"host time of {name}", times["ours"], "torch", times.get("torch"))

    rows: dict[str, Callable[[], dict[str, Any]]] = {
        f"host {name}": (lambda name=name: row(name)) for name in calls
    }
    rows["100-node graph"] = lambda: graph_row(device)
    return rows


def graph_row(device: Device) -> dict[str, Any]:
    """The cost of a replay of 100 small launches."""
    case = Case(
        "host",
        "add",
        "64x64",
        "f32",
        dict.fromkeys(("x", "y", "out"), ((64, 64), "f32")),
        lambda t: device.ic.add(t["x"], t["y"], out=t["out"]),
        [("CUDAGraph", lambda t: device.torch.add(t["x"], t["y"], out=t["out"]))],
    )
    sets = [device.tensors(case) for _ in range(100)]
    ours = ours_replayed(device, case.ours, [each for each, _ in sets], 1)
    clocks: dict[str, Callable[[], float]] = {"ours": lambda: 100 * ours()}
    if device.torch is not None:
        theirs = theirs_replayed(device, case.theirs[0][1], [each for _, each in sets], 1)
        clocks["torch"] = lambda: 100 * theirs()
    times = best_of(clocks, 0.2)
    return host_row("100-node graph replay", times["ours"], "CUDAGraph", times.get("torch"))


def host_row(title: str, ours: float, against: str, theirs: float | None) -> dict[str, Any]:
    row = {"group": "host", "title": title, "unit": "us", "reads": 0, "writes": 0, "flops": 0}
    return {**row, "ours_s": ours, "against": against if theirs else "", "theirs_s": theirs}
