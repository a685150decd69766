"""Recording: nothing runs, nothing changes; replays give the same results as eager calls."""

from __future__ import annotations

import json

import numpy as np
import pytest

import infinicore
from infinicore import nn
from infinicore.cli.block import DecodeBlock, Layer
from infinicore.nn import functional as F  # noqa: N812
from kit.place import ON_HOST


@pytest.fixture(autouse=True)
def _never_leave_a_recording():
    yield
    if infinicore.is_graph_recording():
        infinicore._core.cancel_graph_recording()


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array):
    return infinicore.from_numpy(array)


# ---- Recording ----------------------------------------------------------------------------------


def test_recording_runs_nothing_and_changes_nothing():
    x, z = tensor(numbers(4, 4)), infinicore.full((4, 4), 7.0)
    before = x.numpy(force=True).copy()
    infinicore.start_graph_recording()
    assert infinicore.is_graph_recording()
    infinicore.add(x, x, out=z)
    x += 1
    graph = infinicore.stop_graph_recording()
    assert not infinicore.is_graph_recording()
    assert np.array_equal(x.numpy(force=True), before) and np.all(z.numpy(force=True) == 7)
    graph.run()
    assert np.array_equal(z.numpy(force=True), before + before) and np.array_equal(
        x.numpy(force=True), before + 1
    )


def test_segments_are_graphs_of_the_device():
    x = tensor(numbers(16, 16))
    with infinicore.record() as made:
        y = x
        for _ in range(4):
            y = (y @ x).softmax(-1)  # products are launches of their own
    assert len(made.graph.nodes) >= 4
    segments = made.graph._native.segments
    assert [s[:3] for s in segments] == [(0, len(made.graph.nodes), not ON_HOST)], segments
    expected = x.numpy(force=True)
    for _ in range(4):
        raised = np.exp(expected @ x.numpy(force=True))
        expected = raised / raised.sum(-1, keepdims=True)
    for _ in range(3):
        made.graph.run()
    assert np.allclose(y.numpy(force=True), expected, rtol=1e-4, atol=1e-5)


def test_results_are_where_the_recorded_tensors_are():
    x = tensor(numbers(3, 5))
    with infinicore.record() as made:
        y = (x * 2 + 1).exp()
    for seed in range(3):
        new = numbers(3, 5, seed=seed)
        x.copy_(tensor(new))
        made.graph.run()
        assert np.allclose(y.numpy(force=True), np.exp(new * 2 + 1), rtol=1e-5)


def test_replays_equal_eager_over_100_changing_inputs():
    block = DecodeBlock(hidden=32, heads=4, groups=2, positions=128)
    other = Layer(32, 4, 2, block.layer.gate.out_features, 128)
    other.load_state_dict(block.layer.state_dict())
    with infinicore.record() as made:
        result = block.layer(block.x, block.position)
    for step in range(100):
        x = tensor(numbers(1, 32, seed=step))
        position = infinicore.full((1,), step, dtype=infinicore.int64)
        expected = other(x, position).numpy(force=True)
        block.x.copy_(x)
        block.position.copy_(position)
        made.graph.run()
        assert np.allclose(result.numpy(force=True), expected, rtol=1e-4, atol=1e-5), step
    assert np.allclose(
        block.layer.k_cache.numpy(force=True), other.k_cache.numpy(force=True), rtol=1e-4, atol=1e-5
    )


def test_a_graph_keeps_what_it_needs():
    x = tensor(numbers(64))
    weight = tensor(numbers(64, seed=1))
    expected = x.numpy(force=True) * weight.numpy(force=True) + 1
    with infinicore.record() as made:
        y = x * weight + 1
    del weight
    junk = [infinicore.full((64,), float(i)) for i in range(100)]
    made.graph.run()
    assert np.allclose(y.numpy(force=True), expected) and len(junk) == 100


