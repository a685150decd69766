"""Graphs in files: every recorded operator is restored, with its inputs and outputs."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

pytestmark = pytest.mark.host  # tensors of a file are compared bit by bit
F32 = infinicore.float32


def tensor(*shape: int, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return infinicore.from_numpy(values)


X, W, BIAS = tensor(4, 6), tensor(5, 6, seed=1), tensor(5, seed=2)
NAMES = infinicore.from_numpy(np.array([3, 0, 1]))

BODIES: dict[str, Callable[[], Any]] = {
    "linear": lambda: functional.linear(X, W, BIAS),
    "layer_norm": lambda: functional.layer_norm(X, (6,)),
    "mish": lambda: functional.mish(X),
    "clone": lambda: X.clone(),
    "norm": lambda: infinicore.norm(X),
    "std": lambda: X.std(1),
    "einsum": lambda: infinicore.einsum("ij,kj->ik", X, W),
    "index list": lambda: X[[2, 0]],
    "index tensor": lambda: X[NAMES],
    "ones": lambda: X + infinicore.ones(6),
    "arange": lambda: X + infinicore.arange(6),
    "numbers": lambda: X * 0.5 + 3,
    "cat": lambda: infinicore.cat([X, X[:2], W], 0),
    "pad": lambda: functional.pad(X, (1, 2)),
    "transposed": lambda: (X @ W.T).T,
    "sort": lambda: X.sort(1),
    "attention": lambda: functional.scaled_dot_product_attention(X[None], W[None], W[None]),
    "interpolate": lambda: functional.interpolate(X[None], scale_factor=2.0, mode="linear"),
    "softmax": lambda: functional.softmax(X, -1, dtype=infinicore.float64),
    "where": lambda: infinicore.where(X > 0, X, X.exp()),
    "split": lambda: (X * 2).split(2, 1),
}


def leaves(value: Any) -> list[Any]:
    return [value] if isinstance(value, infinicore.Tensor) else list(value)


@pytest.mark.parametrize("name", BODIES)
def test_every_step_is_saved(tmp_path: Path, name: str) -> None:
    with infinicore.record() as made:
        results = leaves(BODIES[name]())
    made.graph.run()
    made.graph.save(tmp_path / "graph")
    loaded = infinicore.Graph.load(tmp_path / "graph")
    loaded.run()
    assert len(loaded.outputs) == len(results)
    for mine, theirs in zip(loaded.outputs, results, strict=True):
        assert (mine.shape, mine.stride(), mine.dtype) == (
            theirs.shape,
            theirs.stride(),
            theirs.dtype,
        )
        assert np.array_equal(mine.numpy(force=True), theirs.numpy(force=True))
    assert repr(loaded) == repr(made.graph)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "graph").read_bytes()


# ---- Inputs and outputs --------------------------------------------------------------------------


def test_inputs_are_the_tensors_of_the_program() -> None:
    x, bias = tensor(2, 3), tensor(3, seed=1)
    with infinicore.record() as made:
        y = (x[0] + x[1] + bias).unsqueeze(0).T
    assert [each.shape for each in made.graph.inputs] == [(2, 3), (3,)]
    assert [each.shape for each in made.graph.outputs] == [(3, 1)]
    assert made.graph.outputs[0].stride() == y.stride()
    made.graph.inputs[0].copy_(infinicore.ones(2, 3))
    made.graph.inputs[1].copy_(infinicore.ones(3))
    made.graph.run()
    assert y.tolist() == [[3.0], [3.0], [3.0]]


def test_two_parts_of_a_tensor_are_two_inputs() -> None:
    whole = tensor(8)
    first, second = whole[:4], whole[4:]
    with infinicore.record() as made:
        _y = first + second
    assert [each.shape for each in made.graph.inputs] == [(4,), (4,)]


def test_results_that_are_views_are_outputs_each() -> None:
    with infinicore.record() as made:
        first, second = (X * 2).split(3, 1)
    assert [each.shape for each in made.graph.outputs] == [(4, 3), (4, 3)]
    assert [first.stride(), second.stride()] == [each.stride() for each in made.graph.outputs]


def test_a_tensor_that_is_only_written_is_an_output() -> None:
    z = infinicore.zeros(4, 6)
    with infinicore.record() as made:
        infinicore.add(X, 1, out=z)
    assert [each.shape for each in made.graph.outputs] == [(4, 6)]
    made.graph.run()
    assert np.array_equal(made.graph.outputs[0].numpy(), z.numpy())


def test_names(tmp_path: Path) -> None:
    @infinicore.graph
    def step(x: Any, cache: Any) -> Any:
        return {"logits": x @ cache[0], "hidden": x + cache[1]}

    step(tensor(2, 3), [tensor(3, 3), tensor(3)])
    (graph,) = step.graphs
    assert sorted(graph.inputs.keys()) == ["cache.0", "cache.1", "x"]
    assert sorted(graph.outputs.keys()) == ["hidden", "logits"]
    graph.save(tmp_path / "graph")
    loaded = infinicore.Graph.load(tmp_path / "graph")
    assert loaded.inputs.keys() == graph.inputs.keys()
    assert loaded.outputs["logits"].shape == (2, 3)
    with pytest.raises(KeyError, match=r"no input 'y': expected one of 'x'"):
        loaded.inputs["y"]


# ---- Bytes ---------------------------------------------------------------------------------------


def test_only_needed_bytes_are_written(tmp_path: Path) -> None:
    secret = np.full(1_000_000, 7.0, np.float32)
    secret[:4] = 1.0
    x = infinicore.from_numpy(secret)[:4]
    with infinicore.record() as made:
        _y = x + 1
    made.graph.save(tmp_path / "graph")
    data = (tmp_path / "graph").read_bytes()
    assert len(data) < 2000
    assert struct.pack("<f", 7.0) not in data


def test_gaps_of_strided_inputs_are_not_written(tmp_path: Path) -> None:
    values = np.full((64, 64), -7.0, np.float32)
    values[:, 3] = np.arange(64)
    column = infinicore.from_numpy(values)[:, 3]
    with infinicore.record() as made:
        y = column * 2
    made.graph.save(tmp_path / "graph")
    assert struct.pack("<f", -7.0) not in (tmp_path / "graph").read_bytes()
    loaded = infinicore.Graph.load(tmp_path / "graph")
    made.graph.run(), loaded.run()
    assert loaded.outputs[0].tolist() == y.tolist() == (np.arange(64) * 2).tolist()


def test_transposed_weights_are_written_in_one_piece(tmp_path: Path) -> None:
    weight = tensor(256, 512)
    with infinicore.record() as made:
        _y = tensor(1, 256) @ weight.T.T + weight.flip(0)[:1]
    made.graph.save(tmp_path / "graph")
    assert (tmp_path / "graph").stat().st_size < weight.nbytes + 4096


def test_a_result_of_another_graph_is_an_input(tmp_path: Path) -> None:
    with infinicore.record() as first:
        y = X * 3
    first.graph.run()

    @infinicore.function
    def plus(x: infinicore.Operand) -> Any:
        return x + y

    with infinicore.record() as made:
        z = plus(X)
    made.graph.run()
    made.graph.save(tmp_path / "graph")
    loaded = infinicore.Graph.load(tmp_path / "graph")
    loaded.run()
    assert np.array_equal(loaded.outputs[0].numpy(), z.numpy())


def test_empty_tensors(tmp_path: Path) -> None:
    x = infinicore.zeros(10_000)
    with infinicore.record() as made:
        _results = (x[:0] * 2, x[5_000:] + 1)
    made.graph.save(tmp_path / "graph")
    loaded = infinicore.Graph.load(tmp_path / "graph")
    loaded.run()
    assert [each.shape for each in loaded.outputs] == [(0,), (5_000,)]
    assert loaded.outputs[1].tolist() == [1.0] * 5_000


def test_memory_of_unknown_size_is_refused(tmp_path: Path) -> None:
    with infinicore.record() as made:
        _chosen = infinicore.topksoftmax(tensor(2, 8), 2)
    with pytest.raises(ValueError, match=r"step 0 .*: it takes memory whose size no tensor says"):
        made.graph.save(tmp_path / "graph")


def test_a_file_is_complete_or_not_there(tmp_path: Path) -> None:
    with infinicore.record() as made:
        _y = X + 1
    with pytest.raises(RuntimeError, match="missing/graph: No such file"):
        made.graph.save(tmp_path / "missing" / "graph")
    made.graph.save(tmp_path / "graph")
    assert [each.name for each in tmp_path.iterdir()] == ["graph"]


# ---- Broken files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with infinicore.record() as made:
        _y = functional.pad(infinicore.cat([functional.linear(X, W, BIAS), X[:, :5]]), (1, 1)).sum(
            0
        )
    path = tmp_path_factory.mktemp("graph") / "graph"
    made.graph.save(path)
    return path.read_bytes()


def load(path: Path, data: bytes) -> str:
    """The error message, or nothing if it loads."""
    path.write_bytes(data)
    try:
        graph = infinicore.Graph.load(path)
    except ValueError as error:
        return str(error)
    with contextlib.suppress(RuntimeError):  # e.g. scalars that do not fit the descriptor
        graph.run()
    return ""


def test_other_files(tmp_path: Path, saved: bytes) -> None:
    path = tmp_path / "graph"
    assert load(path, b"") == f"Graph.load: {path}: magic: expected 8 more bytes, the file has 0"
    assert "magic: expected a file that Graph.save wrote" in load(path, b"PK" + saved)
    assert "version: it is 9: expected 2" in load(path, saved[:8] + b"\x09" + saved[9:])
    assert "end: 3 bytes follow it" in load(path, saved + b"abc")
    with pytest.raises(ValueError, match="none: file: No such file"):
        infinicore.Graph.load(tmp_path / "none")


def test_cut_files(tmp_path: Path, saved: bytes) -> None:
    for length in range(0, len(saved), 7):
        message = load(tmp_path / "graph", saved[:length])
        assert message.startswith(f"Graph.load: {tmp_path}/graph: "), length


def test_counts_of_lists_are_compared(tmp_path: Path) -> None:
    with infinicore.record() as made:
        _y = X.flip(0, 1)
    made.graph.save(tmp_path / "graph")
    data = (tmp_path / "graph").read_bytes()
    dims = struct.pack("<QqqQ", 2, 0, 1, 2)  # two dimensions, and the dimension count again
    assert dims in data
    for count in (1, 3, 2**40):
        wrong = data.replace(dims, dims[:-8] + struct.pack("<Q", count))
        assert "step 0 (flip): flip: infiniopCreateFlipDescriptor: dim has 2" in load(
            tmp_path / "graph", wrong
        )


def test_changed_files(tmp_path: Path, saved: bytes) -> None:
    """Any byte may be changed: an error, or a graph with other values."""
    random, odd = np.random.default_rng(5), (0, 1, 2**31, 2**62, 2**64 - 1)
    for at in range(8, len(saved), 3):
        data = bytearray(saved)
        data[at] = random.integers(256)
        load(tmp_path / "graph", bytes(data))
    for _ in range(300):
        data = bytearray(saved)
        at = int(random.integers(8, len(saved) - 8))
        data[at : at + 8] = struct.pack("<Q", odd[random.integers(len(odd))])
        load(tmp_path / "graph", bytes(data))
