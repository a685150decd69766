"""Events: ordering, timing, and destruction."""

from __future__ import annotations

import threading
import time

import pytest

from kit import Latch, Order
from kit.latch import LIMIT, settle


def test_an_event_never_recorded_counts_as_complete(rt, make):
    event, stream, order = make.event(), make.free_stream(), Order(rt)
    assert rt.code.EventQuery(event) == "Success"
    rt.EventSynchronize(event)
    rt.StreamWaitEvent(stream, event)
    order.note(stream, "went on")
    rt.StreamSynchronize(stream)
    assert order.seen == ["went on"]


def test_an_event_marks_the_work_before_it(rt, make):
    stream, event, order = make.free_stream(), make.event(), Order(rt)
    with Latch(rt, stream).reached():
        order.note(stream, "before")
        rt.EventRecord(event, stream)
        assert rt.code.EventQuery(event) == "ErrorNotReady"
    rt.EventSynchronize(event)
    assert order.seen == ["before"]
    assert rt.code.EventQuery(event) == "Success"


def test_an_event_does_not_mark_the_work_behind_it(rt, make):
    stream, event = make.free_stream(), make.event()
    rt.EventRecord(event, stream)
    with Latch(rt, stream).reached():
        rt.EventSynchronize(event)
        assert rt.code.EventQuery(event) == "Success"


def test_a_new_record_replaces_the_old_one(rt, make):
    a, b, event = make.free_stream(), make.free_stream(), make.event()
    rt.EventRecord(event, a)
    rt.EventSynchronize(event)
    with Latch(rt, b).reached():
        rt.EventRecord(event, b)
        assert rt.code.EventQuery(event) == "ErrorNotReady"
    rt.EventSynchronize(event)


def test_a_stream_waits_for_an_event_of_another(rt, make):
    a, b, event, order = make.free_stream(), make.free_stream(), make.event(), Order(rt)
    with Latch(rt, a).reached():
        order.note(a, "a")
        rt.EventRecord(event, a)
        rt.StreamWaitEvent(b, event)
        order.note(b, "b")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(b)
    assert order.seen == ["a", "b"]


def test_a_wait_means_the_record_before_it_alone(rt, make):
    a, b, c = (make.free_stream() for _ in range(3))
    event, order = make.event(), Order(rt)
    rt.EventRecord(event, a)
    rt.StreamWaitEvent(b, event)
    with Latch(rt, c).reached():
        rt.EventRecord(event, c)  # later: the wait above does not refer to it
        order.note(b, "b")
        rt.StreamSynchronize(b)
        assert order.seen == ["b"]
        assert rt.code.EventQuery(event) == "ErrorNotReady"


def test_a_wait_keeps_its_record_when_another_comes(rt, make):
    a, b, c = (make.free_stream() for _ in range(3))
    event, order = make.event(), Order(rt)
    with Latch(rt, a).reached():
        rt.EventRecord(event, a)
        rt.StreamWaitEvent(b, event)
        rt.EventRecord(event, c)  # complete immediately
        rt.EventSynchronize(event)
        order.note(b, "b")
        settle(rt)
        assert order.seen == []  # still waits for the record in a
    rt.StreamSynchronize(b)
    assert order.seen == ["b"]


def test_many_streams_wait_for_one_event(rt, make):
    source, event, order = make.free_stream(), make.event(), Order(rt)
    others = [make.free_stream() for _ in range(8)]
    with Latch(rt, source).reached():
        order.note(source, "source")
        rt.EventRecord(event, source)
        for stream in others:
            rt.StreamWaitEvent(stream, event)
            order.note(stream, "other")
        settle(rt)
        assert order.seen == []
    rt.DeviceSynchronize()
    assert order.seen == ["source"] + ["other"] * 8


def test_a_ring_of_waits_has_no_deadlock(rt, make):
    streams = [make.free_stream() for _ in range(5)]
    events = [make.event(rt.EventDisableTiming) for _ in range(5)]
    order = Order(rt)
    for step in range(40):
        here, there = step % 5, (step + 1) % 5
        order.note(streams[here], step)
        rt.EventRecord(events[here], streams[here])
        rt.StreamWaitEvent(streams[there], events[here])
    rt.DeviceSynchronize()
    assert order.seen == list(range(40))


@pytest.mark.parametrize("flags", [0, 1, 2, 3, 6, 7])
def test_flags_that_exist(rt, make, flags):
    event, stream = make.event(flags), make.stream()
    rt.EventRecord(event, stream)
    rt.EventSynchronize(event)
    assert rt.code.EventQuery(event) == "Success"


@pytest.mark.parametrize("flags", [4, 5, 8, 0x10, 0xFFFFFFFF])
def test_flags_that_do_not_exist_or_fit(rt, refused, flags):
    with refused("ErrorInvalidValue", "flags"):
        rt.EventCreateWithFlags(flags)


