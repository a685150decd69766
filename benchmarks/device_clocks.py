"""Tensors on an accelerator for infinicore and torch, and the time that work on them takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from device_cases import Case, Set, Way

LEAST = 0.002  # seconds of a measurement
TYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "i64": "int64", "i32": "int32"}


class Device:
    """Tensors and clocks of both sides. Without torch for the device, there is one side."""

    def __init__(self, kind: str, tiny: bool) -> None:
        import infinicore

        self.ic, self.tiny = infinicore, tiny
        infinicore.set_device(kind)
        infinicore.set_default_device(kind)
        self.torch = _torch_for(infinicore.device(kind))
        infinicore.ones(8).sum().item()  # everything is loaded

    def tensors(self, case: Case) -> tuple[Set, Set]:
        """One set, for us and for torch: the same memory."""
        ours, theirs = {}, {}
        for name, (shape, dtype) in case.tensors.items():
            if self.torch is None:
                ours[name] = self._alone(shape, dtype, case.below)
                continue
            kind = getattr(self.torch, TYPES[dtype])
            if dtype[0] == "i":
                below = max(case.below, 1)
                made = self.torch.randint(0, below, shape, dtype=kind, device="cuda")
            else:
                made = self.torch.empty(shape, dtype=kind, device="cuda").normal_()
            theirs[name] = made
            ours[name] = self.ic.from_torch(made)
        return ours, theirs

    def _alone(self, shape: tuple[int, ...], dtype: str, below: int) -> Any:
        if dtype[0] == "i":
            return self.ic.randint(0, max(below, 1), shape)
        return self.ic.randn(*shape).to(getattr(self.ic, TYPES[dtype]))

    def wait(self) -> None:
        self.ic.sync_device()
        if self.torch is not None:
            self.torch.cuda.synchronize()


def _torch_for(device: Any) -> Any:
    try:
        import torch
    except ImportError:
        return None
    if device.type != "cuda" or not torch.cuda.is_available():
        return None
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


# ---- Device time ---------------------------------------------------------------------------------


class Clock:
    """Seconds of one call, by the device's clock: `run` replays `count` calls."""

    def __init__(self, run: Callable[[], Any], count: int, events: Sequence[Any]) -> None:
        self.run, self.count, (self.begin, self.end) = run, count, events
        self.runs = 1
        self.runs = min(max(1, math.ceil(LEAST / max(self() * count, 1e-6))), 64)

    def __call__(self) -> float:
        self.begin.record()
        for _ in range(self.runs):
            self.run()
        self.end.record()
        self.end.synchronize()
        return float(self.begin.elapsed_time(self.end)) / 1e3 / self.count / self.runs


def ours_replayed(device: Device, way: Way, sets: Sequence[Set], repeats: int) -> Clock:
    ic = device.ic
    way(sets[0])  # kernels are compiled, tables are built
    with ic.record() as made:
        held = [way(each) for _ in range(repeats) for each in sets]
    graph = made.graph

    def run(_: Any = held) -> None:  # keeps the results alive as long as the clock
        graph.run()

    return Clock(run, len(held), [ic.DeviceEvent(enable_timing=True) for _ in range(2)])


def theirs_replayed(device: Device, way: Way, sets: Sequence[Set], repeats: int) -> Clock:
    torch = device.torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            way(sets[0])
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for each in sets:
                way(each)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    return Clock(graph.replay, repeats * len(sets), events)


def best_of(clocks: dict[str, Callable[[], float]], budget: float) -> dict[str, float]:
    """The best round of each; the rounds alternate."""
    best = {name: clock() for name, clock in clocks.items()}
    until = time.perf_counter() + budget
    rounds = 0
    while rounds < 3 or (time.perf_counter() < until and rounds < 12):
        for name, clock in clocks.items():
            best[name] = min(best[name], clock())
        rounds += 1
    return best
