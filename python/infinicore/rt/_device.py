"""Devices."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from infinicore import _rt
from infinicore.rt._backends import kind as current_kind
from infinicore.rt._backends import kinds, set_kind
from infinicore.rt._error import InfiniRTError

if TYPE_CHECKING:
    from infinicore.rt._pool import MemoryPool


class _Before(threading.local):
    """The devices that were current before each `with`, for one thread."""

    def __init__(self) -> None:
        self.devices: list[Device | None] = []


_before = _Before()


class Device:
    """A device, by index and type; as a context manager, it becomes the thread's current device.
    Devices are equal if type and index are. `with` restores the device that was current before.

    >>> with rt.Device(0) as device:
    ...     memory = rt.Memory(1024)                 # of this device
    ...     print(device.name)
    """

    __slots__ = ("index", "kind")

    if TYPE_CHECKING:
        pool: MemoryPool  # a property: _pool.py adds it, because pools need devices

    def __init__(self, index: int = 0, kind: str | None = None) -> None:
        self.kind = current_kind() if kind is None else kind
        self.index = index
        count = kinds().get(self.kind, 0)
        if not 0 <= index < count:
            raise ValueError(f"no device {index} of kind {self.kind!r}: there are {count}")

    @classmethod
    def current(cls) -> Device:
        """The calling thread's current device.

        >>> rt.Device.current()
        Device(0, 'cpu')
        """
        device = cls.__new__(cls)
        device.index = _rt.GetDevice()
        device.kind = current_kind()
        return device

    def use(self) -> None:
        """Make this the calling thread's current device.

        >>> rt.Device(0).use()
        """
        if current_kind() != self.kind:
            set_kind(self.kind)
        _rt.SetDevice(self.index)

    def __enter__(self) -> Device:
        before: Device | None
        try:
            before = Device.current()
        except InfiniRTError:  # there is none: INFINI_DEVICE names an absent kind, for instance
            before = None
        self.use()
        _before.devices.append(before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before = _before.devices.pop()
        if before is not None:
            before.use()

    @property
    def name(self) -> str:
        """The device's name."""
        return self.properties.name

    @property
    def properties(self) -> _rt.DeviceProp:
        """All properties of the device."""
        with self:
            return _rt.GetDeviceProperties(self.index)

    def attribute(self, attribute: int) -> int:
        """One attribute of the device; much cheaper than all properties.

        >>> rt.Device(0).attribute(rt.DevAttrMultiProcessorCount)
        """
        with self:
            return _rt.DeviceGetAttribute(attribute, self.index)

    def memory(self) -> tuple[int, int]:
        """Free and total bytes.

        >>> free, total = rt.Device(0).memory()
        """
        with self:
            return _rt.MemGetInfo()

    @property
    def priorities(self) -> tuple[int, int]:
        """The least and the greatest stream priority; smaller numbers have higher priority."""
        with self:
            return _rt.DeviceGetStreamPriorityRange()

    def can_access(self, peer: Device) -> bool:
        """Whether this device can access another's memory directly.

        >>> rt.Device(0).can_access(rt.Device(1))
        """
        if peer.kind != self.kind:
            return False
        with self:
            return bool(_rt.DeviceCanAccessPeer(self.index, peer.index))

    def synchronize(self) -> None:
        """Wait until all work submitted to the device is done.

        >>> rt.Device(0).synchronize()
        """
        with self:
            _rt.DeviceSynchronize()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.kind, self.index) == (other.kind, other.index)

    def __hash__(self) -> int:
        return hash((self.kind, self.index))

    def __repr__(self) -> str:
        return f"Device({self.index}, {self.kind!r})"


def devices(kind: str | None = None) -> list[Device]:
    """All devices of one type, or of every type.

    >>> [device.name for device in rt.devices("cpu")]
    """
    present = kinds()
    wanted = present if kind is None else {kind: present.get(kind, 0)}
    return [Device(index, name) for name, count in wanted.items() for index in range(count)]