@pytest.mark.parametrize("flags", [0, 1])
def test_waiting_threads_are_woken(rt, make, flags):
    stream, event = make.free_stream(), make.event(flags)
    latch = Latch(rt, stream).reached()
    rt.EventRecord(event, stream)
    waiters = [
        threading.Thread(target=rt.EventSynchronize, args=(event,), daemon=True) for _ in range(8)
    ]
    for waiter in waiters:
        waiter.start()
    settle(rt)
    assert all(waiter.is_alive() for waiter in waiters)
    with latch:
        pass
    for waiter in waiters:
        waiter.join(LIMIT)
        assert not waiter.is_alive()


def test_elapsed_time_covers_what_lies_between(rt, make):
    stream, start, end = make.free_stream(), make.event(), make.event()
    rt.EventRecord(start, stream)
    rt.StreamSynchronize(stream)
    began = time.perf_counter()
    with Latch(rt, stream).reached():
        rt.EventRecord(end, stream)
        held = time.perf_counter() - began
    rt.EventSynchronize(end)
    over = time.perf_counter() - began
    elapsed = rt.EventElapsedTime(start, end) / 1000
    assert elapsed >= held * 0.99
    # The start was stamped before we looked at the clock; it cannot have been long before.
    assert elapsed <= over + 5
    assert rt.EventElapsedTime_v2(start, end) == pytest.approx(elapsed * 1000)


def test_elapsed_time_the_other_way_round_is_negative(rt, make):
    stream, start, end = make.free_stream(), make.event(), make.event()
    rt.EventRecord(start, stream)
    with Latch(rt, stream).reached():
        rt.EventRecord(end, stream)
    rt.EventSynchronize(end)
    assert rt.EventElapsedTime(start, end) > 0
    assert rt.EventElapsedTime(end, start) < 0
    assert rt.EventElapsedTime(start, start) == 0


def test_elapsed_time_of_pending_events(rt, make):
    stream, start, end = make.free_stream(), make.event(), make.event()
    rt.EventRecord(start, stream)
    with Latch(rt, stream).reached():
        rt.EventRecord(end, stream)
        assert rt.code.EventElapsedTime(start, end) == "ErrorNotReady"
        assert rt.code.EventElapsedTime(end, start) == "ErrorNotReady"


def test_elapsed_time_needs_two_recorded_events_with_timing(rt, make, refused):
    start, end, untimed = make.event(), make.event(), make.event(rt.EventDisableTiming)
    stream = make.stream()
    rt.EventRecord(start, stream)
    rt.EventRecord(untimed, stream)
    rt.StreamSynchronize(stream)
    for pair in ((start, end), (end, start), (start, untimed), (untimed, start)):
        with refused("ErrorInvalidResourceHandle", "expected"):
            rt.EventElapsedTime(*pair)


def test_destroying_a_pending_event_does_not_wait(rt, make):
    a, b, order = make.free_stream(), make.free_stream(), Order(rt)
    event = rt.EventCreate()
    with Latch(rt, a).reached():
        order.note(a, "a")
        rt.EventRecord(event, a)
        rt.StreamWaitEvent(b, event)
        rt.EventDestroy(event)  # immediate; the wait in b still completes
        order.note(b, "b")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(b)
    assert order.seen == ["a", "b"]


@pytest.mark.needs("checked-handles")
def test_a_destroyed_event_is_recognised(rt, make, refused):
    event = rt.EventCreate()
    rt.EventDestroy(event)
    for call in (rt.EventDestroy, rt.EventQuery, rt.EventSynchronize, rt.EventRecord):
        with refused("ErrorInvalidResourceHandle", "argument 1 (event)"):
            call(event)
    with refused("ErrorInvalidResourceHandle", "argument 2 (event)"):
        rt.StreamWaitEvent(make.stream(), event)


def test_a_null_event_is_refused(rt, refused):
    for call in (rt.EventDestroy, rt.EventQuery, rt.EventSynchronize, rt.EventRecord):
        with refused("ErrorInvalidResourceHandle", "argument 1 (event)", "null"):
            call(0)


def test_external_records_and_waits_belong_to_captures(rt, make, refused):
    stream, event = make.stream(), make.event()
    with refused("ErrorIllegalState", "infinirtEventRecordExternal"):
        rt.EventRecordWithFlags(event, stream, rt.EventRecordExternal)
    with refused("ErrorIllegalState", "infinirtEventWaitExternal"):
        rt.StreamWaitEvent(stream, event, rt.EventWaitExternal)
    with refused("ErrorInvalidValue", "flags"):
        rt.EventRecordWithFlags(event, stream, 2)
    with refused("ErrorInvalidValue", "flags"):
        rt.StreamWaitEvent(stream, event, 2)


def test_a_stream_may_go_while_its_event_stays(rt, make):
    stream, event, order = rt.StreamCreateWithFlags(rt.StreamNonBlocking), make.event(), Order(rt)
    latch = Latch(rt, stream).reached()
    order.note(stream, "done")
    rt.EventRecord(event, stream)
    rt.StreamDestroy(stream)
    assert rt.code.EventQuery(event) == "ErrorNotReady"
    with latch:
        pass
    rt.EventSynchronize(event)
    assert order.seen == ["done"]
