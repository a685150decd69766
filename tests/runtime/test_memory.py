"""Allocating, freeing, pinning, registering, and querying addresses."""

from __future__ import annotations

import ctypes
import mmap

import pytest

from kit import Latch

HUGE = (1 << 64) - 1
NOT_THIS = ("ErrorHostMemoryNotRegistered", "ErrorInvalidValue")


@pytest.mark.parametrize("size", [1, 7, 256, 4096, 1 << 20, (1 << 24) + 1])
def test_memory_holds_what_is_written(rt, make, size):
    buffer = make.buffer(size)
    assert buffer.address % 256 == 0
    data = bytes(index * 7 % 251 for index in range(min(size, 4096)))
    buffer.write(data)
    buffer.write(data, size - len(data))
    assert buffer.read(size - len(data)) == data


def test_no_bytes_give_a_null_pointer(rt):
    assert rt.Malloc(0) == 0
    rt.Free(0)
    rt.FreeHost(0)


def test_too_much_is_an_error_and_the_device_stays_usable(rt, make, refused):
    for size in (HUGE, HUGE // 2, 1 << 56):
        with refused("ErrorMemoryAllocation", str(size)):
            rt.Malloc(size)
        with refused("ErrorMemoryAllocation"):
            rt.MallocHost(size)
    assert make.buffer(64, 3).read() == bytes([3]) * 64


def test_freeing_what_is_not_the_beginning_of_an_allocation(rt, make, refused):
    buffer, pinned = make.buffer(4096), make.pinned(4096)
    plain = ctypes.create_string_buffer(64)
    for address in (buffer + 16, pinned.address, ctypes.addressof(plain), 0xDEAD0000):
        with refused("ErrorInvalidValue", "devPtr"):
            rt.Free(address)
    for address in (pinned + 16, buffer.address, ctypes.addressof(plain), 0xDEAD0000):
        with refused("ErrorInvalidValue", "ptr"):
            rt.FreeHost(address)


def test_freeing_twice(rt, refused):
    address = rt.Malloc(4096)
    rt.Free(address)
    with refused("ErrorInvalidValue", "devPtr"):
        rt.Free(address)


def test_free_waits_for_work_that_uses_the_memory(rt, make):
    address, stream, copy = rt.Malloc(1024), make.stream(), make.buffer(1024, 0)
    latch = Latch(rt, stream).reached()
    rt.MemsetAsync(address, 5, 1024, stream)
    rt.MemcpyAsync(copy.address, address, 1024, rt.MemcpyDefault, stream)
    latch.open()
    rt.Free(address)
    rt.StreamSynchronize(stream)
    assert copy.read() == bytes([5]) * 1024


def test_pitched_memory(rt, make):
    address, pitch = rt.MallocPitch(33, 7)
    make.later(rt.Free, address)
    assert pitch >= 33
    assert address % 256 == 0
    rt.Memset2D(address, pitch, 4, 33, 7)
    into = (ctypes.c_ubyte * (33 * 7))()
    rt.Memcpy2D(into, 33, address, pitch, 33, 7, rt.MemcpyDeviceToHost)
    assert bytes(into) == bytes([4]) * (33 * 7)
    box = rt.Malloc3D(rt.struct("Extent", width=33, height=5, depth=3))
    make.later(rt.Free, box.ptr)
    assert (box.xsize, box.ysize) == (33, 5)
    assert box.pitch >= 33
    assert rt.MallocPitch(0, 0)[0] == 0


@pytest.mark.parametrize("flags", range(8))
def test_pinned_memory_keeps_its_flags(rt, flags):
    address = rt.HostAlloc(100, flags)
    # With CUDA all of it is portable, so the flag may be missing.
    told = flags if "core-words" in rt.tags else flags & ~rt.HostAllocPortable
    assert rt.HostGetFlags(address) & told == told
    ctypes.memset(address, 6, 100)
    assert rt.HostGetDevicePointer(address, 0) == address
    assert rt.HostGetDevicePointer(address + 10, 0) == address + 10
    rt.FreeHost(address)


def test_pinned_memory_with_flags_that_do_not_exist(rt, refused):
    with refused("ErrorInvalidValue", "flags"):
        rt.HostAlloc(16, 0x100)


def registered(rt, make, flags=0):
    memory = mmap.mmap(-1, 1 << 16)
    view = (ctypes.c_ubyte * (1 << 16)).from_buffer(memory)
    rt.HostRegister(view, 1 << 16, flags)
    make.later(lambda: (rt.code.HostUnregister(view), memory))
    return ctypes.addressof(view)


def test_registered_memory(rt, make, refused):
    address = registered(rt, make, rt.HostRegisterPortable)
    assert rt.HostGetFlags(address) & rt.HostRegisterPortable
    assert rt.PointerGetAttributes(address + 5).type == rt.MemoryTypeHost
    with refused("ErrorHostMemoryAlreadyRegistered", "ptr"):
        rt.HostRegister(address, 1 << 16, 0)
    with refused("ErrorHostMemoryAlreadyRegistered"):
        rt.HostRegister(address + 4096, 4096, 0)  # a part of it
    assert rt.code.HostUnregister(address + 4096) in NOT_THIS
    rt.HostUnregister(address)
    assert rt.PointerGetAttributes(address).type == rt.MemoryTypeUnregistered
    with refused("ErrorHostMemoryNotRegistered"):
        rt.HostUnregister(address)


def test_registering_nonsense(rt, make, refused):
    plain = ctypes.create_string_buffer(64)
    with refused("ErrorInvalidValue", "size"):
        rt.HostRegister(plain, 0, 0)
    with refused("ErrorInvalidValue"):
        rt.HostRegister(plain, HUGE, 0)
    with refused("ErrorInvalidValue"):
        rt.HostRegister(plain, 64, 0x1000)
    with refused("ErrorInvalidValue"):
        rt.HostRegister(None, 64, 0)
    code = rt.code.HostRegister(make.pinned(4096).address, 4096, 0)
    assert code in ("ErrorHostMemoryAlreadyRegistered", "ErrorInvalidValue")


def test_pinned_memory_is_what_these_functions_want(rt, make, refused):
    device = make.buffer(64)
    plain = ctypes.create_string_buffer(64)
    for address in (device.address, ctypes.addressof(plain), 0):
        with refused("ErrorInvalidValue"):
            rt.HostGetFlags(address)
        with refused("ErrorInvalidValue"):
            rt.HostGetDevicePointer(address, 0)
    with refused("ErrorInvalidValue", "flags"):
        rt.HostGetDevicePointer(make.pinned(16).address, 1)


def test_addresses_tell_their_kind(rt, make):
    device, pinned = make.buffer(4096), make.pinned(4096)
    for offset in (0, 1, 4095):
        got = rt.PointerGetAttributes(device + offset)
        assert (got.type, got.device) == (rt.MemoryTypeDevice, 0)
        assert got.devicePointer == device + offset
        got = rt.PointerGetAttributes(pinned + offset)
        assert (got.type, got.device) == (rt.MemoryTypeHost, 0)
        assert got.hostPointer == got.devicePointer == pinned + offset


def test_addresses_that_the_runtime_does_not_know(rt, make):
    plain = ctypes.create_string_buffer(64)
    freed = rt.Malloc(4096)
    rt.Free(freed)
    for address in (ctypes.addressof(plain), freed, 0, 0xDEAD0000, HUGE):
        got = rt.PointerGetAttributes(address)
        assert got.type == rt.MemoryTypeUnregistered
        assert got.device == rt.InvalidDeviceId
        assert not got.devicePointer


def test_addresses_of_every_other_source(rt, make):
    stream = make.stream()
    pooled = rt.MallocAsync(512, stream)
    assert rt.PointerGetAttributes(pooled + 100).type == rt.MemoryTypeDevice
    rt.FreeAsync(pooled, stream)
    box = rt.Malloc3D(rt.struct("Extent", width=10, height=10, depth=10))
    assert rt.PointerGetAttributes(box.ptr).type == rt.MemoryTypeDevice
    rt.Free(box.ptr)


@pytest.mark.needs("managed")
def test_managed_memory_is_everybodys(rt, make):
    address = rt.MallocManaged(4096)
    make.later(rt.Free, address)
    assert rt.PointerGetAttributes(address).type == rt.MemoryTypeManaged
    view = (ctypes.c_ubyte * 4096).from_address(address)
    view[7] = 42
    copy, stream = make.buffer(4096, 0), make.stream()
    rt.MemPrefetchAsync(address, 4096, 0, stream)
    rt.MemcpyAsync(copy.address, address, 4096, rt.MemcpyDefault, stream)
    rt.MemsetAsync(address, 3, 4096, stream)
    rt.MemPrefetchAsync(address, 4096, rt.CpuDeviceId, stream)
    rt.StreamSynchronize(stream)
    assert copy.read()[7] == 42
    assert bytes(view) == bytes([3]) * 4096


@pytest.mark.needs("managed")
def test_managed_memory_with_nonsense(rt, refused):
    with refused("ErrorInvalidValue", "flags"):
        rt.MallocManaged(64, 0)
    with refused("ErrorInvalidValue", "flags"):
        rt.MallocManaged(64, 0x40)
    with refused("ErrorMemoryAllocation"):
        rt.MallocManaged(1 << 60, 1)


@pytest.mark.needs("managed")
def test_advice_is_kept_and_told(rt, make, refused):
    address = rt.MallocManaged(1 << 16)
    make.later(rt.Free, address)
    rt.MemAdvise(address, 1 << 16, rt.MemAdviseSetReadMostly, 0)
    rt.MemAdvise(address, 1 << 16, rt.MemAdviseSetPreferredLocation, rt.CpuDeviceId)
    rt.MemAdvise(address, 1 << 16, rt.MemAdviseSetAccessedBy, 0)

    def told(attribute, count=1):
        value = (ctypes.c_int * count)()
        rt.MemRangeGetAttribute(value, 4 * count, attribute, address, 1 << 16)
        return list(value)

    assert told(rt.MemRangeAttributeReadMostly) == [1]
    assert told(rt.MemRangeAttributePreferredLocation) == [rt.CpuDeviceId]
    assert told(rt.MemRangeAttributeAccessedBy, 2) == [0, rt.InvalidDeviceId]
    rt.MemAdvise(address, 1 << 16, rt.MemAdviseUnsetReadMostly, 0)
    assert told(rt.MemRangeAttributeReadMostly) == [0]
    rt.MemPrefetchAsync(address, 1 << 16, 0, 0)
    rt.StreamSynchronize(0)
    assert told(rt.MemRangeAttributeLastPrefetchLocation) == [0]
    with refused("ErrorInvalidValue"):
        told(77)
    with refused("ErrorInvalidValue"):
        rt.MemAdvise(make.buffer(64).address, 64, rt.MemAdviseSetReadMostly, 0)


@pytest.mark.needs("managed")
def test_several_attributes_at_once(rt, make):
    address = rt.MallocManaged(4096)
    make.later(rt.Free, address)
    rt.MemAdvise(address, 4096, rt.MemAdviseSetReadMostly, 0)
    a, b = ctypes.c_int(), ctypes.c_int()
    data = (ctypes.c_void_p * 2)(ctypes.addressof(a), ctypes.addressof(b))
    sizes = (ctypes.c_size_t * 2)(4, 4)
    wanted = (ctypes.c_int * 2)(
        rt.MemRangeAttributeReadMostly, rt.MemRangeAttributePreferredLocation
    )
    rt.MemRangeGetAttributes(data, sizes, wanted, 2, address, 4096)
    assert (a.value, b.value) == (1, rt.InvalidDeviceId)


@pytest.mark.needs("managed")
def test_managed_memory_is_attached_in_stream_order(rt, make, refused):
    address, stream = rt.MallocManaged(4096), make.stream()
    make.later(rt.Free, address)
    rt.StreamAttachMemAsync(stream, address, 0, rt.MemAttachSingle)
    rt.StreamAttachMemAsync(stream, address, 0, rt.MemAttachGlobal)
    rt.StreamSynchronize(stream)
    with refused("ErrorInvalidValue", "flags"):
        rt.StreamAttachMemAsync(stream, address, 0, 0x30)
    with refused("ErrorInvalidValue"):
        rt.StreamAttachMemAsync(stream, make.buffer(64).address, 0, rt.MemAttachSingle)
