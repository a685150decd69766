"""Reductions against torch, through the package: NaN, infinities, ties, integers at their limits,
empty tensors, every dimension and several of them, no dimensions, long rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kit.requirements import need

torch = need("torch")

from kit.from_host import op  # noqa: E402

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
ALL = (*FLOATS, *WHOLE, torch.bool)


def data(dtype: Any, *shape: int, seed: int = 0) -> Any:
    """Few different numbers, among them the extremes of the type; floats with some infinities."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == torch.bool:
        return torch.as_tensor(rng.integers(0, 2, shape)).bool()
    picked = torch.as_tensor(rng.integers(0, 16, shape))
    made = (picked - 8).to(dtype) if dtype != torch.uint8 else picked.to(dtype)
    if dtype in FLOATS:
        made[picked == 15] = float("inf")
        made[picked == 14] = -float("inf")
        made[picked == 13] = -0.0
    else:
        made[picked == 15] = torch.iinfo(dtype).max
        made[picked == 14] = torch.iinfo(dtype).min
    return made


def with_nan(x: Any, share: float, seed: int = 1) -> Any:
    if x.dtype not in FLOATS:
        return x
    rng = np.random.default_rng([seed, *x.shape])
    return x.masked_fill(torch.as_tensor(rng.random(tuple(x.shape)) < share), float("nan"))


def same(ours: Any, theirs: Any) -> None:
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (ours, theirs)
    assert torch.equal(
        torch.nan_to_num(ours.double(), nan=1e9), torch.nan_to_num(theirs.double(), nan=1e9)
    ), (ours, theirs)


def layouts(x: Any) -> list[Any]:
    """The same values in another order."""
    wide = torch.stack([x, x], -1)[..., 0]
    back = tuple(reversed(range(x.ndim)))
    turned = x.permute(back).contiguous().permute(back)
    return [x, wide, turned]


SHAPES = ((7,), (1, 5), (6, 40), (40, 6), (3, 33, 17), (2, 3, 4, 5), (300, 20), (2, 5000))


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes(dtype: Any, shape: tuple[int, ...]) -> None:
    for share, keepdim in itertools.product((0.0, 0.02), (False, True)):
        for x in layouts(with_nan(data(dtype, *shape), share)):
            wide = x.to(torch.uint8) if dtype == torch.bool else x
            for dim in (None, *range(-len(shape), len(shape))):
                listed = tuple(range(x.ndim)) if dim is None else (dim,)
                same(op.amax(x, dim=dim, keepdim=keepdim), torch.amax(x, listed, keepdim=keepdim))
                same(op.amin(x, dim=dim, keepdim=keepdim), torch.amin(x, listed, keepdim=keepdim))
                for name in ("argmax", "argmin"):
                    ours = getattr(op, name)(x, dim=dim, keepdim=keepdim)
                    # NumPy guarantees the first one, torch any one.
                    theirs = np.asarray(getattr(np, name)(wide.double().numpy(), dim))
                    theirs = theirs.reshape(tuple(ours.shape))
                    same(ours, torch.from_numpy(theirs))
            dims = tuple(range(1, len(shape)))
            if dims:
                same(op.amax(x, dim=dims), torch.amax(x, dims))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_sums(dtype: Any) -> None:
    for shape in SHAPES:
        x = data(dtype, *shape)
        x = x.clamp(-100, 100) if dtype in FLOATS else x
        for some in layouts(x):
            for dim, keepdim in itertools.product(range(len(shape)), (False, True)):
                exact = some.double() if dtype in FLOATS else some
                sums, products = exact.sum(dim, keepdim), exact.prod(dim, keepdim)
                ours = op.sum(some, dim=dim, keepdim=keepdim)
                same(ours, sums.to(some.dtype) if dtype in FLOATS else sums)
                if dtype not in FLOATS:
                    same(op.prod(some, dim=dim, keepdim=keepdim), products)
                same(op.any(some, dim=dim, keepdim=keepdim), some.bool().any(dim, keepdim))
                same(op.all(some, dim=dim, keepdim=keepdim), some.bool().all(dim, keepdim))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_spreads(dtype: Any) -> None:
    x = with_nan(data(dtype, 20, 30), 0.01)
    for name in ("sum", "prod", "mean"):
        ours, theirs = getattr(op, name)(x, dim=1), getattr(torch, name)(x.double(), dim=1)
        assert torch.equal(ours.isnan(), theirs.isnan()), name
    assert bool(op.any(torch.full((3,), float("nan"), dtype=dtype)))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_nothing(dtype: Any) -> None:
    x = torch.empty((3, 0, 2), dtype=dtype)
    for name in ("sum", "prod", "any", "all"):
        # Of uint8, torch gives truth as uint8.
        theirs = getattr(torch, name)(x.bool() if name in ("any", "all") else x, 1)
        same(getattr(op, name)(x, dim=1), theirs)
        assert tuple(getattr(op, name)(x, dim=0).shape) == (0, 2)
    if dtype in FLOATS:
        assert op.mean(x, dim=1).isnan().all()
    for name in ("amax", "amin", "argmax", "argmin"):
        assert tuple(getattr(op, name)(x, dim=2).shape) == (3, 0)
        with pytest.raises(Exception, match=r"extent\(S, dim\) > 0, but dim = \[1\]"):
            getattr(op, name)(x, dim=1)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_no_dimensions(dtype: Any) -> None:
    x = torch.tensor(1, dtype=dtype)
    for name in ("sum", "prod", "any", "all", "amax", "amin", "argmax", "argmin"):
        ours = getattr(op, name)(x)
        assert ours.shape == () and int(ours) == (0 if name.startswith("arg") else 1), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("shape", [(200_003,), (3, 70_001), (70_001, 20), (5, 333, 300)], ids=str)
def test_long_rows(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.permutation(int(np.prod(shape))).reshape(shape)).to(dtype)
    for dim in (None, *range(len(shape))):
        ours, theirs = op.argmax(x, dim=dim), np.argmax(x.double().numpy(), dim)
        assert np.array_equal(ours.numpy(), theirs), dim
        ours, theirs = op.argmin(x, dim=dim), np.argmin(x.double().numpy(), dim)
        assert np.array_equal(ours.numpy(), theirs), dim


def test_unsigned_order() -> None:
    low, high = 1, 2**63 + 5
    x = np.array([[low, high, 0, high], [0, 0, low, 0]], np.uint64)
    assert op.argmax(x, dim=1).tolist() == [1, 2] and op.argmin(x, dim=1).tolist() == [2, 0]
    assert op.amax(x, dim=1).tolist() == [high, 1] and op.amin(x, dim=1).tolist() == [0, 0]
