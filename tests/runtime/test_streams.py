"""Streams are queues: order inside one, independence of two, and attributes."""

from __future__ import annotations

import ctypes
import threading

import pytest

from kit import Latch, Order
from kit.latch import LIMIT, in_thread, settle


def test_work_runs_in_order(rt, make):
    stream, order = make.stream(), Order(rt)
    for index in range(200):
        order.note(stream, index)
    rt.StreamSynchronize(stream)
    assert order.seen == list(range(200))


def test_submitting_does_not_wait(rt, make):
    stream, order = make.free_stream(), Order(rt)
    with Latch(rt, stream).reached():
        for index in range(2000):  # more than any small ring of entries holds
            order.note(stream, index)
        assert order.seen == []
        assert rt.code.StreamQuery(stream) == "ErrorNotReady"
    rt.StreamSynchronize(stream)
    assert rt.code.StreamQuery(stream) == "Success"
    assert len(order.seen) == 2000


def test_streams_do_not_wait_for_each_other(rt, make):
    # All are blocked by latches of their own at the same time: a blocked one does not hold up
    # others.
    latches = [Latch(rt, make.free_stream()) for _ in range(rt.held_streams)]
    for latch in latches:
        latch.reached()
    for latch in latches:
        with latch:
            pass


def test_two_blocking_streams_do_not_wait_for_each_other(rt, make):
    a, b, order = make.stream(), make.stream(), Order(rt)
    with Latch(rt, a).reached():
        order.note(b, "b")
        rt.StreamSynchronize(b)
        assert order.seen == ["b"]


def test_synchronize_waits_for_all(rt, make):
    stream, order = make.free_stream(), Order(rt)
    latch = Latch(rt, stream).reached()
    waiter = threading.Thread(target=rt.StreamSynchronize, args=(stream,), daemon=True)
    waiter.start()
    settle(rt)
    assert waiter.is_alive()
    order.note(stream, "late")  # was submitted after the wait began
    with latch:
        pass
    waiter.join(LIMIT)
    assert not waiter.is_alive()
    rt.StreamSynchronize(stream)
    assert order.seen == ["late"]


def test_device_synchronize_waits_for_every_stream(rt, make):
    order = Order(rt)
    latches = [Latch(rt, stream) for stream in (make.stream(), make.free_stream())]
    streams = [make.stream(), make.free_stream()]
    for stream in streams:
        order.note(stream, "ran")
    opener = threading.Timer(0, lambda: [latch.open() for latch in latches])
    opener.start()
    rt.DeviceSynchronize()
    assert order.seen == ["ran", "ran"]
    for latch in latches:
        with latch:
            assert latch.is_reached


@pytest.mark.parametrize("flags", [0, 1])
def test_a_stream_tells_what_it_is(rt, make, flags):
    stream = make.stream(flags)
    assert rt.StreamGetFlags(stream) == flags
    assert rt.StreamGetPriority(stream) == 0
    assert rt.StreamGetDevice(stream) == 0


@pytest.mark.parametrize("flags", [2, 3, 0x10, 0xFFFFFFFF])
def test_flags_that_do_not_exist(rt, refused, flags):
    with refused("ErrorInvalidValue", "flags", "infinirtStreamNonBlocking"):
        rt.StreamCreateWithFlags(flags)


def test_priorities_are_taken_and_moved_into_the_range(rt, make):
    least, greatest = rt.DeviceGetStreamPriorityRange()
    for wanted in (least, greatest):
        assert rt.StreamGetPriority(make.stream(0, wanted)) == wanted
    assert rt.StreamGetPriority(make.stream(0, -(2**31))) == min(greatest, 0)
    assert rt.StreamGetPriority(make.stream(0, 2**31 - 1)) == max(least, 0)


def test_numbers_are_never_given_twice(rt):
    seen = set()
    for _ in range(300):
        stream = rt.StreamCreate()
        seen.add(rt.StreamGetId(stream))
        rt.StreamDestroy(stream)
    assert len(seen) == 300


