"""Memory pools: allocation in stream order."""

from __future__ import annotations

from infinicore import _rt
from infinicore import _rt_enums as enums
from infinicore.rt._device import Device
from infinicore.rt._memory import Memory
from infinicore.rt._stream import Stream


class MemoryPool(_rt._Owner):
    """A pool of device memory. Freed memory stays in the pool for later allocations;
    `release_threshold` is how many bytes are kept when the device is synchronized. Without
    `max_size` the device's memory is the limit. A closed pool is destroyed with its last
    allocation.

    >>> pool = rt.MemoryPool(release_threshold=1 << 30)
    >>> memory = pool.allocate(4096, stream)
    """

    __slots__ = ("device",)

    device: Device

    def __init__(
        self, device: Device | None = None, max_size: int = 0, release_threshold: int = 0
    ) -> None:
        self.device = Device.current() if device is None else device
        place = _rt.MemLocation(type=enums.MemLocationTypeDevice, id=self.device.index)
        props = _rt.MemPoolProps(
            allocType=enums.MemAllocationTypePinned, location=place, maxSize=max_size
        )
        with self.device:
            super().__init__("MemPool", _rt.MemPoolCreate(props))
        if release_threshold:
            self.release_threshold = release_threshold

    @classmethod
    def of(cls, device: Device | None = None) -> MemoryPool:
        """The current pool of a device, which stream-ordered allocations use.

        >>> rt.MemoryPool.of(rt.Device(0)).used
        """
        pool = cls.__new__(cls)
        pool.device = Device.current() if device is None else device
        with pool.device:
            _rt._Owner.__init__(pool, "", _rt.DeviceGetMemPool(pool.device.index))
        return pool

    def use(self) -> None:
        """Make this the current pool of its device, for stream-ordered allocations.

        >>> pool.use()
        """
        with self.device:
            _rt.DeviceSetMemPool(self.device.index, self)

    def allocate(self, nbytes: int, stream: Stream) -> Memory:
        """Allocate in stream order; freed in stream order when the object is destroyed.

        >>> memory = pool.allocate(4096, stream)
        """
        return Memory.ordered(nbytes, stream, self)

    def trim(self, keep: int = 0) -> None:
        """Return unused memory to the device until at most this many bytes are reserved.

        >>> pool.trim()
        """
        _rt.MemPoolTrimTo(self, keep)

    @property
    def release_threshold(self) -> int:
        """How many bytes are kept when the device is synchronized."""
        return _rt.MemPoolGetAttribute(self, enums.MemPoolAttrReleaseThreshold)

    @release_threshold.setter
    def release_threshold(self, nbytes: int) -> None:
        _rt.MemPoolSetAttribute(self, enums.MemPoolAttrReleaseThreshold, nbytes)

    @property
    def used(self) -> int:
        """Bytes in use now."""
        return _rt.MemPoolGetAttribute(self, enums.MemPoolAttrUsedMemCurrent)

    @property
    def used_high(self) -> int:
        """The peak number of bytes in use."""
        return _rt.MemPoolGetAttribute(self, enums.MemPoolAttrUsedMemHigh)

    @property
    def reserved(self) -> int:
        """Bytes that the pool has reserved on the device, used or not."""
        return _rt.MemPoolGetAttribute(self, enums.MemPoolAttrReservedMemCurrent)

    @property
    def reserved_high(self) -> int:
        """The peak number of reserved bytes."""
        return _rt.MemPoolGetAttribute(self, enums.MemPoolAttrReservedMemHigh)

    def reset_high(self) -> None:
        """Reset both peak values to the current ones.

        >>> pool.reset_high()
        """
        _rt.MemPoolSetAttribute(self, enums.MemPoolAttrUsedMemHigh, 0)
        _rt.MemPoolSetAttribute(self, enums.MemPoolAttrReservedMemHigh, 0)

    def __repr__(self) -> str:
        if self.closed:
            return "<MemoryPool, closed>"
        return f"<MemoryPool of {self.device}: {self.used} of {self.reserved} bytes used>"


setattr(  # noqa: B010
    Device,
    "pool",
    property(MemoryPool.of, doc="The pool that stream-ordered allocations take memory from."),
)
