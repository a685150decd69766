"""Copies and fills against a model in plain bytes, with odd sizes and pitches."""

from __future__ import annotations

import ctypes
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import Latch

HUGE = (1 << 64) - 1


def pattern(size: int, seed: int = 1) -> bytes:
    return bytes((index * 31 + seed * 17) % 251 for index in range(size))


def copied(dst, src, dst_at, src_at, dst_pitch, src_pitch, dst_slice, src_slice, extent) -> bytes:
    """The model: copies a box of bytes."""
    made = bytearray(dst)
    width, height, depth = extent
    for z, y in itertools.product(range(depth), range(height)):
        to = dst_at + z * dst_slice + y * dst_pitch
        at = src_at + z * src_slice + y * src_pitch
        made[to : to + width] = src[at : at + width]
    return bytes(made)


@pytest.mark.parametrize("size", [0, 1, 3, 63, 64, 65, 4095, 100_003, (1 << 22) + 5])
def test_bytes_there_and_back(rt, make, size):
    data = pattern(size)
    a, b = make.buffer(size + 2, 0xAA), make.buffer(size + 2, 0xBB)
    rt.Memcpy(a + 1, data, size, rt.MemcpyHostToDevice)
    rt.Memcpy(b + 1, a + 1, size, rt.MemcpyDeviceToDevice)
    into = (ctypes.c_ubyte * (size + 2))()
    rt.Memcpy(into, b.address, size + 2, rt.MemcpyDeviceToHost)
    assert bytes(into) == b"\xbb" + data + b"\xbb"


def test_host_to_host(rt):
    into = (ctypes.c_ubyte * 100)()
    rt.Memcpy(into, pattern(100), 100, rt.MemcpyHostToHost)
    assert bytes(into) == pattern(100)
    rt.Memcpy(into, pattern(100, 2), 100, rt.MemcpyDefault)
    assert bytes(into) == pattern(100, 2)


def test_nothing_to_copy_is_no_error(rt, make):
    buffer = make.buffer(16, 1)
    rt.Memcpy(buffer.address, buffer.address, 0, rt.MemcpyDefault)
    rt.Memset(buffer.address, 5, 0)
    rt.Memcpy2D(buffer.address, 4, buffer.address, 4, 0, 3, rt.MemcpyDefault)
    rt.Memcpy2D(buffer.address, 4, buffer.address, 4, 4, 0, rt.MemcpyDefault)
    assert buffer.read() == bytes([1]) * 16


def test_directions_that_do_not_exist(rt, make, refused):
    a, b = make.buffer(64), make.buffer(64)
    for kind in (5, -1, 77):
        with refused("ErrorInvalidMemcpyDirection", "kind"):
            rt.Memcpy(a.address, b.address, 64, kind)


PLACES = ["pageable", "pinned", "device"]
CALLED_DEVICE = {
    0: (),
    1: ("to",),
    2: ("from",),
    3: ("to", "from"),
    4: (),
}  # by each infinirtMemcpyKind


@pytest.mark.parametrize("kind", CALLED_DEVICE)
@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("target", PLACES)
def test_directions_and_places(rt, make, target, source, kind):
    """The only error is a direction that calls pageable memory device memory. Otherwise the
    addresses decide."""
    page = [(ctypes.c_ubyte * 64)() for _ in range(2)]
    places = {
        "pageable": [ctypes.addressof(memory) for memory in page],
        "pinned": [make.pinned(64).address for _ in range(2)],
        "device": [make.buffer(64, 0).address for _ in range(2)],
    }
    wrong = (target == "pageable" and "to" in CALLED_DEVICE[kind]) or (
        source == "pageable" and "from" in CALLED_DEVICE[kind]
    )
    data, into = pattern(64), (ctypes.c_ubyte * 64)()
    rt.Memcpy(places[source][1], data, 64, rt.MemcpyDefault)
    code = rt.code.Memcpy(places[target][0], places[source][1], 64, kind)
    assert code == ("ErrorInvalidValue" if wrong else "Success")
    rt.Memcpy(into, places[target][0], 64, rt.MemcpyDefault)
    assert bytes(into) == (bytes(64) if wrong else data)


def test_more_than_the_allocation_holds(rt, make, refused):
    a, b = make.buffer(64, 1), make.buffer(128, 2)
    for size in (65, 1 << 40, HUGE):
        with refused("ErrorInvalidValue"):
            rt.Memcpy(a.address, b.address, size, rt.MemcpyDeviceToDevice)
        if "core-words" in rt.tags:  # CUDA checks bounds of copies only
            with refused("ErrorInvalidValue"):
                rt.Memset(a.address, 0, size)
    with refused("ErrorInvalidValue"):
        rt.Memcpy(a + 60, b.address, 5, rt.MemcpyDeviceToDevice)
    assert a.read() == bytes([1]) * 64


