"""The null stream waits for, and blocks, the blocking streams of its device; never the others.

"Must wait" is shown by a latch that is closed meanwhile; "need not wait" by waiting for the end
while the latch is still closed.
"""

from __future__ import annotations

import threading

import pytest

from kit import Latch, Order
from kit.latch import LIMIT, in_thread, settle

NULLS = ["null", "StreamLegacy"]


def null_of(rt, word):
    return 0 if word == "null" else rt.StreamLegacy


@pytest.mark.parametrize("null", NULLS)
def test_null_waits_for_a_blocking_stream(rt, make, null):
    order = Order(rt)
    with Latch(rt, make.stream()).reached():
        order.note(null_of(rt, null), "null")
        settle(rt)
        assert order.seen == []
        assert rt.code.StreamQuery(null_of(rt, null)) == "ErrorNotReady"
    rt.StreamSynchronize(null_of(rt, null))
    assert order.seen == ["null"]


@pytest.mark.parametrize("null", NULLS)
def test_a_blocking_stream_waits_for_null(rt, make, null):
    stream, order = make.stream(), Order(rt)
    with Latch(rt, null_of(rt, null)).reached():
        order.note(stream, "stream")
        settle(rt)
        assert order.seen == []
        assert rt.code.StreamQuery(stream) == "ErrorNotReady"
    rt.StreamSynchronize(stream)
    assert order.seen == ["stream"]


def test_a_host_function_in_the_null_stream_does_not_hold_its_caller(rt):
    with Latch(rt, 0) as latch:
        latch.reached()
        assert rt.code.StreamQuery(0) == "ErrorNotReady"
    rt.StreamSynchronize(0)


def test_null_does_not_wait_for_a_free_stream(rt, make):
    order = Order(rt)
    with Latch(rt, make.free_stream()).reached():
        order.note(0, "null")
        rt.StreamSynchronize(0)
        assert order.seen == ["null"]


def test_a_free_stream_does_not_wait_for_null(rt, make):
    stream, order = make.free_stream(), Order(rt)
    with Latch(rt, 0).reached():
        order.note(stream, "free")
        rt.StreamSynchronize(stream)
        assert order.seen == ["free"]


def test_null_waits_only_for_what_came_before(rt, make):
    stream, order, event = make.stream(), Order(rt), make.event()
    order.note(stream, "before")
    order.note(0, "null")
    rt.EventRecord(event, 0)
    with Latch(rt, stream):
        rt.EventSynchronize(event)
        assert order.seen == ["before", "null"]


def test_synchronizing_null_waits_for_blocking_streams(rt, make):
    # Also for work submitted to them after the last work in the null stream.
    with Latch(rt, make.stream()).reached():
        waiter = threading.Thread(target=rt.StreamSynchronize, args=(0,), daemon=True)
        waiter.start()
        settle(rt)
        assert waiter.is_alive()
    waiter.join(LIMIT)
    assert not waiter.is_alive()


def test_null_orders_two_blocking_streams(rt, make):
    a, b, order = make.stream(), make.stream(), Order(rt)
    with Latch(rt, a).reached():
        order.note(a, "a")
        order.note(0, "null")
        order.note(b, "b")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(b)
    assert order.seen == ["a", "null", "b"]


def test_a_stream_made_later_waits_too(rt, make):
    order = Order(rt)
    with Latch(rt, 0).reached():
        late = make.stream()
        order.note(late, "late")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(late)
    assert order.seen == ["late"]


def test_the_threads_default_stream_is_a_blocking_one(rt):
    order = Order(rt)
    with Latch(rt, rt.StreamPerThread).reached():
        order.note(0, "null")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(0)
    with Latch(rt, 0).reached():
        in_thread(lambda: order.note(rt.StreamPerThread, "thread"))
        settle(rt)
        assert order.seen == ["null"]
    rt.DeviceSynchronize()
    assert order.seen == ["null", "thread"]


def test_copies_and_fills_in_the_null_stream_wait_too(rt, make):
    stream, order = make.stream(), Order(rt)
    target, source = make.buffer(64, 1), make.buffer(64, 2)
    with Latch(rt, stream).reached():
        rt.MemsetAsync(target.address, 3, 64, 0)
        rt.MemcpyAsync(source.address, target.address, 64, rt.MemcpyDefault, 0)
        order.note(0, "behind")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(0)
    assert source.read() == bytes([3]) * 64


def test_an_event_in_the_null_stream_stands_behind_blocking_work(rt, make):
    event = make.event()
    with Latch(rt, make.stream()).reached():
        rt.EventRecord(event, 0)
        settle(rt)
        assert rt.code.EventQuery(event) == "ErrorNotReady"
    rt.EventSynchronize(event)


def test_a_wait_in_the_null_stream_holds_up_blocking_streams(rt, make):
    free, blocking, event, order = make.free_stream(), make.stream(), make.event(), Order(rt)
    with Latch(rt, free).reached():
        rt.EventRecord(event, free)
        rt.StreamWaitEvent(0, event)
        order.note(0, "null")
        order.note(blocking, "blocking")
        settle(rt)
        assert order.seen == []
    rt.StreamSynchronize(blocking)
    assert order.seen == ["null", "blocking"]


def test_a_synchronous_copy_waits_for_blocking_streams(rt, make):
    stream, buffer = make.stream(), make.buffer(8, 0)
    latch = Latch(rt, stream).reached()
    rt.MemsetAsync(buffer.address, 9, 8, stream)
    latch.open()
    assert buffer.read() == bytes([9]) * 8  # read() is a copy in the null stream


def test_null_work_is_in_order_with_itself(rt):
    order = Order(rt)
    for index in range(100):
        order.note(0, index)
    rt.StreamSynchronize(0)
    assert order.seen == list(range(100))


def test_many_rounds_both_ways(rt, make):
    streams, order = [make.stream() for _ in range(4)], Order(rt)
    for round_ in range(25):
        for stream in streams:
            order.note(stream, round_)
        order.note(0, f"null {round_}")
    rt.DeviceSynchronize()
    for round_ in range(25):
        start = round_ * 5
        assert order.seen[start : start + 5] == [round_] * 4 + [f"null {round_}"]
