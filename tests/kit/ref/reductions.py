"""Reductions and scans."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from .tensor import bool_, define, float64, int64, raw, widened


class Found(NamedTuple):
    values: Any
    indices: Any


class Extremes(NamedTuple):
    min: Any
    max: Any


def _axis(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def _simple(name: str, function: Any, keep: bool = False) -> None:
    def call(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return np.asarray(function(x, axis=_axis(dim), keepdims=keepdim))

    call.__name__ = name
    define(keep=keep)(call)


_simple("sum", np.sum)
_simple("prod", np.prod)
_simple("mean", np.mean)
_simple("amax", np.max, keep=True)
_simple("amin", np.min, keep=True)
_simple("nansum", np.nansum)
_simple("nanmean", np.nanmean)
_simple("logsumexp", special.logsumexp)
_simple("all", lambda x, **where: np.all(x != 0, **where))
_simple("any", lambda x, **where: np.any(x != 0, **where))


@raw
def all_(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    made = np.all(x != 0, axis=_axis(dim), keepdims=keepdim)
    return np.asarray(made, np.uint8 if x.dtype == np.uint8 else bool_)


@raw
def any_(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    made = np.any(x != 0, axis=_axis(dim), keepdims=keepdim)
    return np.asarray(made, np.uint8 if x.dtype == np.uint8 else bool_)


def _found(x: Any, places: Any, dim: int, keepdim: bool) -> Any:
    """Elements of lines along dim and their indices."""
    if x.ndim == 0:
        return Found(x, np.zeros((), int64))
    places = np.expand_dims(places, dim)
    values = np.take_along_axis(x, places, dim)
    if keepdim:
        return Found(values, places)
    return Found(values.squeeze(dim), places.squeeze(dim))


def _extreme(name: str, places: Any, whole: Any, pairs: Any) -> None:
    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, np.ndarray):
            return np.asarray(pairs(x, dim))
        if dim is None:
            return np.asarray(whole(widened(x))).astype(x.dtype)
        return _found(x, places(widened(x), axis=dim), dim, keepdim)

    call.__name__ = name
    raw(call)


_extreme("max", np.argmax, np.max, np.maximum)
_extreme("min", np.argmin, np.min, np.minimum)


@raw
def aminmax(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    made = (f(widened(x), axis=dim, keepdims=keepdim) for f in (np.min, np.max))
    return Extremes(*(np.asarray(each).astype(x.dtype) for each in made))


@define()
def argmax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return np.asarray(np.argmax(x, dim, keepdims=keepdim))


@define()
def argmin(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return np.asarray(np.argmin(x, dim, keepdims=keepdim))


@define()
def count_nonzero(x: Any, dim: Any = None) -> Any:
    return np.asarray(np.count_nonzero(x, axis=_axis(dim)), int64)


# ---- Moments ------------------------------------------------------------------------------------


def _variance(x: Any, dim: Any, unbiased: Any, correction: Any, keepdim: bool) -> Any:
    less = correction if correction is not None else (1 if unbiased in (None, True) else 0)
    return np.var(x, axis=_axis(dim), ddof=less, keepdims=keepdim)


def _moments(name: str, root: bool, with_mean: bool) -> None:
    def call(
        x: Any,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        made = np.asarray(_variance(x, dim, unbiased, correction, keepdim))
        made = np.sqrt(made) if root else made
        mean = np.asarray(np.mean(x, axis=_axis(dim), keepdims=keepdim))
        return (made, mean) if with_mean else made

    call.__name__ = name
    define()(call)


_moments("var", False, False)
_moments("std", True, False)
_moments("var_mean", False, True)
_moments("std_mean", True, True)


@define()
def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
    axis = _axis(dim)
    if p == "nuc":
        return np.asarray(np.sum(np.linalg.svd(x, compute_uv=False), -1))
    size = np.abs(x)
    if p in ("fro", 2):
        return np.asarray(np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdim)))
    if p == 0:
        return np.asarray(np.sum(size != 0, axis=axis, keepdims=keepdim), float64)
    if np.isinf(p):
        pick = np.max if p > 0 else np.min
        return np.asarray(pick(size, axis=axis, keepdims=keepdim))
    return np.asarray(np.sum(size**p, axis=axis, keepdims=keepdim) ** (1 / p))


@define()
def renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    size = np.sum(np.abs(x) ** p, axis=others, keepdims=True) ** (1 / p)
    return np.where(size > maxnorm, x * (maxnorm / (size + 1e-7)), x)


# ---- Running ------------------------------------------------------------------------------------


def _running(name: str, function: Any) -> None:
    def call(x: Any, dim: int) -> Any:
        return function(x, axis=dim) if x.ndim else x if x.dtype != bool_ else x.astype(int64)

    call.__name__ = name
    define()(call)


_running("cumsum", np.cumsum)
_running("cumprod", np.cumprod)
_running("logcumsumexp", np.logaddexp.accumulate)


def _running_extreme(name: str, function: Any) -> None:
    def call(x: Any, dim: int) -> Any:
        wide = widened(x)
        best = function.accumulate(wide, axis=dim)
        shape = [1] * x.ndim
        shape[dim] = -1
        places = np.where(wide == best, np.arange(x.shape[dim]).reshape(shape), -1)
        return Found(best.astype(x.dtype), np.maximum.accumulate(places, axis=dim))

    call.__name__ = name
    raw(call)


_running_extreme("cummax", np.maximum)
_running_extreme("cummin", np.minimum)


@define(keep=True)
def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [each for each in (prepend, x, append) if each is not None]
    return np.diff(np.concatenate(parts, dim), min(n, x.shape[dim] + 2), dim)


def _areas(y: Any, x: Any, dx: float, dim: int) -> Any:
    y = np.moveaxis(y, dim, -1)
    steps = dx if x is None else np.diff(x)
    return (y[..., 1:] + y[..., :-1]) / 2 * steps


@define()
def trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    return np.asarray(np.sum(_areas(y, x, dx, dim), -1))


@define()
def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    return np.asarray(np.sum(_areas(y, x, dx, dim), -1))


@define()
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    return np.moveaxis(np.cumsum(_areas(y, x, dx, dim), -1), -1, dim)


# ---- Ranks --------------------------------------------------------------------------------------


def _median(x: Any, dim: Any, keepdim: bool, skip: bool) -> Any:
    """The lower median. NaNs are sorted last; unless skipped, the result is NaN if there is one."""
    whole = dim is None
    if whole:
        x, dim = x.reshape(-1), 0
    wide = np.moveaxis(widened(x), dim, -1)
    holes = np.isnan(wide)
    order = np.argsort(wide, -1, kind="stable")
    middle = np.maximum((~holes).sum(-1) - 1, 0) // 2 if skip else (wide.shape[-1] - 1) // 2
    middle = np.broadcast_to(middle, wide.shape[:-1])
    places = np.take_along_axis(order, middle[..., None], -1)[..., 0]
    if not skip:
        places = np.where(holes.any(-1), np.argmax(holes, -1), places)
    found = _found(x, places, dim, keepdim)
    return found.values if whole else found


@raw
def median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _median(x, dim, keepdim, False)


@raw
def nanmedian(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return _median(x, dim, keepdim, True)


@define()
def quantile(
    x: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    return np.asarray(np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation))


@define()
def nanquantile(
    x: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    return np.asarray(np.nanquantile(x, q, axis=dim, keepdims=keepdim, method=interpolation))


@raw
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element (the smallest of ties), and its last index."""
    lines = np.moveaxis(x, dim, -1)
    places = np.empty(lines.shape[:-1], int64)
    for at in np.ndindex(places.shape):
        values, counts = np.unique(lines[at], return_counts=True)
        places[at] = np.flatnonzero(lines[at] == values[np.argmax(counts)])[-1]
    return _found(x, places, dim, keepdim)
