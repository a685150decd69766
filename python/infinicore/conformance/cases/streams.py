"""Level 2: streams and events. Asynchrony is shown with latches: host functions that wait."""

from __future__ import annotations

import threading
from typing import Any

from infinicore.conformance.cases import case, expect, expect_bytes, expect_equal


def _latch(make: Any, stream: int) -> Any:
    from kit import Latch

    return Latch(make.rt, stream)


def _order(make: Any) -> Any:
    from kit import Order

    return Order(make.rt)


@case(2, "streams/asynchronous")
def asynchronous(make: Any) -> None:
    """A call returns before its work is done: a stream can be held while its queue grows."""
    rt, stream, buffer = make.rt, make.stream(), make.buffer(4096, 1)
    with _latch(make, stream) as latch:
        latch.reached()
        for value in range(2, 200):
            rt.MemsetAsync(buffer.address, value, 4096, stream)
        expect_equal(rt.code.StreamQuery(stream), "ErrorNotReady", "a held stream")
        latch.open()
        rt.StreamSynchronize(stream)
    expect_equal(rt.code.StreamQuery(stream), "Success", "after StreamSynchronize")
    expect_bytes(buffer.read(), bytes([199]) * 4096, "after the last fill")


@case(2, "streams/independent")
def independent(make: Any) -> None:
    """A held stream does not hold another one."""
    rt, held, free = make.rt, make.free_stream(), make.free_stream()
    one, two = make.buffer(4096, 1), make.buffer(4096, 2)
    with _latch(make, held) as latch:
        latch.reached()
        rt.MemcpyAsync(two.address, one.address, 4096, rt.MemcpyDeviceToDevice, free)
        rt.StreamSynchronize(free)
        expect_equal(rt.code.StreamQuery(held), "ErrorNotReady", "the held stream")
    expect_bytes(two.read(), b"\1" * 4096, "the copy in the other stream")


@case(2, "streams/order")
def order(make: Any) -> None:
    """Work of one stream is done in the order of the calls: fills, copies, host functions."""
    rt, stream, seen = make.rt, make.stream(), _order(make)
    one, two = make.buffer(65_536, 0), make.buffer(65_536, 0)
    for turn in range(1, 100):
        rt.MemsetAsync(one.address, turn, 65_536, stream)
        rt.MemcpyAsync(two + turn, one + turn, 1, rt.MemcpyDeviceToDevice, stream)
        seen.note(stream, turn)
    rt.StreamSynchronize(stream)
    expect_equal(seen.seen, list(range(1, 100)), "the order of the host functions")
    expect_bytes(two.read(0, 100), bytes(range(100)), "one byte of each turn")


@case(2, "streams/default")
def default_stream(make: Any) -> None:
    """The null stream waits for work of blocking streams, and they wait for it."""
    rt, stream = make.rt, make.stream()
    one, two, three = (make.buffer(1 << 20, value) for value in (1, 2, 3))
    for value in range(10, 30):
        rt.MemsetAsync(one.address, value, 1 << 20, stream)
        rt.MemcpyAsync(two.address, one.address, 1 << 20, rt.MemcpyDeviceToDevice, None)
        rt.MemcpyAsync(three.address, two.address, 1 << 20, rt.MemcpyDeviceToDevice, stream)
        rt.StreamSynchronize(stream)
        expect_bytes(three.read(0, 4096), bytes([value]) * 4096, f"turn {value}")


