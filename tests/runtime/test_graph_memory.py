"""Memory of graphs: allocated and freed by nodes, at the same address in every launch."""

from __future__ import annotations

import ctypes

import pytest

from kit.binding import handles

from .test_graphs import fill_params


@pytest.fixture
def allocate(rt):
    def add(graph, size, *nodes):
        params = rt.struct("MemAllocNodeParams", bytesize=size)
        params.poolProps.allocType = rt.MemAllocationTypePinned
        params.poolProps.location.type = rt.MemLocationTypeDevice
        params.poolProps.location.id = 0
        behind = (handles(*nodes), len(nodes)) if nodes else (None, 0)
        node = rt.GraphAddMemAllocNode(graph, *behind, params)
        return node, params.dptr

    return add


def graph_memory(rt, word):
    value = ctypes.c_uint64()
    rt.DeviceGetGraphMemAttribute(0, getattr(rt, f"GraphMemAttr{word}"), ctypes.byref(value))
    return value.value


def test_allocate_use_free_inside_one_graph(rt, make, allocate):
    graph, out = make.graph(), make.pinned(4096)
    node, memory = allocate(graph, 4096)
    fill = rt.GraphAddMemsetNode(graph, handles(node), 1, fill_params(rt, memory, 9, 4096))
    copy = rt.GraphAddMemcpyNode1D(
        graph, handles(fill), 1, out.address, memory, 4096, rt.MemcpyDefault
    )
    free = rt.GraphAddMemFreeNode(graph, handles(copy), 1, memory)
    told = rt.GraphMemAllocNodeGetParams(node)
    assert (told.dptr, told.bytesize) == (memory, 4096)
    freed = ctypes.c_void_p()
    rt.GraphMemFreeNodeGetParams(free, ctypes.byref(freed))
    assert freed.value == memory
    made, stream = make.exec(graph), make.free_stream()
    for _ in range(5):
        out.view()[0] = 0
        rt.GraphLaunch(made, stream)
        rt.StreamSynchronize(stream)
        assert bytes(out.view()) == bytes([9]) * 4096


def test_memory_that_outlives_the_launch(rt, make, allocate):
    graph, stream = make.graph(), make.free_stream()
    node, memory = allocate(graph, 1 << 16)
    rt.GraphAddMemsetNode(graph, handles(node), 1, fill_params(rt, memory, 3, 1 << 16))
    made = make.exec(graph)
    rt.GraphLaunch(made, stream)
    out = make.pinned(1 << 16)
    rt.MemcpyAsync(out.address, memory, 1 << 16, rt.MemcpyDefault, stream)
    rt.FreeAsync(memory, stream)
    rt.StreamSynchronize(stream)
    assert bytes(out.view()) == bytes([3]) * (1 << 16)
    rt.GraphLaunch(made, stream)  # allowed again after the free
    rt.StreamSynchronize(stream)
    rt.Free(memory)


def test_launching_twice_without_a_free(rt, make, allocate, refused):
    graph, stream = make.graph(), make.free_stream()
    _, memory = allocate(graph, 4096)
    made = make.exec(graph)
    rt.GraphLaunch(made, stream)
    with refused("ErrorInvalidValue", "free"):
        rt.GraphLaunch(made, stream)
    rt.FreeAsync(memory, stream)
    rt.StreamSynchronize(stream)


def test_automatic_free_on_launch(rt, make, allocate):
    graph, stream = make.graph(), make.free_stream()
    _, memory = allocate(graph, 4096)
    made = make.exec(graph, rt.GraphInstantiateFlagAutoFreeOnLaunch)
    for _ in range(3):
        rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    rt.Free(memory)


def test_captured_allocations(rt, make):
    stream, out = make.free_stream(), make.pinned(1024)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    memory = rt.MallocAsync(1024, stream)
    rt.MemsetAsync(memory, 5, 1024, stream)
    rt.MemcpyAsync(out.address, memory, 1024, rt.MemcpyDefault, stream)
    rt.FreeAsync(memory, stream)
    graph = make.own_graph(rt.StreamEndCapture(stream))
    kinds = [rt.GraphNodeGetType(node) for node in rt.listed("GraphGetNodes", graph)]
    assert kinds[0] == rt.GraphNodeTypeMemAlloc
    assert kinds[-1] == rt.GraphNodeTypeMemFree
    made = make.exec(graph)
    for _ in range(3):
        rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert bytes(out.view()) == bytes([5]) * 1024


