"""Reductions: sums, extremes, variances, distances."""

from __future__ import annotations

import math

from ...language import expression as fn
from ...language.expression import Array
from ...language.folds import (
    extent,
    fold_all,
    fold_any,
    fold_max,
    fold_mean,
    fold_min,
    fold_prod,
    fold_sum,
)
from ...language.model import operator

# Dimensions are given when the operator is described, and once more when it runs.
_DIMS = "size_t *dim[dim_size], size_t dim_size"


@operator(
    f"Sum(output_desc, input_desc, {_DIMS}, bool keepdim)"
    f" -> (!output, input, {_DIMS}, bool keepdim)",
    """
    out output +input     [*S, -dim]
    input      F+|I*|BOOL [*S]
    """,
    complex_as="parts",
)
def sum(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The sum over the listed dimensions. Integers wrap."""
    return fold_sum(input, axis=dim)


@operator(
    f"NanSum(!output, input, {_DIMS}, bool keepdim)",
    """
    out output =input [*S, -dim]
    input      F+     [*S]
    """,
)
def nansum(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The sum over the listed dimensions of what is not NaN."""
    return fold_sum(fn.where(fn.isnan(input), 0.0, input), axis=dim)


@operator(
    f"Prod(!output, input, {_DIMS}, bool keepdim)",
    """
    out output +input     [*S, -dim]
    input      F+|I*|BOOL [*S]
    """,
)
def prod(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The product over the listed dimensions. Integers wrap."""
    return fold_prod(input, axis=dim)


@operator(
    f"Mean(!output, input, {_DIMS}, bool keepdim)",
    """
    out output F+      [*S, -dim]
    input      =output [*S]
    """,
    complex_as="parts",
)
def mean(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The mean over the listed dimensions; NaN if they are empty."""
    return fold_mean(input, axis=dim)


_EXTREME = """
    out output F+|I*|BOOL [*S, -dim]
    input      =output    [*S]
"""


@operator(
    f"Amax(!output, input, {_DIMS}, bool keepdim)",
    _EXTREME,
    where="extent(S, dim) > 0",
    public="""
    amax(input, dim=None, keepdim=False)
        The largest element over dimensions; NaN if one is.

        >>> infinicore.amax(infinicore.tensor([[1, 5], [7, 2]]), 0)
        tensor([7, 5])
    """,
)
def amax(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The largest element over the listed dimensions. A NaN wins."""
    return fold_max(input, axis=dim)


@operator(
    f"Amin(!output, input, {_DIMS}, bool keepdim)",
    _EXTREME,
    where="extent(S, dim) > 0",
    public="""
    amin(input, dim=None, keepdim=False)
        The smallest element over dimensions; NaN if one is.

        >>> infinicore.amin(infinicore.tensor([[1, 5], [7, 2]]), 0)
        tensor([1, 2])
    """,
)
def amin(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The smallest element over the listed dimensions. A NaN wins."""
    return fold_min(input, axis=dim)


def _place(input: Array, dim: list[int], best: str) -> Array:
    """Where in the row-major order of the listed dimensions the best element stands."""
    import numpy as np

    listed = sorted(dim)
    kept = [d for d in range(input.ndim) if d not in listed]
    sizes = [math.prod(input.shape[d] for d in listed)]
    rows = np.transpose(input, kept + listed).reshape([input.shape[d] for d in kept] + sizes)
    found = getattr(np, best)(rows, axis=-1)  # the first one; a NaN wins
    return found.reshape([1 if d in listed else size for d, size in enumerate(input.shape)])


_PLACE = """
    out output I64        [*S, -dim]
    input      F+|I*|BOOL [*S]
"""


@operator(
    f"ArgMax(!output, input, {_DIMS}, bool keepdim)",
    _PLACE,
    where="extent(S, dim) > 0",
    kernel=True,
    public="""
    argmax(input, dim: int | None=None, keepdim=False)
        Where the largest element is: in one dimension, or among all in order.

        >>> infinicore.argmax(infinicore.tensor([3, 7, 5]))
        tensor(1)
    """,
)
def argmax(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The index of the largest element over the listed dimensions, in the row-major order of these:
    the first of equal ones, and the first NaN if there is one."""
    return _place(input, dim, "argmax")


@operator(
    f"ArgMin(!output, input, {_DIMS}, bool keepdim)",
    _PLACE,
    where="extent(S, dim) > 0",
    kernel="argmax",
    public="""
    argmin(input, dim: int | None=None, keepdim=False)
        Where the smallest element is: in one dimension, or among all in order.

        >>> infinicore.argmin(infinicore.tensor([3, 7, 2]))
        tensor(2)
    """,
)
def argmin(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """The index of the smallest element over the listed dimensions, in the row-major order of
    these: the first of equal ones, and the first NaN if there is one."""
    return _place(input, dim, "argmin")


@operator(
    f"All(output_desc, input_desc, {_DIMS}, bool keepdim)"
    f" -> (!output, input, {_DIMS}, bool keepdim)",
    """
    out output BOOL       [*S, -dim]
    input      F+|I*|BOOL [*S]
    """,
    complex_as="truths",
)
def all(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """Whether all elements over the listed dimensions are true, that is not 0."""
    return fold_all(fn.negate(fn.equal(input, 0)), axis=dim)


@operator(
    f"Any(!output, input, {_DIMS}, bool keepdim)",
    """
    out output BOOL       [*S, -dim]
    input      F+|I*|BOOL [*S]
    """,
    complex_as="truths",
)
def any(input: Array, *, dim: list[int], dim_size: int, keepdim: bool) -> Array:
    """Whether an element over the listed dimensions is true, that is not 0."""
    return fold_any(fn.negate(fn.equal(input, 0)), axis=dim)


def _variance(x: Array, mean: Array, dim: list[int], unbiased: bool) -> Array:
    away = x - mean
    count = fn.maximum(extent(x, dim) - unbiased, 0)  # 0: there is no variance, it is NaN
    return fold_sum(away * away, axis=dim) / count


@operator(
    f"Var(var_output_desc, input_desc, {_DIMS}, bool unbiased, bool keepdim)"
    f" -> (!var_output, input, {_DIMS}, bool unbiased, bool keepdim)",
    """
    out var_output F+          [*S, -dim]
    input          =var_output [*S]
    """,
)
def var(input: Array, *, dim: list[int], dim_size: int, unbiased: bool, keepdim: bool) -> Array:
    """The variance over the listed dimensions: of n elements divided by n, or by n - 1 when
    `unbiased`. NaN if the divisor is 0."""
    return _variance(input, fold_mean(input, axis=dim), dim, unbiased)


@operator(
    f"VarMean(var_output_desc, mean_output_desc, input_desc, {_DIMS}, bool unbiased, bool keepdim)"
    f" -> (!var_output, !mean_output, input, {_DIMS}, bool unbiased, bool keepdim)",
    """
    out var_output  F+          [*S, -dim]
    out mean_output =var_output [*S, -dim]
    input           =var_output [*S]
    """,
)
def var_mean(
    input: Array, *, dim: list[int], dim_size: int, unbiased: bool, keepdim: bool
) -> tuple[Array, Array]:
    """The variance as `var` has it, and the mean."""
    mean = fold_mean(input, axis=dim)
    return _variance(input, mean, dim, unbiased), mean


@operator(
    "Dot(!y, a, b)",
    """
    out y F+ [] or [1]
    a     =y [N]
    b     =y [N]
    """,
    complex_as="product",
)
def dot(a: Array, b: Array) -> Array:
    """The inner product of two vectors."""
    return fold_sum(a * b, axis="all")


def _norm(difference: Array, p: float, axis: int | None) -> Array:
    """The p-norm: the number of nonzero elements for p = 0, the largest absolute value for p =
    inf."""
    import numpy as np

    size = np.abs(difference)
    with np.errstate(all="ignore"):
        if p == 0:
            return np.where(np.isnan(size), size, size > 1e-10).sum(axis=axis)
        if np.isinf(p):
            return size.max(axis=axis, initial=0.0)
        return (size**p).sum(axis=axis) ** (1 / p)


@operator(
    "Dist(!y, x1, x2, double p)",
    """
    out y F+ [] or [1]
    x1    =y [*S]
    x2    =y [*S]
    """,
    where="p >= 0",
    kernel=True,
)
def dist(x1: Array, x2: Array, *, p: float) -> Array:
    """The p-norm of x1 - x2, all elements together. p = 0 counts the differences above 1e-10,
    p = inf takes the largest."""
    return _norm(x1 - x2, p, None)


@operator(
    "Cdist(!y_desc, x1_desc, x2_desc, double p)",
    """
    out y F  [*B, P, R]
    x1    =y [~B, P, D]
    x2    =y [~B, R, D]
    """,
    where="p >= 0",
    kernel=True,
)
def cdist(x1: Array, x2: Array, *, p: float) -> Array:
    """The p-norms of the differences of each row of x1 and each row of x2. What stands before the
    rows is broadcast."""
    return _norm(x1[..., :, None, :] - x2[..., None, :, :], p, -1)
