"""Tensor-parallel layers: results and checkpoints equal those of the plain layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import ccl, nn
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    Share,
    VocabParallelEmbedding,
    full_state_dict,
)
from kit import ref
from kit.bounds import assert_within, bound
from kit.place import KIND, ON_HOST
from kit.ranks import each_rank


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array: Any) -> Any:
    return infinicore.from_numpy(array)


def filled(module: Any) -> Any:
    for seed, parameter in enumerate(module.parameters()):
        parameter.copy_(tensor(draw(*parameter.shape, seed=seed + 1)))
    return module


class Model(nn.Module):
    """A model of plain or parallel layers."""

    def __init__(self, comm: ccl.Communicator | None = None, parallel: bool = False) -> None:
        super().__init__()
        if parallel:
            self.embed = VocabParallelEmbedding(11, 6, comm=comm)
            self.up = ColumnParallelLinear(6, 12, bias=True, comm=comm, unit=2)
            self.down = RowParallelLinear(12, 6, bias=True, comm=comm, unit=2)
            self.head = ColumnParallelLinear(6, 11, comm=comm, gather_output=True)
        else:
            self.embed = nn.Embedding(11, 6)
            self.up = nn.Linear(6, 12, bias=True)
            self.down = nn.Linear(12, 6, bias=True)
            self.head = nn.Linear(6, 11)

    def forward(self, ids: Any) -> Any:
        h = self.embed(ids)
        return self.head(h + self.down(F.silu(self.up(h))))


IDS = np.array([[0, 10, 5], [3, 3, 7]])


LENGTH = 32  # additions of a result: of 6, 12 and 6 products, two biases, and ranks


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def expected(state: dict[str, Any], change: Any = lambda x: x, activation: Any = silu) -> Any:
    """The model in NumPy, with changed weights."""
    w = {name: change(np.array(value.tolist(), np.float64)) for name, value in state.items()}
    h = w["embed.weight"][IDS]
    u = h @ w["up.weight"].T + w["up.bias"]
    h = h + activation(u) @ w["down.weight"].T + w["down.bias"]
    return h @ w["head.weight"].T


def assert_near(got: Any, exact: Any, length: int, terms: Any, roundings: int = 0) -> None:
    """`exact` is in float64; the rest as in kit/bounds.py."""
    made = ref.Tensor(np.asarray(got))
    wanted = ref.Tensor(exact).to(made.dtype)
    assert_within(made, wanted, bound(wanted, length, terms, roundings))


def assert_is_of(got: Any, state: dict[str, Any]) -> None:
    """The model's result; an activation is no larger than its argument, and its slope is at most
    1.1."""
    terms = 1.1 * expected(state, np.abs, lambda x: x)
    assert_near(got, expected(state), LENGTH, terms)


# ---- Results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_model_gives_what_the_plain_one_gives(ranks: int) -> None:
    plain = filled(Model())
    state = plain.state_dict()

    def body(comm: ccl.Communicator) -> Any:
        model = Model(comm, parallel=True)
        assert list(model.state_dict()) == list(state)
        model.load_state_dict(state)
        return model(tensor(IDS)).numpy(force=True).copy()

    for got in each_rank(ranks, body):
        assert got.shape == (2, 3, 11)
        assert_is_of(got, state)
    assert_is_of(plain(tensor(IDS)).numpy(force=True), state)


def test_without_a_communicator_layers_are_plain() -> None:
    plain, model = filled(Model()), Model(parallel=True)
    model.load_state_dict(plain.state_dict())
    assert np.array_equal(
        model(tensor(IDS)).numpy(force=True), plain(tensor(IDS)).numpy(force=True)
    )
    assert isinstance(model.up, nn.Linear) and isinstance(model.embed, nn.Embedding)
    assert full_state_dict(model)["up.weight"].tolist() == plain.up.weight.tolist()


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_options_of_linear_layers(kind: str) -> None:
    dtype, numbers = getattr(infinicore, kind), getattr(ref, kind)
    x, w = draw(2, 5, 9).astype(numbers), draw(7, 9, seed=1).astype(numbers)
    wide = [each.astype(np.float64) for each in (x, w)]
    total, terms = wide[0] @ wide[1].T * 0.5, np.abs(wide[0]) @ np.abs(wide[1]).T * 0.5

    def body(comm: ccl.Communicator) -> None:
        whole = tensor(x)
        row = RowParallelLinear(9, 7, dtype=dtype, comm=comm, input_is_parallel=False)
        summand = RowParallelLinear(9, 7, dtype=dtype, comm=comm, reduce_output=False)
        column = ColumnParallelLinear(9, 7, dtype=dtype, comm=comm)
        for layer in (row, summand, column):
            layer.alpha = 0.5
            layer.load_state_dict({"weight": w})
        # A rank's part of a sum is rounded before the parts are added.
        assert_near(row(whole).numpy(force=True), total, 12, terms, roundings=1)
        mine = summand(summand.share.of(whole, 2))
        assert_near(comm.all_reduce(mine).numpy(force=True), total, 12, terms, roundings=1)
        parts = [column.share.of(tensor(each), 2).numpy(force=True) for each in (total, terms)]
        assert_near(column(whole).numpy(force=True), parts[0], 9, parts[1])

    each_rank(3, body)


def test_embeddings_of_any_shape() -> None:
    table = draw(10, 4)

    def body(comm: ccl.Communicator) -> None:
        layer = VocabParallelEmbedding(10, 4, comm=comm)
        layer.load_state_dict({"weight": table})
        for ids in (np.array(7), np.array([], dtype=np.int64), IDS[:, :2] % 10, np.arange(10)):
            for kind in (np.int64, np.int32):
                got = layer(infinicore.tensor(ids.astype(kind)))
                assert np.array_equal(got.numpy(force=True), table[ids].reshape(*ids.shape, 4))
        if ON_HOST:  # values are not checked on other devices
            with pytest.raises(IndexError, match="VocabParallelEmbedding"):
                layer(tensor(np.array([10])))

    each_rank(3, body)


def test_rows_of_other_ranks_do_not_come_in() -> None:
    table = draw(4, 2)
    table[0], table[2] = np.nan, np.inf  # the first row of each rank

    def body(comm: ccl.Communicator) -> None:
        layer = VocabParallelEmbedding(4, 2, comm=comm)
        layer.load_state_dict({"weight": table})
        assert np.array_equal(layer(tensor(np.array([1, 3]))).numpy(force=True), table[[1, 3]])

    each_rank(2, body)


def test_tied_weights() -> None:
    table = draw(11, 6)

    def body(comm: ccl.Communicator) -> None:
        embed = VocabParallelEmbedding(11, 6, comm=comm)
        head = ColumnParallelLinear(6, 11, comm=comm, gather_output=True)
        head.weight = embed.weight
        embed.load_state_dict({"weight": table})
        h = embed(tensor(IDS))
        wide = table.astype(np.float64)
        terms = np.abs(wide)[IDS] @ np.abs(wide).T
        assert_near(head(h).numpy(force=True), wide[IDS] @ wide.T, 6, terms)

    each_rank(3, body)


def test_a_recorded_model() -> None:
    state = filled(Model()).state_dict()

    def body(comm: ccl.Communicator) -> Any:
        model = Model(comm, parallel=True)
        model.load_state_dict(state)
        ids = tensor(np.zeros_like(IDS))
        with infinicore.record() as made:
            result = model(ids)
        ids.copy_(tensor(IDS))
        for _ in range(3):
            made.graph.run()
        return result.numpy(force=True).copy()

    for got in each_rank(3, body):
        assert_is_of(got, state)


# ---- Checkpoints --------------------------------------------------------------------------------


def test_checkpoints_go_both_ways(tmp_path: Any) -> None:
    plain = filled(Model())
    nn.save_safetensors(plain, tmp_path / "plain.safetensors")

    def body(comm: ccl.Communicator) -> None:
        model = Model(comm, parallel=True)
        nn.load_safetensors(model, tmp_path / "plain.safetensors")
        again = Model(comm, parallel=True)
        again.load_state_dict(model.state_dict())  # a rank's own shares
        whole = full_state_dict(again)
        assert list(whole) == list(plain.state_dict())
        for name, value in plain.state_dict().items():
            assert whole[name].tolist() == value.tolist(), name

    each_rank(3, body)


def test_the_hook_of_loading() -> None:
    class Turned(nn.Linear):
        """Checkpoints have [in_features, out_features]."""

        def prepare_to_load(self, name: str, tensor: Any) -> Any:
            if name == "weight" and tensor.shape[0] != self.in_features:
                raise ValueError(f"Turned: {tuple(tensor.shape)}: expected {self.in_features} rows")
            return tensor.T if name == "weight" else tensor

    model = nn.Sequential(Turned(4, 3, bias=True))
    model.load_state_dict({"0.weight": draw(4, 3), "0.bias": draw(3)})
    assert np.array_equal(model[0].weight.numpy(force=True), draw(4, 3).T)
    with pytest.raises(RuntimeError, match=r"0.weight: Turned: \(3, 4\): expected 4 rows"):
        model.load_state_dict({"0.weight": draw(3, 4), "0.bias": draw(3, seed=9)})
    assert np.array_equal(model[0].bias.numpy(force=True), draw(3))  # nothing was loaded


# ---- Mistakes -----------------------------------------------------------------------------------


def test_shares() -> None:
    lengths = [Share("f", "size", 10, ranks=3, rank=r, unit=2).length for r in range(3)]
    assert lengths == [4, 4, 2]
    assert repr(Share("f", "size", 10, ranks=3, rank=2, unit=2)) == "Share(8:10 of 10)"
    with pytest.raises(ValueError, match="f: unit is 3: expected a divisor of size, which is 10"):
        Share("f", "size", 10, ranks=2, rank=0, unit=3)
    with pytest.raises(ValueError, match="at least one for each of 3 ranks"):
        Share("f", "size", 10, ranks=3, rank=0, unit=5)


def test_mistakes_name_class_argument_and_expectation() -> None:
    with pytest.raises(TypeError, match="ColumnParallelLinear: comm is int: expected a ccl"):
        ColumnParallelLinear(4, 4, comm=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="RowParallelLinear: bias is True without reduce_output"):
        RowParallelLinear(4, 4, bias=True, reduce_output=False)

    def body(comm: ccl.Communicator) -> None:
        with pytest.raises(ValueError, match="VocabParallelEmbedding: num_embeddings is 2"):
            VocabParallelEmbedding(2, 4, comm=comm)
        row = RowParallelLinear(6, 4, comm=comm)
        with pytest.raises(ValueError, match=r"RowParallelLinear: input has shape \(2, 6\): expec"):
            row(infinicore.ones(2, 6))
        with pytest.raises(RuntimeError, match=r"RowParallelLinear: weight has shape \(4, "):
            row.load_state_dict({"weight": draw(4, 5)})
        with pytest.raises(RuntimeError, match="shapes differ"):
            row.load_state_dict({"weight": draw(5, 6)})
        assert f"rank {comm.rank} of 3" in repr(row)

    each_rank(3, body)
    with pytest.raises(TypeError, match="full_state_dict: module is int"):
        full_state_dict(3)  # type: ignore[arg-type]


def test_a_device_that_is_not_the_communicators() -> None:
    def body(comm: ccl.Communicator) -> None:
        other = "cpu" if KIND != "cpu" else "meta:1"
        with pytest.raises((ValueError, RuntimeError), match="device"):
            ColumnParallelLinear(4, 4, device=other, comm=comm)

    each_rank(1, body)
