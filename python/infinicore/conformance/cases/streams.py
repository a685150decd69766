"""Level 2: streams."""

from __future__ import annotations

import threading
from typing import Any

from infinicore.conformance.cases import (
    case,
    expect,
    expect_bytes,
    expect_equal,
    held,
    on_threads,
)


@case(2, "streams/asynchronous")
def asynchronous(make: Any) -> None:
    """A call returns before its work is done: a stream can be held while its queue grows."""
    rt, stream, buffer = make.rt, make.stream(), make.buffer(4096, 1)
    with held.hold(make, stream) as latch:
        for value in range(2, 200):
            rt.MemsetAsync(buffer.address, value, 4096, stream)
            expect(not latch.timed_out, "MemsetAsync waits for the work of its stream")
        held.stream_waits(make, stream, "a held stream")
        latch.open()
        rt.StreamSynchronize(stream)
    expect_equal(rt.code.StreamQuery(stream), "Success", "after StreamSynchronize")
    expect_bytes(buffer.read(), bytes([199]) * 4096, "after the last fill")


@case(2, "streams/independent")
def independent(make: Any) -> None:
    """A held stream does not hold another one."""
    rt, first, free = make.rt, make.free_stream(), make.free_stream()
    one, two, back = make.buffer(4096, 1), make.buffer(4096, 2), make.pinned(4096, 0)
    with held.hold(make, first):
        rt.MemcpyAsync(two.address, one.address, 4096, rt.MemcpyDeviceToDevice, free)
        rt.MemcpyAsync(back.address, two.address, 4096, rt.MemcpyDeviceToHost, free)
        held.stream_ends(make, free, "a stream beside the held one")
        expect_bytes(bytes(back.view()), b"\1" * 4096, "the copies in the other stream")
        expect_equal(rt.code.StreamQuery(first), "ErrorNotReady", "the held stream")


@case(2, "streams/order")
def order(make: Any) -> None:
    """Work of one stream is done in the order of the calls: fills, copies, host functions."""
    rt, stream, seen, size = make.rt, make.free_stream(), held.order(make), 65_536
    one, two = make.buffer(size, 0), make.buffer(size, 0)
    source, back = make.pinned(64, 77), make.pinned(128, 1)
    with held.hold(make, stream):
        # Work that wrongly does not wait, such as a copy on a separate engine, is done before the
        # latch opens, and is then overwritten by the earlier work.
        rt.MemcpyAsync(one.address, source.address, 64, rt.MemcpyHostToDevice, stream)
        rt.MemsetAsync(one.address, 78, 64, stream)
        rt.MemsetAsync(one + 64, 79, 64, stream)
        rt.MemcpyAsync(one + 64, source.address, 64, rt.MemcpyHostToDevice, stream)
        rt.MemcpyAsync(two.address, one.address, 128, rt.MemcpyDeviceToDevice, stream)
        rt.MemcpyAsync(back.address, two.address, 128, rt.MemcpyDeviceToHost, stream)
        seen.note(stream, 0)
        held.stream_waits(make, stream, "a held stream")
        expect_bytes(bytes(back.view()), b"\1" * 128, "memory of the host, behind held work")
        expect_equal(seen.seen, [], "the host functions behind held work")
    rt.StreamSynchronize(stream)
    expected = b"\x4e" * 64 + b"\x4d" * 64
    expect_bytes(bytes(back.view()), expected, "copies and fills behind held work")
    for turn in range(1, 100):
        rt.MemsetAsync(one.address, turn, size, stream)
        rt.MemcpyAsync(two + turn, one + turn, 1, rt.MemcpyDeviceToDevice, stream)
        seen.note(stream, turn)
    rt.StreamSynchronize(stream)
    expect_equal(seen.seen, list(range(100)), "the order of the host functions")
    expect_bytes(two.read(1, 99), bytes(range(1, 100)), "one byte of each turn")


