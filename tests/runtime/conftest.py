"""Graphs, for the files that test them."""

from __future__ import annotations

import pytest

from kit import Order
from kit.binding import handles
from kit.graphs import fill_params, host_params


@pytest.fixture
def build(rt, make):
    """Adds nodes to a graph: build.host("word"), build.fill(...), behind the nodes given."""

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


@pytest.fixture
def filled(rt, make):
    """A graph with one fill node over a buffer of zeros."""
    graph, buffer = make.graph(), make.buffer(16, 0)
    node = rt.GraphAddMemsetNode(graph, None, 0, fill_params(rt, buffer.address, 1, 16))
    return graph, node, buffer


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
