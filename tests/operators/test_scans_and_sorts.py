"""Running values, sorting, searching and counting against torch, through the package: NaN,
infinities, ties, integers at their limits, every dimension and layout, empty tensors, no
dimensions, and lines split over several threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kit.requirements import need

torch = need("torch")

from kit.from_host import op  # noqa: E402

from .test_reductions import ALL, FLOATS, data, layouts, same, with_nan  # noqa: E402

SHAPES = ((), (1,), (7,), (6, 40), (40, 6), (3, 33, 17), (300, 20), (0, 3), (3, 0))


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_running(dtype: Any, shape: tuple[int, ...]) -> None:
    for share in (0.0, 0.02):
        for x in layouts(with_nan(data(dtype, *shape), share)):
            for dim in range(-max(len(shape), 1), max(len(shape), 1)):
                for name in ("cummax", "cummin"):
                    for ours, theirs in zip(
                        getattr(op, name)(x, dim=dim), getattr(torch, name)(x, dim), strict=True
                    ):
                        same(ours, theirs)
                wide = x.double() if dtype in FLOATS else x
                for name in ("cumsum", "cumprod"):
                    ours, theirs = getattr(op, name)(x, dim=dim), getattr(torch, name)(wide, dim)
                    if dtype in FLOATS:
                        assert ours.dtype == dtype and torch.equal(ours.isnan(), theirs.isnan())
                    if dtype not in FLOATS or name == "cumsum":
                        same(ours, theirs.to(ours.dtype))


def test_zero_meets_no_overflow() -> None:
    """A product that has become 0 stays 0, whatever follows."""
    x = torch.full((100_000,), 1e30)
    x[3] = 0.0
    assert (op.cumprod(x, dim=0)[3:] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_long_sums(dtype: Any) -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(-3, 4, 200_003)).to(dtype)
    same(op.cumsum(x, dim=0), torch.cumsum(x.double(), 0).to(dtype))


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [*SHAPES, (3, 1500), (70_001,)], ids=str)
def test_sort(dtype: Any, shape: tuple[int, ...]) -> None:
    for share, descending in itertools.product((0.0, 0.02), (False, True)):
        for x in layouts(with_nan(data(dtype, *shape), share)):
            for dim in range(max(len(shape), 1)):
                values, places = op.sort(x, dim=dim, descending=descending, stable=True)
                theirs = torch.sort(x, dim=dim, descending=descending, stable=True)
                same(values, theirs.values)
                same(places, theirs.indices)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("length", [2, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512])
def test_sort_of_short_lines(dtype: Any, length: int) -> None:
    x = with_nan(data(dtype, 37, length), 0.02)
    for each, descending in itertools.product((x, x[:, ::2], x.T.contiguous().T), (False, True)):
        ours = op.sort(each, dim=1, descending=descending, stable=True)
        theirs = torch.sort(each, dim=1, descending=descending, stable=True)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16], ids=str)
def test_sort_of_many(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for shape in ((300_007,), (3, 100_003), (500, 600)):
        x = torch.from_numpy(rng.standard_normal(shape) * 1e6).to(dtype)
        for dim, descending in itertools.product(range(len(shape)), (False, True)):
            values, places = op.sort(x, dim=dim, descending=descending)
            theirs = torch.sort(x, dim=dim, descending=descending, stable=True)
            same(values, theirs.values)
            same(places, theirs.indices)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
def test_sort_of_numbers_with_few_digits(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for least, greatest in ((7, 8), (0, 200), (-3, 4), (1 << 20, (1 << 20) + 300)):
        x = torch.from_numpy(rng.integers(least, greatest, (2, 40_001))).to(dtype)
        x[1] = torch.from_numpy(rng.standard_normal(40_001) * 1e6).to(dtype)
        for descending in (False, True):
            values, places = op.sort(x, dim=1, descending=descending)
            theirs = torch.sort(x, dim=1, descending=descending, stable=True)
            same(values, theirs.values)
            same(places, theirs.indices)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_choices_among_few_of_many(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    # Repeated values, some of them many times.
    for logits in (rng.standard_normal(5003), rng.integers(0, 40, 5003) / 8, np.ones(5003)):
        x = torch.from_numpy(logits).to(dtype)
        order = torch.sort(x, descending=True, stable=True).indices
        for topk, temperature in ((2, 1.0), (50, 0.5), (900, 2.0), (3000, 1.0), (0, 0.5)):
            weights = torch.exp((x[order].double() - x.max().double()) / temperature)
            sums = torch.cumsum(weights, 0)
            most = sums[topk - 1] if topk else sums[-1]
            for chance, topp in ((0.125, 1.0), (0.5, 0.75), (0.9375, 0.5)):
                aim = chance * min(topp * sums[-1], most)
                drawn = op.random_sample(
                    x, random_val=chance, topp=topp, topk=topk, temperature=temperature
                )
                at = int((order == int(drawn)).nonzero())
                # With the tolerance of sums in another precision.
                assert sums[at] >= aim * (1 - 1e-5)
                assert at == 0 or sums[at - 1] <= aim * (1 + 1e-5)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_topk(dtype: Any) -> None:
    x = with_nan(data(dtype, 5, 40), 0.02)
    for dim, largest in itertools.product((0, 1), (False, True)):
        values, places = op.topk(x, k=3, dim=dim, largest=largest)
        wide = x.to(torch.uint8) if dtype == torch.bool else x
        same(values, torch.topk(wide, 3, dim, largest).values.to(dtype))
        same(torch.gather(x, dim, places), values)


@pytest.mark.parametrize("dtype", [d for d in ALL if d != torch.bool], ids=str)
def test_search(dtype: Any) -> None:
    sequence = torch.sort(data(dtype, 4, 30)).values
    values = with_nan(data(dtype, 4, 50, seed=1), 0.05)
    for right in (False, True):
        for ours, other in (
            (op.searchsorted(sequence, values, right=right), (sequence, values)),
            (op.searchsorted(sequence[1], values, right=right), (sequence[1], values)),
            (op.searchsorted(sequence.T.contiguous().T[2], values[1], right=right),
             (sequence[2], values[1])),
            (op.searchsorted(sequence[0], values[0, 0], right=right), (sequence[0], values[0, 0])),
            (op.searchsorted(sequence[0][:0], values, right=right), (sequence[0][:0], values)),
        ):  # fmt: skip
            same(ours, torch.searchsorted(*(t.contiguous() for t in other), right=right))
    with pytest.raises(Exception, match="values"):
        op.searchsorted(sequence, values[0])
    with pytest.raises(Exception, match="values"):
        op.searchsorted(sequence, values[:3])


def test_counting() -> None:
    rng = np.random.default_rng(0)
    for dtype, size in itertools.product(
        (torch.int32, torch.int64, torch.uint8, torch.int8), (0, 5, 100_003)
    ):
        x = torch.from_numpy(rng.integers(0, 50, size)).to(dtype)
        same(op.bincount(x, length=50), torch.bincount(x, minlength=50))
        for kind in (torch.float32, torch.float64):
            w = torch.from_numpy(rng.integers(0, 9, size)).to(kind)
            same(op.bincount(x, w, length=50), torch.bincount(x, w, minlength=50).to(kind))
    x = torch.tensor([-1, 0, 3, 3, 99, 4])
    assert op.bincount(x, length=4).tolist() == [1, 0, 0, 2]
    assert op.bincount(x, length=0).tolist() == []
    with pytest.raises(Exception, match="length"):
        op.bincount(x, length=-1, out=torch.empty(0, dtype=torch.int64))
