"""Level 3: capture and graphs. A back end without graphs of its own has the core's."""

from __future__ import annotations

import ctypes
from typing import Any

from infinicore.conformance.cases import case, expect, expect_bytes, expect_equal, held
from infinicore.conformance.cases.memory import pattern


def _begin(make: Any, stream: int) -> None:
    make.rt.StreamBeginCapture(stream, make.rt.StreamCaptureModeThreadLocal)


def _end(make: Any, stream: int) -> int:
    graph = make.own_graph(make.rt.StreamEndCapture(stream))
    return int(make.exec(graph))


@case(3, "graphs/records")
def records(make: Any) -> None:
    """A capture records and runs nothing; each launch runs all of it."""
    rt, stream, buffer = make.rt, make.stream(), make.buffer(4096, 1)
    _begin(make, stream)
    rt.MemsetAsync(buffer.address, 2, 4096, stream)
    made = _end(make, stream)
    expect_bytes(buffer.read(), b"\1" * 4096, "after the capture")
    for value in (5, 6):
        rt.Memset(buffer.address, value, 4096)
        rt.GraphLaunch(made, stream)
        rt.StreamSynchronize(stream)
        expect_bytes(buffer.read(), b"\2" * 4096, "after a launch")


@case(3, "graphs/new-data")
def new_data(make: Any) -> None:
    """A launch reads memory as it is then, not as it was at the capture."""
    rt, stream, size = make.rt, make.stream(), 70_001
    one, two, three = (make.buffer(size, 0) for _ in range(3))
    _begin(make, stream)
    rt.MemcpyAsync(two.address, one.address, size, rt.MemcpyDeviceToDevice, stream)
    rt.MemcpyAsync(three.address, two.address, size, rt.MemcpyDeviceToDevice, stream)
    made = _end(make, stream)
    for seed in range(3):
        one.write(pattern(size, seed))
        rt.GraphLaunch(made, stream)
        rt.StreamSynchronize(stream)
        expect_bytes(three.read(), pattern(size, seed), f"launch {seed}")


@case(3, "graphs/fork-and-join")
def fork_and_join(make: Any) -> None:
    """A capture follows events into other streams and back."""
    rt, origin, others = make.rt, make.free_stream(), [make.free_stream() for _ in range(3)]
    source, size = make.buffer(4096, 0), 4096
    results = [make.buffer(size, 0) for _ in others]
    gathered, back = make.buffer(size * 3, 0), make.pinned(size * 3, 0)
    with held.latch(make) as latch:
        _begin(make, origin)
        rt.MemsetAsync(source.address, 42, size, origin)
        fork = make.event(rt.EventDisableTiming)
        rt.EventRecord(fork, origin)
        for other, result in zip(others, results, strict=True):
            rt.StreamWaitEvent(other, fork, 0)
            if other == others[1]:
                latch.hold(other)
            rt.MemcpyAsync(result.address, source.address, size, rt.MemcpyDeviceToDevice, other)
            join = make.event(rt.EventDisableTiming)
            rt.EventRecord(join, other)
            rt.StreamWaitEvent(origin, join, 0)
        for index, result in enumerate(results):
            target = gathered + index * size
            rt.MemcpyAsync(target, result.address, size, rt.MemcpyDeviceToDevice, origin)
        kind = rt.MemcpyDeviceToHost
        rt.MemcpyAsync(back.address, gathered.address, size * 3, kind, origin)
        made = _end(make, origin)
        rt.GraphLaunch(made, origin)
        latch.reached()
        held.waits(lambda: not any(back.view()), "what is behind the join, a branch being held")
    rt.StreamSynchronize(origin)
    expect_bytes(bytes(back.view()), b"\x2a" * 3 * size, "what came together")
    for _ in range(20):
        rt.MemsetAsync(gathered.address, 0, 3 * size, origin)
        rt.GraphLaunch(made, origin)
        rt.StreamSynchronize(origin)
        expect_bytes(gathered.read(), b"\x2a" * 3 * size, "what came together")


@case(3, "graphs/host-function")
def host_function(make: Any) -> None:
    """A captured host function is called once at each launch, in its place."""
    rt, stream, seen = make.rt, make.free_stream(), held.order(make)
    buffer, back = make.buffer(64, 7), make.pinned(64, 0)
    with held.latch(make) as latch:
        _begin(make, stream)
        latch.hold(stream)
        for word in ("a", "b", "c"):
            seen.note(stream, word)
        rt.MemcpyAsync(back.address, buffer.address, 64, rt.MemcpyDeviceToHost, stream)
        made = _end(make, stream)
        expect(not latch.is_reached and not seen.seen, "a host function ran during the capture")
        rt.GraphLaunch(made, stream)
        latch.reached()
        held.waits(lambda: not any(back.view()), "the work behind a host function")
        expect_equal(seen.seen, [], "calls behind one that has not returned")
    for _ in range(4):
        rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    expect_equal("".join(seen.seen), "abc" * 5, "the calls")