@case(2, "streams/non-blocking")
def non_blocking(make: Any) -> None:
    """The null stream does not wait for a stream made with StreamNonBlocking."""
    rt, held, buffer = make.rt, make.free_stream(), make.buffer(64, 1)
    with _latch(make, held) as latch:
        latch.reached()
        rt.MemsetAsync(buffer.address, 9, 64, None)
        rt.StreamSynchronize(None)
        expect_equal(rt.code.StreamQuery(held), "ErrorNotReady", "the held stream")
    expect_bytes(buffer.read(), b"\x09" * 64, "the fill of the null stream")


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
    """A stream that is destroyed finishes its work."""
    rt, buffer, watch = make.rt, make.buffer(4096, 0), make.event()
    for value in range(1, 40):
        stream = rt.StreamCreate()
        rt.MemsetAsync(buffer.address, value, 4096, stream)
        rt.EventRecord(watch, stream)
        rt.StreamDestroy(stream)
        rt.EventSynchronize(watch)
        expect_bytes(buffer.read(0, 64), bytes([value]) * 64, f"turn {value}")


@case(2, "streams/device-synchronize")
def device_synchronize(make: Any) -> None:
    """DeviceSynchronize waits for every stream."""
    rt, streams = make.rt, [make.free_stream() for _ in range(4)]
    buffers = [make.buffer(1 << 20, 0) for _ in streams]
    for turn in range(1, 20):
        for stream, buffer in zip(streams, buffers, strict=True):
            rt.MemsetAsync(buffer.address, turn, 1 << 20, stream)
        rt.DeviceSynchronize()
        for stream in streams:
            expect_equal(rt.code.StreamQuery(stream), "Success", "a stream afterwards")


@case(2, "streams/threads")
def threads(make: Any) -> None:
    """Sixteen threads with a stream each."""
    rt, wrong = make.rt, []

    def work(seed: int) -> None:
        try:
            stream, address = rt.StreamCreate(), rt.Malloc(4096)
            for turn in range(50):
                rt.MemsetAsync(address, (seed + turn) % 256, 4096, stream)
            rt.StreamSynchronize(stream)
            from kit import Buffer

            expected = bytes([(seed + 49) % 256]) * 4096
            expect_bytes(Buffer(rt, address, 4096).read(), expected, f"thread {seed}")
            rt.StreamDestroy(stream)
            rt.Free(address)
        except Exception as error:
            wrong.append(error)

    running = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if wrong:
        raise wrong[0]


@case(2, "streams/host-function")
def host_function(make: Any) -> None:
    """A host function is called once, after the work before it and before the work behind it."""
    rt, stream, seen = make.rt, make.stream(), _order(make)
    pinned, buffer = make.pinned(64, 0), make.buffer(64, 5)
    rt.MemcpyAsync(pinned.address, buffer.address, 64, rt.MemcpyDeviceToHost, stream)
    seen.note(stream, "called", lambda: seen.seen.append(bytes(pinned.view())))
    rt.MemsetAsync(buffer.address, 6, 64, stream)
    rt.StreamSynchronize(stream)
    expect_equal(seen.seen, [b"\5" * 64, "called"], "what the host function saw")
    expect_bytes(buffer.read(), b"\6" * 64, "the work behind it")


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


# ---- Events -------------------------------------------------------------------------------------


@case(2, "events/life")
def life(make: Any) -> None:
    """An event is complete before its first record, pending behind held work, then complete."""
    rt, event, stream = make.rt, make.event(), make.free_stream()
    expect_equal(rt.code.EventQuery(event), "Success", "an event without a record")
    with _latch(make, stream) as latch:
        latch.reached()
        rt.EventRecord(event, stream)
        expect_equal(rt.code.EventQuery(event), "ErrorNotReady", "behind held work")
        latch.open()
        rt.EventSynchronize(event)
    expect_equal(rt.code.EventQuery(event), "Success", "after EventSynchronize")


@case(2, "events/wait")
def wait(make: Any) -> None:
    """A stream that waits for an event goes on when the work before the record is done."""
    rt, first, second = make.rt, make.free_stream(), make.free_stream()
    event, one, two = make.event(), make.buffer(1 << 20, 1), make.buffer(1 << 20, 2)
    with _latch(make, first) as latch:
        latch.reached()
        rt.MemsetAsync(one.address, 77, 1 << 20, first)
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.MemcpyAsync(two.address, one.address, 1 << 20, rt.MemcpyDeviceToDevice, second)
        expect_equal(rt.code.StreamQuery(second), "ErrorNotReady", "the stream that waits")
        latch.open()
        rt.StreamSynchronize(second)
    expect_bytes(two.read(), b"\x4d" * (1 << 20), "what the second stream copied")


