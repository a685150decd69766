"""Device and host memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from infinicore import _rt
from infinicore import _rt_enums as enums
from infinicore._rt_enums import ErrorMemoryAllocation, MemcpyDefault
from infinicore.rt._backends import kind as current_kind
from infinicore.rt._device import Device
from infinicore.rt._error import InfiniRTError
from infinicore.rt._stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from infinicore.rt._pool import MemoryPool

    Source: TypeAlias = "Memory | Buffer"

# DLPack device types; others use the number for extension devices.
_DLPACK_CPU = 1
_DLPACK_EXTENSION = 12


@functools.cache
def _host_reaches(kind: str) -> bool:
    """Whether the host can access memory of that device type."""
    device = Device(0, kind)
    wanted = (enums.DevAttrIntegrated, enums.DevAttrDirectManagedMemAccessFromHost)
    return all(device.attribute(attribute) for attribute in wanted)


class Memory(_rt._Block):
    """A block of memory of the current device, freed when it is no longer needed.

    Copies and fills without a stream are complete when the call returns; with `stream=` they are
    enqueued there, and the memory on both sides is kept alive until they are done. If the stream is
    being captured, the graph keeps it alive. `close()` waits for the work that uses the memory;
    memory dropped while streams use it is freed later, without waiting.

    Memory that the host can access (CPU devices, pinned and managed memory) supports the buffer
    protocol and DLPack. Neither waits for work that is still in a stream: synchronize the stream
    before reading.

    >>> memory = rt.Memory(1 << 20)
    >>> memory.fill(0)
    >>> memory[:5].copy_from(b"hello")
    >>> memory[:5].to_bytes()
    b'hello'
    """

    __slots__ = ("_borrowed", "_frees_in_order")

    _borrowed: bool  # memory that the runtime did not allocate
    _frees_in_order: Stream | None  # the stream in whose order it is freed; None: freeing waits

    def __init__(self, nbytes: int) -> None:
        address = _allocate(lambda: _rt.Malloc(nbytes))
        self._own("Memory", address, nbytes, host=_host_reaches(current_kind()))

    def _own(
        self,
        what: str,
        address: int,
        nbytes: int,
        *,
        host: bool,
        readonly: bool = False,
        after: object = None,
        in_order: Stream | None = None,
        borrowed: bool = False,
    ) -> None:
        super().__init__(what, address, nbytes, host, readonly, after)
        self._borrowed = borrowed
        self._frees_in_order = in_order

    # ---- Other constructors ------------------------------------------------------------------

    @classmethod
    def host(cls, nbytes: int, flags: int = 0) -> Memory:
        """Pinned host memory, which copies fastest and is accessible to all devices.

        >>> staging = rt.Memory.host(4096)
        """
        memory = cls.__new__(cls)
        address = _allocate(lambda: _rt.HostAlloc(nbytes, flags))
        memory._own("HostMemory", address, nbytes, host=True)
        return memory

    @classmethod
    def managed(cls, nbytes: int) -> Memory:
        """Managed memory, which host and devices access at the same address.

        >>> shared = rt.Memory.managed(4096)
        """
        memory = cls.__new__(cls)
        memory._own("Memory", _allocate(lambda: _rt.MallocManaged(nbytes)), nbytes, host=True)
        return memory

    @classmethod
    def ordered(cls, nbytes: int, stream: Stream, pool: MemoryPool | None = None) -> Memory:
        """Memory from a pool, allocated and freed in stream order. By default from the current pool
        of the stream's device. Other streams may use it after waiting for an event.

        >>> scratch = rt.Memory.ordered(4096, stream)
        """
        if pool is None:
            address = _rt.MallocAsync(nbytes, stream)
        else:
            address = _rt.MallocFromPoolAsync(nbytes, pool, stream)
        memory = cls.__new__(cls)
        host = _host_reaches(stream.kind)
        # Memory allocated during a capture belongs to the graph, which frees it by a node or when
        # it is destroyed.
        what = "" if stream.capturing else "PoolMemory"
        memory._own(what, address, nbytes, host=host, after=stream, in_order=stream)
        return memory

    @classmethod
    def _of_graph(cls, address: int, nbytes: int, kind: str) -> Memory:
        """Memory owned by a graph."""
        memory = cls.__new__(cls)
        memory._own("", address, nbytes, host=_host_reaches(kind))
        return memory

    @classmethod
    def open(cls, handle: _rt.IpcMemHandle, nbytes: int) -> Memory:
        """Map another process's memory on the current device.

        >>> memory = rt.Memory.open(*pickle.loads(message))
        """
        memory = cls.__new__(cls)
        host = _host_reaches(current_kind())
        memory._own("IpcMemory", _rt.IpcOpenMemHandle(handle), nbytes, host=host)
        return memory

    @classmethod
    def from_dlpack(cls, source: Any) -> Memory:
        """Borrow contiguous host memory from a NumPy array, a tensor, or any DLPack object.

        >>> memory = rt.Memory.from_dlpack(numpy.arange(4))
        """
        try:
            capsule = source.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer of DLPack before version 1
            capsule = source.__dlpack__()
        address, nbytes, device, _, readonly, owner = _rt._from_dlpack(capsule)
        if device != _DLPACK_CPU:
            raise BufferError(
                f"from_dlpack: expected host memory, got DLPack's device type {device}"
            )
        memory = cls.__new__(cls)
        memory._own("", address, nbytes, host=True, readonly=readonly, after=owner, borrowed=True)
        return memory

    def __getitem__(self, part: slice) -> Memory:
        """A part of the memory, which keeps the whole alive.

        >>> head = memory[:16]
        """
        if not isinstance(part, slice):
            raise TypeError("memory is divided by slices; memoryview(memory)[i] reads one byte")
        start, stop, step = part.indices(self.nbytes)
        if step != 1:
            raise ValueError(f"a part of memory has no gaps: expected step 1, got {step}")
        memory = type(self).__new__(type(self))
        memory._own(
            "View",
            self.ptr + start,
            max(0, stop - start),
            host=self.host_accessible,
            readonly=self.readonly,
            after=self,
            in_order=self._frees_in_order,
            borrowed=self._borrowed,
        )
        return memory

    # ---- Copies and fills -----------------------------------------------------------------------

    def copy_from(
        self, source: Source, nbytes: int | None = None, stream: Stream | None = None
    ) -> None:
        """Copy bytes from other memory, or from any object with the buffer protocol.

        >>> memory.copy_from(b"some bytes")
        >>> memory.copy_from(other, stream=stream)
        """
        _copy(self, source, nbytes, stream)

    def copy_to(
        self, target: Source, nbytes: int | None = None, stream: Stream | None = None
    ) -> None:
        """Copy bytes to other memory, or to any writable object with the buffer protocol.

        >>> array = numpy.empty(1024, "u1")
        >>> memory.copy_to(array)
        """
        _copy(target, self, self.nbytes if nbytes is None else nbytes, stream)

    def fill(self, value: int, stream: Stream | None = None) -> None:
        """Set every byte.

        >>> memory.fill(0)
        """
        if not 0 <= value <= 255:
            raise ValueError(f"fill: expected a byte, 0 to 255, got {value}")
        if self._borrowed:  # the runtime fills only memory that it knows
            self.copy_from(bytes([value]) * self.nbytes, stream=stream)
        elif stream is None:
            _rt.Memset(self, value, self.nbytes)
        else:
            _rt.MemsetAsync(self, value, self.nbytes, stream)
            _hold(stream, self)

    def to_bytes(self) -> bytes:
        """A copy of the contents.

        >>> memory.to_bytes()[:4]
        """
        copy = bytearray(self.nbytes)
        self.copy_to(copy)
        return bytes(copy)

    # ---- Sharing --------------------------------------------------------------------------------

    def share(self) -> tuple[_rt.IpcMemHandle, int]:
        """The arguments for `Memory.open` in another process; they can be pickled.

        >>> message = pickle.dumps(memory.share())
        """
        return _rt.IpcGetMemHandle(self), self.nbytes

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.host_accessible:
            return _DLPACK_CPU, 0
        return _DLPACK_EXTENSION, _rt.PointerGetAttributes(self).device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        device = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != device:
            raise BufferError(f"this memory is on DLPack's device {device}, not on {dl_device}")
        if copy:
            raise BufferError("__dlpack__ lends; it does not copy")
        if stream is not None and stream != -1:
            # The consumer's stream waits for the null stream.
            ready = _rt.EventCreateWithFlags(0)
            try:
                _rt.EventRecord(ready)
                _rt.StreamWaitEvent(stream, ready)
            finally:
                _rt.EventDestroy(ready)
        versioned = max_version is not None and max_version[0] >= 1
        if self.readonly and not versioned:
            raise BufferError("DLPack before version 1 cannot lend memory that is read-only")
        return self._to_dlpack(versioned, *device)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.host_accessible:
            raise AttributeError("the host cannot read this device's memory directly")
        data = (self.ptr, self.readonly)
        return {"version": 3, "shape": (self.nbytes,), "typestr": "|u1", "data": data}

    # ---- Internals ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.nbytes

    def __repr__(self) -> str:
        place = "closed" if self.closed else f"at {self.ptr:#x} on {self.kind}"
        return f"<Memory of {self.nbytes} bytes, {place}>"


def _allocate(function: Callable[[], int]) -> int:
    """Allocate; if memory is short, first wait for memory that was dropped while streams used
    it."""
    try:
        return function()
    except InfiniRTError as error:
        if error.code != ErrorMemoryAllocation or not _rt._reclaim():
            raise
    return function()


def _size(what: Source) -> int:
    return what.nbytes if isinstance(what, Memory) else memoryview(what).nbytes


def _copy(target: Source, source: Source, nbytes: int | None, stream: Stream | None) -> None:
    has, room = _size(source), _size(target)
    nbytes = has if nbytes is None else nbytes
    if not 0 <= nbytes <= room:
        raise ValueError(f"cannot copy {nbytes} bytes: the target has {room}")
    if nbytes > has:
        raise ValueError(f"cannot copy {nbytes} bytes: the source has {has}")
    if isinstance(target, Memory) and target.readonly:
        raise BufferError("the target is read-only")
    if stream is None:
        _rt.Memcpy(target, source, nbytes, MemcpyDefault)
        return
    _rt.MemcpyAsync(target, source, nbytes, MemcpyDefault, stream)
    _hold(stream, target)
    _hold(stream, source)


def _hold(stream: Stream, what: Source) -> None:
    """Keep memory alive until a stream is done with it, unless freeing it waits anyway."""
    if not isinstance(what, Memory):
        _rt._hold(stream, memoryview(what))  # a view: a bytearray must not move meanwhile
        return
    order = what._frees_in_order
    if what._borrowed or (order is not None and order.handle != stream.handle):
        _rt._hold(stream, what)
    else:
        _rt._hold_captured(stream, what)
