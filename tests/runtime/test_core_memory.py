"""Memory, copies and pools where the core's own software decides: other runtimes have rules of
their own for these. Also run with the sanitizers."""

from __future__ import annotations

import ctypes
import mmap
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import Failure, Latch
from kit.process import python

from .test_copies import HUGE, pattern
from .test_ipc import TAKE, text_of
from .test_pools import number, threshold

pytestmark = pytest.mark.needs("core-words")
MIB = 1 << 20
WHOLE = pytest.mark.needs("managed")  # a device with all of the memory functions


def check_waits(rt, stream, call, *arguments):
    """The call returns when the stream's work is done, not before."""
    with ThreadPoolExecutor(1) as other, Latch(rt, stream).reached() as latch:
        waiting = other.submit(call, *arguments)
        assert not waiting.done()
        latch.open()
        waiting.result()
    rt.StreamSynchronize(stream)


# ---- Copies --------------------------------------------------------------------------------------


def test_memory_that_is_known_has_one_address(rt, make):
    device, pinned = make.buffer(64, 1), make.pinned(64, 2)
    for word in ("HostToDevice", "DeviceToHost", "DeviceToDevice", "HostToHost", "Default"):
        for known in (device.address, pinned.address):
            rt.Memcpy(known, pinned.address, 32, getattr(rt, f"Memcpy{word}"))


