"""Graphs where the core's own software decides: other runtimes have rules of their own for these.
Also run with the sanitizers."""

from __future__ import annotations

import ctypes

import pytest

from kit.binding import handles
from kit.graphs import address, fill_params, host_params
from kit.latch import HOST_FUNCTION

from .test_copies import HUGE
from .test_graph_edits import launch

pytestmark = pytest.mark.needs("core-words")
NOTHING = HOST_FUNCTION(lambda _: None)


def node_params(rt, word, **members):
    return rt.struct("GraphNodeParams", type=getattr(rt, f"GraphNodeType{word}"), **members)


def moved(rt, child):
    params = node_params(rt, "Graph")
    params.graph.graph, params.graph.ownership = child, rt.GraphChildGraphOwnershipMove
    return params


# ---- Shape and parameters ------------------------------------------------------------------------


def test_more_room_than_there_can_be(rt, make):
    graph, count = make.graph(), ctypes.c_size_t(HUGE)
    room = (ctypes.c_void_p * 1)()
    assert rt.code.GraphGetNodes(graph, room, ctypes.byref(count)) == "ErrorInvalidValue"
    node = rt.GraphAddEmptyNode(graph, None, 0)
    assert rt.code.GraphAddEmptyNode(graph, handles(node), HUGE) == "ErrorInvalidValue"
    other = rt.GraphAddEmptyNode(graph, None, 0)
    said = rt.code.GraphAddDependencies(graph, handles(node), handles(other), HUGE)
    assert said == "ErrorInvalidValue"


def test_one_side_of_edges(rt, make):
    graph, count, room = make.graph(), ctypes.c_size_t(1), (ctypes.c_void_p * 1)()
    said = rt.code.GraphGetEdges(graph, room, None, ctypes.byref(count))
    assert said == "ErrorInvalidValue"


def test_counts_of_user_objects(rt, make):
    graph, destroy = make.graph(), HOST_FUNCTION(lambda _: None)
    flags = rt.UserObjectNoDestructorSync
    assert rt.code.UserObjectCreate(None, destroy, 0, flags) == "ErrorInvalidValue"
    thing = rt.UserObjectCreate(None, destroy, 1, flags)
    assert rt.code.UserObjectRelease(thing, 2) == "ErrorInvalidValue"
    assert rt.code.UserObjectRetain(thing, 0) == "ErrorInvalidValue"
    move = rt.GraphUserObjectMove
    assert rt.code.GraphRetainUserObject(graph, thing, 2, move) == "ErrorInvalidValue"
    rt.GraphRetainUserObject(graph, thing, 1, move)
    assert rt.code.GraphReleaseUserObject(graph, thing, 2) == "ErrorInvalidValue"
    rt.GraphReleaseUserObject(graph, thing, 1)


def test_all_edges_of_a_call_or_none(rt, make):
    graph, other = make.graph(), make.graph()
    a, b = (rt.GraphAddEmptyNode(graph, None, 0) for _ in range(2))
    foreign = rt.GraphAddEmptyNode(other, None, 0)
    for first, second in ((a, foreign), (a, a)):
        said = rt.code.GraphAddDependencies(graph, handles(first, second), handles(b, b), 2)
        assert said == "ErrorInvalidValue"
    assert rt.listed("GraphGetEdges", graph) == []


def test_flags_of_instances(rt, make, filled):
    graph = filled[0]
    device_launch = rt.GraphInstantiateFlagDeviceLaunch
    assert rt.code.GraphInstantiateWithFlags(graph, device_launch) == "ErrorNotSupported"
    upload = rt.GraphInstantiateFlagUpload
    assert rt.code.GraphInstantiateWithFlags(graph, upload) == "ErrorInvalidValue"
    made = make.exec(graph, rt.GraphInstantiateFlagUseNodePriority)
    assert rt.GraphExecGetFlags(made) == rt.GraphInstantiateFlagUseNodePriority


