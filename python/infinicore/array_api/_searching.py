"""Searching, sorting, and sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import infinicore
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import common, result_type
from infinicore.array_api._manipulation import axes_of

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest element; the first one of equal elements."""
    return _extreme("argmax", x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element; the first one of equal elements."""
    return _extreme("argmin", x, axis, keepdims)


def _extreme(name: str, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    find = getattr(infinicore, name)
    if axis is not None:
        return find(x, axis, keepdims)  # type: ignore[no-any-return]
    made: Tensor = find(x.reshape(-1), 0)
    return made.reshape((1,) * x.ndim) if keepdims else made


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not 0, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: x has no dimensions: expected 1 or more")
    return tuple(infinicore.nonzero(x if not x.dtype.is_complex else x != 0, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """The positions at which numbers would be inserted into a sorted array: before equal ones
    (`left`) or after them."""
    kind = result_type(x1, x2)
    row = x1.to(kind)
    if sorter is not None:
        row = infinicore.index_select(row, 0, sorter.to(infinicore.int64))
    values = x2.to(kind) if isinstance(x2, Tensor) else x2
    return infinicore.searchsorted(row.contiguous(), values, side=side)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of x1 where a condition is true, of x2 elsewhere."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        x1 = infinicore.tensor(x1, device=condition.device)
        x2 = infinicore.tensor(x2, device=condition.device)
    x1, x2 = common("where", x1, x2)
    kind = result_type(x1, x2)
    one, two = (
        each if isinstance(each, Tensor) else infinicore.tensor(each, dtype=kind)
        for each in (x1, x2)
    )
    return infinicore.where(condition, one.to(condition.device), two.to(condition.device))  # type: ignore[no-any-return]


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements sorted along an axis."""
    (at,) = axes_of("sort", axis, x.ndim)
    return infinicore.sort(x, at, descending, stable).values  # type: ignore[no-any-return]


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that sort the elements along an axis."""
    (at,) = axes_of("argsort", axis, x.ndim)
    return infinicore.argsort(x, at, descending, stable)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Whether each element of x1 is in x2; with `invert`, whether it is not."""
    one, two = common("isin", x1, x2)
    if not isinstance(one, Tensor):
        one = infinicore.tensor(one, dtype=two.dtype, device=two.device)
    if not isinstance(two, Tensor):
        two = infinicore.tensor(two, dtype=one.dtype, device=one.device)
    found = infinicore.isin(one, two)
    return infinicore.logical_not(found) if invert else found


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements, the index of the first occurrence of each, the inverse indices, and
    the counts."""
    flat = x.reshape(-1)
    if not flat.numel():
        none = infinicore.empty(0, dtype=infinicore.int64, device=x.device)
        return UniqueAll(flat.clone(), none, none.reshape(x.shape), none.clone())
    order = _order(flat)
    row = infinicore.index_select(flat, 0, order)
    size = flat.numel()
    new = infinicore.ones(size, dtype=infinicore.bool, device=x.device)
    if size > 1:
        infinicore.ne(row[1:], row[:-1], out=new[1:])
    starts = infinicore.nonzero(new).reshape(-1)
    ends = infinicore.cat([starts[1:], infinicore.full((1,), size, device=x.device)])
    number = infinicore.cumsum(new.to(infinicore.int64), 0) - 1
    inverse = infinicore.zeros(size, dtype=infinicore.int64, device=x.device)
    inverse = infinicore.scatter(inverse, 0, order, number)
    firsts = infinicore.index_select(order, 0, starts)
    values = infinicore.index_select(row, 0, starts)
    return UniqueAll(values, firsts, inverse.reshape(x.shape), ends - starts)


def _order(row: Tensor) -> Tensor:
    """The indices that sort elements so that equal ones are adjacent; complex ones by their
    parts."""
    if not row.dtype.is_complex:
        return infinicore.argsort(row, 0, False, True)
    first = infinicore.argsort(infinicore.imag(row).contiguous(), 0, False, True)
    real = infinicore.index_select(infinicore.real(row).contiguous(), 0, first)
    return infinicore.index_select(first, 0, infinicore.argsort(real, 0, False, True))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements, and their counts."""
    made = unique_all(x)
    return UniqueCounts(made.values, made.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements, and the inverse indices."""
    made = unique_all(x)
    return UniqueInverse(made.values, made.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Distinct elements."""
    return unique_all(x).values