def test_tensors_inside_share_their_memory():
    x = tensor(numbers(256, 256))
    weight = tensor(numbers(256, 256, seed=1) / 16)

    def recorded(times):
        with infinicore.record() as made:
            y = x
            for _ in range(times):
                y = infinicore.softmax(y @ weight, -1)
        return made, y

    made, y = recorded(10)
    more, _ = recorded(30)
    # Products may need workspace, which they share as well.
    assert more.graph.arena_bytes == made.graph.arena_bytes
    made.graph.run()
    expected = x
    for _ in range(10):
        expected = infinicore.softmax(expected @ weight, -1)
    assert np.allclose(y.numpy(force=True), expected.numpy(force=True), rtol=1e-4, atol=1e-6)


def test_host_reads_are_refused_at_their_line():
    x = tensor(numbers(4))
    for read in (
        lambda t: t.item() if t.ndim == 0 else t.tolist(),
        lambda t: t.numpy(force=True),
        lambda t: bool(t.sum()),
        lambda t: float(t.sum()),
        lambda t: infinicore.nonzero(t),
    ):
        infinicore.start_graph_recording()
        y = x + 1
        with pytest.raises(RuntimeError, match="record"):
            read(y)
        infinicore._core.cancel_graph_recording()


def test_misuse_is_told():
    with pytest.raises(RuntimeError, match="not recording"):
        infinicore.stop_graph_recording()
    infinicore.start_graph_recording()
    with pytest.raises(RuntimeError, match="already"):
        infinicore.start_graph_recording()
    infinicore.stop_graph_recording()
    with pytest.raises(TypeError, match="stop_graph_recording"):
        infinicore.Graph("nothing")
    x = tensor(numbers(4))
    with infinicore.record() as made:
        y = x + 1
    infinicore.start_graph_recording()
    with pytest.raises(RuntimeError, match="part of another"):
        made.graph.run()
    infinicore._core.cancel_graph_recording()
    assert y.shape == (4,)


def test_an_error_ends_a_recording():
    x = tensor(numbers(4))
    with pytest.raises(ValueError, match="broadcast"), infinicore.record():
        _ = x + tensor(numbers(3))
    assert not infinicore.is_graph_recording()


def test_recording_is_per_thread():
    import threading

    x = tensor(numbers(8))
    seen = []
    infinicore.start_graph_recording()
    y = x + 1

    def other():
        seen.append((infinicore.is_graph_recording(), (x + 2).numpy(force=True)))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    graph = infinicore.stop_graph_recording()
    graph.run()
    assert not seen[0][0] and np.allclose(seen[0][1], x.numpy(force=True) + 2)
    assert np.allclose(y.numpy(force=True), x.numpy(force=True) + 1)


# ---- Fusing -------------------------------------------------------------------------------------


def test_chains_of_maps_are_one_launch():
    x, y = tensor(numbers(16, 16)), tensor(numbers(16, 16, seed=1))
    with infinicore.record() as made:
        z = ((x + y) * 0.5).tanh() * x - 3
    assert len(made.graph.nodes) == 1 < len(made.graph.recorded)
    made.graph.run()
    expected = np.tanh((x.numpy(force=True) + y.numpy(force=True)) * 0.5) * x.numpy(force=True) - 3
    assert np.allclose(z.numpy(force=True), expected, rtol=1e-5, atol=1e-6)


def test_norms_take_maps_along():
    x, w = tensor(numbers(8, 64)), tensor(numbers(64, seed=1))
    with infinicore.record() as made:
        y = F.silu(F.rms_norm(x, (64,), w) * 2)
    made.graph.run()
    assert len(made.graph.nodes) == 1
    assert np.allclose(
        y.numpy(force=True),
        F.silu(F.rms_norm(x, (64,), w) * 2).numpy(force=True),
        rtol=1e-5,
        atol=1e-6,
    )


