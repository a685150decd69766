"""Graphs: captured or built by hand, they have the same effect as the calls themselves."""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch, Order
from kit.binding import handles
from kit.latch import settle


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def host_params(rt, function):
    return rt.struct("HostNodeParams", fn=address(function))


def fill_params(rt, target, value, count, element=1, height=1, pitch=0):
    return rt.struct(
        "MemsetParams",
        dst=target,
        value=value,
        elementSize=element,
        width=count,
        height=height,
        pitch=pitch,
    )


@pytest.fixture
def build(rt, make):
    """Adds nodes to a graph: build.host("word"), build.fill(...), after the given nodes."""

    class Build:
        def __init__(self):
            self.graph = make.graph()
            self.order = Order(rt)

        def behind(self, nodes):
            return (handles(*nodes), len(nodes)) if nodes else (None, 0)

        def host(self, word, *nodes, also=None):
            function = self.order.function(word, also)
            return rt.GraphAddHostNode(self.graph, *self.behind(nodes), host_params(rt, function))

        def latch(self, latch, *nodes):
            params = host_params(rt, latch.function)
            return rt.GraphAddHostNode(self.graph, *self.behind(nodes), params)

        def fill(self, target, value, count, *nodes, **more):
            params = fill_params(rt, target, value, count, **more)
            return rt.GraphAddMemsetNode(self.graph, *self.behind(nodes), params)

        def copy(self, dst, src, count, *nodes):
            behind = self.behind(nodes)
            return rt.GraphAddMemcpyNode1D(self.graph, *behind, dst, src, count, rt.MemcpyDefault)

        def empty(self, *nodes):
            return rt.GraphAddEmptyNode(self.graph, *self.behind(nodes))

        def run(self, times=1):
            stream, made = make.free_stream(), make.exec(self.graph)
            for _ in range(times):
                rt.GraphLaunch(made, stream)
            rt.StreamSynchronize(stream)
            return made

    return Build()


def test_an_empty_graph_runs(rt, make, build):
    build.run(3)


def test_nodes_run_in_the_order_of_their_edges(rt, build):
    last = ()
    for word in range(30):
        last = (build.host(word, *last),)
    build.run(4)
    assert build.order.seen == list(range(30)) * 4


def test_a_diamond(rt, build):
    top = build.host("top")
    left, right = build.host("left", top), build.host("right", top)
    build.host("bottom", left, right)
    build.run(20)
    for start in range(0, 80, 4):
        once = build.order.seen[start : start + 4]
        assert (once[0], once[3]) == ("top", "bottom")
        assert sorted(once[1:3]) == ["left", "right"]


@pytest.mark.needs("parallel-host-functions")
def test_independent_branches_run_side_by_side(rt, make, build):
    # Each waits inside a host function until all have started: one after the other would never end.
    latches = [Latch(rt) for _ in range(6)]
    top = build.empty()
    ends = [build.latch(latch, top) for latch in latches]
    build.host("end", *ends)
    stream = make.free_stream()
    rt.GraphLaunch(make.exec(build.graph), stream)
    for latch in latches:
        latch.reached()
    for latch in latches:
        with latch:
            assert build.order.seen == []
    rt.StreamSynchronize(stream)
    assert build.order.seen == ["end"]


@pytest.mark.needs("parallel-host-functions")
def test_branches_without_a_common_node_run_side_by_side(rt, make, build):
    latches = [Latch(rt) for _ in range(3)]
    for latch in latches:
        build.host("end", build.latch(latch, build.empty()))
    stream = make.free_stream()
    rt.GraphLaunch(make.exec(build.graph), stream)
    for latch in latches:
        latch.reached()
    for latch in latches:
        with latch:
            pass
    rt.StreamSynchronize(stream)
    assert build.order.seen == ["end"] * 3


