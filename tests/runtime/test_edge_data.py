"""Graph functions with edge data, and parameters that are set afterwards."""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch, Order
from kit.binding import handles
from kit.latch import settle

from .test_graphs import fill_params, host_params


def edges(rt, count: int):
    """Plain edges: the only kind on devices without compiled kernels."""
    plain = type(rt.struct("GraphEdgeData_st"))
    return (plain * count)()


def empty_nodes(rt, graph: int, count: int) -> list[int]:
    return [rt.GraphAddEmptyNode(graph, None, 0) for _ in range(count)]


def with_data(rt, name: str, node: int) -> tuple[list[int], list[bytes]]:
    """The result of a function that lists nodes and the data of their edges."""
    count = ctypes.c_size_t()
    call = getattr(rt, name)
    call(node, None, None, count)
    nodes, data = (ctypes.c_void_p * count.value)(), edges(rt, count.value)
    if count.value:
        call(node, nodes, data, count)
    return [each or 0 for each in nodes], [bytes(each) for each in data]


def test_edges_with_plain_data(rt, make):
    graph = make.graph()
    a, b, c = empty_nodes(rt, graph, 3)
    rt.GraphAddDependencies_v2(graph, handles(a, a), handles(b, c), edges(rt, 2), 2)
    nodes, data = with_data(rt, "GraphNodeGetDependentNodes_v2", a)
    assert (sorted(nodes), data) == (sorted([b, c]), [bytes(8)] * 2)
    assert with_data(rt, "GraphNodeGetDependencies_v2", c) == ([a], [bytes(8)])
    assert with_data(rt, "GraphNodeGetDependencies_v2", a) == ([], [])
    rt.GraphRemoveDependencies_v2(graph, handles(a), handles(c), edges(rt, 1), 1)
    assert rt.listed("GraphGetEdges", graph) == [(a, b)]
    rt.GraphRemoveDependencies_v2(graph, handles(a), handles(b), None, 1)
    assert rt.listed("GraphGetEdges", graph) == []


def test_removing_an_edge_that_does_not_exist(rt, make, refused):
    graph = make.graph()
    a, b = empty_nodes(rt, graph, 2)
    with refused("ErrorInvalidValue"):
        rt.GraphRemoveDependencies_v2(graph, handles(a), handles(b), edges(rt, 1), 1)


def test_edge_data_that_mean_nothing(rt, make):
    graph = make.graph()
    a, b = empty_nodes(rt, graph, 2)
    wrong = edges(rt, 1)
    wrong[0].type = 77
    answer = rt.code.GraphAddDependencies_v2(graph, handles(a), handles(b), wrong, 1)
    assert answer in ("ErrorInvalidValue", "ErrorNotSupported")
    assert rt.listed("GraphGetEdges", graph) == []


def test_a_node_with_data_for_its_edges(rt, make):
    graph, buffer = make.graph(), make.buffer(16, 0)
    first = rt.GraphAddMemsetNode(graph, None, 0, fill_params(rt, buffer.address, 1, 16))
    params = rt.struct("GraphNodeParams", type=rt.GraphNodeTypeMemset)
    params.memset.dst, params.memset.value = buffer.address, 6
    params.memset.elementSize, params.memset.width, params.memset.height = 1, 8, 1
    node = rt.GraphAddNode_v2(graph, handles(first), edges(rt, 1), 1, params)
    assert with_data(rt, "GraphNodeGetDependencies_v2", node) == ([first], [bytes(8)])
    rt.GraphLaunch(make.exec(graph), 0)
    rt.StreamSynchronize(0)
    assert buffer.read() == bytes([6]) * 8 + bytes([1]) * 8


