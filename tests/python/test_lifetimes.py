"""Which objects keep others alive, and for how long."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable

import pytest

from infinicore import _rt, rt
from tests.python.conftest import Latch


class Function:
    """A callable that supports weak references."""

    def __init__(self, calls: list[str] | None = None) -> None:
        self.calls = calls

    def __call__(self) -> None:
        if self.calls is not None:
            self.calls.append("called")


def gone(reference: weakref.ref[object]) -> bool:
    gc.collect()
    _rt._settle()
    return reference() is None


def gone_soon(reference: weakref.ref[object]) -> bool:
    """A stream's thread releases a function after it has woken those that wait for the stream."""
    end = time.monotonic() + 10
    while not gone(reference) and time.monotonic() < end:
        time.sleep(0.001)
    return reference() is None


def freed(address: int) -> bool:
    return rt.PointerGetAttributes(address).type == rt.MemoryTypeUnregistered


# ---- Callables ----------------------------------------------------------------------------------


def test_a_streams_function_is_given_up_after_its_call(stream: rt.Stream, latch: Latch) -> None:
    latch.hold(stream)
    function = Function()
    watch = weakref.ref(function)
    stream.launch(function)
    del function
    assert not gone(watch)
    latch.open()
    stream.synchronize()
    assert gone_soon(watch)


def test_a_refused_function_is_given_up_at_once() -> None:
    function = Function()
    watch = weakref.ref(function)
    with pytest.raises(rt.InfiniRTError):
        rt.LaunchHostFunc(0x1234, function)
    with pytest.raises(rt.InfiniRTError):
        rt.StreamAddCallback(0x1234, function)
    with pytest.raises(rt.InfiniRTError):
        rt.GraphAddHostNode(0x1234, [], function)
    del function
    assert gone(watch)


def captured(stream: rt.Stream, function: Callable[[], object]) -> rt.Graph:
    with rt.capture(stream) as graph:
        stream.launch(function)
    return graph


def built(stream: rt.Stream, function: Callable[[], object]) -> rt.Graph:
    graph = rt.Graph()
    graph.add_host(function)
    return graph


@pytest.mark.parametrize("make", [captured, built])
def test_a_graphs_function_lives_as_long_as_graph_clone_and_exec(
    stream: rt.Stream, make: Callable[[rt.Stream, Callable[[], object]], rt.Graph]
) -> None:
    calls: list[str] = []
    function = Function(calls)
    watch = weakref.ref(function)
    graph = make(stream, function)
    del function
    clone = graph.clone()
    graph.close()
    assert not gone(watch)
    ready = clone.instantiate()
    clone.close()
    assert not gone(watch)
    ready.launch(stream)
    ready.launch(stream)
    stream.synchronize()
    assert calls == ["called"] * 2
    ready.close()
    assert gone(watch)


def test_a_launch_under_way_keeps_the_function(stream: rt.Stream, latch: Latch) -> None:
    calls: list[str] = []
    function = Function(calls)
    watch = weakref.ref(function)
    graph = built(stream, function)
    del function
    latch.hold(stream)
    graph.launch(stream)
    latch.reached()
    graph.close()
    assert not gone(watch)
    latch.open()
    stream.synchronize()
    assert calls == ["called"]
    assert gone(watch)


def test_functions_set_later_live_as_long_as_what_they_were_set_on(stream: rt.Stream) -> None:
    calls: list[str] = []
    graph = rt.Graph()
    node = graph.add_host(Function())
    ready = graph.instantiate()
    on_exec, on_node = Function(calls), Function(calls)
    watch_exec, watch_node = weakref.ref(on_exec), weakref.ref(on_node)
    rt.GraphExecHostNodeSetParams(ready, node, on_exec)
    rt.GraphHostNodeSetParams(node, on_node)
    del on_exec, on_node
    assert not gone(watch_exec)
    ready.launch(stream)
    stream.synchronize()
    assert calls == ["called"]
    ready.close()
    assert gone(watch_exec)
    assert not gone(watch_node)
    graph.close()
    assert gone(watch_node)


def test_an_update_exchanges_the_functions(stream: rt.Stream) -> None:
    calls: list[str] = []
    old, new = Function(), Function(calls)
    watch_old, watch_new = weakref.ref(old), weakref.ref(new)
    first, second = built(stream, old), built(stream, new)
    del old, new
    ready = first.instantiate()
    first.close()
    ready.update(second)
    second.close()
    assert gone(watch_old)
    assert not gone(watch_new)
    ready.launch(stream)
    stream.synchronize()
    assert calls == ["called"]
    third = Function(calls)
    watch_third = weakref.ref(third)
    other = built(stream, Function())
    node = other.nodes[0]
    with pytest.raises(rt.InfiniRTError):
        rt.GraphExecHostNodeSetParams(ready, node, third)  # a node of another graph
    del third
    assert gone(watch_third)
    ready.close()
    assert gone(watch_new)


def test_user_objects_hold_any_object_and_end_once() -> None:
    ended: list[object] = []
    thing = Function()
    watch = weakref.ref(thing)
    held = rt.UserObjectCreate(thing, ended.append)
    rt.UserObjectRetain(held)
    graph = rt.GraphCreate()
    rt.GraphRetainUserObject(graph, held)
    rt.UserObjectRelease(held, 2)
    assert not ended
    rt.GraphDestroy(graph)
    assert ended == [thing]
    ended.clear()
    del thing
    assert gone(watch)