@WHOLE
def test_bounds_of_every_allocation(rt, make):
    host = ctypes.create_string_buffer(300)
    device, pinned = make.buffer(100), make.pinned(100)
    pooled = rt.MallocAsync(64, 0)
    assert rt.code.Memcpy(pooled, host, 64, rt.MemcpyHostToDevice) == "Success"
    assert rt.code.Memcpy(pooled, host, 65, rt.MemcpyHostToDevice) == "ErrorInvalidValue"
    rt.FreeAsync(pooled, 0)
    assert rt.code.Memcpy(pooled, host, 64, rt.MemcpyHostToDevice) == "ErrorInvalidValue"
    assert rt.code.Memcpy(device.address, pinned.address, 101, 1) == "ErrorInvalidValue"
    gone = rt.Malloc(64)
    rt.Free(gone)
    assert rt.code.Memset(gone, 0, 64) == "ErrorInvalidValue"
    for count in (HUGE, HUGE - 4096, HUGE // 2 + 1):
        assert rt.code.Memcpy(host, host, count, rt.MemcpyHostToHost) == "ErrorInvalidValue"
        assert rt.code.Memset(device.address, 0, count) == "ErrorInvalidValue"
        assert rt.code.MemcpyAsync(device.address, device.address, count, 4, 0) != "Success"


def test_pages_that_cannot_be_read_or_written(rt, make):
    device, page = make.buffer(8192), mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = libc.mmap(None, 4 * page, mmap.PROT_READ, flags, -1, 0)
    libc.munmap(memory + page, page)
    libc.mprotect(memory + 2 * page, page, 0)
    wild = [0, 1, 0xDEAD0000, HUGE - 3, HUGE - 9000, HUGE // 2, memory + page, memory + 2 * page]
    for address in wild:
        for kind in (rt.MemcpyHostToDevice, rt.MemcpyDefault):
            assert rt.code.Memcpy(device.address, address, 8, kind) == "ErrorInvalidValue"
            assert rt.code.MemcpyAsync(device.address, address, 8, kind, 0) == "ErrorInvalidValue"
            assert rt.code.Memcpy2D(device.address, 16, address, 16, 8, 2, kind) != "Success"
        for kind in (rt.MemcpyDeviceToHost, rt.MemcpyDefault):
            assert rt.code.Memcpy(address, device.address, 8, kind) == "ErrorInvalidValue"
        assert rt.code.Memset(address, 1, 8) == "ErrorInvalidValue"
    to_device, to_host = rt.MemcpyHostToDevice, rt.MemcpyDeviceToHost
    assert rt.code.Memcpy(device.address, memory, page, to_device) == "Success"
    assert rt.code.Memcpy(device.address, memory + 8, page, to_device) == "ErrorInvalidValue"
    assert rt.code.Memcpy(memory, device.address, 8, to_host) == "ErrorInvalidValue"  # read only
    libc.mprotect(memory, page, mmap.PROT_READ | mmap.PROT_WRITE)
    assert rt.code.Memcpy(memory, device.address, 8, to_host) == "Success"
    libc.munmap(memory, 4 * page)


def test_boxes_that_do_not_fit(rt, make):
    host = (ctypes.c_ubyte * 2000)()
    device = make.buffer(64 * 11 * 3, 0)

    def answer(**changes):
        box = rt.struct(
            "Memcpy3DParms",
            srcPtr={"ptr": ctypes.addressof(host), "pitch": 50, "xsize": 37, "ysize": 11},
            dstPtr={"ptr": device.address, "pitch": 64, "xsize": 37, "ysize": 11},
            srcPos={"x": 3, "y": 4},
            dstPos={"x": 2, "y": 1, "z": 1},
            extent={"width": 20, "height": 6, "depth": 2},
            kind=rt.MemcpyHostToDevice,
        )
        for path, value in changes.items():
            outer, inner = path.split("_")
            setattr(getattr(box, outer), inner, value)
        return rt.code.Memcpy3D(box)

    assert answer() == "Success"
    too_small = {"srcPtr_pitch": 19, "dstPtr_ysize": 5, "extent_width": HUGE}
    for path, value in too_small.items():
        assert answer(**{path: value}) == "ErrorInvalidPitchValue", path
    beside = {"srcPtr_pitch": 22, "dstPtr_ysize": 6, "extent_depth": 3, "dstPos_z": HUGE}
    for path, value in {**beside, "dstPtr_ptr": 0, "srcPtr_ptr": 0}.items():
        assert answer(**{path: value}) == "ErrorInvalidValue", path
    assert answer(extent_depth=0) == "Success"
    extent = {"width": 1, "height": 1, "depth": 1}
    array = rt.struct("Memcpy3DParms", srcArray=device.address, extent=extent)
    assert rt.code.Memcpy3D(array) == "ErrorNotSupported"
    for pitch, width, height in ((36, 37, 2), (HUGE, 37, 3), (64, 37, HUGE)):
        said = rt.code.Memcpy2D(device.address, pitch, host, 50, width, height, 1)
        assert said == "ErrorInvalidPitchValue", (pitch, width, height)
    assert rt.code.Memcpy2D(device.address, HUGE, host, 50, 37, 1, 1) == "Success"
    assert rt.code.Memset2D(device.address, 4, 0, 5, 3) == "ErrorInvalidValue"
    space = rt.struct("PitchedPtr", ptr=device.address, pitch=64, xsize=37, ysize=11)
    for height, depth in ((12, 2), (11, 4)):
        extent = rt.struct("Extent", width=37, height=height, depth=depth)
        assert rt.code.Memset3D(space, 9, extent) == "ErrorInvalidValue"


def test_batches_name_the_copy_at_fault(rt, make):
    stream, device, host = make.free_stream(), make.buffer(300), make.pinned(100, pattern(100))
    at_fault = ctypes.c_size_t(7)

    def batch(sizes=(100, 100, 50), starts=(0, 1), order="Stream", into=stream):
        attributes = (type(rt.struct("MemcpyAttributes")) * 2)()
        attributes[0].srcAccessOrder = rt.MemcpySrcAccessOrderDuringApiCall
        attributes[1].srcAccessOrder = getattr(rt, f"MemcpySrcAccessOrder{order}")
        places = (ctypes.c_void_p * 3)(*(device + at for at in (0, 100, 200)))
        sources = (ctypes.c_void_p * 3)(*[host.address] * 3)
        entry = rt.library.infinirtMemcpyBatchAsync
        entry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t] + [ctypes.c_void_p] * 2
        entry.argtypes += [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        given = ((ctypes.c_size_t * 3)(*sizes), 3, attributes, (ctypes.c_size_t * 2)(*starts), 2)
        return entry(places, sources, *given, ctypes.byref(at_fault), into)

    assert batch() == 0
    rt.StreamSynchronize(stream)
    assert device.read(100, 100) == pattern(100)
    for sizes, index in (((100, 101, 50), 1), ((100, 100, 0), 2)):
        assert batch(sizes) == 1
        assert at_fault.value == index
    assert batch(order="Invalid") == 1
    assert at_fault.value == HUGE
    assert batch(starts=(1, 1)) == 1
    assert batch(into=None) == 1


def test_boxes_of_a_batch_that_do_not_fit(rt, make):
    stream, device = make.free_stream(), make.buffer(300)

    def answer(row=20, kind="Pointer", flags=0):
        box = rt.struct("Memcpy3DBatchOp", srcAccessOrder=rt.MemcpySrcAccessOrderStream)
        box.extent.width, box.extent.height, box.extent.depth = 10, 3, 1
        for side, address in ((box.src, device.address), (box.dst, device + 150)):
            side.type, side.op.ptr.ptr = rt.MemcpyOperandTypePointer, address
        box.src.type = getattr(rt, f"MemcpyOperandType{kind}")
        box.src.op.ptr.rowLength = row
        return rt.code.Memcpy3DBatchAsync(1, box, flags, stream)

    assert answer() == "Success"
    assert answer(row=9) == "ErrorInvalidPitchValue"
    assert answer(kind="Array") == "ErrorNotSupported"
    assert answer(flags=1) == "ErrorInvalidValue"


@pytest.mark.parametrize("size", [100, MIB])
def test_pageable_memory_in_an_idle_stream(rt, make, size):
    for stream in (make.free_stream(), make.stream(), 0):
        device, host = make.buffer(size), ctypes.create_string_buffer(pattern(size), size)
        rt.MemcpyAsync(device.address, host, size, rt.MemcpyHostToDevice, stream)
        ctypes.memset(host, 0, size)
        rt.StreamSynchronize(stream)
        assert device.read() == pattern(size)
        if stream:
            with Latch(rt, stream).reached():
                rt.MemcpyAsync(device.address, host, size, rt.MemcpyHostToDevice, stream)
                ctypes.memset(host, 1, size)
            rt.StreamSynchronize(stream)
            assert device.read() == bytes(size)


def test_copies_that_the_host_waits_for(rt, make):
    stream, device = make.free_stream(), make.buffer(64, 4)
    pinned, other = make.pinned(64, 3), make.pinned(64)
    host = ctypes.create_string_buffer(64)
    plain = ctypes.addressof(host)
    ways = ((plain, device.address), (plain, pinned.address), (other.address, pinned.address))
    for dst, src in (*ways, (pinned.address, plain)):
        check_waits(rt, stream, rt.MemcpyAsync, dst, src, 64, rt.MemcpyDefault, stream)


# ---- Allocations ---------------------------------------------------------------------------------


@WHOLE
def test_pools_give_up_what_they_keep_before_memory_runs_out(rt, make):
    _, total = rt.MemGetInfo()
    most = total // 4 * 3
    try:
        rt.Free(rt.Malloc(most))
    except Failure:
        pytest.skip("the system does not give so much, however much the device says it has")
    pool = rt.DeviceGetDefaultMemPool(0)
    threshold(rt, pool, HUGE)
    rt.FreeAsync(rt.MallocAsync(total // 2, 0), 0)
    rt.StreamSynchronize(0)
    assert number(rt, pool, "AttrReservedMemCurrent") >= total // 2
    rt.Free(rt.Malloc(most))
    assert number(rt, pool, "AttrReservedMemCurrent") < total // 2
    threshold(rt, pool, 0)


@WHOLE
def test_sizes_that_overflow(rt):
    for size in (HUGE, HUGE // 2, HUGE - 511):
        for name in ("Malloc", "MallocHost"):
            assert getattr(rt.code, name)(size) == "ErrorMemoryAllocation"
        assert rt.code.MallocManaged(size, rt.MemAttachGlobal) == "ErrorMemoryAllocation"
        assert rt.code.MallocAsync(size, 0) == "ErrorMemoryAllocation"
    for width, height in ((HUGE, 2), (HUGE // 4, 8)):
        assert rt.code.MallocPitch(width, height) == "ErrorInvalidValue"
    extent = rt.struct("Extent", width=HUGE // 2, height=2, depth=2)
    assert rt.code.Malloc3D(extent) == "ErrorInvalidValue"


def test_what_free_does_not_take(rt, make):
    host = ctypes.create_string_buffer(4096)
    plain = ctypes.addressof(host)
    rt.HostRegister(plain, 4096, 0)
    assert rt.code.Free(plain) == "ErrorInvalidValue"
    assert "infinirtHostUnregister" in rt.message()
    assert rt.code.FreeHost(plain) == "ErrorInvalidValue"
    rt.HostUnregister(plain)
    assert rt.code.FreeHost(make.buffer(64).address) == "ErrorInvalidValue"
    assert rt.code.HostRegister(make.buffer(64).address, 64, 0) == "ErrorInvalidValue"


def test_waiting_before_memory_goes(rt, make):
    stream, host = make.free_stream(), ctypes.create_string_buffer(4096)
    rt.HostRegister(ctypes.addressof(host), 4096, 0)
    ends = ((rt.Free, rt.Malloc(4096)), (rt.FreeHost, rt.MallocHost(4096)))
    for end, address in (*ends, (rt.HostUnregister, ctypes.addressof(host))):
        check_waits(rt, stream, end, address)


def test_registered_memory_may_be_unmapped(rt):
    size = 8 * MIB
    space = mmap.mmap(-1, size)
    first = ctypes.c_char.from_buffer(space)
    start = ctypes.addressof(first)
    for at in range(0, size, 1 << 16):
        rt.HostRegister(start + at, 4096, 0)
    del first
    space.close()
    blocks = [rt.Malloc(MIB) for _ in range(8)]  # some may lie there
    for block in blocks:
        rt.Memset(block, 0, MIB)
    rt.DeviceSynchronize()
    for block in blocks:
        rt.Free(block)


@WHOLE
def test_advice_by_pages(rt, make):
    page, memory = 4096, rt.MallocManaged(4 * 4096, rt.MemAttachGlobal)
    value = ctypes.c_int()

    def told(word, start, count):
        attribute = getattr(rt, f"MemRangeAttribute{word}")
        rt.MemRangeGetAttribute(ctypes.byref(value), 4, attribute, memory + start, count)
        return value.value

    rt.MemAdvise(memory, 3 * page, rt.MemAdviseSetReadMostly, 0)
    rt.MemAdvise(memory + page, 2 * page, rt.MemAdviseSetPreferredLocation, 0)
    assert (told("ReadMostly", 0, 3 * page), told("ReadMostly", 0, 4 * page)) == (1, 0)
    assert told("PreferredLocation", page, 2 * page) == 0
    assert told("PreferredLocation", 0, 2 * page) == rt.InvalidDeviceId
    assert told("PreferredLocationType", 2 * page, 1) == rt.MemLocationTypeDevice
    rt.MemAdvise(memory, 4 * page, rt.MemAdviseUnsetReadMostly, 0)
    assert told("ReadMostly", 0, page) == 0
    assert rt.code.MemAdvise(memory, 5 * page, rt.MemAdviseSetReadMostly, 0) != "Success"
    assert rt.code.MemAdvise(memory, 16, 77, 0) == "ErrorInvalidValue"
    assert rt.code.MemRangeGetAttribute(ctypes.byref(value), 3, 1, memory, 16) != "Success"
    here = rt.struct("MemLocation", type=rt.MemLocationTypeDevice)
    rt.MemPrefetchAsync_v2(memory, 2 * page, here, 0, 0)
    assert told("LastPrefetchLocation", 0, 2 * page) == 0
    nowhere = rt.struct("MemLocation", type=rt.MemLocationTypeInvalid)
    assert rt.code.MemAdvise_v2(memory, 16, rt.MemAdviseSetPreferredLocation, nowhere) != "Success"
    stream = make.stream()
    rt.StreamAttachMemAsync(stream, memory, 0, rt.MemAttachSingle)
    rt.StreamAttachMemAsync(0, memory, 4 * page, rt.MemAttachGlobal)
    for into, length, flags in ((0, 0, rt.MemAttachSingle), (stream, 100, rt.MemAttachHost)):
        assert rt.code.StreamAttachMemAsync(into, memory, length, flags) == "ErrorInvalidValue"
    rt.StreamSynchronize(stream)
    rt.Free(memory)


# ---- Pools and other processes -------------------------------------------------------------------


def test_free_neighbours_become_one_block(rt, make):
    pool, stream = make.pool(maxSize=2 * MIB), make.free_stream()
    for _ in range(2):
        blocks = [rt.MallocFromPoolAsync(512, pool, stream) for _ in range(4096)]
        assert rt.code.MallocFromPoolAsync(1, pool, stream) == "ErrorMemoryAllocation"
        random.shuffle(blocks)
        for block in blocks:
            rt.FreeAsync(block, stream)
        whole = rt.MallocFromPoolAsync(2 * MIB, pool, stream)
        assert number(rt, pool, "AttrReservedMemCurrent") == 2 * MIB
        rt.FreeAsync(whole, stream)


@WHOLE
def test_chunks_are_given_up_for_a_larger_one(rt, make):
    pool = make.pool(maxSize=5 * MIB)
    first = rt.MallocFromPoolAsync(4 * MIB, pool, 0)
    assert rt.code.MallocFromPoolAsync(2 * MIB, pool, 0) == "ErrorMemoryAllocation"
    second = rt.MallocFromPoolAsync(MIB, pool, 0)
    rt.FreeAsync(first, 0)
    rt.FreeAsync(second, 0)
    rt.FreeAsync(rt.MallocFromPoolAsync(5 * MIB, pool, 0), 0)


def test_attributes_of_pools_that_cannot_be_set(rt, make):
    pool, value = make.pool(), ctypes.c_uint64(5)
    for attribute in (99, rt.MemPoolAttrUsedMemHigh, rt.MemPoolAttrUsedMemCurrent):
        said = rt.code.MemPoolSetAttribute(pool, attribute, ctypes.byref(value))
        assert said == "ErrorInvalidValue"
    assert rt.code.MemPoolGetAttribute(pool, 99, ctypes.byref(value)) == "ErrorInvalidValue"
    said = rt.code.DeviceSetGraphMemAttribute(0, rt.GraphMemAttrUsedMemHigh, ctypes.byref(value))
    assert said == "ErrorInvalidValue"
    assert rt.MallocHost(0) == rt.MallocAsync(0, 0) == 0
    rt.FreeAsync(0, 0)


def test_plain_memory_is_freed_in_stream_order(rt, make):
    stream, plain, pinned = make.free_stream(), rt.Malloc(4096), make.pinned(4096)
    rt.Memset(plain, 7, 4096)
    rt.StreamSynchronize(0)
    with Latch(rt, stream).reached():
        rt.MemcpyAsync(pinned.address, plain, 4096, rt.MemcpyDeviceToHost, stream)
        rt.FreeAsync(plain, stream)
        assert rt.code.FreeAsync(plain, stream) == "ErrorInvalidValue"
        assert rt.code.Memset(plain, 0, 1) == "ErrorInvalidValue"
    rt.StreamSynchronize(stream)
    assert pinned.view()[4095] == 7
    assert rt.code.FreeAsync(pinned.address, stream) == "ErrorInvalidValue"


@pytest.mark.needs("ipc")
def test_handles_of_the_same_process(rt, make):
    memory, event = make.buffer(1000), make.event(rt.EventInterprocess | rt.EventDisableTiming)
    said = rt.code.IpcOpenMemHandle(rt.IpcGetMemHandle(memory.address), 1)
    assert said == "ErrorDeviceUninitialized"
    assert rt.code.IpcOpenEventHandle(rt.IpcGetEventHandle(event)) == "ErrorDeviceUninitialized"
    assert rt.code.IpcCloseMemHandle(memory.address) == "ErrorInvalidValue"


@pytest.mark.needs("ipc")
def test_memory_of_another_process_opened_twice(rt, make):
    buffer = make.buffer(1000, 42)
    said = python(
        TAKE
        + """
handle = take("IpcMemHandle_st", sys.argv[1])
print(rt.code.IpcOpenMemHandle(handle, 0))
first, second = (rt.IpcOpenMemHandle(handle, rt.IpcMemLazyEnablePeerAccess) for _ in range(2))
print(first == second, rt.code.Free(first))
rt.IpcCloseMemHandle(first)
rt.Memset(second, 43, 100)  # the other opening still counts
rt.DeviceSynchronize()
rt.IpcCloseMemHandle(second)
print(rt.code.IpcCloseMemHandle(second))
""",
        text_of(rt.IpcGetMemHandle(buffer.address)),
    ).split()
    assert said == ["ErrorInvalidValue", "True", "ErrorInvalidValue", "ErrorInvalidValue"]
    assert buffer.read() == bytes([43]) * 100 + bytes([42]) * 900