def test_capture_dependencies_with_data(rt, make):
    stream, order = make.free_stream(), Order(rt)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeRelaxed)
    try:
        order.note(stream, "a")
        status, _, graph, nodes, _, count = rt.StreamGetCaptureInfo_v3(stream)
        assert (status, count) == (rt.StreamCaptureStatusActive, 1)
        first = ctypes.c_void_p.from_address(nodes).value
        assert rt.listed("GraphGetNodes", graph) == [first]
        flags = rt.StreamSetCaptureDependencies
        rt.StreamUpdateCaptureDependencies_v2(stream, None, None, 0, flags)
        assert rt.StreamGetCaptureInfo_v3(stream)[-1] == 0
        flags = rt.StreamAddCaptureDependencies
        rt.StreamUpdateCaptureDependencies_v2(stream, handles(first), edges(rt, 1), 1, flags)
        order.note(stream, "b")
    finally:
        graph = make.own_graph(rt.StreamEndCapture(stream))
    [(before, after)] = rt.listed("GraphGetEdges", graph)
    assert before == first
    assert with_data(rt, "GraphNodeGetDependencies_v2", after) == ([first], [bytes(8)])
    assert rt.StreamGetCaptureInfo_v3(stream)[0] == rt.StreamCaptureStatusNone


@pytest.mark.needs("asynchronous")
def test_events_of_nodes_can_be_replaced(rt, make):
    graph, order, held, stream = make.graph(), Order(rt), make.free_stream(), make.free_stream()
    old, awaited, recorded = make.event(), make.event(), make.event()
    wait = rt.GraphAddEventWaitNode(graph, None, 0, old)
    host = rt.GraphAddHostNode(graph, handles(wait), 1, host_params(rt, order.function("ran")))
    record = rt.GraphAddEventRecordNode(graph, handles(host), 1, old)
    rt.GraphEventWaitNodeSetEvent(wait, awaited)
    rt.GraphEventRecordNodeSetEvent(record, recorded)
    assert rt.GraphEventWaitNodeGetEvent(wait) == awaited
    assert rt.GraphEventRecordNodeGetEvent(record) == recorded
    made = make.exec(graph)
    with Latch(rt, held).reached():
        rt.EventRecord(awaited, held)
        rt.GraphLaunch(made, stream)
        settle(rt)
        assert order.seen == []
        assert rt.code.EventQuery(recorded) == "ErrorNotReady"
    rt.EventSynchronize(recorded)
    assert order.seen == ["ran"]


def test_events_are_set_only_where_they_belong(rt, make, refused):
    graph, event = make.graph(), make.event()
    [node] = empty_nodes(rt, graph, 1)
    for name in ("GraphEventRecordNodeSetEvent", "GraphEventWaitNodeSetEvent"):
        with refused("ErrorInvalidValue"):
            getattr(rt, name)(node, event)


def box(rt, to: int, source: int, height: int = 1):
    return rt.struct(
        "Memcpy3DParms",
        srcPtr={"ptr": source, "pitch": 8, "xsize": 8, "ysize": height},
        dstPtr={"ptr": to, "pitch": 8, "xsize": 8, "ysize": height},
        extent={"width": 6, "height": height, "depth": 1},
        kind=rt.MemcpyDefault,
    )


def test_a_copy_of_an_instantiated_graph_can_be_changed(rt, make, refused):
    graph = make.graph()
    a, b, into, other = (make.buffer(16, value) for value in (1, 2, 0, 0))
    node = rt.GraphAddMemcpyNode(graph, None, 0, box(rt, into.address, a.address))
    made = make.exec(graph)
    rt.GraphExecMemcpyNodeSetParams(made, node, box(rt, other.address, b.address))
    rt.GraphLaunch(made, 0)
    rt.StreamSynchronize(0)
    assert (into.read(), other.read()) == (bytes(16), bytes([2]) * 6 + bytes(10))
    # The graph itself keeps what it had.
    assert rt.GraphMemcpyNodeGetParams(node).srcPtr.ptr == a.address
    rt.GraphLaunch(make.exec(graph), 0)
    rt.StreamSynchronize(0)
    assert into.read() == bytes([1]) * 6 + bytes(10)
    with refused("ErrorInvalidValue"):  # CUDA's rule: only lines
        rt.GraphExecMemcpyNodeSetParams(made, node, box(rt, other.address, b.address, 2))