def test_a_launch_stands_in_its_stream(rt, make, build):
    build.host("graph")
    stream, made, order = make.free_stream(), make.exec(build.graph), build.order
    with Latch(rt, stream).reached():
        order.note(stream, "before")
        rt.GraphLaunch(made, stream)
        order.note(stream, "behind")
        settle(rt)
        assert order.seen == []
        assert rt.code.StreamQuery(stream) == "ErrorNotReady"
    rt.StreamSynchronize(stream)
    assert order.seen == ["before", "graph", "behind"]


def test_several_launches_in_flight(rt, make, build):
    first = build.host("a")
    build.host("b", first)
    stream, made = make.free_stream(), make.exec(build.graph)
    with Latch(rt, stream).reached():
        for _ in range(50):
            rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert build.order.seen == ["a", "b"] * 50


def test_launches_of_one_graph_in_two_streams_do_not_overlap(rt, make, build):
    inside = []
    build.host("in", also=lambda: inside.append(1))
    build.host("out", *rt.listed("GraphGetNodes", build.graph), also=lambda: inside.append(-1))
    made, streams = make.exec(build.graph), [make.free_stream(), make.free_stream()]
    for step in range(40):
        rt.GraphLaunch(made, streams[step % 2])
    rt.DeviceSynchronize()
    assert inside == [1, -1] * 40


@pytest.mark.needs("parallel-host-functions")
def test_two_graphs_run_side_by_side(rt, make, build):
    latch = Latch(rt)
    build.latch(latch)
    other, order = make.graph(), Order(rt)
    rt.GraphAddHostNode(other, None, 0, host_params(rt, order.function("other")))
    rt.GraphLaunch(make.exec(build.graph), make.free_stream())
    latch.reached()
    stream = make.free_stream()
    with latch:
        rt.GraphLaunch(make.exec(other), stream)
        rt.StreamSynchronize(stream)
        assert order.seen == ["other"]


def test_a_launch_in_the_null_stream(rt, make, build):
    build.host("graph")
    made, stream = make.exec(build.graph), make.stream()
    with Latch(rt, stream).reached():
        rt.GraphLaunch(made, 0)
        settle(rt)
        assert build.order.seen == []  # the null stream waits for the blocking one
    rt.StreamSynchronize(0)
    assert build.order.seen == ["graph"]


@pytest.mark.parametrize(("element", "value"), [(1, 0x5A), (2, 0x1234), (4, 0x89ABCDEF)])
def test_fill_nodes_of_every_width(rt, make, build, element, value):
    target = make.buffer(8 * 40, 0)
    build.fill(target.address, value, 7, element=element, height=6, pitch=40)
    build.run()
    row = (value.to_bytes(element, "little") * 7).ljust(40, b"\0")
    assert target.read() == row * 6 + bytes(80)


def test_copy_nodes(rt, make, build):
    a, b, c = make.buffer(64, 1), make.buffer(64, 2), make.pinned(64)
    first = build.copy(a.address, b.address, 32)
    build.copy(c.address, a.address, 64, first)
    build.run()
    assert bytes(c.view()) == bytes([2] * 32 + [1] * 32)


def test_pitched_copy_node(rt, make, build):
    a, b = make.buffer(100, bytes(range(100))), make.buffer(60, 0)
    parameters = rt.struct(
        "Memcpy3DParms",
        srcPtr={"ptr": a.address, "pitch": 10, "xsize": 10, "ysize": 10},
        dstPtr={"ptr": b.address, "pitch": 6, "xsize": 6, "ysize": 10},
        extent={"width": 5, "height": 4, "depth": 1},
        kind=rt.MemcpyDefault,
    )
    node = rt.GraphAddMemcpyNode(build.graph, None, 0, parameters)
    build.run()
    rows = b"".join(bytes(range(row * 10, row * 10 + 5)) + b"\0" for row in range(4))
    assert b.read() == rows + bytes(36)
    told = rt.GraphMemcpyNodeGetParams(node)
    assert (told.srcPtr.ptr, told.extent.width) == (a.address, 5)


