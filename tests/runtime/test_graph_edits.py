"""Graphs as objects: topology, clones, parameters, updates, disabled nodes, user objects, DOT
output."""

from __future__ import annotations

import ctypes
import queue
from pathlib import Path

import pytest

from kit import Order
from kit.binding import handles
from kit.latch import HOST_FUNCTION, LIMIT

from .test_graphs import address, fill_params, host_params


@pytest.fixture
def filled(rt, make):
    """A graph with one fill node over a buffer of zeros."""
    graph, buffer = make.graph(), make.buffer(16, 0)
    node = rt.GraphAddMemsetNode(graph, None, 0, fill_params(rt, buffer.address, 1, 16))
    return graph, node, buffer


def launch(rt, made):
    rt.GraphLaunch(made, 0)
    rt.StreamSynchronize(0)


def test_shape(rt, make):
    graph = make.graph()
    a, b, c = (rt.GraphAddEmptyNode(graph, None, 0) for _ in range(3))
    assert rt.listed("GraphGetNodes", graph) == [a, b, c]
    rt.GraphAddDependencies(graph, handles(a, a), handles(b, c), 2)
    assert sorted(rt.listed("GraphGetEdges", graph)) == sorted([(a, b), (a, c)])
    assert rt.listed("GraphGetRootNodes", graph) == [a]
    assert sorted(rt.listed("GraphNodeGetDependentNodes", a)) == sorted([b, c])
    assert rt.listed("GraphNodeGetDependencies", c) == [a]
    rt.GraphRemoveDependencies(graph, handles(a), handles(c), 1)
    assert rt.listed("GraphGetEdges", graph) == [(a, b)]
    rt.GraphDestroyNode(a)
    assert rt.listed("GraphGetNodes", graph) == [b, c]
    assert rt.listed("GraphGetEdges", graph) == []


def test_room_that_is_left_over_is_null(rt, make):
    graph = make.graph()
    node = rt.GraphAddEmptyNode(graph, None, 0)
    into, count = (ctypes.c_void_p * 4)(9, 9, 9, 9), ctypes.c_size_t(4)
    rt.GraphGetNodes(graph, into, count)
    assert (list(into), count.value) == ([node, None, None, None], 1)


def test_edges_that_are_wrong(rt, make, refused):
    graph, other = make.graph(), make.graph()
    a, b = rt.GraphAddEmptyNode(graph, None, 0), rt.GraphAddEmptyNode(graph, None, 0)
    foreign = rt.GraphAddEmptyNode(other, None, 0)
    rt.GraphAddDependencies(graph, handles(a), handles(b), 1)
    for add in ((a, b), (a, a), (a, foreign)):  # twice, itself, another graph's
        with refused("ErrorInvalidValue"):
            rt.GraphAddDependencies(graph, handles(add[0]), handles(add[1]), 1)
    with refused("ErrorInvalidValue"):
        rt.GraphRemoveDependencies(graph, handles(b), handles(a), 1)
    with refused("ErrorInvalidValue"):
        rt.GraphAddEmptyNode(graph, handles(foreign), 1)
    with refused("ErrorInvalidValue"):
        rt.GraphAddEmptyNode(graph, handles(a, a), 2)
    assert rt.listed("GraphGetEdges", graph) == [(a, b)]


def test_a_ring_cannot_be_instantiated(rt, make, refused):
    graph = make.graph()
    a, b = rt.GraphAddEmptyNode(graph, None, 0), rt.GraphAddEmptyNode(graph, None, 0)
    rt.GraphAddDependencies(graph, handles(a, b), handles(b, a), 2)
    with refused("ErrorInvalidValue"):
        rt.GraphInstantiate(graph)


def test_clones(rt, make, filled):
    graph, node, buffer = filled
    clone = make.own_graph(rt.GraphClone(graph))
    copy = rt.GraphNodeFindInClone(node, clone)
    assert copy != node
    assert rt.listed("GraphGetNodes", clone) == [copy]
    rt.GraphMemsetNodeSetParams(node, fill_params(rt, buffer.address, 2, 16))
    launch(rt, make.exec(clone))
    assert buffer.read() == bytes([1]) * 16  # the clone kept the old parameters
    rt.GraphDestroy(graph)
    launch(rt, make.exec(clone))


def test_a_node_that_a_clone_does_not_have(rt, make, filled, refused):
    graph, node, _ = filled
    clone, other = make.own_graph(rt.GraphClone(graph)), make.graph()
    late = rt.GraphAddEmptyNode(graph, None, 0)
    for looked_for, place in ((late, clone), (node, other)):
        with refused("ErrorInvalidValue"):
            rt.GraphNodeFindInClone(looked_for, place)


