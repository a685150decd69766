"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import common
from infinicore.functions._checks import need_rank

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Batched matrix products; one-dimensional arrays are rows and columns."""
    one, two = common("matmul", x1, x2)
    if not one.ndim or not two.ndim:
        raise ValueError("matmul: an array has no dimensions: expected 1 or more")
    return infinicore.matmul(one, two)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The transposed matrices: the last two axes exchanged."""
    need_rank("matrix_transpose", "x", x, 2, or_more=True, error=ValueError)
    return x.transpose(-2, -1)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Sums of products over several axes: the last of x1 and the first of x2, or those named."""
    one, two = common("tensordot", x1, x2)
    return infinicore.tensordot(one, two, axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Dot products of the vectors along an axis; x1 is conjugated."""
    one, two = common("vecdot", x1, x2)
    if one.shape[axis] != two.shape[axis]:
        raise ValueError(
            f"vecdot: axis {axis} has sizes {one.shape[axis]} and {two.shape[axis]}: expected one"
        )
    return infinicore.linalg.vecdot(one, two, dim=axis)