def test_the_null_stream_has_a_number_too(rt, make):
    assert rt.StreamGetId(0) == rt.StreamGetId(rt.StreamLegacy)
    assert rt.StreamGetId(0) != rt.StreamGetId(make.stream())


def test_destroying_does_not_wait_and_loses_nothing(rt):
    stream, order = rt.StreamCreateWithFlags(rt.StreamNonBlocking), Order(rt)
    latch = Latch(rt, stream).reached()
    order.note(stream, "done all the same")
    rt.StreamDestroy(stream)  # returns although the latch is closed
    assert order.seen == []
    if "checked-handles" in rt.tags:
        assert rt.code.StreamQuery(stream) == "ErrorInvalidResourceHandle"
    with latch:
        pass
    rt.DeviceSynchronize()
    assert order.seen == ["done all the same"]


def test_default_streams_cannot_be_destroyed(rt, refused):
    for stream in (0, rt.StreamLegacy, rt.StreamPerThread):
        with refused("ErrorInvalidResourceHandle", "argument 1 (stream)"):
            rt.StreamDestroy(stream)


@pytest.mark.needs("checked-handles")
def test_a_destroyed_stream_is_recognised(rt, refused):
    stream = rt.StreamCreate()
    rt.StreamDestroy(stream)
    for call in (rt.StreamDestroy, rt.StreamSynchronize, rt.StreamQuery, rt.StreamGetFlags):
        with refused("ErrorInvalidResourceHandle", "argument 1"):
            call(stream)


def test_every_thread_has_a_default_stream_of_its_own(rt):
    per_thread = rt.StreamPerThread
    mine = rt.StreamGetId(per_thread)
    assert mine == rt.StreamGetId(per_thread)
    assert mine != rt.StreamGetId(0)
    assert mine != in_thread(lambda: rt.StreamGetId(per_thread))


def test_default_streams_of_threads_do_not_wait_for_each_other(rt):
    order = Order(rt)

    def other() -> None:
        order.note(rt.StreamPerThread, "other")
        rt.StreamSynchronize(rt.StreamPerThread)

    with Latch(rt, rt.StreamPerThread).reached():
        in_thread(other)
        assert order.seen == ["other"]
    rt.StreamSynchronize(rt.StreamPerThread)


def test_work_of_a_thread_that_ended_is_still_done(rt):
    order, latches = Order(rt), []

    def work() -> None:
        latches.append(Latch(rt, rt.StreamPerThread))
        order.note(rt.StreamPerThread, "done")

    in_thread(work)
    assert order.seen == []
    with latches[0]:
        pass
    rt.DeviceSynchronize()
    assert order.seen == ["done"]


def test_callbacks_get_stream_status_and_data(rt, make):
    got = []
    stream = make.stream()
    type_ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    callback = type_(lambda *arguments: got.append(arguments))
    rt.StreamAddCallback(stream, callback, 0x1234, 0)
    rt.StreamSynchronize(stream)
    assert got == [(stream, 0, 0x1234)]


def test_callbacks_want_no_flags(rt, make, refused):
    type_ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    with refused("ErrorInvalidValue", "flags"):
        rt.StreamAddCallback(make.stream(), type_(lambda *_: None), None, 1)


def test_attributes(rt, make, refused):
    a, b = make.stream(), make.stream()
    policy = rt.LaunchAttributeSynchronizationPolicy
    value = rt.StreamGetAttribute(a, policy)
    value.syncPolicy = rt.SyncPolicyBlockingSync
    rt.StreamSetAttribute(a, policy, value)
    rt.StreamCopyAttributes(b, a)
    assert rt.StreamGetAttribute(b, policy).syncPolicy == rt.SyncPolicyBlockingSync
    priority = rt.StreamGetAttribute(a, rt.LaunchAttributePriority).priority
    assert priority == rt.StreamGetPriority(a)
    with refused("ErrorInvalidValue", "attr"):
        rt.StreamGetAttribute(a, 99)
    value.syncPolicy = 77
    with refused("ErrorInvalidValue", "syncPolicy"):
        rt.StreamSetAttribute(a, policy, value)