@case(3, "graphs/nodes")
def nodes(make: Any) -> None:
    """A graph built node by node runs in the order of its dependencies."""
    rt, stream, graph = make.rt, make.free_stream(), make.graph()
    one, back = make.buffer(4096, 0), make.pinned(4096, 0)
    from kit.binding import handles

    with held.latch(make) as latch:
        function = ctypes.cast(latch.function, ctypes.c_void_p).value
        first = rt.GraphAddHostNode(graph, None, 0, rt.struct("HostNodeParams", fn=function))
        fill = rt.struct(
            "MemsetParams", dst=one.address, value=9, elementSize=1, width=4096, height=1
        )
        second = rt.GraphAddMemsetNode(graph, handles(first), 1, fill)
        rt.GraphAddMemcpyNode1D(
            *(graph, handles(second), 1, back.address, one.address, 4096),
            rt.MemcpyDeviceToHost,
        )
        expect_equal(len(rt.listed("GraphGetNodes", graph)), 3, "the number of nodes")
        made = make.exec(graph)
        back.view()[0] = 1  # will be overwritten, with 0 if the copy runs too early
        rt.GraphLaunch(made, stream)
        latch.reached()
        held.waits(lambda: back.view()[0] == 1, "a copy behind a fill, behind a held host function")
    rt.StreamSynchronize(stream)
    expect_bytes(bytes(back.view()), b"\x09" * 4096, "what the last node copied")


@case(3, "graphs/thousand-launches")
def thousand(make: Any) -> None:
    """A thousand launches in a row, in order."""
    rt, stream, seen = make.rt, make.stream(), held.order(make)
    buffer = make.buffer(1 << 16, 0)
    _begin(make, stream)
    rt.MemsetAsync(buffer.address, 1, 1 << 16, stream)
    seen.note(stream, 1)
    rt.MemsetAsync(buffer.address, 2, 1 << 16, stream)
    made = _end(make, stream)
    for _ in range(1000):
        rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    expect_equal(len(seen.seen), 1000, "calls")
    expect_bytes(buffer.read(), b"\2" * (1 << 16), "the last fill")


@case(3, "graphs/two-streams")
def two_streams(make: Any) -> None:
    """Two graphs in two streams, ordered by an event."""
    rt, first, second, size = make.rt, make.free_stream(), make.free_stream(), 1 << 16
    one, two, back = make.buffer(size, 0), make.buffer(size, 0), make.pinned(size, 1)
    _begin(make, first)
    rt.MemsetAsync(one.address, 17, size, first)
    fills = _end(make, first)
    _begin(make, second)
    rt.MemcpyAsync(two.address, one.address, size, rt.MemcpyDeviceToDevice, second)
    rt.MemcpyAsync(back.address, two.address, size, rt.MemcpyDeviceToHost, second)
    copies = _end(make, second)
    event = make.event()
    with held.hold(make, first):
        rt.GraphLaunch(fills, first)
        rt.EventRecord(event, first)
        rt.StreamWaitEvent(second, event, 0)
        rt.GraphLaunch(copies, second)
        held.stream_waits(make, second, "a graph in a stream that waits")
        expect_bytes(bytes(back.view()), b"\1" * size, "what the graph copies")
    rt.StreamSynchronize(second)
    expect_bytes(bytes(back.view()), b"\x11" * size, "what the second graph copied")


@case(3, "graphs/refused-in-capture")
def refused(make: Any) -> None:
    """What can't be captured is refused, and the stream works afterwards."""
    rt, stream, buffer = make.rt, make.stream(), make.buffer(64, 1)
    _begin(make, stream)
    code = rt.code.StreamSynchronize(stream)
    expect(code.startswith("ErrorStreamCapture"), f"StreamSynchronize in a capture: {code}")
    rt.code.StreamEndCapture(stream)
    rt.code.GetLastError()
    rt.MemsetAsync(buffer.address, 4, 64, stream)
    rt.StreamSynchronize(stream)
    expect_bytes(buffer.read(), b"\4" * 64, "a fill afterwards")


@case(3, "graphs/ordered-memory")
def ordered_memory(make: Any) -> None:
    """Memory allocated and freed in the order of a stream."""
    rt, stream = make.rt, make.stream()
    results = [make.buffer(8192, 0) for _ in range(20)]
    for value, result in enumerate(results):
        address = rt.MallocAsync(8192, stream)
        rt.MemsetAsync(address, value, 8192, stream)
        rt.MemcpyAsync(result.address, address, 8192, rt.MemcpyDeviceToDevice, stream)
        rt.FreeAsync(address, stream)
    rt.StreamSynchronize(stream)
    for value, result in enumerate(results):
        expect_bytes(result.read(), bytes([value]) * 8192, f"allocation {value}")
    # Memory freed in a stream is not reused by another stream before the free, unless that one
    # waits for it.
    first, second = make.free_stream(), make.free_stream()
    with held.hold(make, first):
        one = rt.MallocAsync(8192, first)
        rt.MemsetAsync(one, 100, 8192, first)
        rt.FreeAsync(one, first)
        two = rt.MallocAsync(8192, second)
        rt.MemsetAsync(two, 101, 8192, second)
        held.stream_waits(make, first, "a held stream")
    rt.StreamSynchronize(first)
    kind = rt.MemcpyDeviceToDevice
    rt.MemcpyAsync(results[0].address, two, 8192, kind, second)
    rt.FreeAsync(two, second)
    rt.StreamSynchronize(second)
    expect_bytes(results[0].read(), b"\x65" * 8192, "memory of the second stream")