@case(2, "streams/default")
def default_stream(make: Any) -> None:
    """The null stream waits for work of blocking streams, and they wait for it."""
    rt, stream, other = make.rt, make.stream(), make.stream()
    one, two, three = (make.buffer(4096, value) for value in (1, 2, 3))
    with held.hold(make, stream):
        rt.MemsetAsync(one.address, 10, 4096, stream)
        rt.MemcpyAsync(two.address, one.address, 4096, rt.MemcpyDeviceToDevice, None)
        behind = _recorded(make, None)
        rt.MemcpyAsync(three.address, two.address, 4096, rt.MemcpyDeviceToDevice, other)
        last = _recorded(make, other)
        held.waits(
            lambda: _pending(make, behind), "the null stream, behind a blocking stream that is held"
        )
        expect(_pending(make, last), "a blocking stream, behind the null stream: did not wait")
    rt.StreamSynchronize(other)
    expect_bytes(three.read(), b"\x0a" * 4096, "through a blocking, the null and another stream")
    with held.hold(make, None):
        rt.MemsetAsync(one.address, 11, 4096, None)
        rt.MemcpyAsync(two.address, one.address, 4096, rt.MemcpyDeviceToDevice, stream)
        behind = _recorded(make, stream)
        held.waits(
            lambda: _pending(make, behind), "a blocking stream, behind the null stream that is held"
        )
    rt.StreamSynchronize(stream)
    expect_bytes(two.read(), b"\x0b" * 4096, "from the null stream to a blocking one")


def _recorded(make: Any, stream: int | None) -> int:
    event = int(make.event())
    make.rt.EventRecord(event, stream)
    return event


def _pending(make: Any, event: int) -> bool:
    return bool(make.rt.code.EventQuery(event) == "ErrorNotReady")


@case(2, "streams/non-blocking")
def non_blocking(make: Any) -> None:
    """The null stream and a stream made with StreamNonBlocking do not wait for each other."""
    rt, free, one, two = make.rt, make.free_stream(), make.buffer(64, 1), make.buffer(64, 2)
    with held.hold(make, free):
        rt.MemsetAsync(one.address, 10, 64, None)
        held.stream_ends(make, None, "the null stream, beside a held free stream")
        expect_equal(rt.code.StreamQuery(free), "ErrorNotReady", "the held stream")
    rt.StreamSynchronize(free)
    with held.hold(make, None):
        rt.MemsetAsync(two.address, 11, 64, free)
        held.stream_ends(make, free, "a free stream, beside the held null stream")
        expect_equal(rt.code.StreamQuery(None), "ErrorNotReady", "the held null stream")
    expect_bytes(one.read() + two.read(), b"\x0a" * 64 + b"\x0b" * 64, "at the end")


@case(2, "streams/many")
def many(make: Any) -> None:
    """A hundred streams at the same time, each with its own data."""
    rt = make.rt
    streams = [make.stream() for _ in range(100)]
    buffers = [make.buffer(1024, 0) for _ in streams]
    for turn in range(5):
        for index, (stream, buffer) in enumerate(zip(streams, buffers, strict=True)):
            rt.MemsetAsync(buffer.address, (index + turn) % 251, 1024, stream)
    rt.DeviceSynchronize()
    for index, buffer in enumerate(buffers):
        expect_bytes(buffer.read(), bytes([(index + 4) % 251]) * 1024, f"stream {index}")


@case(2, "streams/destroy-with-work")
def destroy_with_work(make: Any) -> None:
    """A stream that is destroyed finishes its work, and its destruction does not wait for it."""
    rt, buffer, watch = make.rt, make.buffer(4096, 0), make.event()
    stream = rt.StreamCreateWithFlags(rt.StreamNonBlocking)
    with held.hold(make, stream) as latch:
        rt.MemsetAsync(buffer.address, 200, 4096, stream)
        rt.EventRecord(watch, stream)
        rt.StreamDestroy(stream)
        expect(not latch.timed_out, "StreamDestroy waits for the work of its stream")
        held.waits(lambda: _pending(make, watch), "the work of a destroyed stream that is held")
    held.ends(lambda: not _pending(make, watch), "the work of a destroyed stream")
    expect_bytes(buffer.read(), b"\xc8" * 4096, "what the destroyed stream did")
    for value in range(1, 40):
        stream = rt.StreamCreate()
        rt.MemsetAsync(buffer.address, value, 4096, stream)
        rt.EventRecord(watch, stream)
        rt.StreamDestroy(stream)
        rt.EventSynchronize(watch)
        expect_bytes(buffer.read(0, 64), bytes([value]) * 64, f"turn {value}")


