"""Operators on packed factors, and factors without vectors."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import float32, int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.linalg.linalg import _back
from infinicore.op._shapes import broadcast

__all__: list[str] = []

_REAL = ("F32", "F64")
SUBSTITUTED, REFLECTED, FACTORED = 1 << 16, 1 << 12, 1 << 20  # for is_small()


def has_kernels(x: Tensor) -> bool:
    """Whether the operators below take this tensor, and are faster than others for any size."""
    return x.device.type == "cpu" and not x.dtype.is_complex


def is_small(x: Tensor, steps: int, most: int) -> bool:
    """The same for matrices of so many rows that rows times steps is at most that number: devices
    process all steps of a matrix in one block, so that products are faster for large matrices."""
    return has_kernels(x) or (not x.dtype.is_complex and x.shape[-2] * steps <= most)


def _plain(x: Tensor) -> Tensor:
    return x if x.dtype._code in _REAL else cast_to(x, float32)


@function
def svdvals(A: Tensor) -> Tensor:
    """Singular values, the largest first."""
    return _back(emit("svdvals", _plain(A)), A)


@function
def eigvalsh(A: Tensor, UPLO: str) -> Tensor:
    """Eigenvalues of symmetric matrices, the smallest first."""
    x = _plain(A)
    return _back(emit("eigvalsh", x if UPLO == "L" else x.transpose(-1, -2)), A)


@function
def geqrf(input: Tensor) -> Any:
    """R and reflectors, and their factors."""
    a, tau = emit("geqrf", _plain(input))
    return _back(a, input), _back(tau, input)


@function
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflectors."""
    x = _plain(A)
    return _back(emit("householder_product", x, cast_to(tau, x.dtype)), A)


@function
def ormqr(a: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> Tensor:
    """Q @ other or other @ Q, with the product Q of reflectors or its transpose."""
    x = _plain(a)
    tau, c = cast_to(tau, x.dtype), cast_to(other, x.dtype)
    if left:
        return _back(emit("ormqr", x, tau, c, transpose=transpose), a)
    made = _core.empty(tuple(c.shape), x.dtype, x.device)
    target = made.transpose(-1, -2)
    emit("ormqr", x, tau, c.transpose(-1, -2), transpose=not transpose, out=target)
    return _back(made, a)


@function
def ldl_factor(A: Tensor) -> Any:
    """LD, pivots and infos."""
    ld, pivots, info = emit("ldl_factor", _plain(A))
    return _back(ld, A), pivots, info


@function
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor) -> Tensor:
    """The solution X of A @ X = B."""
    batch = broadcast([tuple(LD.shape[:-2]), tuple(B.shape[:-2])])
    x = _plain(LD)
    made = emit(
        "ldl_solve",
        x.expand(*batch, *x.shape[-2:]),
        cast_to(pivots, int32).expand(*batch, pivots.shape[-1]),
        cast_to(B, x.dtype).expand(*batch, *B.shape[-2:]),
    )
    return _back(made, B)


def unpacks(LU: Tensor, pivots: Tensor) -> bool:
    """Whether `lu_unpack` takes these factors."""
    shape = (*LU.shape[:-2], min(LU.shape[-2:]))
    return not LU.dtype.is_complex and LU.numel() > 0 and tuple(pivots.shape) == shape


@function
def lu_unpack(LU: Tensor, pivots: Tensor) -> Any:
    """P, L and U."""
    p, lower, upper = emit("lu_unpack", _plain(LU), cast_to(pivots, int32))
    return _back(p, LU), _back(lower, LU), _back(upper, LU)


@function
def lstsq(A: Tensor, B: Tensor, rcond: float) -> Any:
    """The least-squares solution of the smallest norm, and ranks. B may be a vector for each
    matrix."""
    is_vector = B.ndim == A.ndim - 1
    x = _plain(A)
    right = cast_to(B.unsqueeze(-1) if is_vector else B, x.dtype)
    solution, rank = emit("lstsq", x, right.expand(*x.shape[:-1], right.shape[-1]), rcond=rcond)
    return _back(solution.squeeze(-1) if is_vector else solution, A), rank


def _sides(A: Tensor, B: Tensor, left: bool) -> tuple[Any, Tensor, Tensor, Tensor]:
    """The batch, right-hand sides as columns, the result, and the result as columns."""
    batch = broadcast([tuple(A.shape[:-2]), tuple(B.shape[:-2])])
    sides = cast_to(B, A.dtype).expand(*batch, *B.shape[-2:])
    made = _core.empty((*batch, *B.shape[-2:]), A.dtype, A.device)
    if left:
        return batch, sides, made, made
    return batch, sides.transpose(-1, -2), made, made.transpose(-1, -2)


@function
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The solution X of A @ X = B, or of X @ A = B."""
    x = _plain(LU)
    batch, sides, made, target = _sides(x, B, left)
    x = x.expand(*batch, *x.shape[-2:])
    pivots = cast_to(pivots, int32).expand(*batch, pivots.shape[-1])
    emit("lu_solve", x, pivots, sides, transpose=adjoint == left, out=target)
    return _back(made, LU)


@function
def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool, unit: bool) -> Tensor:
    """The solution X of A @ X = B, or of X @ A = B, with triangular A."""
    x = _plain(A)
    batch, sides, made, target = _sides(x, B, left)
    x = x.expand(*batch, *x.shape[-2:])
    if not left:
        x = x.transpose(-1, -2)
    emit("solve_triangular", x, sides, upper=upper == left, unitriangular=unit, out=target)
    return _back(made, A)
