"""Events: markers in streams."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._device import device as device_class

__all__ = ["DeviceEvent"]


def handle_of(stream: Any) -> int | None:
    """The handle of a stream, from a number or an object that has one."""
    if stream is None or isinstance(stream, int):
        return stream
    handle = getattr(stream, "handle", None)
    if not isinstance(handle, int):
        raise TypeError(f"expected a stream or its handle, got {type(stream).__name__}")
    return handle


class DeviceEvent:
    """A marker in a device's stream, to wait for or to measure time with.

    >>> begin, end = infinicore.DeviceEvent(True), infinicore.DeviceEvent(True)
    >>> begin.record()
    >>> end.record()
    >>> end.synchronize()
    >>> begin.elapsed_time(end) >= 0
    True
    """

    def __init__(
        self,
        enable_timing: bool = False,
        device: Any = None,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        where = _core.get_device() if device is None else device_class(device)
        flags = 0 if enable_timing else _core.EVENT_DISABLE_TIMING
        if blocking:
            flags |= _core.EVENT_BLOCKING
        self._event = _core.Event(where, flags)
        self._enable_timing, self._blocking = bool(enable_timing), bool(blocking)
        self._interprocess = bool(interprocess)

    def record(self, stream: Any = None) -> None:
        """Record the event in a stream: it is complete when all earlier work is done."""
        self._event.record(handle_of(stream))

    def synchronize(self) -> None:
        """Wait until the event is complete."""
        self._event.synchronize()

    def query(self) -> bool:
        """Whether the event is complete."""
        return self._event.query()

    def elapsed_time(self, other: DeviceEvent) -> float:
        """Milliseconds from this event to another. Both must be created with `enable_timing`."""
        if not isinstance(other, DeviceEvent):
            raise TypeError(f"elapsed_time: expected a DeviceEvent, got {type(other).__name__}")
        if not (self._enable_timing and other._enable_timing):
            raise RuntimeError("elapsed_time: expected two events with enable_timing=True")
        return self._event.elapsed_time(other._event)

    def wait(self, stream: Any = None) -> None:
        """Make a stream wait for the event before its later work."""
        self._event.wait(handle_of(stream))

    @property
    def device(self) -> device_class:
        return self._event.device

    @property
    def is_recorded(self) -> bool:
        return self._event.is_recorded

    @property
    def enable_timing(self) -> bool:
        return self._enable_timing

    @property
    def blocking(self) -> bool:
        return self._blocking

    @property
    def interprocess(self) -> bool:
        return self._interprocess

    @property
    def handle(self) -> int:
        """The handle of the event in InfiniRT."""
        return self._event.handle

    def __repr__(self) -> str:
        return (
            f"DeviceEvent(device='{self.device}', enable_timing={self.enable_timing},"
            f" is_recorded={self.is_recorded})"
        )
