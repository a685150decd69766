"""Stream-ordered allocation: when memory may be reused, and attributes of pools."""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch, Order
from kit.latch import settle

HUGE = (1 << 64) - 1
NOT_THIS = ("ErrorInvalidValue", "ErrorInvalidDevice", "ErrorNotSupported")
BIG = 40 << 20  # more than pools reserve ahead: a second one fits only where the first one was


def number(rt, pool, attribute):
    value = ctypes.c_uint64()
    rt.MemPoolGetAttribute(pool, getattr(rt, f"MemPool{attribute}"), ctypes.byref(value))
    return value.value


def switch(rt, pool, attribute, value=None):
    cell = ctypes.c_int()
    code = getattr(rt, f"MemPoolReuse{attribute}")
    if value is None:
        rt.MemPoolGetAttribute(pool, code, ctypes.byref(cell))
        return cell.value
    cell.value = value
    return rt.MemPoolSetAttribute(pool, code, ctypes.byref(cell))


def threshold(rt, pool, value):
    cell = ctypes.c_uint64(value)
    rt.MemPoolSetAttribute(pool, rt.MemPoolAttrReleaseThreshold, ctypes.byref(cell))


@pytest.fixture
def pool(rt, make):
    """A separate pool, so that other tests do not affect it. It keeps freed memory."""
    pool = make.pool()
    threshold(rt, pool, HUGE)
    yield pool
    rt.DeviceSynchronize()


def test_allocate_use_free(rt, make):
    stream = make.stream()
    memory = rt.MallocAsync(1000, stream)
    assert memory % 256 == 0
    rt.MemsetAsync(memory, 8, 1000, stream)
    host = make.pinned(1000)
    rt.MemcpyAsync(host.address, memory, 1000, rt.MemcpyDeviceToHost, stream)
    rt.FreeAsync(memory, stream)
    rt.StreamSynchronize(stream)
    assert bytes(host.view()) == bytes([8]) * 1000


def test_no_bytes(rt, make):
    assert rt.MallocAsync(0, make.stream()) == 0


def test_memory_is_reused_in_its_own_stream(rt, make, pool):
    stream = make.free_stream()
    with Latch(rt, stream).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, stream)
        rt.FreeAsync(first, stream)
        assert rt.MallocFromPoolAsync(BIG, pool, stream) == first  # ordered after the free
    rt.FreeAsync(first, stream)


def test_memory_is_not_reused_where_nothing_orders_it(rt, make, pool):
    switch(rt, pool, "AllowInternalDependencies", 0)
    a, b = make.free_stream(), make.free_stream()
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        rt.FreeAsync(first, a)  # not reached yet
        other = rt.MallocFromPoolAsync(BIG, pool, b)
        assert other != first
        rt.FreeAsync(other, b)


def test_memory_is_reused_behind_an_event(rt, make, pool):
    switch(rt, pool, "AllowOpportunistic", 0)
    switch(rt, pool, "AllowInternalDependencies", 0)
    a, b, event = make.free_stream(), make.free_stream(), make.event()
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        rt.FreeAsync(first, a)
        rt.EventRecord(event, a)
        rt.StreamWaitEvent(b, event)
        assert rt.MallocFromPoolAsync(BIG, pool, b) == first
    rt.FreeAsync(first, b)


def test_following_events_can_be_switched_off(rt, make, pool):
    for rule in ("FollowEventDependencies", "AllowOpportunistic", "AllowInternalDependencies"):
        switch(rt, pool, rule, 0)
    a, b, event = make.free_stream(), make.free_stream(), make.event()
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        rt.FreeAsync(first, a)
        rt.EventRecord(event, a)
        rt.StreamWaitEvent(b, event)
        other = rt.MallocFromPoolAsync(BIG, pool, b)
        assert other != first
        rt.FreeAsync(other, b)


def test_an_event_through_a_third_stream_orders_too(rt, make, pool):
    switch(rt, pool, "AllowOpportunistic", 0)
    switch(rt, pool, "AllowInternalDependencies", 0)
    a, b, c = (make.free_stream() for _ in range(3))
    one, two = make.event(), make.event()
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        rt.FreeAsync(first, a)
        rt.EventRecord(one, a)
        rt.StreamWaitEvent(b, one)
        rt.EventRecord(two, b)
        rt.StreamWaitEvent(c, two)
        assert rt.MallocFromPoolAsync(BIG, pool, c) == first
    rt.FreeAsync(first, c)


