"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.linalg._matrices import floats, into, matrices, real_type

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


def _dims(function: str, x: Tensor, dim: Any) -> tuple[int, ...]:
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    rank = max(x.ndim, 1)  # a tensor of no dimensions counts as a vector of one element
    for each in dims:
        if not -rank <= each < rank:
            raise IndexError(f"{function}: dim is {each}: expected one of {x.ndim} dimensions")
    return tuple(each % rank for each in dims) if x.ndim else ()


@traced
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Vector norms: the ord-th root of the sum of powers, the largest (inf) or smallest (-inf)
    absolute value, or the number of nonzero elements (0).

    >>> infinicore.linalg.vector_norm(infinicore.tensor([3., 4.]))
    tensor(5.)
    """
    x = floats(x) if dtype is None else x.to(dtype)
    kind, dims = real_type(x), _dims("vector_norm", x, dim)
    if dims and not x.dtype.is_complex:  # in one pass
        return into(out, infinicore.norm(x, float(ord), dims, keepdim))  # type: ignore[no-any-return]
    if not dims:
        made = (x != 0).to(kind) if ord == 0 else abs(x)
    elif ord == 0:
        made = infinicore.sum((x != 0).to(kind), dims, keepdim)
    elif math.isinf(ord):
        made = (infinicore.amax if ord > 0 else infinicore.amin)(abs(x), dims, keepdim)
    elif ord == 1:
        made = infinicore.sum(abs(x), dims, keepdim)
    else:
        made = _powers(abs(x), ord, dims, keepdim)
    return into(out, made.to(kind))  # type: ignore[no-any-return]


def _powers(size: Tensor, ord: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    # In float16 intermediate results would overflow or lose too much precision.
    if size.dtype in (infinicore.float16, infinicore.bfloat16):
        size = size.to(infinicore.float32)
    if ord == 2:
        return infinicore.sqrt(infinicore.sum(size * size, dims, keepdim))
    return infinicore.pow(infinicore.sum(infinicore.pow(size, ord), dims, keepdim), 1.0 / ord)


@traced
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Matrix norms: "fro", "nuc", or 1, 2, inf and their negatives.

    >>> infinicore.linalg.matrix_norm(infinicore.ones(2, 2))
    tensor(2.)
    """
    A = matrices("matrix_norm", A if dtype is None else A.to(dtype))
    rows, columns = _dims("matrix_norm", A, dim)
    expect(rows != columns, "matrix_norm", "dim", dim, "two different dimensions", RuntimeError)
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, out=out)
    if ord in ("nuc", 2, -2):
        values = infinicore.linalg.svdvals(infinicore.moveaxis(A, (rows, columns), (-2, -1)))
        if ord == "nuc":
            made = infinicore.sum(values, -1)
        elif not values.shape[-1]:
            made = infinicore.zeros(values.shape[:-1], dtype=values.dtype, device=values.device)
        else:
            made = (infinicore.amax if ord > 0 else infinicore.amin)(values, -1)
        if keepdim:
            first, second = sorted((rows, columns))
            made = made.unsqueeze(first).unsqueeze(second)
        return into(out, made)  # type: ignore[no-any-return]
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"matrix_norm: ord is {ord!r}: expected 'fro', 'nuc', 1, 2, inf or minus")
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = infinicore.sum(abs(A), summed, True)
    if A.shape[chosen]:
        made = (infinicore.amax if ord > 0 else infinicore.amin)(sums, chosen, True)
    else:
        made = infinicore.sum(sums, chosen, True)
    if not keepdim:
        for each in sorted((rows, columns), reverse=True):
            made = made.squeeze(each)
    return into(out, made)  # type: ignore[no-any-return]


@traced
def norm(
    A: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Vector norms along one dimension, or matrix norms in two.

    >>> infinicore.linalg.norm(infinicore.tensor([3., 4.]))
    tensor(5.)
    """
    if dim is None and ord is not None:
        dim = tuple(range(A.ndim))
        if len(dim) not in (1, 2):
            raise RuntimeError(f"norm: A has {A.ndim} dimensions: expected 1 or 2, or a dim")
    is_matrix = isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is not None and (isinstance(ord, str) or is_matrix):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number of matrices.

    >>> infinicore.linalg.cond(infinicore.tensor([[2., 0.], [0., 1.]]))
    tensor(2.)
    """
    A = matrices("cond", A)
    if p in (None, 2, -2):
        values = infinicore.linalg.svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return into(out, last / first if p == -2 else first / last)  # type: ignore[no-any-return]
    inverse = infinicore.linalg.inv(A)
    return into(out, matrix_norm(A, p) * matrix_norm(inverse, p))  # type: ignore[no-any-return]