def test_products_take_bias_and_activation_along():
    x, layer = tensor(numbers(8, 32)), nn.Linear(32, 16, bias=True)
    layer.weight.copy_(tensor(numbers(16, 32, seed=1)))
    layer.bias.copy_(tensor(numbers(16, seed=2)))
    with infinicore.record() as made:
        y = F.gelu(layer(x))
    made.graph.run()
    assert len(made.graph.nodes) == 1 or not ON_HOST  # a back end may not support it
    assert np.allclose(
        y.numpy(force=True), F.gelu(layer(x)).numpy(force=True), rtol=1e-5, atol=1e-5
    )


# ---- Functions ----------------------------------------------------------------------------------


def test_results_can_be_read_after_a_run():
    x = tensor(numbers(3))
    with infinicore.record() as made:
        y = x + 1
    for read in (y.tolist, y[0].item, lambda: repr(y)):
        with pytest.raises(RuntimeError, match="a result of a graph that has not run"):
            read()
    made.graph.run()
    assert np.allclose(y.numpy(force=True), x.numpy(force=True) + 1)
    assert y.tolist() == (x + 1).tolist()


def test_a_function_is_recorded_for_each_shape():
    calls = []

    @infinicore.graph
    def step(x, *, scale=2.0):
        calls.append(tuple(x.shape))
        return F.silu(x) * scale

    for shape in ((4,), (2, 3), (4,), (2, 3)):
        array = numbers(*shape)
        got = step(tensor(array))
        assert np.allclose(
            got.numpy(force=True), F.silu(tensor(array)).numpy(force=True) * 2, rtol=1e-6
        )
    assert calls == [(4,), (2, 3)] and len(step.graphs) == 2
    first = step(tensor(numbers(4, seed=1)))
    copy = first.numpy(force=True).copy()
    step(tensor(numbers(4, seed=2)))
    assert np.array_equal(first.numpy(force=True), copy)  # results belong to the caller
    assert step(tensor(numbers(4)), scale=3.0).shape == (4,) and len(step.graphs) == 3


def test_a_function_may_write_into_its_arguments():
    @infinicore.graph
    def step(cache, x):
        cache += x
        return cache * 1

    cache = infinicore.zeros((4,))
    for _ in range(3):
        step(cache, infinicore.ones((4,)))
    assert cache.tolist() == [3.0] * 4

    @infinicore.graph(bound=("cache",), static=True)
    def bound(cache, x):
        cache += x
        return cache * 2

    for _ in range(3):
        got = bound(cache, infinicore.ones((4,)))
    assert cache.tolist() == [6.0] * 4 and got.tolist() == [12.0] * 4


def test_random_numbers_are_new_in_each_run():
    with infinicore.record() as made:
        x = infinicore.rand((64,))
    made.graph.run()
    first = x.numpy(force=True).copy()
    made.graph.run()
    assert not np.array_equal(first, x.numpy(force=True))


# ---- Looking at graphs --------------------------------------------------------------------------


def test_graphs_can_be_looked_at(tmp_path):
    x, w = tensor(numbers(4, 8)), tensor(numbers(8, 8, seed=1))
    with infinicore.record() as made:
        y = (x @ w).relu() + 1
    graph = made.graph
    assert [t.shape for t in graph.inputs] == [(4, 8), (8, 8)]
    assert [t.shape for t in graph.outputs] == [(4, 8)]
    assert "gemm" in repr(graph) and "i0:float32[4x8]" in repr(graph)
    assert graph.to_dot().startswith("digraph") and "gemm" in graph.to_dot()
    profile = graph.profile(runs=2, trace=tmp_path / "trace.json")
    assert len(profile) == len(graph.nodes) and "share" in str(profile)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == 2 * len(graph.nodes)
    assert np.allclose(
        y.numpy(force=True),
        np.maximum(x.numpy(force=True) @ w.numpy(force=True), 0) + 1,
        rtol=1e-4,
        atol=1e-5,
    )
