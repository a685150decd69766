"""Level 1: memory and copies."""

from __future__ import annotations

import ctypes
import itertools
import random
from typing import Any

from infinicore.conformance.cases import (
    Refused,
    Unavailable,
    case,
    expect,
    expect_bytes,
    expect_equal,
    on_threads,
)

SIZES = (1, 2, 3, 7, 64, 255, 256, 257, 4095, 4096, 65_537, 1 << 20, (8 << 20) + 13)


def pattern(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@case(1, "memory/sizes")
def sizes(make: Any) -> None:
    """Allocations of any size keep their bytes, all at the same time."""
    buffers = [(make.buffer(size, pattern(size, size)), size) for size in SIZES]
    for buffer, size in buffers:
        expect_bytes(buffer.read(), pattern(size, size), f"{size} bytes")


@case(1, "memory/alignment")
def alignment(make: Any) -> None:
    """Addresses are multiples of 256, and allocations do not overlap."""
    spans = sorted((make.buffer(size).address, size) for size in SIZES * 3)
    for address, size in spans:
        expect(address % 256 == 0, f"{size} bytes lie at 0x{address:x}, no multiple of 256")
    for (one, size), (other, _) in itertools.pairwise(spans):
        expect(one + size <= other, f"allocations at 0x{one:x} and 0x{other:x} overlap")


@case(1, "memory/too-much")
def too_much(make: Any) -> None:
    """More memory than there is is refused, and the device stays usable."""
    expect_equal(make.rt.code.Malloc(1 << 62), "ErrorMemoryAllocation", "Malloc(2**62)")
    make.rt.code.GetLastError()
    expect_bytes(make.buffer(64, pattern(64)).read(), pattern(64), "64 bytes afterwards")


@case(1, "memory/freed-comes-back")
def freed(make: Any) -> None:
    """Memory that is freed can be allocated again: more in all than the device has."""
    rt = make.rt
    _, total = rt.MemGetInfo()
    for _ in range(20):
        rt.Free(rt.Malloc(total // 16))


@case(1, "memory/threads")
def threads(make: Any) -> None:
    """Eight threads allocate, write, read and free at the same time."""
    rt = make.rt

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for turn in range(30):
            size = chance.choice(SIZES[:-2])
            address, data = rt.Malloc(size), pattern(size, seed * 1000 + turn)
            rt.Memcpy(address, data, size, rt.MemcpyHostToDevice)
            back = (ctypes.c_ubyte * size)()
            rt.Memcpy(back, address, size, rt.MemcpyDeviceToHost)
            rt.Free(address)
            expect_bytes(bytes(back), data, f"thread {seed}, turn {turn}")

    on_threads(8, work)


@case(1, "memory/pinned")
def pinned(make: Any) -> None:
    """Pinned host memory is read and written by copies of a stream."""
    stream, data = make.stream(), pattern(70_001)
    source, back = make.pinned(len(data), data), make.pinned(len(data))
    device = make.buffer(len(data))
    rt = make.rt
    rt.MemcpyAsync(device.address, source.address, len(data), rt.MemcpyHostToDevice, stream)
    rt.MemcpyAsync(back.address, device.address, len(data), rt.MemcpyDeviceToHost, stream)
    rt.StreamSynchronize(stream)
    expect_bytes(bytes(back.view()), data, "there and back")


@case(1, "memory/managed", optional=True)
def managed(make: Any) -> None:
    """Memory that host and device both use. (optional)"""
    rt, size = make.rt, 70_001
    code = rt.code.MallocManaged(size)
    if code == "ErrorNotSupported":
        raise Refused(rt.message())
    expect_equal(code, "Success", "MallocManaged")
    address = rt.MallocManaged(size)
    make.later(rt.code.Free, address)
    rt.Memset(address, 0x5A, size)
    rt.DeviceSynchronize()
    expect_bytes(ctypes.string_at(address, size), b"\x5a" * size, "as the host sees it")


@case(1, "memory/pointers")
def pointers(make: Any) -> None:
    """Addresses are recognised: the device's, the host's."""
    rt, buffer = make.rt, make.buffer(4096)
    inside = rt.PointerGetAttributes(buffer.address + 100)
    expect_equal(inside.type, rt.MemoryTypeDevice, "the type of a device's address")
    expect_equal(inside.device, rt.GetDevice(), "its device")
    there = make.pinned(4096)
    expect_equal(rt.PointerGetAttributes(there.address).type, rt.MemoryTypeHost, "of pinned memory")


@case(1, "copies/directions")
def directions(make: Any) -> None:
    """Host to device, device to device, device to host; the default finds out which."""
    rt, size = make.rt, 100_003
    data = pattern(size)
    for given in (False, True):
        kinds = [
            getattr(rt, f"Memcpy{way}") if given else rt.MemcpyDefault
            for way in ("HostToDevice", "DeviceToDevice", "DeviceToHost")
        ]
        one, two, back = make.buffer(size, 0), make.buffer(size, 0), (ctypes.c_ubyte * size)()
        rt.Memcpy(one.address, data, size, kinds[0])
        rt.Memcpy(two.address, one.address, size, kinds[1])
        rt.Memcpy(back, two.address, size, kinds[2])
        expect_bytes(bytes(back), data, f"kinds {kinds}")


@case(1, "copies/offsets")
def offsets(make: Any) -> None:
    """Copies between any bytes touch these bytes and no others."""
    rt, chance, size = make.rt, random.Random(5), 5000
    source, target = pattern(size, 3), bytearray(pattern(size, 4))
    one, two = make.buffer(size, source), make.buffer(size, bytes(target))
    for _ in range(100):
        count = chance.choice((1, 2, 3, 4, 15, 16, 17, 63, 64, 65, 1000))
        start, end = chance.randrange(size - count), chance.randrange(size - count)
        rt.Memcpy(two + end, one + start, count, rt.MemcpyDeviceToDevice)
        target[end : end + count] = source[start : start + count]
    expect_bytes(two.read(), bytes(target), "after 100 copies")


@case(1, "copies/nothing")
def nothing(make: Any) -> None:
    """A copy and a fill of no bytes succeed and change nothing."""
    rt, buffer = make.rt, make.buffer(64, 7)
    rt.Memcpy(buffer.address, buffer.address, 0, rt.MemcpyDeviceToDevice)
    rt.Memset(buffer.address, 9, 0)
    rt.DeviceSynchronize()
    expect_bytes(buffer.read(), b"\7" * 64, "the buffer")


@case(1, "copies/pitched")
def pitched(make: Any) -> None:
    """Rows with a pitch: to the device, on it, and back."""
    rt, width, height = make.rt, 37, 11
    rows = [pattern(width, row) for row in range(height)]
    for source_pitch, pitch in ((37, 37), (37, 64), (40, 129), (64, 48)):
        host = b"".join(row.ljust(source_pitch, b"\xaa") for row in rows)
        one, two = make.buffer(pitch * height, 0xEE), make.buffer(source_pitch * height, 0xDD)
        rt.Memcpy2D(one.address, pitch, host, source_pitch, width, height, rt.MemcpyHostToDevice)
        expected = b"".join(row.ljust(pitch, b"\xee") for row in rows)
        expect_bytes(one.read(), expected, f"pitch {source_pitch} to {pitch}")
        rt.Memcpy2D(
            *(two.address, source_pitch, one.address, pitch, width, height),
            rt.MemcpyDeviceToDevice,
        )
        expected = b"".join(row.ljust(source_pitch, b"\xdd") for row in rows)
        expect_bytes(two.read(), expected, f"on the device, pitch {pitch} to {source_pitch}")


@case(1, "copies/large")
def large(make: Any) -> None:
    """64 MiB arrive whole."""
    size = 64 << 20
    free, _ = make.rt.MemGetInfo()
    if free < 2 * size:
        raise Unavailable(f"needs {2 * size} bytes, {free} are free")
    data = pattern(1 << 20) * 64
    one, two = make.buffer(size, data), make.buffer(size)
    make.rt.Memcpy(two.address, one.address, size, make.rt.MemcpyDeviceToDevice)
    expect_bytes(two.read(), data, "64 MiB")


@case(1, "copies/overlapping")
def overlapping(make: Any) -> None:
    """An overlapping copy on the device is refused, or gives what memmove gives."""
    rt, size = make.rt, 4096
    data = pattern(size)
    buffer = make.buffer(size, data)
    code = rt.code.Memcpy(buffer + 128, buffer.address, size - 128, rt.MemcpyDeviceToDevice)
    if code == "Success":
        # CUDA leaves these bytes unspecified; only bytes outside the target must be unchanged.
        expect_bytes(buffer.read()[:128], data[:128], "the bytes before the target")
    rt.code.GetLastError()
    rt.DeviceSynchronize()


@case(1, "copies/bad-arguments")
def bad_arguments(make: Any) -> None:
    """Null addresses, unknown kinds and impossible pitches are refused with a message."""
    rt, buffer = make.rt, make.buffer(256, 3)
    calls: dict[str, tuple[Any, ...]] = {
        "a null target": ("Memcpy", None, buffer.address, 16, rt.MemcpyDefault),
        "an unknown kind": ("Memcpy", buffer.address, buffer + 128, 16, 77),
        "a pitch below the width": (
            *("Memcpy2D", buffer.address, 4, buffer + 128, 16, 16, 2),
            rt.MemcpyDeviceToDevice,
        ),
        "a null address to fill": ("Memset", None, 1, 16),
    }
    for what, (name, *arguments) in calls.items():
        code = getattr(rt.code, name)(*arguments)
        expect(code != "Success", f"{name} with {what} succeeded")
        expect(rt.message(), f"{name} with {what}: {code} without a message")
        rt.code.GetLastError()
    expect_bytes(buffer.read(), b"\3" * 256, "the buffer afterwards")


@case(1, "copies/fill")
def fill(make: Any) -> None:
    """Memset and its form for rows write the bytes they should."""
    rt, buffer = make.rt, make.buffer(1000, 1)
    rt.Memset(buffer + 3, 0xAB, 501)
    rt.Memset2D(buffer + 600, 40, 0x11, 17, 10)
    rt.DeviceSynchronize()
    expected = bytearray(b"\1" * 1000)
    expected[3:504] = b"\xab" * 501
    for row in range(10):
        expected[600 + 40 * row : 617 + 40 * row] = b"\x11" * 17
    expect_bytes(buffer.read(), bytes(expected), "the buffer")


@case(1, "copies/peer", optional=True)
def peer(make: Any) -> None:
    """A copy between two devices of the kind. (optional)"""
    rt = make.rt
    if rt.GetDeviceCount() < 2:
        raise Unavailable("needs two devices")
    data = pattern(100_003)
    one = make.buffer(len(data), data)
    rt.SetDevice(1)
    two = make.buffer(len(data), 0)
    rt.MemcpyPeer(two.address, 1, one.address, 0, len(data))
    got = two.read()
    rt.SetDevice(0)
    expect_bytes(got, data, "on device 1")
