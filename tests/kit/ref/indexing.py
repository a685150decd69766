"""Indexing, scattering, sorting and counting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .reductions import Found
from .tensor import FUNCTIONS, Tensor, cast, int32, int64, raw, widened

# ---- Chosen -------------------------------------------------------------------------------------


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """The positions given by `index`: its elements along dim, its own positions elsewhere."""
    places = list(np.indices(index.shape))
    places[dim] = index
    return tuple(places)


@raw
def gather(x: Any, dim: int, index: Any) -> Any:
    if x.ndim == 0:
        return np.broadcast_to(x, index.shape).copy()
    return x[_along(index, dim)]


@raw
def index_select(x: Any, dim: int, index: Any) -> Any:
    return np.take(x, index, dim)


@raw
def take(x: Any, index: Any) -> Any:
    return np.asarray(x.reshape(-1)[index])


@raw
def take_along_dim(x: Any, index: Any, dim: int | None = None) -> Any:
    if dim is None:
        return x.reshape(-1)[index.reshape(-1)]
    dim %= x.ndim
    sizes = np.broadcast_shapes(*((*s[:dim], 1, *s[dim + 1 :]) for s in (x.shape, index.shape)))
    x, index = (
        np.broadcast_to(each, sizes[:dim] + each.shape[dim : dim + 1] + sizes[dim + 1 :])
        for each in (x, index)
    )
    return np.take_along_axis(x, index, dim)


@raw
def masked_select(x: Any, mask: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


@raw
def nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    found = np.nonzero(x)
    return found if as_tuple else np.stack(found, -1)


@raw
def argwhere(x: Any) -> Any:
    return np.argwhere(x)


@raw
def one_hot(x: Any, num_classes: int = -1) -> Any:
    count = int(x.max()) + 1 if num_classes < 0 else num_classes
    return (x[..., None] == np.arange(count)).astype(int64)


# ---- Written ------------------------------------------------------------------------------------

_UPDATES: dict[str, Any] = {
    "sum": (np.add, 0),
    "add": (np.add, 0),
    "prod": (np.multiply, 1),
    "multiply": (np.multiply, 1),
    "amax": (np.maximum, None),
    "amin": (np.minimum, None),
    "mean": (np.add, 0),
}


def _updated(x: Any, places: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    """x with src combined into it at places, computed wide."""
    made, values = widened(x), widened(src)
    update, neutral = _UPDATES[reduce]
    if not include_self:
        lowest = {"amax": -np.inf, "amin": np.inf}.get(reduce, neutral)
        made = made.astype(np.float64)
        made[places] = lowest
    update.at(made, places, values)
    if reduce == "mean":
        counts = np.full(x.shape, int(include_self))
        np.add.at(counts, places, 1)
        total = np.maximum(counts, 1)
        made = made / total if x.dtype.kind not in "iu" else made // total
    return cast(made, x.dtype)


def _part(src: Any, index: Any) -> Any:
    if not isinstance(src, np.ndarray):
        return np.full(index.shape, src)
    return src[tuple(slice(0, size) for size in index.shape)]


@raw
def scatter(
    x: Any, dim: int, index: Any, src: Any = None, *, reduce: Any = None, **more: Any
) -> Any:
    src = _part(more["value"] if src is None else src, index)
    if reduce:
        return _updated(x, _along(index, dim), src, reduce)
    made = x.copy()
    made[_along(index, dim)] = src
    return made


@raw
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    return _updated(x, _along(index, dim), _part(src, index), "sum")


@raw
def scatter_reduce(
    x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    return _updated(x, _along(index, dim), _part(src, index), reduce, include_self)


def _lines(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * x.ndim
    key[dim] = index
    return tuple(key)


@raw
def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    return _updated(x, _lines(x, dim, index), widened(source) * alpha, "sum")


@raw
def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    made = x.copy()
    made[_lines(x, dim, index)] = source
    return made


@raw
def index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    return _updated(x, _lines(x, dim, index), source, reduce, include_self)


@raw
def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    made = x.copy()
    made[_lines(x, dim, index)] = value
    return made


@raw
def index_put(x: Any, indices: Any, values: Any) -> Any:
    made = x.copy()
    made[tuple(indices)] = values
    return made


@raw
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    made = x.copy()
    mask = np.broadcast_to(mask, x.shape)
    made[mask] = source.reshape(-1)[: mask.sum()]
    return made


# ---- Sorted -------------------------------------------------------------------------------------


def _order(x: Any, dim: int, descending: bool) -> Any:
    """Stable. A descending sort sorts the reversed line, so that equal elements keep their
    order."""
    wide = widened(x)
    if not descending:
        return np.argsort(wide, dim, kind="stable")
    mirrored = np.flip(np.argsort(np.flip(wide, dim), dim, kind="stable"), dim)
    return x.shape[dim] - 1 - mirrored


@raw
def sort(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = True) -> Any:
    order = _order(x, dim, descending)
    return Found(np.take_along_axis(x, order, dim), order)


@raw
def argsort(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = True) -> Any:
    return _order(x, dim, descending)


@raw
def msort(x: Any) -> Any:
    return np.take_along_axis(x, _order(x, 0, False), 0)


@raw
def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    order = np.take(_order(x, dim, largest), np.arange(k), dim)
    return Found(np.take_along_axis(x, order, dim), order)


@raw
def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    order = np.take(_order(x, dim, False), [k - 1], dim)
    found = np.take_along_axis(x, order, dim)
    if keepdim:
        return Found(found, order)
    return Found(found.squeeze(dim), order.squeeze(dim))


@raw
def searchsorted(rows: Any, values: Any, *, right: bool = False) -> Any:
    side = "right" if right else "left"
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side)
    return np.stack([np.searchsorted(r, v, side) for r, v in zip(rows, values, strict=True)])


@raw
def bucketize(x: Any, bounds: Any, *, right: bool = False, out_int32: bool = False) -> Any:
    made = np.searchsorted(bounds, x, "right" if right else "left")
    return np.asarray(made, int32 if out_int32 else int64)


@raw
def isin(x: Any, test: Any, *, invert: bool = False) -> Any:
    return np.isin(widened(x), widened(test), invert=invert)


# ---- Counted ------------------------------------------------------------------------------------


@raw
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    made = np.bincount(x, weights, minlength)
    return made if weights is None else made.astype(weights.dtype)


class Histogram(NamedTuple):
    hist: Any
    bin_edges: Any


@raw
def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    limits = (min, max) if min != max else (x.min(), x.max())
    return np.histogram(x, bins, limits)[0].astype(x.dtype)


@raw
def histogram(x: Any, bins: int, *, range: Any = None) -> Any:
    hist, edges = np.histogram(x, bins, range)
    return Histogram(hist.astype(x.dtype), edges.astype(x.dtype))


def _chosen(values: Any, inverse: Any, counts: Any, wants: tuple[bool, bool]) -> Any:
    made = [
        values,
        *(e for e, is_wanted in zip((inverse, counts), wants, strict=True) if is_wanted),
    ]
    return tuple(made) if len(made) > 1 else values


@raw
def unique(
    x: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    _, first, inverse, counts = np.unique(widened(x), True, True, True, axis=dim)
    values = x.reshape(-1)[first] if dim is None else np.take(x, first, dim)
    inverse = inverse.reshape(x.shape if dim is None else -1)
    return _chosen(values, inverse, counts, (return_inverse, return_counts))


@raw
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    lines = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    starts = np.concatenate([[True], np.any(lines[1:] != lines[:-1], 1)])
    first = np.flatnonzero(starts)
    counts = np.diff(np.append(first, len(lines)))
    values = x.reshape(-1)[first] if dim is None else np.take(x, first, dim)
    inverse = (np.cumsum(starts) - 1).reshape(x.shape if dim is None else -1)
    return _chosen(values, inverse, counts, (return_inverse, return_counts))


def equal(x: Tensor, y: Tensor) -> bool:
    return x.shape == y.shape and bool(np.all(x.array == y.array))


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return np.allclose(widened(x.array), widened(y.array), rtol, atol, equal_nan)


FUNCTIONS |= {"equal": equal, "allclose": allclose}
