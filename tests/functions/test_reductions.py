"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import ref
from kit.functions import Run, T, case, runs
from kit.place import put

ALL = "f32 f16 bf16 f64 i32 i64 u8 bool"
NUMBERS = "f32 f16 bf16 f64 i32 i64 u8"
NAN = float("nan")


def folds(name: str, kinds: str = "f32 f16 bf16 f64", **keywords: Any) -> list[Any]:
    return [
        case(name, T(3, 4, 5), kinds=kinds, **keywords),
        case(name, T(3, 4, 5), dim=1, kinds=kinds, **keywords),
        case(name, T(3, 4, 5), dim=(0, -1), keepdim=True, kinds=kinds, **keywords),
    ]


def one_dim(name: str, kinds: str = "f32 f16 bf16 f64", **keywords: Any) -> list[Any]:
    return [
        case(name, T(3, 4, 5), 1, kinds=kinds, **keywords),
        case(name, T(3, 4, 5), dim=-1, kinds=kinds, **keywords),
        case(name, T(), 0, kinds="f32", **keywords),
    ]


CASES = [
    *folds("sum", ALL, close=2),
    case("sum", T(3, 4), 1, dtype=None, kinds="f32"),
    case("sum", T(0, 3), 0, kinds="f32 i32"),
    case("sum", T(), kinds="f32 i32"),
    *folds("mean", close=2),
    case("prod", T(3, 4, low=0.5, high=1.5), kinds=NUMBERS, close=4),
    case("prod", T(3, 4, low=0.5, high=1.5), 1, keepdim=True, kinds=NUMBERS, close=4),
    *folds("amax", ALL)[1:],
    *folds("amin", ALL)[1:],
    case("amax", T(3, 4)),
    *folds("all", ALL),
    *folds("any", ALL),
    *folds("nansum", NUMBERS, close=2),
    *folds("nanmean", close=2),
    case("aminmax", T(3, 4), kinds=ALL),
    case("aminmax", T(3, 4), dim=1, keepdim=True, kinds=ALL),
    case("max", T(3, 4), kinds=ALL),
    case("min", T(3, 4), kinds=ALL),
    case("max", T(3, 4, distinct=True), 1, kinds=NUMBERS),
    case("min", T(3, 4, distinct=True), dim=0, keepdim=True, kinds=NUMBERS),
    case("max", T(3, 4), T(4), kinds=ALL),
    case("min", T(3, 4), T(4), kinds=ALL),
    *(case(name, T(3, 4, distinct=True), kinds="f32 f16 i32 i64") for name in ("argmax", "argmin")),
    *(case(name, T(3, 4, distinct=True), 1, kinds="f32 f16 i32") for name in ("argmax", "argmin")),
    *(
        case(name, T(3, 4, distinct=True), dim=-2, keepdim=True, kinds="f32")
        for name in ("argmax", "argmin")
    ),
    case("count_nonzero", T(3, 4, low=0, high=2), kinds=ALL, skip="out"),
    case("count_nonzero", T(3, 4, low=0, high=2), dim=1, kinds=ALL, skip="out"),
    *folds("var", skip="out", close=4),
    *folds("std", skip="out", close=4),
    case("var", T(3, 4), dim=1, unbiased=False, close=4),
    case("std", T(3, 4), dim=1, correction=2, keepdim=True, close=4),
    case("var_mean", T(3, 4), dim=1, unbiased=False, keepdim=True, skip="out", close=4),
    case("var_mean", T(3, 4), skip="out", close=4),
    case("std_mean", T(3, 4), dim=(0, 1), skip="out", close=4),
    case("std_mean", T(3, 4), dim=1, correction=0, skip="out", close=4),
    *folds("logsumexp")[1:],
    case("norm", T(3, 4)),
    *(
        case("norm", T(3, 4), p, dim=1, close=4)
        for p in (0, 1, 2, 3, 2.5, float("inf"), -float("inf"))
    ),
    case("norm", T(3, 4), "fro", dim=(0, 1), keepdim=True),
    case("norm", T(3, 4), "nuc", kinds="f32 f64"),
    *one_dim("cumsum", ALL, close=2),
    *one_dim("cumprod", NUMBERS, close=4),
    *one_dim("logcumsumexp"),
    case("cummax", T(3, 4, distinct=True), 1, kinds=NUMBERS),
    case("cummin", T(3, 4, distinct=True), dim=0, kinds=NUMBERS),
    case("diff", T(3, 5), kinds=ALL),
    case("diff", T(3, 5), n=2, dim=0, kinds="f32 f16 i32"),
    case("diff", T(3, 5), 1, -1, T(3, 1), T(3, 2), kinds="f32 i32"),
    case("diff", T(3, 5), n=7, kinds="f32"),
    case("trapezoid", T(3, 5), kinds="f32 f64", skip="out"),
    case("trapezoid", T(3, 5), T(5), dim=1, kinds="f32 f64", skip="out", close=4),
    case("trapz", T(3, 5), dx=0.5, dim=0, kinds="f32", skip="out"),
    case("cumulative_trapezoid", T(3, 5), kinds="f32 f64", skip="out"),
    case("median", T(3, 5, distinct=True), skip="out", kinds=NUMBERS),
    case("median", T(3, 4, distinct=True), 1, skip="out", kinds=NUMBERS),
    case("median", T(3, 4, distinct=True), dim=0, keepdim=True, skip="out", kinds=NUMBERS),
    case("nanmedian", T(3, 4, distinct=True), dim=0, skip="out"),
    case("quantile", T(3, 5), 0.3, kinds="f32 f64"),
    case("quantile", T(3, 5), q=0.6, dim=1, keepdim=True, kinds="f32 f64"),
    case("quantile", T(3, 5), T(2, low=0, high=1), dim=0, kinds="f32 f64"),
    case("quantile", T(3, 5), T(2, low=0, high=1), keepdim=True, kinds="f32"),
    *(
        case("quantile", T(3, 5), 0.4, dim=1, interpolation=how, kinds="f32")
        for how in ("lower", "higher", "midpoint", "nearest")
    ),
    case("nanquantile", T(3, 5), 0.3, dim=1, kinds="f32 f64"),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


HOLES = ref.tensor([[1.0, NAN, 3.0, -2.0], [NAN, NAN, NAN, NAN], [4.0, 2.0, 8.0, 1.0]])


@pytest.mark.parametrize(
    "name", ["median", "nanmedian", "nansum", "nanmean", "amax", "amin", "max", "min", "logsumexp"]
)
def test_nan(name: str) -> None:
    made = getattr(infinicore, name)(put(HOLES), 1)
    expected = getattr(ref, name)(HOLES, 1)
    if not isinstance(expected, ref.Tensor):
        made, expected = made[0], expected[0]
    ref.assert_close(ref.of(made), expected, equal_nan=True)


@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("most", [1, 20, 1 << 30])
@pytest.mark.parametrize("shape", [(3001,), (1999, 2), (2, 640, 3)], ids=str)
def test_long_medians(kind: str, most: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(most).integers(-most, most, shape, "i8", True).astype(kind)
    if kind[0] == "f":
        x[-1] = np.inf
    dim = shape.index(max(shape))
    count = shape[dim]
    order = np.sort(x, dim)
    for k in (1, (count + 1) // 2, count - 2, count):
        found, places = infinicore.kthvalue(infinicore.tensor(x), k, dim, True)
        assert np.array_equal(found.numpy(force=True), np.take(order, [k - 1], dim))
        at = places.to(infinicore.int64).numpy(force=True)
        assert np.array_equal(found.numpy(force=True), np.take_along_axis(x, at, dim))
    for name in ("median", "nanmedian"):
        found = getattr(infinicore, name)(infinicore.tensor(x), dim).values
        assert np.array_equal(found.numpy(force=True), np.take(order, (count - 1) // 2, dim))
    if kind[0] == "f":
        x[count // 3 if dim == 0 else 0] = np.nan
        found, places = infinicore.median(infinicore.tensor(x), dim)
        lost = np.isnan(x).any(dim)
        assert np.array_equal(np.isnan(found.numpy(force=True)), lost)
        first = np.isnan(x).argmax(dim)
        assert np.array_equal(places.numpy(force=True)[lost], first[lost])
        x = np.where(np.arange(x.size).reshape(shape) % 3, x, np.nan)
        x[..., -1] = np.nan if x.ndim > 1 else x[..., -1]
        found, places = infinicore.nanmedian(infinicore.tensor(x), dim, True)
        order, held = np.sort(x, dim), np.sum(x == x, dim, keepdims=True)
        expected = np.take_along_axis(order, np.maximum(held - 1, 0) // 2, dim)
        assert np.array_equal(found.numpy(force=True), expected, equal_nan=True)
        at = np.take_along_axis(x, places.to(infinicore.int64).numpy(force=True), dim)
        assert np.array_equal(at, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_with_nan(name: str) -> None:
    q = ref.tensor([0.0, 0.3, 1.0])
    for dim in (0, 1):
        made = getattr(infinicore, name)(put(HOLES), put(q), dim)
        expected = getattr(ref, name)(HOLES, q, dim)
        ref.assert_close(ref.of(made), expected, equal_nan=True)


def test_infinite_logsumexp() -> None:
    x = ref.tensor([[float("inf"), 1.0], [float("-inf"), float("-inf")], [1000.0, 1000.0]])
    made = infinicore.logsumexp(put(x), 1)
    ref.assert_close(ref.of(made), ref.logsumexp(x, 1))


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
@pytest.mark.parametrize("lines", [1, 2, 15, 16, 17, 40])
def test_logcumsumexp_of_strided_lines(kind: str, lines: int) -> None:
    a = np.random.default_rng(lines).standard_normal((9, lines)).astype(kind)
    a[4, 0], a[2, lines // 2], a[7, -1] = -np.inf, np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp.accumulate(a.astype("f8"), 0)
    x, rtol = infinicore.tensor(a), 5e-3 if kind == "float16" else 1e-5
    for each, dim in ((x, 0), (x.T, 1), (x.unsqueeze(2).expand(9, lines, 3), 0)):
        found = infinicore.logcumsumexp(each, dim).numpy(force=True)
        wanted = expected.T if dim else expected
        wanted = np.broadcast_to(wanted[..., None], found.shape) if found.ndim > 2 else wanted
        assert np.allclose(found, wanted, rtol, rtol, equal_nan=True)
    found = infinicore.logcumsumexp(x.T.contiguous().flip(1), 1, reverse=True)
    assert np.allclose(found.flip(1).numpy(force=True).T, expected, rtol, rtol, equal_nan=True)


def test_types_of_sums() -> None:
    x = infinicore.ones(3, dtype=infinicore.int32)
    assert infinicore.sum(x).dtype == infinicore.int64
    assert infinicore.sum(x, dtype=infinicore.float16).dtype == infinicore.float16
    assert infinicore.cumsum(x, 0, dtype=infinicore.int32).dtype == infinicore.int32
    assert infinicore.mean(x, dtype=infinicore.float32).dtype == infinicore.float32


def test_running_sums_from_the_end() -> None:
    x = ref.randn(3, 5)
    made = infinicore.logcumsumexp(put(x), 1, exclusive=True, reverse=True)
    expected = ref.logcumsumexp(x.flip(1), 1).flip(1)[:, 1:]
    ref.assert_close(ref.of(made)[:, :-1], expected)


def test_bad_arguments() -> None:
    x = infinicore.ones(2, 3)
    with pytest.raises(IndexError, match="sum: dim is 2"):
        infinicore.sum(x, 2)
    with pytest.raises(RuntimeError, match="twice"):
        infinicore.sum(x, (0, 0))
    with pytest.raises(RuntimeError, match="mean"):
        infinicore.mean(infinicore.tensor([1, 2]))
    with pytest.raises((ValueError, RuntimeError)):
        infinicore.amax(infinicore.ones(0))


def test_nansum_of_a_broadcast_tensor() -> None:
    row = infinicore.tensor([1.0, float("nan"), 2.0])
    x = row.expand(5, 3)
    assert infinicore.nansum(x).item() == 15 and infinicore.nansum(x, 0).tolist() == [5, 0, 10]
    assert infinicore.nansum(x, dtype=infinicore.int64).item() == 15
    assert infinicore.op.nansum(row, dim=[0]).tolist() == 3
