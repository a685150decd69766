"""Norms and factors under the names that torch had before `linalg`."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_tensor


def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The square root of the sum of squares over one or two dimensions; over all without `dim`.

    >>> infinicore.frobenius_norm(infinicore.tensor([[3., 4.]]))
    tensor(5.)
    """
    need_tensor("frobenius_norm", "input", input)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    expect(len(dims) <= 2, "frobenius_norm", "dim", dims, "2 dimensions at most", RuntimeError)
    return infinicore.linalg.vector_norm(input, 2, dims or None, keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices.

    >>> infinicore.nuclear_norm(infinicore.eye(2)).round()
    tensor(2.)
    """
    need_tensor("nuclear_norm", "input", input)
    if isinstance(dim, bool):  # torch's older form has no dim
        dim, keepdim = (-2, -1), dim
    return infinicore.linalg.matrix_norm(input, "nuc", tuple(dim), keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions except one; they are kept with size 1. Over all if `dim` is -1.

    >>> infinicore.norm_except_dim(infinicore.tensor([[3., 4.], [0., 1.]]))
    tensor([[5.],
            [1.]])
    """
    need_tensor("norm_except_dim", "v", v)
    if dim == -1:
        return infinicore.linalg.vector_norm(v, pow)
    kept = dim_of("norm_except_dim", v, dim)
    others = tuple(each for each in range(v.ndim) if each != kept)
    return infinicore.linalg.vector_norm(v, pow, others, True)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Both triangular factors in one matrix, and the row exchanges; with `get_infos` also the index
    of a zero pivot.

    >>> infinicore.lu(infinicore.tensor([[2.]]))[0]
    tensor([[2.]])
    """
    need_tensor("lu", "A", A)
    factored = infinicore.linalg.lu_factor_ex if get_infos else infinicore.linalg.lu_factor
    made = tuple(factored(A, pivot=pivot))
    if out is None:
        return made
    for one, each in zip(out, made, strict=True):
        one.copy_(each)
    return out
