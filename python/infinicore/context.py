"""The state of a thread: its device, stream, numeric mode and graph recording; and memory
statistics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from infinicore import _core
from infinicore._defaults import state
from infinicore._device import _TYPES, _VENDORS, DeviceType
from infinicore._device import device as device_class
from infinicore._event import handle_of

# The function `device` below is local to this module: infinicore.device is the class.
__all__ = [
    "batch_invariant",
    "empty_cache",
    "get_device",
    "get_device_count",
    "get_stream",
    "is_batch_invariant",
    "is_graph_recording",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_batch_invariant",
    "set_device",
    "start_graph_recording",
    "stop_graph_recording",
    "stream",
    "sync_device",
    "sync_stream",
    "trim_memory",
]

# ---- Devices -------------------------------------------------------------------------------------


def get_device() -> device_class:
    """The calling thread's device. At first it is the first accelerator present, else the CPU.

    >>> infinicore.context.get_device().type
    'cpu'
    """
    return _core.get_device()


def set_device(device: Any) -> None:
    """Set the calling thread's device.

    >>> infinicore.set_device(infinicore.device("cpu"))
    """
    _core.set_device(device_class(device))


def get_device_count(device_type: str | DeviceType) -> int:
    """The number of devices of a type: "cpu", "cuda", ...

    >>> infinicore.get_device_count("cpu")
    1
    """
    if isinstance(device_type, DeviceType):
        return _core.device_count(int(device_type))
    if not isinstance(device_type, str):
        raise TypeError(
            f"get_device_count: device_type is {device_type!r}: expected a word such as 'cuda'"
        )
    if device_type in _TYPES:
        return sum(_core.device_count(number) for number in _TYPES[device_type])
    if device_type in _VENDORS:
        return _core.device_count(_VENDORS[device_type])
    for name, _, count in _core.kinds():
        if name == device_type:
            return count
    known = ", ".join([*_TYPES, *_VENDORS])
    raise ValueError(
        f"get_device_count: {device_type!r} is no device type: expected one of {known}"
    )


@contextlib.contextmanager
def device(where: Any) -> Iterator[device_class]:
    """A context manager that changes the thread's device, which is also the one where tensors are
    created.

    >>> with infinicore.context.device("cpu"):
    ...     x = infinicore.ones(2)
    """
    chosen = device_class(where)
    before, default = _core.get_device(), state.where
    _core.set_device(chosen)
    state.where = chosen
    try:
        yield chosen
    finally:
        state.where = default
        _core.set_device(before)


# ---- Streams -------------------------------------------------------------------------------------


def get_stream() -> int:
    """The handle of the current stream of the current device.

    >>> handle = infinicore.get_stream()
    """
    return _core.get_stream()


def sync_stream() -> None:
    """Wait for all work in the current stream.

    >>> infinicore.sync_stream()
    """
    _core.sync_stream()


def sync_device() -> None:
    """Wait for all work of the current device.

    >>> infinicore.sync_device()
    """
    _core.sync_device()


@contextlib.contextmanager
def stream(handle: Any) -> Iterator[None]:
    """A context manager that changes the thread's stream: to one of `infinicore.rt`, or a handle.
    Streams run concurrently: use an event where one needs the other's results.

    >>> with infinicore.stream(infinicore.rt.Stream()):
    ...     y = x + 1
    """
    number = handle_of(handle)
    if number is None:
        raise TypeError("stream: expected a stream of infinicore.rt or a handle")
    before = _core.set_stream(number)
    try:
        yield
    finally:
        _core.set_stream(before)


# ---- Numbers -------------------------------------------------------------------------------------


def set_batch_invariant(enabled: bool) -> None:
    """Enable or disable batch-invariant mode for the calling thread: matrix products, attention and
    norms give bitwise equal rows whatever else is in the batch, and with any number of threads.
    Graphs keep the mode in which they were recorded. The environment variable
    INFINI_BATCH_INVARIANT (1 or 0) sets the initial mode of threads. Scope and cost:
    docs/reproducibility.md.

    >>> infinicore.set_batch_invariant(False)
    """
    _core.set_batch_invariant(bool(enabled))


def is_batch_invariant() -> bool:
    """Whether the calling thread is in batch-invariant mode.

    >>> infinicore.is_batch_invariant()
    False
    """
    return _core.is_batch_invariant()


@contextlib.contextmanager
def batch_invariant(enabled: bool = True) -> Iterator[None]:
    """A context manager that enables batch-invariant mode for the calling thread; see
    `set_batch_invariant`.

    >>> x, weight = infinicore.ones(3, 8), infinicore.ones(4, 8)
    >>> with infinicore.batch_invariant():
    ...     y = infinicore.nn.functional.linear(x, weight)
    """
    before = _core.is_batch_invariant()
    _core.set_batch_invariant(bool(enabled))
    try:
        yield
    finally:
        _core.set_batch_invariant(before)


# ---- Memory --------------------------------------------------------------------------------------


def memory_stats(device: Any = None) -> dict[str, int]:
    """Memory statistics of a device: bytes used by tensors and held by the cache, each current and
    peak; the number of allocations, and of those that the cache could not serve (`from_device`).

    >>> sorted(infinicore.memory_stats())[:2]
    ['allocated', 'allocations']
    """
    return _core.memory_stats(_core.get_device() if device is None else device_class(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peak values of `memory_stats`.

    >>> infinicore.reset_peak_memory_stats()
    """
    _core.reset_peak_memory_stats(_core.get_device() if device is None else device_class(device))


def trim_memory() -> None:
    """Give back memory of the current device that is cached and not in use.

    >>> infinicore.trim_memory()
    """
    _core.trim_memory()


def empty_cache() -> None:
    """Give back memory of the current device that is cached and not in use.

    >>> infinicore.empty_cache()
    """
    _core.trim_memory()


# ---- Graphs --------------------------------------------------------------------------------------


def is_graph_recording() -> bool:
    """Whether this thread's operations are recorded instead of run.

    >>> infinicore.is_graph_recording()
    False
    """
    return _core.is_graph_recording()


def start_graph_recording(device: Any = None) -> None:
    """Start recording this thread's operations; if a device is given, it becomes the thread's
    device first.

    >>> x = infinicore.ones(2)
    >>> infinicore.start_graph_recording()
    >>> y = x + 1
    >>> graph = infinicore.stop_graph_recording()
    """
    if device is not None:
        set_device(device)
    _core.start_graph_recording()


def stop_graph_recording() -> Any:
    """Stop recording, and return the graph.

    >>> infinicore.start_graph_recording()
    >>> graph = infinicore.stop_graph_recording()
    """
    from infinicore import _graph  # type: ignore[attr-defined,unused-ignore]

    return _graph.stop()