def test_an_event_before_the_free_does_not_order_it(rt, make, pool):
    switch(rt, pool, "AllowOpportunistic", 0)
    switch(rt, pool, "AllowInternalDependencies", 0)
    a, b, event = make.free_stream(), make.free_stream(), make.event()
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        rt.EventRecord(event, a)
        rt.FreeAsync(first, a)
        rt.StreamWaitEvent(b, event)
        other = rt.MallocFromPoolAsync(BIG, pool, b)
        assert other != first
        rt.FreeAsync(other, b)


def test_memory_whose_free_was_reached_is_for_everybody(rt, make, pool):
    switch(rt, pool, "FollowEventDependencies", 0)
    a, b = make.free_stream(), make.free_stream()
    first = rt.MallocFromPoolAsync(BIG, pool, a)
    rt.FreeAsync(first, a)
    rt.StreamSynchronize(a)
    assert rt.MallocFromPoolAsync(BIG, pool, b) == first
    rt.FreeAsync(first, b)


def test_an_internal_dependency_makes_the_new_owner_wait(rt, make, pool):
    # The pool may or may not do that; if it does, the order must hold.
    a, b, order = make.free_stream(), make.free_stream(), Order(rt)
    with Latch(rt, a).reached():
        first = rt.MallocFromPoolAsync(BIG, pool, a)
        order.note(a, "old owner")
        rt.FreeAsync(first, a)
        second = rt.MallocFromPoolAsync(BIG, pool, b)
        order.note(b, "new owner")
        settle(rt)
        if second == first:
            assert order.seen == []
        rt.FreeAsync(second, b)
    rt.DeviceSynchronize()
    if second == first:
        assert order.seen == ["old owner", "new owner"]


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "null"])
def test_a_free_in_the_null_stream_stands_behind_blocking_streams(rt, make, pool, blocking):
    # If the memory gets a new owner, the new owner's work waits for the old owner's.
    old, new, order = make.stream(), make.stream() if blocking else 0, Order(rt)
    first = rt.MallocFromPoolAsync(BIG, pool, old)
    with Latch(rt, old).reached():
        order.note(old, "old owner")
        rt.FreeAsync(first, 0)
        second = rt.MallocFromPoolAsync(BIG, pool, new)
        order.note(new, "new owner")
        settle(rt)
        if second == first:
            assert order.seen == []
    rt.DeviceSynchronize()
    if second == first:
        assert order.seen == ["old owner", "new owner"]
    rt.FreeAsync(second, new)


def test_used_and_reserved_bytes(rt, make, pool):
    stream = make.stream()
    assert number(rt, pool, "AttrUsedMemCurrent") == 0
    a = rt.MallocFromPoolAsync(BIG, pool, stream)
    b = rt.MallocFromPoolAsync(BIG, pool, stream)
    assert number(rt, pool, "AttrUsedMemCurrent") >= 2 * BIG
    reserved = number(rt, pool, "AttrReservedMemCurrent")
    assert reserved >= 2 * BIG
    rt.FreeAsync(a, stream)
    rt.FreeAsync(b, stream)
    rt.StreamSynchronize(stream)
    assert number(rt, pool, "AttrUsedMemCurrent") == 0
    assert number(rt, pool, "AttrUsedMemHigh") >= 2 * BIG
    assert number(rt, pool, "AttrReservedMemCurrent") == reserved  # the threshold keeps it
    assert number(rt, pool, "AttrReservedMemHigh") >= reserved