@case(2, "events/last-record")
def last_record(make: Any) -> None:
    """A wait refers to the record that was submitted last: a later record does not change it."""
    rt, first, held, second = (make.rt, *(make.free_stream() for _ in range(3)))
    event, buffer = make.event(), make.buffer(64, 1)
    rt.EventRecord(event, first)
    rt.StreamWaitEvent(second, event, 0)
    with _latch(make, held) as latch:
        latch.reached()
        rt.EventRecord(event, held)  # behind the latch: the wait above is not for this one
        rt.MemsetAsync(buffer.address, 8, 64, second)
        rt.StreamSynchronize(second)
    expect_bytes(buffer.read(), b"\x08" * 64, "the stream that waited for the first record")


@case(2, "events/chain")
def chain(make: Any) -> None:
    """A value is handed through twenty streams, each waiting for the one before."""
    rt, size = make.rt, 1 << 18
    streams = [make.free_stream() for _ in range(20)]
    buffers = [make.buffer(size, 0) for _ in range(21)]
    for value in (3, 4, 5):
        rt.MemsetAsync(buffers[0].address, value, size, streams[0])
        for index, stream in enumerate(streams):
            source, target = buffers[index], buffers[index + 1]
            rt.MemcpyAsync(target.address, source.address, size, rt.MemcpyDeviceToDevice, stream)
            event = make.event(rt.EventDisableTiming)
            rt.EventRecord(event, stream)
            rt.StreamWaitEvent(streams[(index + 1) % 20], event, 0)
        rt.DeviceSynchronize()
        expect_bytes(buffers[20].read(), bytes([value]) * size, f"value {value} at the end")


@case(2, "events/timing")
def timing(make: Any) -> None:
    """The time between two records is not negative, and grows with the work between them."""
    rt, stream = make.rt, make.stream()
    start, middle, end = (make.event() for _ in range(3))
    buffer = make.buffer(1 << 20, 0)
    rt.EventRecord(start, stream)
    rt.EventRecord(middle, stream)
    for _ in range(200):
        rt.MemsetAsync(buffer.address, 1, 1 << 20, stream)
    rt.EventRecord(end, stream)
    rt.StreamSynchronize(stream)
    short, long = rt.EventElapsedTime(start, middle), rt.EventElapsedTime(start, end)
    expect(0 <= short <= long, f"start to middle {short} ms, start to end {long} ms")
    expect(long > 0, "200 fills of 1 MiB took no time")


@case(2, "events/bad-timing")
def bad_timing(make: Any) -> None:
    """No time without two records, or with EventDisableTiming."""
    rt, stream = make.rt, make.stream()
    recorded, never, untimed = make.event(), make.event(), make.event(rt.EventDisableTiming)
    rt.EventRecord(recorded, stream)
    rt.EventRecord(untimed, stream)
    rt.StreamSynchronize(stream)
    for other, what in ((never, "an event without a record"), (untimed, "an untimed event")):
        code = rt.code.EventElapsedTime(recorded, other)
        expect_equal(code, "ErrorInvalidResourceHandle", what)
    rt.code.GetLastError()


@case(2, "events/destroy-pending")
def destroy_pending(make: Any) -> None:
    """An event that is destroyed while a stream waits for it still lets the stream go on."""
    rt, first, second, buffer = make.rt, make.free_stream(), make.free_stream(), make.buffer(64, 0)
    with _latch(make, first) as latch:
        latch.reached()
        event = rt.EventCreate()
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.EventDestroy(event)
        rt.MemsetAsync(buffer.address, 3, 64, second)
        latch.open()
        rt.StreamSynchronize(second)
    expect_bytes(buffer.read(), b"\3" * 64, "the stream that waited")