def test_parameters_that_make_no_node(rt, make, filled):
    graph, fill, buffer = filled
    host = rt.GraphAddHostNode(graph, None, 0, host_params(rt, NOTHING))
    assert rt.code.GraphHostNodeSetParams(host, rt.struct("HostNodeParams")) == "ErrorInvalidValue"
    rows = fill_params(rt, buffer.address, 1, 0)
    assert rt.code.GraphMemsetNodeSetParams(fill, rows) == "ErrorInvalidValue"
    assert rt.code.GraphEventWaitNodeGetEvent(fill) == "ErrorInvalidValue"
    child = rt.GraphAddChildGraphNode(graph, None, 0, make.graph())
    assert rt.code.GraphMemsetNodeGetParams(child) == "ErrorInvalidValue"
    assert "child graph" in rt.message()
    params = node_params(rt, "Host")
    params.host.fn = address(NOTHING)
    node = rt.GraphAddNode(graph, handles(host), 1, params)
    rt.GraphNodeSetParams(node, params)
    assert rt.code.GraphNodeSetParams(fill, params) == "ErrorInvalidValue"
    params.reserved2 = 1
    assert rt.code.GraphNodeSetParams(node, params) == "ErrorInvalidValue"
    for word, expected in (("Kernel", "NotSupported"), ("Count", "InvalidValue")):
        said = rt.code.GraphAddNode(graph, None, 0, node_params(rt, word))
        assert said == f"Error{expected}"


def test_children_that_are_moved(rt, make):
    graph, child = make.graph(), rt.GraphCreate(0)
    node = rt.GraphAddNode(graph, None, 0, moved(rt, child))
    assert rt.GraphChildGraphNodeGetGraph(node) == child
    assert rt.code.GraphDestroy(child) == "ErrorInvalidValue"
    assert rt.code.GraphAddNode(graph, None, 0, moved(rt, child)) == "ErrorNotSupported"
    assert rt.code.GraphAddNode(child, None, 0, moved(rt, graph)) == "ErrorInvalidValue"
    rt.GraphDestroy(graph)
    assert rt.code.GraphDestroy(child) == "ErrorInvalidValue"  # gone with its graph


def test_clones_of_children(rt, make):
    graph, child = make.graph(), make.graph()
    original = rt.GraphAddEmptyNode(child, None, 0)
    node = rt.GraphAddChildGraphNode(graph, None, 0, child)
    inside = rt.GraphChildGraphNodeGetGraph(node)
    assert inside != child
    rt.GraphNodeFindInClone(original, inside)
    assert rt.code.GraphDestroy(inside) == "ErrorInvalidValue"
    rt.GraphAddEmptyNode(inside, None, 0)
    assert len(rt.listed("GraphGetNodes", child)) == 1
    rt.GraphAddChildGraphNode(graph, None, 0, graph)  # a copy of what it was
    clone = make.own_graph(rt.GraphClone(graph))
    found = rt.GraphNodeFindInClone(node, clone)
    assert rt.code.GraphNodeFindInClone(original, clone) == "ErrorInvalidValue"
    rt.GraphDestroyNode(found)
    assert rt.code.GraphNodeFindInClone(node, clone) == "ErrorInvalidValue"


def test_a_picture_of_children(rt, make, filled, tmp_path):
    graph, node, buffer = filled
    rt.GraphMemsetNodeSetParams(node, fill_params(rt, buffer.address, 0xAB, 16))
    child = make.graph()
    rt.GraphAddEmptyNode(child, None, 0)
    rt.GraphAddChildGraphNode(graph, handles(node), 1, child)
    seen = []
    for flags in (0, rt.GraphDebugDotFlagsVerbose):
        rt.GraphDebugDotPrint(graph, str(tmp_path / "graph.dot").encode(), flags)
        seen.append((tmp_path / "graph.dot").read_text())
    assert [("subgraph" in text, "0xab" in text) for text in seen] == [(True, False), (True, True)]
    assert rt.code.GraphDebugDotPrint(graph, b"/nowhere/at/all.dot", 0) == "ErrorOperatingSystem"