def test_high_water_marks_take_only_zero(rt, make, pool, refused):
    stream = make.stream()
    rt.FreeAsync(rt.MallocFromPoolAsync(BIG, pool, stream), stream)
    rt.StreamSynchronize(stream)
    high = rt.MemPoolAttrUsedMemHigh
    with refused("ErrorInvalidValue"):
        rt.MemPoolSetAttribute(pool, high, ctypes.byref(ctypes.c_uint64(5)))
    rt.MemPoolSetAttribute(pool, high, ctypes.byref(ctypes.c_uint64(0)))
    assert number(rt, pool, "AttrUsedMemHigh") == 0
    with refused("ErrorInvalidValue"):
        rt.MemPoolSetAttribute(pool, rt.MemPoolAttrUsedMemCurrent, ctypes.byref(ctypes.c_uint64(0)))
    with refused("ErrorInvalidValue", "attr"):
        rt.MemPoolGetAttribute(pool, 77, ctypes.byref(ctypes.c_uint64()))


@pytest.mark.parametrize("wait", ["StreamSynchronize", "EventSynchronize", "DeviceSynchronize"])
def test_a_wait_gives_back_what_exceeds_the_threshold(rt, make, wait):
    pool, stream, event = make.pool(), make.stream(), make.event()
    assert number(rt, pool, "AttrReleaseThreshold") == 0
    memory = rt.MallocFromPoolAsync(BIG, pool, stream)
    rt.FreeAsync(memory, stream)
    assert number(rt, pool, "AttrReservedMemCurrent") >= BIG
    rt.EventRecord(event, stream)
    targets = {"StreamSynchronize": [stream], "EventSynchronize": [event], "DeviceSynchronize": []}
    getattr(rt, wait)(*targets[wait])
    assert number(rt, pool, "AttrReservedMemCurrent") == 0


def test_memory_in_use_is_not_given_back(rt, make):
    pool, stream = make.pool(), make.stream()
    kept = rt.MallocFromPoolAsync(4096, pool, stream)
    rt.MemsetAsync(kept, 7, 4096, stream)
    gone = rt.MallocFromPoolAsync(BIG, pool, stream)
    rt.FreeAsync(gone, stream)
    rt.DeviceSynchronize()
    assert number(rt, pool, "AttrUsedMemCurrent") >= 4096
    host = make.pinned(4096)
    rt.Memcpy(host.address, kept, 4096, rt.MemcpyDefault)
    assert bytes(host.view()) == bytes([7]) * 4096
    rt.FreeAsync(kept, stream)


def test_trim(rt, make, pool):
    stream = make.stream()
    rt.FreeAsync(rt.MallocFromPoolAsync(2 * BIG, pool, stream), stream)
    rt.StreamSynchronize(stream)
    reserved = number(rt, pool, "AttrReservedMemCurrent")
    rt.MemPoolTrimTo(pool, reserved)
    assert number(rt, pool, "AttrReservedMemCurrent") == reserved
    rt.MemPoolTrimTo(pool, 0)
    assert number(rt, pool, "AttrReservedMemCurrent") == 0


def test_trim_leaves_memory_in_use(rt, make, pool):
    stream = make.stream()
    memory = rt.MallocFromPoolAsync(BIG, pool, stream)
    rt.MemPoolTrimTo(pool, 0)
    assert number(rt, pool, "AttrReservedMemCurrent") >= BIG
    rt.MemsetAsync(memory, 1, BIG, stream)
    rt.FreeAsync(memory, stream)


def test_the_default_pool(rt, refused):
    pool = rt.DeviceGetDefaultMemPool(0)
    assert pool == rt.DeviceGetMemPool(0)
    assert [
        switch(rt, pool, rule) for rule in ("AllowOpportunistic", "FollowEventDependencies")
    ] == [1, 1]
    with refused("ErrorInvalidValue"):
        rt.MemPoolDestroy(pool)
    with refused("ErrorInvalidDevice"):
        rt.DeviceGetDefaultMemPool(77)


def test_choosing_the_current_pool(rt, make, pool):
    stream = make.stream()
    rt.DeviceSetMemPool(0, pool)
    try:
        assert rt.DeviceGetMemPool(0) == pool
        memory = rt.MallocAsync(BIG, stream)
        assert number(rt, pool, "AttrUsedMemCurrent") >= BIG
        rt.FreeAsync(memory, stream)
    finally:
        rt.DeviceSetMemPool(0, rt.DeviceGetDefaultMemPool(0))