def test_parameters_can_be_read_and_set(rt, make, filled):
    graph, node, buffer = filled
    told = rt.GraphMemsetNodeGetParams(node)
    assert (told.dst, told.value, told.width, told.elementSize) == (buffer.address, 1, 16, 1)
    rt.GraphMemsetNodeSetParams(node, fill_params(rt, buffer + 4, 3, 2, element=2))
    function = HOST_FUNCTION(lambda _: None)
    host = rt.GraphAddHostNode(graph, None, 0, host_params(rt, function))
    assert rt.GraphHostNodeGetParams(host).fn == address(function)
    launch(rt, make.exec(graph))
    assert buffer.read() == bytes(4) + b"\3\0\3\0" + bytes(8)


def test_any_node_through_the_general_function(rt, make):
    graph, buffer = make.graph(), make.buffer(16, 0)
    params = rt.struct("GraphNodeParams", type=rt.GraphNodeTypeMemset)
    params.memset.dst, params.memset.value = buffer.address, 6
    params.memset.elementSize, params.memset.width, params.memset.height = 1, 16, 1
    node = rt.GraphAddNode(graph, None, 0, params)
    assert rt.GraphNodeGetType(node) == rt.GraphNodeTypeMemset
    made = make.exec(graph)
    params.memset.value = 7
    rt.GraphNodeSetParams(node, params)
    launch(rt, made)
    assert buffer.read() == bytes([6]) * 16
    params.memset.value = 8
    rt.GraphExecNodeSetParams(made, node, params)
    launch(rt, made)
    assert buffer.read() == bytes([8]) * 16


def test_the_wrong_kind_of_node(rt, make, filled, refused):
    graph, node, _ = filled
    with refused("ErrorInvalidValue", "node"):
        rt.GraphHostNodeGetParams(node)
    with refused("ErrorInvalidValue", "node"):
        rt.GraphMemcpyNodeGetParams(rt.GraphAddEmptyNode(graph, None, 0))


def test_parameters_of_an_instantiated_graph(rt, make, filled):
    graph, node, buffer = filled
    made = make.exec(graph)
    rt.GraphExecMemsetNodeSetParams(made, node, fill_params(rt, buffer.address, 9, 16))
    launch(rt, made)
    assert buffer.read() == bytes([9]) * 16
    assert rt.GraphMemsetNodeGetParams(node).value == 1  # the graph itself is untouched
    launch(rt, make.exec(graph))
    assert buffer.read() == bytes([1]) * 16


def test_setting_parameters_while_launches_are_in_flight(rt, make):
    from kit import Latch

    graph, buffer, stream = make.graph(), make.buffer(64, 0), make.free_stream()
    seen, host = [], make.pinned(1)
    fill = rt.GraphAddMemsetNode(graph, None, 0, fill_params(rt, buffer.address, 0, 1))
    copy = rt.GraphAddMemcpyNode1D(
        graph, handles(fill), 1, host.address, buffer.address, 1, rt.MemcpyDefault
    )
    look = HOST_FUNCTION(lambda _: seen.append(host.view()[0]))
    rt.GraphAddHostNode(graph, handles(copy), 1, host_params(rt, look))
    made = make.exec(graph)
    with Latch(rt, stream).reached():
        for value in range(20):  # each launch keeps the parameters that it was launched with
            rt.GraphExecMemsetNodeSetParams(made, fill, fill_params(rt, buffer.address, value, 1))
            rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert seen == list(range(20))


def test_nodes_can_be_switched_off(rt, make, filled, refused):
    graph, node, buffer = filled
    made = make.exec(graph)
    assert rt.GraphNodeGetEnabled(made, node) == 1
    rt.GraphNodeSetEnabled(made, node, 0)
    assert rt.GraphNodeGetEnabled(made, node) == 0
    launch(rt, made)
    assert buffer.read() == bytes(16)
    rt.GraphNodeSetEnabled(made, node, 1)
    launch(rt, made)
    assert buffer.read() == bytes([1]) * 16
    host = rt.GraphAddHostNode(graph, None, 0, host_params(rt, HOST_FUNCTION(lambda _: None)))
    with refused("ErrorInvalidValue"):
        rt.GraphNodeSetEnabled(make.exec(graph), host, 0)  # only copies, fills and kernels


def test_a_node_switched_off_still_orders(rt, make):
    graph, order, buffer = make.graph(), Order(rt), make.buffer(16, 0)
    first = rt.GraphAddHostNode(graph, None, 0, host_params(rt, order.function("first")))
    middle = rt.GraphAddMemsetNode(graph, handles(first), 1, fill_params(rt, buffer.address, 1, 1))
    rt.GraphAddHostNode(graph, handles(middle), 1, host_params(rt, order.function("last")))
    made = make.exec(graph)
    rt.GraphNodeSetEnabled(made, middle, 0)
    for _ in range(20):
        rt.GraphLaunch(made, 0)
    rt.StreamSynchronize(0)
    assert order.seen == ["first", "last"] * 20


def capture_fill(rt, make, buffer, *values):
    stream = make.free_stream()
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    for value in values:
        rt.MemsetAsync(buffer.address, value, buffer.size, stream)
    return make.own_graph(rt.StreamEndCapture(stream))


