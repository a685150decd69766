"""Level 2: events."""

from __future__ import annotations

import time
from typing import Any

from infinicore.conformance.cases import case, expect, expect_bytes, expect_equal, held


@case(2, "events/life")
def life(make: Any) -> None:
    """An event is complete before its first record, pending behind held work, then complete."""
    rt, event, stream = make.rt, make.event(), make.free_stream()
    expect_equal(rt.code.EventQuery(event), "Success", "an event without a record")
    with held.hold(make, stream) as latch:
        rt.EventRecord(event, stream)
        expect_equal(rt.code.EventQuery(event), "ErrorNotReady", "behind held work")
        latch.open()
        rt.EventSynchronize(event)
    expect_equal(rt.code.EventQuery(event), "Success", "after EventSynchronize")


@case(2, "events/wait")
def wait(make: Any) -> None:
    """A stream that waits for an event goes on when the work before the record is done."""
    rt, first, second = make.rt, make.free_stream(), make.free_stream()
    event, one, back = make.event(), make.buffer(4096, 1), make.pinned(4096, 2)
    with held.hold(make, first) as latch:
        rt.MemsetAsync(one.address, 77, 4096, first)
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.MemcpyAsync(back.address, one.address, 4096, rt.MemcpyDeviceToHost, second)
        held.stream_waits(make, second, "the stream that waits")
        expect_bytes(bytes(back.view()), b"\2" * 4096, "what is behind the wait")
        latch.open()
        rt.StreamSynchronize(second)
    expect_bytes(bytes(back.view()), b"\x4d" * 4096, "what the second stream copied")


@case(2, "events/last-record")
def last_record(make: Any) -> None:
    """A wait refers to the last record submitted before it, whatever is recorded before or
    later."""
    rt, first, second, third = (make.rt, *(make.free_stream() for _ in range(3)))
    event, buffer = make.event(), make.buffer(64, 1)
    # A second record comes behind the wait, before the wait is reached. It can't complete.
    rt.EventRecord(event, first)
    with held.hold(make, second) as latch, held.latch(make) as later:
        rt.StreamWaitEvent(second, event, 0)
        rt.MemsetAsync(buffer.address, 8, 64, second)
        later.hold(third)
        rt.EventRecord(event, third)
        latch.open()
        held.stream_ends(make, second, "a wait for a record that is complete, with a later one")
    expect_bytes(buffer.read(), b"\x08" * 64, "the stream that waited for the first record")
    rt.StreamSynchronize(third)
    # The wait is for a record that can't complete; one behind the wait is complete.
    with held.hold(make, first):
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.EventRecord(event, third)
        held.ends(lambda: rt.code.EventQuery(event) == "Success", "an event's second record")
        rt.MemsetAsync(buffer.address, 9, 64, second)
        held.stream_waits(make, second, "a wait for a pending record, with a later complete one")
    rt.StreamSynchronize(second)
    # Two records before the wait: the first can't complete, the second is complete.
    with held.hold(make, first):
        rt.EventRecord(event, first)
        rt.EventRecord(event, third)
        rt.StreamWaitEvent(second, event, 0)
        rt.MemsetAsync(buffer.address, 10, 64, second)
        held.stream_ends(make, second, "a wait for the last of two records, which is complete")
    expect_bytes(buffer.read(), b"\x0a" * 64, "the stream that waited for the last record")


@case(2, "events/chain")
def chain(make: Any) -> None:
    """A value is handed through twenty streams, each waiting for the one before."""
    rt, size = make.rt, 1 << 18
    streams = [make.free_stream() for _ in range(20)]
    buffers = [make.buffer(size, 0) for _ in range(21)]

    def enqueue(value: int) -> None:
        rt.MemsetAsync(buffers[0].address, value, size, streams[0])
        for index, stream in enumerate(streams):
            source, target = buffers[index], buffers[index + 1]
            rt.MemcpyAsync(target.address, source.address, size, rt.MemcpyDeviceToDevice, stream)
            event = make.event(rt.EventDisableTiming)
            rt.EventRecord(event, stream)
            rt.StreamWaitEvent(streams[(index + 1) % 20], event, 0)

    with held.hold(make, streams[0]):
        enqueue(2)
        held.stream_waits(make, streams[-1], "the last of twenty streams, the first being held")
    rt.DeviceSynchronize()
    expect_bytes(buffers[20].read(), b"\2" * size, "value 2 at the end")
    for value in (3, 4, 5):
        enqueue(value)
        rt.DeviceSynchronize()
        expect_bytes(buffers[20].read(), bytes([value]) * size, f"value {value} at the end")


@case(2, "events/timing")
def timing(make: Any) -> None:
    """The time between two records is that between the moments in which the stream got there."""
    rt, stream = make.rt, make.stream()
    start, middle, end = (make.event() for _ in range(3))
    rt.EventRecord(start, stream)
    rt.EventRecord(middle, stream)
    with held.hold(make, stream):
        begin = time.monotonic()
        rt.EventRecord(end, stream)
        held.stream_waits(make, stream, "a held stream")
        milliseconds = 1e3 * (time.monotonic() - begin)
    rt.StreamSynchronize(stream)
    short, long = rt.EventElapsedTime(start, middle), rt.EventElapsedTime(start, end)
    expect(0 <= short <= long, f"start to middle {short} ms, start to end {long} ms")
    expect(
        long >= 0.9 * milliseconds,
        f"{long} ms between two records; the stream was held for {milliseconds:.1f} ms meanwhile",
    )
    for turn in range(200):  # an event that is complete a moment after its stream
        rt.EventRecord(start, stream)
        rt.EventRecord(end, stream)
        rt.StreamSynchronize(stream)
        code = rt.code.EventElapsedTime(start, end)
        expect(code == "Success", f"after StreamSynchronize, turn {turn}: {code}")


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
    """A wait for an event that was destroyed meanwhile is for its record, as if it lived."""
    rt, first, second, third = (make.rt, *(make.free_stream() for _ in range(3)))
    buffer = make.buffer(64, 0)
    with held.hold(make, first) as latch, held.latch(make) as later:
        event = rt.EventCreate()
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.EventDestroy(event)
        rt.MemsetAsync(buffer.address, 3, 64, second)
        held.stream_waits(make, second, "a wait for an event that is destroyed")
        # New events may be where the old one was: they are not what the stream waits for.
        later.hold(third)
        for _ in range(64):
            rt.EventRecord(make.event(), third)
        latch.open()
        held.stream_ends(make, second, "a wait for an event that is destroyed")
    expect_bytes(buffer.read(), b"\3" * 64, "the stream that waited")
