"""LU factors with row exchanges, and linear equations solved with them."""

from __future__ import annotations

from array import array
from typing import Any

import infinicore
from infinicore import _core, return_types
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions.linalg import packed
from infinicore.functions.linalg.eig import lu_factor as _lu_factor
from infinicore.linalg._matrices import adjoint as _adjoint
from infinicore.linalg._matrices import into, matrices
from infinicore.linalg._solvers import LinAlgError, first_zero, solve_triangular

__all__ = [
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
]


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L, without its unit diagonal, and U in one matrix, and the row exchanges, counted from 1.

    >>> infinicore.linalg.lu_factor(infinicore.eye(2)).pivots
    tensor([1, 2], dtype=infinicore.int32)
    """
    if not pivot:
        raise RuntimeError("lu_factor: pivot is False: expected True")
    return into(out, return_types.linalg_lu_factor(*_lu_factor(matrices("lu_factor", A))))


def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """Like `lu_factor`, with the index, counted from 1, of the first zero on U's diagonal; 0 if
    there is none.

    >>> infinicore.linalg.lu_factor_ex(infinicore.eye(2)).info
    tensor(0, dtype=infinicore.int32)
    """
    lu, pivots = lu_factor(A, pivot=pivot)
    info = first_zero(lu)
    if check_errors and bool(info.any()):
        raise LinAlgError("lu_factor_ex: a matrix is singular")
    return into(out, return_types.linalg_lu_factor_ex(lu, pivots, info))


def permutation(pivots: Tensor, rows: int) -> Tensor:
    """The permutation from pivots: row i of the result is row permutation[i]."""
    if pivots.device.type == "cpu" and pivots.numel() and not _core.is_recording():
        return _order_of(pivots, rows)
    order = infinicore.arange(rows, device=pivots.device).expand(*pivots.shape[:-1], rows).clone()
    for k in range(pivots.shape[-1]):
        other = (pivots[..., k : k + 1] - 1).to(infinicore.int64)
        one, two = order[..., k : k + 1].clone(), infinicore.gather(order, -1, other)
        order = infinicore.scatter(order, order.ndim - 1, other, one)
        order[..., k : k + 1] = two
    return order


def _order_of(pivots: Tensor, rows: int) -> Tensor:
    """The same on the host."""
    orders = array("q")
    for swaps in pivots.reshape((-1, pivots.shape[-1])).tolist():
        order = list(range(rows))
        for k, other in enumerate(swaps):
            if other != k + 1:
                order[k], order[other - 1] = order[other - 1], order[k]
        orders.extend(order)
    made = infinicore.frombuffer(orders, dtype=infinicore.int64)
    return made.reshape((*pivots.shape[:-1], rows))


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """A = P @ L @ U: a permutation, a unit lower and an upper triangular matrix.

    >>> infinicore.linalg.lu(infinicore.eye(2)).L
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not pivot:
        raise RuntimeError("lu: pivot is False: expected True")
    A = matrices("lu", A)
    if A.numel() and not A.dtype.is_complex:
        return into(out, _lu_by_kernels(A))
    return into(out, unpacked(*_lu_factor(A)))


@traced
def _lu_by_kernels(A: Tensor) -> Any:
    return return_types.linalg_lu(*packed.lu_unpack(*_lu_factor(A)))


def unpacked(LU: Tensor, pivots: Tensor) -> Any:
    """P, L and U from the results of `lu_factor`."""
    count = min(LU.shape[-2:])
    if pivots.shape[-1] > count:  # the others belong to no column
        pivots = pivots[..., :count]
    if packed.unpacks(LU, pivots):
        return return_types.linalg_lu(*packed.lu_unpack(LU, pivots))
    return _unpacked(LU, permutation(pivots, LU.shape[-2]))


@traced
def _unpacked(LU: Tensor, order: Tensor) -> Any:
    m, n = LU.shape[-2:]
    k = min(m, n)
    one = infinicore.eye(m, k, dtype=LU.dtype, device=LU.device)
    lower = infinicore.tril(LU[..., :k], -1) + one
    upper = infinicore.triu(LU[..., :k, :])
    rows = infinicore.eye(m, dtype=LU.dtype, device=LU.device)
    turned = infinicore.index_select(rows, 0, order.reshape(-1)).reshape((*order.shape, m))
    return return_types.linalg_lu(turned.transpose(-1, -2).contiguous(), lower, upper)


def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Any = None,
) -> Tensor:
    """The solution X of A @ X = B, given the factors of A; with the conjugate transpose of A if
    `adjoint`.

    >>> lu, pivots = infinicore.linalg.lu_factor(infinicore.eye(2))
    >>> infinicore.linalg.lu_solve(lu, pivots, infinicore.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    if packed.is_small(LU, LU.shape[-1], packed.SUBSTITUTED) and not B.dtype.is_complex:
        return into(out, packed.lu_solve(LU, pivots, B, left, adjoint))  # type: ignore[no-any-return]
    if not left:
        turned = lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint)
        return into(out, _adjoint(turned).contiguous())  # type: ignore[no-any-return]
    return into(out, _solved(LU, permutation(pivots, LU.shape[-2]), B, adjoint))  # type: ignore[no-any-return]


@traced
def _solved(LU: Tensor, order: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    shape = infinicore.broadcast_shapes(tuple(LU.shape[:-2]), tuple(B.shape[:-2]))
    B = B.expand(*shape, *B.shape[-2:])
    index = order.unsqueeze(-1).expand(*shape, order.shape[-1], B.shape[-1]).contiguous()
    if adjoint:
        y = solve_triangular(_adjoint(LU), B, upper=False)
        z = solve_triangular(_adjoint(LU), y, upper=True, unitriangular=True)
        made = infinicore.empty(z.shape, dtype=z.dtype, device=z.device)
        back = infinicore.argsort(index, -2)
        made.copy_(infinicore.gather(z, z.ndim - 2, back))
        return made
    rows = infinicore.gather(B.contiguous(), B.ndim - 2, index)
    y = solve_triangular(LU, rows, upper=False, unitriangular=True)
    return solve_triangular(LU, y, upper=True)
