"""Torch's top-level names for functions of `infinicore.linalg` and `special`."""

from __future__ import annotations

import importlib
from typing import Any

from infinicore._function import traced
from infinicore._tensor import Tensor


def _linalg() -> Any:
    # Imported on first use: its functions are composed of those of this package.
    return importlib.import_module("infinicore.linalg")


@traced
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of a matrix, given its Cholesky factor.

    >>> infinicore.cholesky_inverse(infinicore.tensor([[2.]]))
    tensor([[0.2500]])
    """
    one = importlib.import_module("infinicore").eye(
        input.shape[-1], dtype=input.dtype, device=input.device
    )
    return cholesky_solve(one.expand(*input.shape), input, upper, out=out)


@traced
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The solution X of A @ X = input, where A = L @ L.mH, or L.mH @ L if `upper`.

    >>> infinicore.cholesky_solve(infinicore.ones(1, 1), infinicore.tensor([[2.]]))
    tensor([[0.2500]])
    """
    linalg = _linalg()
    lower = L.transpose(-1, -2).conj() if upper else L
    first = linalg.solve_triangular(lower, input, upper=False)
    made = linalg.solve_triangular(lower.transpose(-1, -2).conj(), first, upper=True)
    return made if out is None else out.copy_(made)


def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """The solution X of A @ X = input, given the factors from `linalg.lu_factor`.

    >>> factors = infinicore.linalg.lu_factor(infinicore.eye(1))
    >>> infinicore.lu_solve(infinicore.ones(1, 1), *factors)
    tensor([[1.]])
    """
    return _linalg().lu_solve(LU_data, LU_pivots, input, out=out)  # type: ignore[no-any-return]


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """The permutation, L and U from the results of `linalg.lu_factor`.

    >>> len(infinicore.lu_unpack(*infinicore.linalg.lu_factor(infinicore.eye(2))))
    3
    """
    made = _linalg().unpacked(LU_data, LU_pivots)
    none = LU_data.new_empty(0)
    p, lower, upper = made
    parts = (p if unpack_pivots else none, *((lower, upper) if unpack_data else (none, none)))
    if out is None:
        return parts
    return tuple(one.copy_(two) for one, two in zip(out, parts, strict=True))


def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """`linalg.householder_product`.

    >>> infinicore.orgqr(infinicore.eye(2), infinicore.zeros(2)).shape
    infinicore.Size([2, 2])
    """
    return _linalg().householder_product(input, tau)  # type: ignore[no-any-return]


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution X of A @ X = b for triangular A, and a copy of A.

    >>> infinicore.triangular_solve(infinicore.ones(1, 1), infinicore.eye(1))[0]
    tensor([[1.]])
    """
    given = A.transpose(-1, -2) if transpose else A
    solved = _linalg().solve_triangular(
        given, b, upper=upper != transpose, unitriangular=unitriangular
    )
    return solved, A.clone()


def ger(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """`outer`.

    >>> infinicore.ger(infinicore.ones(1), infinicore.ones(1))
    tensor([[1.]])
    """
    return importlib.import_module("infinicore").outer(input, vec2, out=out)  # type: ignore[no-any-return]
