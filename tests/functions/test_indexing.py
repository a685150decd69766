"""Elements chosen, written, sorted, counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import ref
from kit.functions import B, I, Run, T, case, runs
from kit.place import put

ALL = "f32 f16 bf16 f64 i32 i64 u8 bool"
SOME = "f32 f16 bf16 i64"
NUMBERS = "f32 f16 bf16 f64 i32 i64 u8"


def upstream_scatter(x: Any, index: Any, src: Any, dim: int, reduction: str = "none") -> Any:
    if reduction == "none":
        return ref.scatter(x, dim, index, src)
    return ref.scatter(x, dim, index, src, reduce=reduction)


CASES = [
    case("gather", T(3, 4), 1, I(3, 2, below=4), kinds=ALL),
    case(
        "gather",
        T(3, 4),
        0,
        I(2, 3, below=3, kind="i32"),
        kinds="f32 i64",
        reference=lambda x, d, i: ref.gather(x, d, i.long()),
    ),
    case(
        "gather",
        T(3, 4),
        I(3, 2, below=4),
        dim=1,
        kinds="f32",
        reference=lambda x, i, dim: ref.gather(x, dim, i),
    ),
    case("gather", T(), 0, I(below=1), kinds="f32"),
    case("scatter", T(3, 4), 0, I(1, 4, below=3), T(1, 4), kinds=ALL),
    case("scatter", T(3, 4), 0, I(1, 4, below=3), 2, kinds=SOME),
    case(
        "scatter",
        T(3, 4),
        0,
        I(1, 4, below=3),
        value=2,
        kinds="f32",
        reference=lambda x, d, i, value: ref.scatter(x, d, i, value),
    ),
    case("scatter", T(3, 4), I(1, 4, below=3), T(1, 4), 0, reference=upstream_scatter, kinds=SOME),
    case(
        "scatter",
        T(3, 4),
        I(1, 4, below=3),
        T(1, 4),
        dim=0,
        reduction="add",
        reference=upstream_scatter,
        kinds="f32 i64",
    ),
    case("scatter_add", T(3, 4), 0, I(2, 3, below=3), T(2, 4), kinds=NUMBERS),
    *(
        case(
            "scatter_reduce",
            T(3, 4),
            1,
            I(3, 6, below=4),
            T(3, 6),
            reduce=how,
            kinds="f32 f16 bf16 f64 i32",
        )
        for how in ("sum", "prod", "amax", "amin")
    ),
    case(
        "scatter_reduce", T(3, 4), 1, I(3, 6, below=4), T(3, 6), reduce="mean", include_self=False
    ),
    case("index_select", T(3, 4), 1, I(5, below=4), kinds=ALL),
    case("index_select", T(3, 4), dim=-1, index=I(2, below=3), kinds="f32"),
    case("index_add", T(3, 4), 1, I(5, below=4), T(3, 5), kinds=NUMBERS, close=2),
    case("index_add", T(3, 4), 0, I(2, below=3), T(2, 4), alpha=2, kinds="f32 f16 i32", close=2),
    case("index_copy", T(3, 4), 0, I(3, below=3, distinct=True), T(3, 4), kinds=ALL),
    *(
        case("index_reduce", T(3, 4), 0, I(5, below=3), T(5, 4), reduce=how, kinds="f32 f64")
        for how in ("prod", "amax", "amin", "mean")
    ),
    case("index_fill", T(3, 4), 1, I(2, below=4), 7, kinds=SOME),
    case(
        "index_put",
        T(3, 4),
        (I(2, below=3, distinct=True),),
        T(4),
        kinds=SOME,
        skip="method out in_place graph",
    ),
    case(
        "index_put",
        T(3, 4),
        (I(2, below=3, distinct=True), I(2, below=3, distinct=True)),
        T(2),
        kinds=SOME,
        skip="out in_place",
    ),
    case("take", T(3, 4), I(2, 3, low=-12, below=12), kinds=ALL),
    case("take", T(3, 4), I(below=12), kinds="f32"),
    case("take_along_dim", T(3, 4), I(3, 1, below=4), dim=1, kinds=SOME),
    case("take_along_dim", T(3, 1), I(1, 4, below=3), 0, kinds=SOME),
    case("take_along_dim", T(3, 4), I(5, below=12), kinds=SOME, skip="layouts out in_place"),
    case("masked_fill", T(3, 4), B(3, 4), 7, kinds=ALL),
    case("masked_fill", T(3, 4), B(4), 7.5, kinds="f32 f16 bf16"),
    case("masked_select", T(3, 4), B(3, 4), kinds=ALL, skip="graph"),
    case("masked_select", T(3, 4), B(4), kinds="f32", skip="graph"),
    case("masked_scatter", T(3, 4), B(3, 4), T(12), kinds=ALL, skip="out"),
    case("nonzero", T(3, 4, low=0, high=2), kinds=ALL, skip="graph"),
    case("nonzero", T(3, 4, low=0, high=2), as_tuple=True, kinds="f32", skip="graph out"),
    case("argwhere", T(3, 4, low=0, high=2), kinds=ALL, skip="graph out"),
    case("one_hot", I(3, 2, below=4), 5, kinds="f32", reference=ref.one_hot),
    case(
        "one_hot",
        I(3, 2, below=4),
        kinds="f32",
        reference=ref.one_hot,
        skip="graph out",
    ),
    case("sort", T(3, 5, distinct=True), kinds=NUMBERS),
    case("sort", T(3, 5, distinct=True), 0, descending=True, kinds=NUMBERS),
    case("sort", T(3, 5), stable=True, dim=-1, kinds=SOME),
    case("argsort", T(3, 5, distinct=True), kinds=SOME, skip="out"),
    case("argsort", T(3, 5), dim=0, descending=True, stable=True, kinds=SOME, skip="out"),
    case("msort", T(5, 3), kinds=NUMBERS),
    case("topk", T(3, 5, distinct=True), 2, exact_type=False, kinds=NUMBERS),
    case(
        "topk", T(5, 3, distinct=True), k=3, dim=0, largest=False, exact_type=False, kinds=NUMBERS
    ),
    case("kthvalue", T(3, 5, distinct=True), 2, kinds=NUMBERS),
    case("kthvalue", T(3, 5, distinct=True), k=3, dim=0, keepdim=True, kinds=SOME),
    case("bucketize", T(3, 4), T(1), kinds="f32 f64 i32"),
    case("bucketize", T(3, 4), T(1), right=True, out_int32=True, kinds="f32"),
    case("isin", T(3, 4), T(3), kinds="f32 f16 i32 i64", reference=ref.isin),
    case("isin", T(3, 4, high=30), T(4, 9, high=30), invert=True, kinds="i32 i64 u8"),
    case("isin", T(3, 4), T(0), kinds="f32 i32"),
    case("bincount", I(9, below=5), kinds="f32", skip="graph out"),
    case("bincount", I(9, below=5), minlength=8, kinds="f32", skip="graph out"),
    case("bincount", I(9, below=5), T(9), kinds="f32 f64", skip="graph out"),
    case("histc", T(20), bins=5, min=-2, max=2, kinds="f32 f64"),
    case("histc", T(4, 5), bins=5, kinds="f32", skip="graph"),
    case("histogram", T(20), bins=5, range=(-2.0, 2.0), kinds="f32 f64"),
    case("histogram", T(4, 5), 5, kinds="f32", skip="graph"),
    case("unique", T(3, 4), kinds="i32 i64 f32 f16", skip="graph out"),
    case(
        "unique",
        T(20),
        return_inverse=True,
        return_counts=True,
        kinds="i32 i64 f32",
        skip="graph out",
    ),
    case(
        "unique",
        T(7, 2, low=0, high=2),
        dim=0,
        return_inverse=True,
        return_counts=True,
        kinds="i32",
        skip="graph out",
    ),
    case("unique", T(2, 7, low=0, high=2), dim=1, kinds="i32", skip="graph out"),
    case(
        "unique_consecutive",
        T(20, high=0),
        return_inverse=True,
        return_counts=True,
        kinds="i32 f32",
        skip="graph out",
    ),
    case(
        "unique_consecutive", T(9, 2, low=0, high=2), dim=0, kinds="i32", skip="graph out in_place"
    ),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right: bool) -> None:
    rows = ref.sort(ref.randint(0, 9, (3, 6)), -1).values
    values = ref.randint(0, 9, (3, 4))
    made = infinicore.searchsorted(put(rows), put(values), right=right)
    assert ref.equal(ref.of(made), ref.searchsorted(rows, values, right=right))
    made = infinicore.searchsorted(put(rows[0].clone()), put(values), right=right)
    assert ref.equal(ref.of(made), ref.searchsorted(rows[0].clone(), values, right=right))
    assert infinicore.searchsorted(infinicore.tensor([1, 3, 5]), 4).item() == 2


def test_refused_while_recording() -> None:
    x = infinicore.ones(3)
    for name in ("nonzero", "unique", "bincount"):
        infinicore.start_graph_recording()
        try:
            with pytest.raises(RuntimeError, match=name):
                getattr(infinicore, name)(x)
        finally:
            infinicore.stop_graph_recording()


@pytest.mark.host  # on other devices nothing is read or written for them
def test_places_that_are_not_there() -> None:
    x, one = infinicore.ones(2, 3), infinicore.ones(1, 3)
    far, line = infinicore.tensor([[7]]), infinicore.tensor([2])
    calls: list[Any] = [
        lambda: infinicore.gather(x, 0, far),
        lambda: infinicore.scatter(x, 0, far, 1.0),
        lambda: infinicore.scatter_add(x, 0, far, x),
        lambda: infinicore.scatter_reduce(x, 0, far, x, "sum"),
        lambda: infinicore.index_select(x, 0, line),
        lambda: infinicore.index_select(x, dim=0, index=infinicore.tensor([-1])),
        lambda: infinicore.index_add(x, 0, line, one),
        lambda: infinicore.index_copy(x, 0, line, one),
        lambda: infinicore.index_fill(x, 0, line, 1.0),
        lambda: infinicore.index_reduce(x, 0, line, one, "prod"),
        lambda: infinicore.take(x, infinicore.tensor([6])),
        lambda: infinicore.take_along_dim(x, far, 1),
        lambda: infinicore.one_hot(infinicore.tensor([3]), 3),
    ]
    for call in calls:
        with pytest.raises(IndexError, match=r"^\w+: .*(out of bounds|negative)"):
            call()


def test_in_place() -> None:
    x, i = infinicore.zeros(2, 3), infinicore.tensor([1])
    assert x.index_add_(0, i, infinicore.ones(1, 3)) is x
    assert x.scatter_(1, infinicore.tensor([[2]]), 7.0) is x
    assert x.index_fill_(1, i, 5) is x
    assert x.tolist() == [[0, 5, 7], [1, 5, 1]]


def test_bad_arguments() -> None:
    x, i = infinicore.ones(2, 3), infinicore.tensor([[0, 1]])
    with pytest.raises(IndexError, match="gather: dim is 2"):
        infinicore.gather(x, 2, i)
    with pytest.raises(TypeError, match="gather"):
        infinicore.gather(x, 1, x)
    with pytest.raises(TypeError, match="missing"):
        infinicore.gather(x, 1)
    with pytest.raises(RuntimeError, match="gather: index"):
        infinicore.gather(x, 1, infinicore.tensor([0]))
    with pytest.raises(RuntimeError, match="scatter_add"):
        infinicore.scatter_add(x, 1, infinicore.zeros(3, 2, dtype=infinicore.int64), x)
    with pytest.raises(RuntimeError, match="topk: k is 9"):
        infinicore.topk(x, 9)
    with pytest.raises(RuntimeError, match="kthvalue: k is 0"):
        infinicore.kthvalue(x, 0)


@pytest.mark.parametrize("kind", ["u1", "f2", "f4", "i8", "c16"])
def test_long_masks(kind: str) -> None:
    rng = np.random.default_rng(5)
    for shape, held in (((1003,), (1003,)), ((40, 25), (25,)), ((25,), (40, 25)), ((9, 1), (1, 9))):
        x, mask = rng.integers(0, 9, shape).astype(kind), rng.random(held) < 0.3
        wanted, wide = (each.copy() for each in np.broadcast_arrays(x, mask))
        count = int(wide.sum())
        source = rng.integers(10, 99, count).astype(kind)
        wanted[wide] = source
        given = [infinicore.tensor(each) for each in (x, mask)]
        for more in (0, 7):
            longer = infinicore.tensor(np.concatenate([source, source[:more]]))
            made = infinicore.masked_scatter(*given, longer)
            assert np.array_equal(made.numpy(force=True), wanted)
        assert np.array_equal(given[0].numpy(force=True), x)


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_runs(name: str) -> None:
    x = np.random.default_rng(6).integers(0, 2, (300, 2))
    for given, dim in ((x[:, 0], None), (x[:, 0], 0), (x, 0), (x.T, 1), (x, None)):
        made, numbers, counts = getattr(infinicore, name)(
            infinicore.tensor(np.ascontiguousarray(given)),
            return_inverse=True,
            return_counts=True,
            dim=dim,
        )
        parts = [each.numpy(force=True) for each in (made, numbers, counts)]
        assert np.array_equal(np.take(parts[0], parts[1], dim or 0).reshape(given.shape), given)
        assert np.array_equal(np.bincount(parts[1].reshape(-1)), parts[2])
        alone = getattr(infinicore, name)(infinicore.tensor(np.ascontiguousarray(given)), dim=dim)
        assert np.array_equal(alone.numpy(force=True), parts[0])


@pytest.mark.parametrize("mask", [(), (4,), (3, 1), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("value", [True, False])
def test_masks_are_broadcast(mask: tuple[int, ...], value: bool) -> None:
    x, source = np.arange(12.0).reshape(3, 4), -np.arange(48.0).reshape(24, 2)[:, 0]
    flags = np.full(mask, value)
    flags.reshape(-1)[1:2] = not value
    both = np.broadcast_arrays(x, flags)
    given, ours = infinicore.tensor(x), infinicore.tensor(flags)
    made = infinicore.masked_select(given, ours)
    assert np.array_equal(made.numpy(force=True), both[0][both[1]])
    expected = both[0].copy()
    expected[both[1]] = source[: both[1].sum()]
    made = infinicore.masked_scatter(given, ours, infinicore.tensor(source.repeat(2))[::2])
    assert np.array_equal(made.numpy(force=True), expected)
    assert np.array_equal(given.numpy(force=True), x)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)], ids=str)
def test_copies_with_parts_replaced_keep_strides(order: tuple[int, ...]) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    given, expected = infinicore.tensor(x).permute(*order), x.transpose(order).copy()
    part = -expected[:, 1:3]
    expected[:, 1:3] = part
    made = infinicore.slice_scatter(given, infinicore.tensor(part), 1, 1, 3)
    assert made.stride() == given.stride()
    assert np.array_equal(made.numpy(force=True), expected)
    gaps = given[:, ::2]
    made = infinicore.select_scatter(gaps, gaps[1] * 2, 0, 0)
    assert made.is_contiguous()
    expected = x.transpose(order)[:, ::2].copy()
    expected[0] = expected[1] * 2
    assert np.array_equal(made.numpy(force=True), expected)