def test_captured_work_has_parameters(rt, make):
    stream, buffer, host = make.free_stream(), make.buffer(1024, 0), make.pinned(64)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    rt.MemcpyAsync(buffer.address, host.address, 64, rt.MemcpyHostToDevice, stream)
    rt.Memset2DAsync(buffer.address, 64, 3, 16, 4, stream)
    space = rt.struct("PitchedPtr", ptr=buffer.address, pitch=64, xsize=16, ysize=4)
    rt.Memset3DAsync(space, 1, rt.struct("Extent", width=16, height=2, depth=3), stream)
    graph = make.own_graph(rt.StreamEndCapture(stream))
    copy, fill, *slices = rt.listed("GraphGetNodes", graph)
    assert len(slices) == 3  # a box is filled slice by slice
    told = rt.GraphMemcpyNodeGetParams(copy)
    assert (told.kind, told.extent.width) == (rt.MemcpyHostToDevice, 64)
    rt.GraphMemcpyNodeSetParams(copy, told)
    told = rt.GraphMemsetNodeGetParams(fill)
    assert (told.pitch, told.value, told.height, told.elementSize) == (64, 3, 4, 1)
    told = rt.GraphMemsetNodeGetParams(slices[1])
    assert (told.dst, told.height) == (buffer + 256, 2)


def test_rules_while_a_graph_is_captured(rt, make):
    stream, idle = make.free_stream(), make.graph()
    made = make.exec(idle)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    graph = rt.StreamGetCaptureInfo(stream)[2]
    node = rt.GraphAddEmptyNode(graph, None, 0)
    assert rt.code.GraphDestroy(graph) == "ErrorIllegalState"
    assert rt.code.GraphDestroyNode(node) == "ErrorIllegalState"
    rt.GraphExecUpdate(made, idle)
    rt.GraphDestroy(rt.StreamEndCapture(stream))
    for name, handle in (("GraphInstantiate", idle), ("GraphExecDestroy", made)):
        rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
        assert getattr(rt.code, name)(handle) == "ErrorStreamCaptureUnsupported"
        assert rt.code.StreamEndCapture(stream) == "ErrorStreamCaptureInvalidated"


def test_an_event_of_a_capture_that_ended(rt, make):
    stream, event = make.free_stream(), make.event()
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    rt.EventRecord(event, stream)
    rt.GraphDestroy(rt.StreamEndCapture(stream))
    assert rt.code.StreamWaitEvent(stream, event, 0) == "ErrorCapturedEvent"


# ---- Instances -----------------------------------------------------------------------------------


def test_events_that_are_gone(rt, make, build):
    event, stream = make.event(), make.free_stream()
    rt.GraphAddEventRecordNode(build.graph, None, 0, event)
    made = make.exec(build.graph)
    rt.EventDestroy(event)
    assert rt.code.GraphLaunch(made, stream) == "ErrorInvalidValue"
    assert rt.code.GraphInstantiate(build.graph) == "ErrorInvalidValue"


def test_updates_that_change_too_much(rt, make, filled):
    graph, node, buffer = filled
    rt.GraphMemsetNodeSetParams(node, fill_params(rt, buffer.address, 1, 4, height=2, pitch=8))
    made = make.exec(graph)
    rt.GraphMemsetNodeSetParams(node, fill_params(rt, buffer.address, 2, 2, height=2, pitch=8))
    info = rt.struct("GraphExecUpdateResultInfo_st")
    entry = rt.library.infinirtGraphExecUpdate
    code = entry(ctypes.c_void_p(made), ctypes.c_void_p(graph), ctypes.byref(info))
    assert rt.GetErrorName(code) == b"infinirtErrorGraphExecUpdateFailure"
    assert info.result == rt.GraphExecUpdateErrorParametersChanged
    assert info.errorNode == node
    launch(rt, made)
    assert buffer.read() == bytes([1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0])


