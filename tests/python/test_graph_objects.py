"""Graphs as objects: built from nodes, captured, updated."""

from __future__ import annotations

import pytest

from infinicore import rt


def test_a_graph_from_nodes(stream: rt.Stream) -> None:
    a, b, seen = rt.Memory(8), rt.Memory(8), []
    graph = rt.Graph()
    filled = graph.add_memset(a, 0x0201, element=2)
    copied = graph.add_memcpy(b, a, after=[filled])
    called = graph.add_host(lambda: seen.append(1), after=[copied])
    join = graph.add_empty()
    graph.add_dependencies([(called, join)])
    assert graph.nodes == [filled, copied, called, join]
    assert graph.roots == [filled]
    assert sorted(map(repr, graph.edges)) == sorted(
        map(repr, [(filled, copied), (copied, called), (called, join)])
    )
    assert copied.dependencies == [filled]
    assert copied.dependents == [called]
    assert [node.type.name for node in graph.nodes] == [
        "GraphNodeTypeMemset",
        "GraphNodeTypeMemcpy",
        "GraphNodeTypeHost",
        "GraphNodeTypeEmpty",
    ]
    graph.launch(stream)
    graph.launch(stream)
    graph.add_host(lambda: seen.append(2), after=[join])  # the next launch has it too
    graph.launch(stream)
    stream.synchronize()
    assert seen == [1, 1, 1, 2]
    assert b.to_bytes() == b"\1\2" * 4
    assert "digraph" in graph.to_dot()
    assert len(graph.to_dot(verbose=True)) > len(graph.to_dot())
    assert "5 nodes" in repr(graph)
    with pytest.raises(ValueError, match="cannot fill"):
        graph.add_memset(a, 1, nbytes=9)
    with pytest.raises(ValueError, match="cannot copy"):
        graph.add_memcpy(a, b, nbytes=9)


def test_graphs_within_graphs_events_and_memory(stream: rt.Stream) -> None:
    seen: list[str] = []
    inner, outer, event = rt.Graph(), rt.Graph(), rt.Event()
    inner.add_host(lambda: seen.append("inner"))
    child = outer.add_child(inner)
    inner.close()
    node, scratch = outer.add_alloc(64, after=[child])
    used = outer.add_memset(scratch, 9, after=[node])
    result = rt.Memory(64)
    copied = outer.add_memcpy(result, scratch, after=[used])
    outer.add_record(event, after=[outer.add_free(scratch, after=[copied])])
    outer.launch(stream)
    event.synchronize()
    assert seen == ["inner"]
    assert result.to_bytes() == b"\11" * 64


def test_an_update_takes_the_parameters_of_a_like_graph(stream: rt.Stream) -> None:
    memory = rt.Memory(4)

    def filling(value: int) -> rt.Graph:
        graph = rt.Graph()
        graph.add_memset(memory, value)
        return graph

    ready = filling(1).instantiate()
    ready.update(filling(2))
    ready.upload(stream)
    ready.launch(stream)
    stream.synchronize()
    assert memory.to_bytes() == b"\2" * 4
    with pytest.raises(ValueError, match="cannot be updated"):
        ready.update(rt.Graph())


def test_capture_records_and_runs_nothing(stream: rt.Stream) -> None:
    a, b = rt.Memory(64), rt.Memory(64)
    b.fill(0)
    with rt.Stream() as side:
        with rt.capture(stream) as graph:
            assert stream.capturing
            a.fill(7, stream=stream)
            side.wait(rt.Event().record(stream))
            assert side.capturing
            b.copy_from(a, stream=side)
            stream.wait(rt.Event().record(side))
        assert not stream.capturing
        assert b.to_bytes() == bytes(64)
        assert len(graph.nodes) == 2
        for _ in range(3):
            graph.launch(stream)
        stream.synchronize()
    assert b.to_bytes() == b"\7" * 64


def test_a_capture_that_fails_ends(stream: rt.Stream) -> None:
    with pytest.raises(KeyError), rt.capture(stream):
        raise KeyError("from the body")
    assert not stream.capturing
    with pytest.raises(rt.InfiniRTError) as caught, rt.capture(stream):
        stream.synchronize()
    assert caught.value.code is rt.ErrorStreamCaptureUnsupported
    assert not stream.capturing
    with pytest.raises(ValueError, match="expected a mode"), rt.capture(stream, mode="none"):
        pass
    with rt.capture(stream, mode="relaxed"):
        assert rt.Memory(16).nbytes == 16