# ---- Memory -------------------------------------------------------------------------------------


def test_memory_is_freed_with_its_object_or_by_close() -> None:
    memory = rt.Memory(64)
    address = memory.ptr
    assert not freed(address)
    del memory
    assert freed(address)
    memory = rt.Memory.host(64)
    address = memory.ptr
    memory.close()
    memory.close()
    assert memory.closed
    assert freed(address)
    with pytest.raises(ValueError, match="this Memory is closed"):
        memory.fill(0)


def test_parts_views_and_loans_keep_memory() -> None:
    import numpy

    for use in (
        lambda memory: memory[8:16],
        memoryview,
        numpy.asarray,
        numpy.from_dlpack,
        lambda memory: memory.__dlpack__(max_version=(1, 0)),
        lambda memory: memory.__dlpack__(),
    ):
        memory = rt.Memory(64)
        address = memory.ptr
        user = use(memory)
        with pytest.raises(BufferError, match="in use"):
            memory.close()
        del memory
        assert not freed(address)
        del user
        gc.collect()
        _rt._settle()
        assert freed(address)


def test_a_graph_keeps_the_memory_of_its_nodes(stream: rt.Stream) -> None:
    source, target = rt.Memory(64), rt.Memory(64)
    source.fill(3)
    addresses = [source.ptr, target.ptr]
    with rt.capture(stream) as graph:
        target.copy_from(source, stream=stream)
        target[:8].fill(1, stream=stream)
    del source, target
    assert not any(map(freed, addresses))
    back = bytearray(64)
    graph.launch(stream)
    stream.synchronize()
    rt.Memcpy(back, addresses[1], 64)
    assert back == b"\1" * 8 + b"\3" * 56
    graph.close()
    gc.collect()
    _rt._settle()
    assert all(map(freed, addresses))


def test_a_builder_keeps_memory_events_and_buffers(stream: rt.Stream) -> None:
    target, event, data = rt.Memory(4), rt.Event(), bytearray(b"abcd")
    watches = [weakref.ref(target), weakref.ref(event)]
    graph = rt.Graph()
    graph.add_record(event, after=[graph.add_memcpy(target, data)])
    with pytest.raises(BufferError):
        data.append(0)  # it would move
    address = target.ptr
    del target, event
    assert not any(map(gone, watches))
    graph.launch(stream)
    stream.synchronize()
    back = bytearray(4)
    rt.Memcpy(back, address, 4)
    assert back == b"abcd"
    graph.close()
    assert all(map(gone, watches))
    data.append(0)


def test_a_stream_keeps_a_buffer_until_it_was_copied(stream: rt.Stream, latch: Latch) -> None:
    memory, data = rt.Memory(4), bytearray(b"abcd")
    latch.hold(stream)
    latch.reached()
    memory.copy_from(data, stream=stream)
    latch.open()
    stream.synchronize()
    _rt._settle()
    data.append(0)
    assert memory.to_bytes() == b"abcd"


def test_memory_dropped_during_a_capture_does_not_spoil_it(stream: rt.Stream) -> None:
    memory = rt.Memory(64)
    pinned, ordered = rt.Memory.host(64), rt.Memory.ordered(64, stream)
    addresses = [memory.ptr, pinned.ptr]
    with rt.capture(stream) as graph:
        del memory, pinned, ordered
        assert not any(map(freed, addresses))
    assert all(map(freed, addresses))
    assert graph.nodes == []


def test_dropping_memory_does_not_wait_for_streams(stream: rt.Stream, latch: Latch) -> None:
    raw = rt.StreamCreateWithFlags(rt.StreamNonBlocking)
    memory, pinned = rt.Memory(64), rt.Memory.host(64)
    addresses = [memory.ptr, pinned.ptr]
    rt.LaunchHostFunc(raw, latch.wait)
    latch.reached()
    del memory, pinned
    assert not any(map(freed, addresses))
    latch.open()
    rt.StreamSynchronize(raw)
    assert all(map(freed, addresses))
    rt.StreamDestroy(raw)


def test_what_is_dropped_in_a_host_function_is_freed_later(stream: rt.Stream) -> None:
    things: list[object] = [rt.Memory(64), rt.Stream(), rt.Event(), rt.Graph()]
    address = things[0].ptr  # type: ignore[attr-defined]
    other = things[1].handle  # type: ignore[attr-defined]
    stream.launch(things.clear)
    stream.synchronize()
    _rt._settle()
    assert freed(address)
    with pytest.raises(rt.InfiniRTError):
        rt.StreamQuery(other)
    rt.GetLastError()


def test_dropping_leaves_no_error_behind() -> None:
    stream = rt.Stream()
    rt.StreamDestroy(stream.handle)  # without the object's knowledge
    del stream
    assert rt.PeekAtLastError() is rt.Success


def test_memory_of_a_pool_is_freed_in_its_streams_order(latch: Latch) -> None:
    pool, stream, other = rt.MemoryPool(), rt.Stream(), rt.Stream()
    memory = pool.allocate(1 << 16, stream)
    latch.hold(stream)
    other_latch = Latch()
    other_latch.hold(other)
    memory.fill(7, stream=other)  # kept until the other stream is done with it
    assert pool.used >= 1 << 16
    del memory
    gc.collect()
    assert pool.used >= 1 << 16
    other_latch.open()
    other.synchronize()
    latch.open()
    stream.synchronize()
    _rt._settle()
    stream.synchronize()
    assert pool.used == 0