def test_copies_of_a_graph_and_of_its_instance(rt, make):
    graph, a, b = make.graph(), make.buffer(16, 1), make.buffer(16, 2)
    node = rt.GraphAddMemcpyNode1D(graph, None, 0, a.address, b.address, 8, rt.MemcpyDefault)
    rt.GraphMemcpyNodeSetParams1D(node, a.address, b.address, 4, rt.MemcpyDefault)
    assert rt.GraphMemcpyNodeGetParams(node).extent.width == 4
    made = make.exec(graph)
    rt.GraphExecMemcpyNodeSetParams1D(made, node, a + 8, b.address, 8, rt.MemcpyDefault)
    launch(rt, made)
    assert a.read() == bytes([1] * 8 + [2] * 8)
    given = (a.address, b.address, 0, rt.MemcpyDefault)
    assert rt.code.GraphAddMemcpyNode1D(graph, None, 0, *given) == "ErrorInvalidValue"
    given = (a.address, b.address, 8, 9)
    said = rt.code.GraphAddMemcpyNode1D(graph, None, 0, *given)
    assert said == "ErrorInvalidMemcpyDirection"
    host = (ctypes.c_ubyte * 16)()
    given = (ctypes.addressof(host), a.address, 8, rt.MemcpyDeviceToHost)
    assert rt.code.GraphExecMemcpyNodeSetParams1D(made, node, *given) == "ErrorInvalidValue"


def test_events_of_an_instance(rt, make):
    records, waits, stream = make.graph(), make.graph(), make.free_stream()
    first, second = make.event(), make.event()
    record = rt.GraphAddEventRecordNode(records, None, 0, first)
    wait = rt.GraphAddEventWaitNode(waits, None, 0, first)
    recorder, waiter = make.exec(records), make.exec(waits)
    rt.GraphExecEventRecordNodeSetEvent(recorder, record, second)
    rt.GraphExecEventWaitNodeSetEvent(waiter, wait, second)
    for made in (recorder, waiter):
        rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert rt.code.EventQuery(second) == "Success"
    said = rt.code.GraphExecEventRecordNodeSetEvent(recorder, wait, second)
    assert said == "ErrorInvalidValue"
    rt.GraphExecUpdate(recorder, records)
    rt.GraphExecUpdate(waiter, waits)


def test_nodes_of_another_graph(rt, make, filled):
    graph, node, buffer = filled
    made, stranger = make.exec(graph), make.graph()
    params = fill_params(rt, buffer.address, 3, 16)
    foreign = rt.GraphAddMemsetNode(stranger, None, 0, params)
    assert rt.code.GraphExecMemsetNodeSetParams(made, foreign, params) == "ErrorInvalidValue"
    host = rt.GraphAddHostNode(stranger, None, 0, host_params(rt, NOTHING))
    other = make.exec(stranger)
    assert rt.code.GraphExecMemsetNodeSetParams(other, host, params) == "ErrorInvalidValue"
    assert rt.code.GraphNodeSetEnabled(other, host, 0) == "ErrorInvalidValue"
    rows = fill_params(rt, buffer.address, 3, 4, height=2, pitch=8)
    assert rt.code.GraphExecMemsetNodeSetParams(made, node, rows) == "ErrorInvalidValue"


def test_children_of_an_instance(rt, make, filled):
    child, inner, buffer = filled
    graph = make.graph()
    node = rt.GraphAddChildGraphNode(graph, None, 0, child)
    made = make.exec(graph)
    rt.GraphMemsetNodeSetParams(inner, fill_params(rt, buffer.address, 5, 16))
    rt.GraphExecChildGraphNodeSetParams(made, node, child)
    rt.GraphExecUpdate(made, make.own_graph(rt.GraphClone(graph)))  # with what it held first
    launch(rt, made)
    assert buffer.read() == bytes([1]) * 16
    rt.GraphExecChildGraphNodeSetParams(made, node, child)
    launch(rt, made)
    assert buffer.read() == bytes([5]) * 16
    said = rt.code.GraphExecChildGraphNodeSetParams(made, node, graph)
    assert said == "ErrorGraphExecUpdateFailure"


# ---- Memory --------------------------------------------------------------------------------------