def test_destroying_the_current_pool_restores_the_default(rt, make):
    pool = make.pool()
    rt.DeviceSetMemPool(0, pool)
    rt.MemPoolDestroy(pool)
    assert rt.DeviceGetMemPool(0) == rt.DeviceGetDefaultMemPool(0)
    if "checked-handles" in rt.tags:
        assert rt.code.MemPoolTrimTo(pool, 0) == "ErrorInvalidValue"


def test_a_pool_may_go_before_its_memory(rt, make):
    pool, stream, host = make.pool(), make.stream(), make.pinned(4096)
    memory = rt.MallocFromPoolAsync(4096, pool, stream)
    rt.MemPoolDestroy(pool)
    rt.MemsetAsync(memory, 4, 4096, stream)
    rt.MemcpyAsync(host.address, memory, 4096, rt.MemcpyDefault, stream)
    rt.FreeAsync(memory, stream)
    rt.StreamSynchronize(stream)
    assert bytes(host.view()) == bytes([4]) * 4096


def test_free_takes_pool_memory_too(rt, make):
    stream = make.stream()
    memory = rt.MallocAsync(4096, stream)
    rt.MemsetAsync(memory, 1, 4096, stream)
    rt.StreamSynchronize(stream)  # with CUDA it does not wait
    rt.Free(memory)
    assert rt.code.Free(memory) == "ErrorInvalidValue"


def test_freeing_nonsense(rt, make, refused):
    stream, pinned = make.stream(), make.pinned(64)
    memory = rt.MallocAsync(4096, stream)
    for address in (memory + 16, pinned.address, 0xDEAD0000):
        with refused("ErrorInvalidValue", "devPtr"):
            rt.FreeAsync(address, stream)
    rt.FreeAsync(memory, stream)
    with refused("ErrorInvalidValue"):
        rt.FreeAsync(memory, stream)


def test_access(rt, pool):
    here = rt.struct("MemLocation", type=rt.MemLocationTypeDevice, id=0)
    assert rt.MemPoolGetAccess(pool, here) == rt.MemAccessFlagsProtReadWrite
    wish = rt.struct("MemAccessDesc", flags=rt.MemAccessFlagsProtReadWrite)
    wish.location = here
    rt.MemPoolSetAccess(pool, wish, 1)
    wish.flags = rt.MemAccessFlagsProtNone
    assert rt.code.MemPoolSetAccess(pool, wish, 1) in NOT_THIS
    wish.location.id = 77
    assert rt.code.MemPoolSetAccess(pool, wish, 1) in NOT_THIS


def test_a_size_limit_is_kept(rt, make, refused):
    pool, stream = make.pool(maxSize=2 * BIG), make.stream()
    memory = rt.MallocFromPoolAsync(BIG, pool, stream)
    with refused("ErrorMemoryAllocation"):
        rt.MallocFromPoolAsync(5 * BIG, pool, stream)
    rt.FreeAsync(memory, stream)


def test_too_much_is_an_error_and_the_pool_stays_usable(rt, make, pool, refused):
    stream = make.stream()
    for size in (HUGE, 1 << 60):
        with refused("ErrorMemoryAllocation"):
            rt.MallocFromPoolAsync(size, pool, stream)
    rt.FreeAsync(rt.MallocFromPoolAsync(4096, pool, stream), stream)


@pytest.mark.parametrize(
    "wrong",
    [
        {"allocType": 5},
        {"location": {"type": 9, "id": 0}},
        {"location": {"type": 1, "id": 77}},
        {"handleTypes": 64},
    ],
    ids=str,
)
def test_properties_that_make_no_sense(rt, wrong):
    members = {"allocType": 1, "location": {"type": 1, "id": 0}, **wrong}
    assert rt.code.MemPoolCreate(rt.struct("MemPoolProps", **members)) in NOT_THIS


def test_small_blocks_do_not_overlap(rt, make, pool):
    stream, seen = make.stream(), []
    for size in (1, 100, 256, 257, 5000, 3) * 10:
        seen.append((rt.MallocFromPoolAsync(size, pool, stream), size))
    for (start, size), (next_start, _) in zip(sorted(seen), sorted(seen)[1:], strict=False):
        assert start + size <= next_start
    for start, _ in seen:
        rt.FreeAsync(start, stream)