def test_update_takes_new_parameters_over(rt, make):
    buffer = make.buffer(16, 0)
    made = make.exec(capture_fill(rt, make, buffer, 1, 2))
    info = rt.GraphExecUpdate(made, capture_fill(rt, make, buffer, 3, 4))
    assert info.result == rt.GraphExecUpdateSuccess
    launch(rt, made)
    assert buffer.read() == bytes([4]) * 16


def test_update_refuses_another_shape(rt, make):
    buffer = make.buffer(16, 0)
    made = make.exec(capture_fill(rt, make, buffer, 1))
    info = rt.struct("GraphExecUpdateResultInfo_st")
    longer = capture_fill(rt, make, buffer, 2, 3)
    code = rt.library.infinirtGraphExecUpdate(
        ctypes.c_void_p(made), ctypes.c_void_p(longer), ctypes.byref(info)
    )
    assert rt.GetErrorName(code) == b"infinirtErrorGraphExecUpdateFailure"
    assert info.result == rt.GraphExecUpdateErrorTopologyChanged
    launch(rt, made)
    assert buffer.read() == bytes([1]) * 16  # unchanged


def test_update_refuses_another_kind_of_node(rt, make, filled):
    graph, _, buffer = filled
    made, other = make.exec(graph), make.graph()
    host = rt.GraphAddHostNode(other, None, 0, host_params(rt, HOST_FUNCTION(lambda _: None)))
    info = rt.struct("GraphExecUpdateResultInfo_st")
    code = rt.library.infinirtGraphExecUpdate(
        ctypes.c_void_p(made), ctypes.c_void_p(other), ctypes.byref(info)
    )
    assert rt.GetErrorName(code) == b"infinirtErrorGraphExecUpdateFailure"
    assert info.result == rt.GraphExecUpdateErrorNodeTypeChanged
    assert info.errorNode == host
    launch(rt, made)
    assert buffer.read() == bytes([1]) * 16


def test_instantiating_with_parameters(rt, make, filled):
    graph, _, buffer = filled
    stream = make.free_stream()
    wish = rt.struct("GraphInstantiateParams_st", flags=rt.GraphInstantiateFlagUpload)
    wish.uploadStream = stream
    made = rt.GraphInstantiateWithParams(graph, wish)
    make.later(rt.GraphExecDestroy, made)
    assert wish.result_out == rt.GraphInstantiateSuccess
    assert rt.GraphExecGetFlags(made) in (0, rt.GraphInstantiateFlagUpload)
    rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert buffer.read() == bytes([1]) * 16


def test_flags_that_do_not_exist(rt, make, filled, refused):
    with refused("ErrorInvalidValue", "flags"):
        rt.GraphInstantiate(filled[0], 1 << 20)
    with refused("ErrorInvalidValue", "flags"):
        rt.GraphCreate(1)


def test_a_picture(rt, make, filled, tmp_path: Path, refused):
    graph, node, _ = filled
    rt.GraphAddEmptyNode(graph, handles(node), 1)
    path = tmp_path / "graph.dot"
    rt.GraphDebugDotPrint(graph, str(path).encode(), rt.GraphDebugDotFlagsVerbose)
    text = path.read_text()
    assert text.startswith("digraph")
    assert text.count("->") == 1
    with refused("ErrorOperatingSystem", "no/such"):
        rt.GraphDebugDotPrint(graph, b"/no/such/folder/graph.dot", 0)


def test_user_objects_live_as_long_as_the_graphs(rt, make, filled):
    graph, _, _ = filled
    gone: queue.Queue[int] = queue.Queue()  # the call may come later, from any thread
    destroy = HOST_FUNCTION(gone.put)
    thing = rt.UserObjectCreate(0x77, destroy, 1, rt.UserObjectNoDestructorSync)
    rt.GraphRetainUserObject(graph, thing, 1, rt.GraphUserObjectMove)
    made = rt.GraphInstantiate(graph)
    clone = rt.GraphClone(graph)
    rt.GraphDestroy(graph)
    rt.GraphDestroy(clone)
    assert gone.empty()
    rt.GraphLaunch(made, 0)
    rt.StreamSynchronize(0)
    rt.GraphExecDestroy(made)
    assert gone.get(timeout=LIMIT) == 0x77


def test_user_objects_count(rt, make, refused):
    gone, graph = queue.Queue(), make.graph()
    destroy = HOST_FUNCTION(gone.put)
    thing = rt.UserObjectCreate(1, destroy, 2, rt.UserObjectNoDestructorSync)
    rt.UserObjectRetain(thing, 3)
    rt.UserObjectRelease(thing, 4)
    rt.GraphRetainUserObject(graph, thing, 1, 0)
    rt.UserObjectRelease(thing, 1)
    assert gone.empty()
    rt.GraphReleaseUserObject(graph, thing, 1)
    assert gone.get(timeout=LIMIT) == 1
    if "checked-handles" in rt.tags:
        with refused("ErrorInvalidValue", "argument 1 (object)"):
            rt.UserObjectRetain(thing, 1)
    with refused("ErrorInvalidValue"):
        rt.UserObjectCreate(1, destroy, 1, 0)
