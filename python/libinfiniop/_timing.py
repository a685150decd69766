"""Waiting for devices, and timing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from libinfiniop._memory import current_device, on_device, torch_device_of
from libinfiniop._status import check_error
from libinfiniop.devices import infini_device_map, torch_device_map
from libinfiniop.liboperators import LIBINFINIOP


def synchronize_device(device: int | str) -> None:
    """Wait until a device has completed all work submitted by torch and by the runtime.

    `device` is an InfiniDeviceEnum, or a name of torch's such as "cuda" or "cuda:0".
    """
    if isinstance(device, str):
        device = _kind_of(device)
    if device_name := torch_device_of(device):
        import torch

        if device_name != "cpu":
            getattr(torch, device_name).synchronize()
    with on_device(device):
        check_error(LIBINFINIOP.infinirtDeviceSynchronize())


def _kind_of(torch_device: str) -> int:
    """The device type with this torch name: the current one, else the first."""
    name = torch_device.partition(":")[0]
    if name not in infini_device_map:
        names = ", ".join(sorted(infini_device_map))
        raise ValueError(f"synchronize_device: no device {torch_device!r}: expected {names}")
    current, _ = current_device()
    return current if torch_device_map.get(current) == name else infini_device_map[name]


def get_sync_func(device: int) -> Callable[[], None]:
    """A function that waits for a device."""
    return partial(synchronize_device, device)


def timed_op(func: Callable[[], Any], num_iterations: int, device: int | str) -> float:
    """Seconds per call, over `num_iterations` calls, including their device work."""
    if num_iterations < 1:
        raise ValueError(f"timed_op: num_iterations is {num_iterations}: expected at least 1")
    synchronize_device(device)
    start = time.perf_counter()
    for _ in range(num_iterations):
        func()
    synchronize_device(device)
    return (time.perf_counter() - start) / num_iterations


def profile_operation(
    desc: str,
    func: Callable[[], Any],
    torch_device: int | str,
    NUM_PRERUN: int = 10,
    NUM_ITERATIONS: int = 1000,
) -> float:
    """Call a function to warm up, then time it and print a row of a table. Returns the seconds per
    call. `torch_device` is a device as for `synchronize_device`.
    """
    for _ in range(NUM_PRERUN):
        func()
    seconds = timed_op(func, NUM_ITERATIONS, torch_device)
    print(f" {desc:<24} time: {1000 * seconds:12.6f} ms   ({NUM_ITERATIONS} runs)")
    return seconds
