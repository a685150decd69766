"""Speed: measured relative to the copy bandwidth of the same device; never a failure."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from infinicore.conformance.cases import SPEED, case

SECONDS = 0.4  # for a measurement
LARGEST = 256 << 20  # bytes of a tensor


def _timed(make: Any, work: Callable[[], Any]) -> float:
    """Seconds of one call, by events, best of several batches."""
    rt = make.rt
    work()
    rt.DeviceSynchronize()
    start = time.perf_counter()
    work()
    rt.DeviceSynchronize()
    one = max(time.perf_counter() - start, 1e-6)
    times = max(1, min(200, int(SECONDS / 4 / one)))
    best = one
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(times):
            work()
        rt.DeviceSynchronize()
        best = min(best, (time.perf_counter() - start) / times)
    return best


def _size(make: Any, seconds: Callable[[int], float]) -> int:
    """The size of a copy: limited by memory, and by time on a slow device."""
    free, _ = make.rt.MemGetInfo()
    size = 1 << 20
    while size < LARGEST and 32 * size < free and seconds(size) < 0.02:
        size *= 4
    return min(size, LARGEST)


@case(SPEED, "speed/copy", seconds=120)
def copy(make: Any) -> dict[str, Any]:
    """Copies on the device, to it and from it, in bytes moved per second."""
    rt = make.rt

    def seconds(size: int) -> float:
        one, two = rt.Malloc(size), rt.Malloc(size)
        rt.Memcpy(two, one, size, rt.MemcpyDeviceToDevice)
        start = time.perf_counter()
        rt.Memcpy(two, one, size, rt.MemcpyDeviceToDevice)
        rt.DeviceSynchronize()
        taken = time.perf_counter() - start
        rt.Free(one), rt.Free(two)
        return taken

    size = _size(make, seconds)
    one, two, host = make.buffer(size, 1), make.buffer(size, 2), make.pinned(size)
    ways = {
        "device": (two.address, one.address, rt.MemcpyDeviceToDevice),
        "to the device": (one.address, host.address, rt.MemcpyHostToDevice),
        "from the device": (host.address, one.address, rt.MemcpyDeviceToHost),
    }
    rates = {}
    for name, (target, source, kind) in ways.items():
        taken = _timed(make, partial(rt.MemcpyAsync, target, source, size, kind, None))
        rates[name] = (2 if name == "device" else 1) * size / taken
    return {"bytes": size, "rates": rates}


@case(SPEED, "speed/operators", seconds=300)
def operators(make: Any) -> dict[str, Any]:
    """Operators of a transformer layer on float32 and float16: bytes or operations per second."""
    import infinicore

    rows: list[dict[str, Any]] = []
    for dtype, width in ((infinicore.float32, 4), (infinicore.float16, 2)):
        rows += _rows(make, dtype, width)
    return {"rows": rows}


def _rows(make: Any, dtype: Any, width: int) -> list[dict[str, Any]]:
    import infinicore
    from infinicore.nn import functional

    kind = os.environ["INFINI_DEVICE"]

    def tensor(*shape: int) -> Any:
        return infinicore.ones(*shape, dtype=dtype, device=kind)

    def seconds(size: int) -> float:
        x = tensor(size // width // 1024, 1024)
        functional.silu(x)
        make.rt.DeviceSynchronize()
        start = time.perf_counter()
        functional.silu(x)
        make.rt.DeviceSynchronize()
        return time.perf_counter() - start

    n = _size(make, seconds) // width // 1024
    x, y, w = tensor(n, 1024), tensor(n, 1024), tensor(1024)
    moved: dict[str, tuple[int, Callable[[], Any]]] = {
        "add": (3, lambda: x + y),
        "silu": (2, lambda: functional.silu(x)),
        "rms_norm": (2, lambda: functional.rms_norm(x, (1024,), w)),
        "softmax": (2, lambda: functional.softmax(x, -1)),
        "sum": (1, lambda: x.sum(-1)),
    }
    rows = [
        _row(make, name, dtype, work, bytes=times * n * 1024 * width)
        for name, (times, work) in moved.items()
    ]
    for side in (256, 1024, 4096):
        a, b = tensor(side, side), tensor(side, side)
        work = partial(operator.matmul, a, b)
        rows.append(_row(make, f"matmul {side}", dtype, work, flops=2 * side**3))
        if rows[-1].get("seconds", 1.0) * 64 > 5:  # the next one would take that long
            break
    return rows


def _row(make: Any, name: str, dtype: Any, work: Any, **amount: int) -> dict[str, Any]:
    words = {"operator": name, "dtype": str(dtype).rpartition(".")[2]}
    try:
        taken = _timed(make, work)
    except Exception as error:  # an operator that the device lacks has no speed
        return {**words, "words": str(error)}
    (unit, count), *_ = amount.items()
    return {**words, "seconds": taken, "rate": count / taken, "unit": unit}