def test_two_allocations_of_one_graph_do_not_overlap(rt, make, allocate):
    graph = make.graph()
    _, a = allocate(graph, 1000)
    _, b = allocate(graph, 1000)
    assert abs(a - b) >= 1000


def test_memory_of_one_graph_freed_by_another(rt, make, allocate):
    first, second, stream = make.graph(), make.graph(), make.free_stream()
    _, memory = allocate(first, 4096)
    rt.GraphAddMemFreeNode(second, None, 0, memory)
    one, two = make.exec(first), make.exec(second)
    for _ in range(3):
        rt.GraphLaunch(one, stream)
        rt.GraphLaunch(two, stream)
    rt.StreamSynchronize(stream)


def test_nodes_that_cannot_be_removed_or_copied(rt, make, allocate, refused):
    graph = make.graph()
    node, _ = allocate(graph, 64)
    with refused("ErrorNotSupported"):
        rt.GraphDestroyNode(node)
    with refused("ErrorNotSupported"):
        rt.GraphClone(graph)
    other = make.graph()
    with refused("ErrorNotSupported"):
        rt.GraphAddChildGraphNode(other, None, 0, graph)


def test_freeing_twice_in_one_graph(rt, make, allocate, refused):
    graph = make.graph()
    node, memory = allocate(graph, 64)
    rt.GraphAddMemFreeNode(graph, handles(node), 1, memory)
    with refused("ErrorInvalidValue"):
        rt.GraphAddMemFreeNode(graph, handles(node), 1, memory)
    with refused("ErrorInvalidValue"):
        rt.GraphAddMemFreeNode(graph, None, 0, 0xDEAD0000)


def test_a_graph_with_allocations_has_one_instance(rt, make, allocate, refused):
    graph = make.graph()
    allocate(graph, 64)
    made = rt.GraphInstantiate(graph)
    with refused("ErrorNotSupported"):
        rt.GraphInstantiate(graph)
    rt.GraphExecDestroy(made)
    make.exec(graph)


def test_attributes_and_trim(rt, make, allocate, refused):
    graph, stream = make.graph(), make.free_stream()
    size = 64 << 20  # more than the allocation granularity
    rt.DeviceGraphMemTrim(0)
    before = graph_memory(rt, "UsedMemCurrent")
    _, memory = allocate(graph, size)
    made = make.exec(graph)
    rt.GraphLaunch(made, stream)
    rt.StreamSynchronize(stream)
    assert graph_memory(rt, "UsedMemCurrent") >= before + size
    assert graph_memory(rt, "UsedMemHigh") >= before + size
    assert graph_memory(rt, "ReservedMemCurrent") >= size
    rt.Free(memory)
    rt.DeviceSynchronize()
    rt.DeviceGraphMemTrim(0)
    assert graph_memory(rt, "UsedMemCurrent") == before
    zero = ctypes.c_uint64(0)
    rt.DeviceSetGraphMemAttribute(0, rt.GraphMemAttrUsedMemHigh, ctypes.byref(zero))
    assert graph_memory(rt, "UsedMemHigh") <= before
    with refused("ErrorInvalidValue"):
        rt.DeviceSetGraphMemAttribute(0, rt.GraphMemAttrUsedMemCurrent, ctypes.byref(zero))


def test_too_much(rt, make, refused):
    graph = make.graph()
    params = rt.struct("MemAllocNodeParams", bytesize=1 << 60)
    params.poolProps.allocType = rt.MemAllocationTypePinned
    params.poolProps.location.type = rt.MemLocationTypeDevice
    with refused("ErrorMemoryAllocation"):
        rt.GraphAddMemAllocNode(graph, None, 0, params)
    assert rt.listed("GraphGetNodes", graph) == []