def test_event_nodes(rt, make, build):
    recorded, awaited = make.event(), make.event()
    held = make.free_stream()
    wait = rt.GraphAddEventWaitNode(build.graph, None, 0, awaited)
    record = rt.GraphAddEventRecordNode(
        build.graph, *build.behind([build.host("x", wait)]), recorded
    )
    assert rt.GraphEventWaitNodeGetEvent(wait) == awaited
    assert rt.GraphEventRecordNodeGetEvent(record) == recorded
    stream, made = make.free_stream(), make.exec(build.graph)
    with Latch(rt, held).reached():
        rt.EventRecord(awaited, held)
        rt.GraphLaunch(made, stream)
        settle(rt)
        assert build.order.seen == []
        assert rt.code.EventQuery(recorded) == "ErrorNotReady"
    rt.EventSynchronize(recorded)
    assert build.order.seen == ["x"]


def test_child_graphs(rt, make, build):
    child = make.graph()
    order = build.order
    inner = rt.GraphAddHostNode(child, None, 0, host_params(rt, order.function("child 1")))
    rt.GraphAddHostNode(child, handles(inner), 1, host_params(rt, order.function("child 2")))
    top = build.host("top")
    node = rt.GraphAddChildGraphNode(build.graph, *build.behind([top]), child)
    build.host("bottom", node)
    rt.GraphDestroy(child)  # the node has a copy of its own
    build.run(3)
    assert order.seen == ["top", "child 1", "child 2", "bottom"] * 3
    inside = rt.GraphChildGraphNodeGetGraph(node)
    assert len(rt.listed("GraphGetNodes", inside)) == 2
    if "checked-handles" in rt.tags:
        assert rt.code.GraphDestroy(inside) != "Success"  # it belongs to the node


def test_a_child_graph_of_a_child_graph(rt, make, build):
    inner, outer = make.graph(), make.graph()
    rt.GraphAddHostNode(inner, None, 0, host_params(rt, build.order.function("deep")))
    rt.GraphAddChildGraphNode(outer, None, 0, inner)
    rt.GraphAddChildGraphNode(build.graph, None, 0, outer)
    build.run(2)
    assert build.order.seen == ["deep"] * 2


def test_an_instantiated_graph_does_not_follow_later_edits(rt, make, build):
    first = build.host("first")
    made, stream = make.exec(build.graph), make.free_stream()
    build.host("second", first)
    rt.GraphDestroyNode(first)
    rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert build.order.seen == ["first"]


def test_destroying_while_it_runs(rt, make, build):
    latch = Latch(rt)
    build.host("behind", build.latch(latch))
    stream = make.free_stream()
    made = rt.GraphInstantiate(build.graph)
    rt.GraphLaunch(made, stream)
    latch.reached()
    rt.GraphExecDestroy(made)
    rt.GraphDestroy(build.graph)
    if "checked-handles" in rt.tags:
        assert rt.code.GraphLaunch(made, stream) == "ErrorInvalidValue"
    with latch:
        pass
    rt.StreamSynchronize(stream)
    assert build.order.seen == ["behind"]


def test_eager_and_captured_give_the_same(rt, make):
    def program(stream, memory, host):
        rt.MemsetAsync(memory.address, 1, 1000, stream)
        rt.Memset2DAsync(memory + 100, 32, 7, 5, 20, stream)
        rt.MemcpyAsync(memory + 2000, memory.address, 1000, rt.MemcpyDeviceToDevice, stream)
        rt.Memcpy2DAsync(host.address, 50, memory + 2000, 40, 37, 20, rt.MemcpyDefault, stream)

    results = []
    for captured in (False, True):
        stream, memory, host = make.free_stream(), make.buffer(4000, 0), make.pinned(1000)
        if captured:
            rt.StreamBeginCapture(stream, rt.StreamCaptureModeThreadLocal)
            program(stream, memory, host)
            made = make.exec(make.own_graph(rt.StreamEndCapture(stream)))
            rt.GraphUpload(made, stream)
            for _ in range(3):
                rt.GraphLaunch(made, stream)
        else:
            program(stream, memory, host)
        rt.StreamSynchronize(stream)
        results.append((memory.read(), bytes(host.view())))
    assert results[0] == results[1]