def test_allocations_that_make_no_sense(rt, make, allocate):
    graph = make.graph()

    def answer(size=16, **members):
        params = rt.struct("MemAllocNodeParams", bytesize=size)
        props = {"allocType": rt.MemAllocationTypePinned, "handleTypes": 0}
        for name, value in {**props, **members}.items():
            if name in props:
                setattr(params.poolProps, name, value)
        params.poolProps.location.type = members.get("type", rt.MemLocationTypeDevice)
        params.poolProps.location.id = members.get("id", 0)
        params.accessDescCount = members.get("access", 0)
        return rt.code.GraphAddMemAllocNode(graph, None, 0, params)

    assert answer(size=0) == answer(id=99) == answer(access=1) == "ErrorInvalidValue"
    assert answer(size=1 << 60) == "ErrorMemoryAllocation"
    assert answer(allocType=rt.MemAllocationTypeInvalid) == "ErrorInvalidValue"
    assert answer(type=rt.MemLocationTypeHost) == "ErrorNotSupported"
    assert answer(handleTypes=rt.MemHandleTypePosixFileDescriptor) == "ErrorNotSupported"
    assert rt.listed("GraphGetNodes", graph) == []


def test_memory_that_is_not_live(rt, make, allocate):
    graph, other, stream = make.graph(), make.graph(), make.free_stream()
    _, memory = allocate(graph, 128)
    assert rt.code.Free(memory) == rt.code.FreeAsync(memory, stream) == "ErrorInvalidValue"
    rt.GraphAddMemFreeNode(other, None, 0, memory)
    made = make.exec(graph, rt.GraphInstantiateFlagAutoFreeOnLaunch)
    frees = make.exec(other)
    assert rt.code.GraphLaunch(frees, stream) == "ErrorInvalidValue"
    rt.GraphLaunch(made, stream)
    rt.GraphLaunch(made, stream)  # frees what the launch before left
    rt.GraphLaunch(frees, stream)
    assert rt.code.GraphLaunch(frees, stream) == "ErrorInvalidValue"
    rt.StreamSynchronize(stream)


def test_updates_bring_new_addresses(rt, make):
    stream, buffer, made = make.free_stream(), make.buffer(64, 0), None
    for value in range(1, 6):
        rt.StreamBeginCapture(stream, rt.StreamCaptureModeThreadLocal)
        memory = rt.MallocAsync(64, stream)
        rt.MemsetAsync(memory, value, 64, stream)
        rt.MemcpyAsync(buffer.address, memory, 64, rt.MemcpyDefault, stream)
        rt.FreeAsync(memory, stream)
        graph = rt.StreamEndCapture(stream)
        if made is None:
            made = make.exec(graph)
        else:
            rt.GraphExecUpdate(made, graph)
        assert rt.code.GraphInstantiate(graph) == "ErrorNotSupported"
        rt.GraphDestroy(graph)
        launch(rt, made)
        assert buffer.read() == bytes([value]) * 64


def test_moved_children_may_allocate(rt, make, allocate):
    graph, child, stream = make.graph(), rt.GraphCreate(0), make.free_stream()
    _, memory = allocate(child, 32)
    rt.GraphAddNode(graph, None, 0, moved(rt, child))
    assert rt.code.GraphClone(graph) == "ErrorNotSupported"
    made = make.exec(graph)
    rt.GraphLaunch(made, stream)
    assert rt.code.GraphLaunch(made, stream) == "ErrorInvalidValue"
    rt.FreeAsync(memory, stream)
    rt.StreamSynchronize(stream)


def test_live_memory_outlives_its_graphs(rt, make, allocate):
    graph, stream = rt.GraphCreate(0), make.free_stream()
    node, memory = allocate(graph, 1000)
    rt.GraphAddMemsetNode(graph, handles(node), 1, fill_params(rt, memory, 3, 1000))
    made = rt.GraphInstantiate(graph)
    rt.GraphLaunch(made, stream)
    rt.GraphExecDestroy(made)
    rt.GraphExecDestroy(rt.GraphInstantiate(graph))
    rt.GraphDestroy(graph)
    out = make.pinned(1000)
    rt.MemcpyAsync(out.address, memory, 1000, rt.MemcpyDefault, stream)
    rt.FreeAsync(memory, stream)
    rt.DeviceSynchronize()
    assert bytes(out.view()) == bytes([3]) * 1000
    rt.DeviceGraphMemTrim(0)
    assert rt.code.Free(memory) == "ErrorInvalidValue"
