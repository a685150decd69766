"""The extension for linear algebra."""

from __future__ import annotations

from typing import Any, NamedTuple

import infinicore
from infinicore import linalg as base
from infinicore._dtype import dtype
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import as_array, common
from infinicore.array_api._products import matmul, matrix_transpose, tensordot, vecdot
from infinicore.array_api._statistics import accumulated_type

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EigResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Cholesky factors of symmetric (Hermitian) positive definite matrices."""
    return base.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of 3 elements along an axis."""
    one, two = common("cross", x1, x2)
    return base.cross(one, two, dim=axis)


def det(x: Tensor, /) -> Tensor:
    """Determinants of square matrices."""
    return base.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Diagonals of matrices."""
    return base.diagonal(x, offset=offset)


def eig(x: Tensor, /) -> EigResult:
    """Eigenvalues of square matrices, and eigenvectors as columns; both complex."""
    return EigResult(*base.eig(x))


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues of square matrices, complex."""
    return base.eigvals(x)


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues of symmetric (Hermitian) matrices, and eigenvectors as columns."""
    return EighResult(*base.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of symmetric (Hermitian) matrices."""
    return base.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """Inverses of square matrices."""
    return base.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Matrix norms: "fro", "nuc", or 1, 2, inf and their negatives."""
    return base.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The n-th power of square matrices; of the inverse if n is negative."""
    return base.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The rank: the number of singular values above rtol times the largest."""
    return base.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The outer product of two vectors."""
    one, two = common("outer", x1, x2)
    if one.ndim != 1 or two.ndim != 1:
        raise ValueError("outer: expected arrays of one dimension")
    return one.unsqueeze(1) * two.unsqueeze(0)  # type: ignore[no-any-return]


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Pseudo-inverses: singular values up to rtol times the largest count as 0."""
    return base.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """An orthogonal (unitary) and an upper triangular factor of each matrix."""
    return QRResult(*base.qr(x, mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Signs of determinants, and logarithms of their absolute values."""
    return SlogdetResult(*base.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """X with x1 @ X = x2; x2 is a vector only if it has one dimension."""
    one, two = common("solve", x1, x2)
    if two.ndim == 1:
        return base.solve(one, two.unsqueeze(-1)).squeeze(-1)
    if two.ndim == one.ndim - 1:  # else it would be taken for a batch of vectors
        two = two.unsqueeze(0)
    return base.solve(one, two)


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values S, the largest first, with U and Vh: x = U @ diag(S) @ Vh."""
    return SVDResult(*base.svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values, the largest first."""
    return base.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """Sums of the diagonals of matrices. Integers are summed in 64 bits."""
    as_array("trace", "x", x)
    return infinicore.sum(base.diagonal(x, offset=offset), -1, dtype=accumulated_type(x, dtype))


def vector_norm(
    x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Vector norms along axes."""
    if axis == ():
        return base.vector_norm(x.unsqueeze(-1), ord, -1)
    return base.vector_norm(x, ord, axis, keepdims)
