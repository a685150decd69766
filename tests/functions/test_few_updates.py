"""Updates of few elements by index, against loops over them: short lines, and lines with many more
elements than updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore

FOLDS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.fmax, "amin": np.fmin}
KINDS = ("float16", "bfloat16", "float32", "int32", "uint8")


def folded(x: Any, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    made = x.copy()
    for line, rows, updates in zip(made, index, source, strict=True):
        for row in set(rows.tolist()):
            terms = updates[rows == row].tolist()
            terms = [line[row], *terms] if include_self else terms
            total = terms[0]
            for term in terms[1:]:
                total = FOLDS[reduce](total, term)
            line[row] = total // len(terms) if reduce == "mean" else total
    return made


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", FOLDS)
@pytest.mark.parametrize(
    "sizes", [(700, 1, 3), (300, 3, 18), (40, 4, 2), (5, 9, 400), (2, 300, 4000), (1, 1, 1)]
)
def test_scatter_reduce(sizes: tuple[int, int, int], reduce: str, include_self: bool) -> None:
    lines, count, rows = sizes
    random = np.random.default_rng(rows)
    index = random.integers(0, rows, (lines, count))
    x, source = random.integers(1, 4, (lines, rows)), random.integers(1, 3, (lines, count))
    wanted = folded(x, index, source, reduce, include_self)
    for name in KINDS:
        kind = getattr(infinicore, name)
        if reduce == "mean" and kind.is_floating_point:
            continue
        for turned in (False, True):
            given = [
                infinicore.tensor(each.T.copy()).T if turned else infinicore.tensor(each)
                for each in (x, source)
            ]
            ours, updates = (each.to(kind) for each in given)
            made = infinicore.scatter_reduce(
                ours, 1, infinicore.tensor(index), updates, reduce, include_self=include_self
            )
            assert made.dtype is kind
            rounded = infinicore.tensor(wanted.astype(np.float64)).to(kind)
            assert bool((made == rounded).all())


def test_means_are_rounded_once() -> None:
    x = infinicore.tensor(np.zeros((3, 900), np.float32)).to(infinicore.float16)
    index = infinicore.tensor(np.array([[7] * 3] * 3))
    ones = infinicore.tensor(np.array([[2048.0, 1.0, 1.0]] * 3, np.float32)).to(infinicore.float16)
    made = infinicore.scatter_add(x, 1, index, ones)
    assert made[:, 7].tolist() == [2050.0] * 3
    made = infinicore.scatter_reduce(x, 1, index, ones, "mean", include_self=False)
    assert made[0, 7].item() == float(np.float16(2050 / 3))
    assert made[:, 8:].abs().sum().item() == 0


@pytest.mark.parametrize("width", [1, 3, 700])
@pytest.mark.parametrize("count", [0, 1, 6, 90])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_by_index(dim: int, count: int, width: int) -> None:
    random = np.random.default_rng(count)
    sizes, rows = ([800, width], 800) if dim == 0 else ([2, 800, width], 800)
    index = random.integers(0, rows // 4, count)
    x = random.integers(1, 4, sizes)
    source = random.integers(1, 3, [*sizes[:dim], count, *sizes[dim + 1 :]])
    at = (slice(None),) * dim
    for name in ("float16", "float32", "int64", "uint8"):
        kind = getattr(infinicore, name)
        ours, updates = (infinicore.tensor(each).to(kind) for each in (x, source))
        given = (ours, dim, infinicore.tensor(index.astype(np.int64)), updates)
        wanted = x.copy()
        np.add.at(wanted, (*at, index), source)
        assert np.array_equal(infinicore.index_add(*given).numpy(force=True), wanted)
        wanted = x.copy()
        wanted[(*at, index)] = source
        assert np.array_equal(infinicore.index_copy(*given).numpy(force=True), wanted)
        wanted[(*at, index)] = 0
        np.maximum.at(wanted, (*at, index), source)
        made = infinicore.index_reduce(*given, "amax", include_self=False)
        assert np.array_equal(made.numpy(force=True), wanted)
        ours.index_add_(*given[1:])
        wanted = x.copy()
        np.add.at(wanted, (*at, index), source)
        assert np.array_equal(ours.numpy(force=True), wanted)