@case(2, "streams/device-synchronize")
def device_synchronize(make: Any) -> None:
    """DeviceSynchronize waits for every stream, and all of them are idle afterwards."""
    rt, streams = make.rt, [make.free_stream() for _ in range(4)]
    buffers = [make.buffer(1 << 20, 0) for _ in streams]
    device = rt.GetDevice()

    def synchronize() -> None:
        rt.SetDevice(device)
        rt.DeviceSynchronize()

    for stream in (streams[0], streams[-1]):
        waiter = threading.Thread(target=synchronize, daemon=True)
        with held.hold(make, stream):
            waiter.start()
            held.waits(waiter.is_alive, "DeviceSynchronize, with one stream held")
        waiter.join(held.limit())
        expect(not waiter.is_alive(), "DeviceSynchronize: did not end")
    for turn in range(1, 100):
        for stream, buffer in zip(streams, buffers, strict=True):
            rt.MemsetAsync(buffer.address, turn, 1 << (20 if turn < 20 else 10), stream)
        rt.DeviceSynchronize()
        for stream in streams:
            expect_equal(rt.code.StreamQuery(stream), "Success", "a stream afterwards")


@case(2, "streams/threads")
def threads(make: Any) -> None:
    """Sixteen threads with a stream each."""
    from kit import Buffer

    rt = make.rt

    def work(seed: int) -> None:
        stream, address = rt.StreamCreate(), rt.Malloc(4096)
        for turn in range(50):
            rt.MemsetAsync(address, (seed + turn) % 256, 4096, stream)
        rt.StreamSynchronize(stream)
        expected = bytes([(seed + 49) % 256]) * 4096
        expect_bytes(Buffer(rt, address, 4096).read(), expected, f"thread {seed}")
        rt.StreamDestroy(stream)
        rt.Free(address)

    on_threads(16, work)


@case(2, "streams/host-function")
def host_function(make: Any) -> None:
    """A host function is called once, after the work before it and before the work behind it."""
    rt, stream, seen = make.rt, make.free_stream(), held.order(make)
    pinned, buffer = make.pinned(1 << 20, 0), make.buffer(1 << 20, 5)
    rt.MemcpyAsync(pinned.address, buffer.address, 1 << 20, rt.MemcpyDeviceToHost, stream)
    seen.note(stream, "called", lambda: seen.seen.append(bytes(pinned.view())))
    with held.hold(make, stream):
        rt.MemsetAsync(buffer.address, 6, 1 << 20, stream)
        rt.MemcpyAsync(pinned.address, buffer.address, 64, rt.MemcpyDeviceToHost, stream)
        held.stream_waits(make, stream, "the work behind a host function")
        expect_bytes(bytes(pinned.view())[:64], b"\5" * 64, "before the host function returned")
    rt.StreamSynchronize(stream)
    expect_equal(seen.seen, [b"\5" * (1 << 20), "called"], "what the host function saw")
    expect_bytes(bytes(pinned.view())[:64], b"\6" * 64, "the work behind it")


@case(2, "streams/bad-arguments")
def bad_arguments(make: Any) -> None:
    """Unknown flags are refused with a message."""
    rt = make.rt
    for name, arguments in {
        "StreamCreateWithFlags": (1 << 20,),
        "EventCreateWithFlags": (1 << 20,),
        "LaunchHostFunc": (make.stream(), None, None),
    }.items():
        answer = getattr(rt.code, name)(*arguments)
        expect(answer != "Success", f"{name}{arguments} succeeded")
        expect(rt.message(), f"{name}: {answer} without a message")
        rt.code.GetLastError()
