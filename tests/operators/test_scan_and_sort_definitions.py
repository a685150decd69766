"""The definitions of running values, sorting, searching and counting against torch."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .second_opinion import call, np, same, tensors, torch, uncompared, values

WILD_LINE = (1.0, math.nan, 3, 3, -math.inf, math.nan, 2, 0.0, -0.0, math.inf, 1)


def lines() -> Any:
    """Ties, infinities and NaN, in two dimensions."""
    line = np.array(WILD_LINE)
    return np.stack([line, np.roll(line, 4), np.nan_to_num(line), np.sort(line)])


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running(dim: int) -> None:
    x = lines()
    t = torch.from_numpy(x)
    for name in ("cummax", "cummin"):
        for ours, theirs in zip(call(name, x, dim=dim), getattr(torch, name)(t, dim), strict=True):
            same(ours, theirs)
    whole = (values(6, 7) * 40).astype(np.int8)
    for given in (x, whole, whole > 0):
        for name in ("cumsum", "cumprod"):
            (ours,) = call(name, given, dim=dim)
            same(ours, getattr(torch, name)(torch.from_numpy(given), dim))
    assert call("cumsum", np.array(3.0), dim=0)[0] == 3


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_order(dim: int, reverse: bool) -> None:
    for x in (lines(), (values(6, 7) * 3).astype(np.int32)):
        t = torch.from_numpy(x)
        theirs = torch.sort(t, dim=dim, descending=reverse, stable=True)
        ours = call("sort", x, dim=dim, descending=reverse, stable=True)
        same(ours[0], theirs.values)
        same(ours[1], theirs.indices)
        found, places = call("topk", x, k=2, dim=dim, largest=reverse, sorted=True)
        same(found, torch.topk(t, 2, dim, reverse).values)
        same(np.take_along_axis(x, places, dim), found)
        shape = tuple(1 if i == dim else size for i, size in enumerate(x.shape))
        shapes = {"values": shape, "indices": shape}
        found, places = call("kthvalue", x, k=3, dim=dim, keepdim=1, shapes=shapes)
        same(found, torch.kthvalue(t, 3, dim, keepdim=True).values)
        for skips, median in ((1, torch.nanmedian), (0, torch.median)):
            found, places = call("lower_median", x, skips=skips, dim=dim, keepdim=1, shapes=shapes)
            same(found, median(t, dim, keepdim=True).values)
            same(np.take_along_axis(x, places, dim), found)


@pytest.mark.parametrize("right", [False, True])
def test_search(right: bool) -> None:
    sequence = np.sort(np.nan_to_num(lines(), nan=5.0), axis=-1)
    for rows, sought in ((sequence, lines()), (sequence[0], lines()), (sequence[0], lines()[0, 0])):
        given = tensors([rows, sought])
        same(
            call("searchsorted", rows, sought, right=right)[0],
            torch.searchsorted(*given, right=right),
        )


def test_counts() -> None:
    x = np.array([3, 0, 3, 1, 7, 3])
    weights = values(6)
    assert call("bincount", x, None, length=4)[0].tolist() == [1, 1, 0, 3]
    assert call("bincount", np.array([-1, 4, 2]), None, length=3)[0].tolist() == [0, 0, 1]
    same(call("bincount", x, weights, length=8)[0], torch.bincount(*tensors([x, weights])))
    line = values(500)
    ours = call("histc", line, bins=10, min_val=-2.0, max_val=2.0)[0]
    same(ours, torch.histc(torch.from_numpy(line), 10, -2.0, 2.0))


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_counts" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    assert not uncompared("cumulative", "sort")