def test_null_addresses(rt, make, refused):
    buffer = make.buffer(64)
    with refused("ErrorInvalidValue", "dst", "null"):
        rt.Memcpy(None, buffer.address, 4, rt.MemcpyDefault)
    with refused("ErrorInvalidValue", "src", "null"):
        rt.Memcpy(buffer.address, None, 4, rt.MemcpyDefault)
    with refused("ErrorInvalidValue", "devPtr"):
        rt.Memset(None, 0, 4)


sizes = st.integers(1, 40)
boxes = st.tuples(sizes, st.integers(1, 9), st.integers(1, 4))


@settings(max_examples=60)
@given(box=boxes, gaps=st.tuples(*[st.integers(0, 7)] * 2), use_async=st.booleans())
def test_rows_of_two_pitches(box, gaps, use_async):
    from kit import Maker, open_runtime

    rt = open_runtime()
    make = Maker(rt)
    width, height, _ = box
    dst_pitch, src_pitch = width + gaps[0], width + gaps[1]
    before, data = pattern(dst_pitch * height, 5), pattern(src_pitch * height)
    target, source = make.buffer(len(before), before), make.buffer(len(data), data)
    arguments = (target.address, dst_pitch, source.address, src_pitch, width, height)
    if use_async:
        stream = make.stream()
        rt.Memcpy2DAsync(*arguments, rt.MemcpyDeviceToDevice, stream)
        rt.StreamSynchronize(stream)
    else:
        rt.Memcpy2D(*arguments, rt.MemcpyDefault)
    expected = copied(before, data, 0, 0, dst_pitch, src_pitch, 0, 0, (width, height, 1))
    assert target.read() == expected
    rt.Memset2D(target.address, dst_pitch, 0x7E, width, height)
    filled = copied(
        expected, b"\x7e" * len(before), 0, 0, dst_pitch, dst_pitch, 0, 0, (width, height, 1)
    )
    assert target.read() == filled
    make.end()


@settings(max_examples=60)
@given(
    box=boxes,
    gaps=st.tuples(*[st.integers(0, 5)] * 4),
    at=st.tuples(*[st.integers(0, 3)] * 6),
    use_async=st.booleans(),
)
def test_boxes(box, gaps, at, use_async):
    from kit import Maker, open_runtime

    rt = open_runtime()
    make = Maker(rt)
    width, height, depth = box
    sides = []
    for side in range(2):
        x, y, z = at[side * 3 : side * 3 + 3]
        pitch = width + x + gaps[side * 2]
        rows = height + y + gaps[side * 2 + 1]
        data = pattern(pitch * rows * (depth + z), side)
        sides.append((make.buffer(len(data), data), data, pitch, rows, (x, y, z)))
    (target, before, dst_pitch, dst_rows, to), (source, data, src_pitch, src_rows, start) = sides
    parameters = rt.struct(
        "Memcpy3DParms",
        srcPtr={"ptr": source.address, "pitch": src_pitch, "xsize": src_pitch, "ysize": src_rows},
        dstPtr={"ptr": target.address, "pitch": dst_pitch, "xsize": dst_pitch, "ysize": dst_rows},
        srcPos=dict(zip("xyz", start, strict=True)),
        dstPos=dict(zip("xyz", to, strict=True)),
        extent={"width": width, "height": height, "depth": depth},
        kind=rt.MemcpyDefault,
    )
    if use_async:
        stream = make.stream()
        rt.Memcpy3DAsync(parameters, stream)
        rt.StreamSynchronize(stream)
    else:
        rt.Memcpy3D(parameters)
    expected = copied(
        before,
        data,
        to[0] + to[1] * dst_pitch + to[2] * dst_pitch * dst_rows,
        start[0] + start[1] * src_pitch + start[2] * src_pitch * src_rows,
        dst_pitch,
        src_pitch,
        dst_pitch * dst_rows,
        src_pitch * src_rows,
        box,
    )
    assert target.read() == expected
    make.end()


def test_filling_a_box(rt, make):
    pitch, rows, depth = 40, 6, 3
    target = make.buffer(pitch * rows * depth, 1)
    place = rt.struct("PitchedPtr", ptr=target.address, pitch=pitch, xsize=33, ysize=rows)
    extent = rt.struct("Extent", width=33, height=5, depth=3)
    rt.Memset3D(place, 0x19, extent)
    filled = copied(
        b"\1" * target.size, b"\x19" * target.size, 0, 0, pitch, pitch, 240, 240, (33, 5, 3)
    )
    assert target.read() == filled
    stream = make.stream()
    rt.Memset3DAsync(place, 1, extent, stream)
    rt.StreamSynchronize(stream)
    assert target.read() == b"\1" * target.size


@pytest.mark.parametrize("value", [0, 1, 255, 256, 0x1FF, -1])
def test_a_fill_takes_the_low_byte(rt, make, value):
    buffer = make.buffer(9, 77)
    rt.Memset(buffer + 1, value, 7)
    assert buffer.read() == bytes([77] + [value & 255] * 7 + [77])


def test_pitches_that_are_too_small(rt, make, refused):
    a, b = make.buffer(4096), make.buffer(4096)
    with refused("ErrorInvalidPitchValue", "dpitch"):
        rt.Memcpy2D(a.address, 9, b.address, 10, 10, 3, rt.MemcpyDefault)
    with refused("ErrorInvalidPitchValue", "spitch"):
        rt.Memcpy2D(a.address, 10, b.address, 9, 10, 3, rt.MemcpyDefault)
    if "core-words" in rt.tags:  # CUDA's addresses wrap, and it checks bounds of copies only
        with refused("ErrorInvalidPitchValue", "dpitch"):
            rt.Memcpy2D(a.address, HUGE, b.address, 10, 10, 3, rt.MemcpyDefault)
        with refused("ErrorInvalidValue"):
            rt.Memset2D(a.address, 10, 0, 10, HUGE)


def test_copies_in_streams_are_in_order(rt, make):
    stream = make.free_stream()
    host, device, back = make.pinned(256, 1), make.buffer(256, 0), make.pinned(256)
    with Latch(rt, stream).reached():
        rt.MemcpyAsync(device.address, host.address, 256, rt.MemcpyHostToDevice, stream)
        rt.MemsetAsync(device + 100, 9, 50, stream)
        rt.MemcpyAsync(back.address, device.address, 256, rt.MemcpyDeviceToHost, stream)
        assert bytes(back.view()) == bytes(256)
        host.view()[0] = 5  # pinned memory is read when its turn comes
    rt.StreamSynchronize(stream)
    assert bytes(back.view()) == bytes([5] + [1] * 99 + [9] * 50 + [1] * 106)


def test_pageable_memory_can_be_reused_when_the_call_returns(rt, make):
    # CUDA stages pageable host memory: the source may be changed immediately.
    stream, device = make.free_stream(), make.buffer(65536, 0)
    data = (ctypes.c_ubyte * 4096)(*pattern(4096))
    with Latch(rt, stream).reached():
        rt.MemcpyAsync(device.address, data, 4096, rt.MemcpyHostToDevice, stream)
        ctypes.memset(data, 0xEE, 4096)
    rt.StreamSynchronize(stream)
    assert device.read(0, 4096) == pattern(4096)


def test_many_copies_at_once(rt, make):
    stream, device, count = make.stream(), make.buffer(4096, 0), 16
    sources = [make.pinned(32, index + 1) for index in range(count)]
    dsts = (ctypes.c_void_p * count)(*[device + 64 * index for index in range(count)])
    srcs = (ctypes.c_void_p * count)(*[source.address for source in sources])
    lengths = (ctypes.c_size_t * count)(*[index + 1 for index in range(count)])
    attributes = rt.struct("MemcpyAttributes", srcAccessOrder=rt.MemcpySrcAccessOrderStream)
    failed = rt.MemcpyBatchAsync(
        dsts, srcs, lengths, count, attributes, (ctypes.c_size_t * 1)(0), 1, stream
    )
    rt.StreamSynchronize(stream)
    assert failed == HUGE
    for index in range(count):
        assert device.read(64 * index, 64) == bytes([index + 1] * (index + 1)).ljust(64, b"\0")


def test_many_boxes_at_once(rt, make):
    stream, device, host = make.stream(), make.buffer(1024, 0), make.pinned(1024, pattern(1024))
    operation = rt.struct("Memcpy3DBatchOp", srcAccessOrder=rt.MemcpySrcAccessOrderStream)
    for side, address in ((operation.src, host.address), (operation.dst, device.address)):
        side.type = rt.MemcpyOperandTypePointer
        side.op.ptr.ptr = address
        side.op.ptr.rowLength = 32
        side.op.ptr.layerHeight = 8
    operation.extent.width, operation.extent.height, operation.extent.depth = 20, 5, 3
    rt.Memcpy3DBatchAsync(1, operation, 0, stream)
    rt.StreamSynchronize(stream)
    expected = copied(bytes(1024), pattern(1024), 0, 0, 32, 32, 256, 256, (20, 5, 3))
    assert device.read() == expected
