"""Factors of matrices: triangular, orthogonal, eigenvectors, singular vectors."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore import _core, return_types
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions.linalg import packed
from infinicore.functions.linalg.eig import eig as _eig
from infinicore.functions.linalg.eig import eigvals as _eigvals
from infinicore.functions.linalg.linalg import _svd
from infinicore.functions.linalg.reflectors import reflected
from infinicore.linalg._matrices import into, matrices
from infinicore.linalg._solvers import checked, failures

__all__ = [
    "cholesky",
    "cholesky_ex",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "qr",
    "svd",
    "svdvals",
]


_NOT_POSITIVE = "a matrix is not positive definite"


def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """Cholesky factors L of symmetric positive definite matrices, A = L @ L.mT; or the upper ones.

    >>> infinicore.linalg.cholesky(infinicore.tensor([[4., 0.], [0., 9.]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    A = matrices("cholesky", A, True)
    made = infinicore.cholesky(A, upper)
    return into(out, checked("cholesky", made, A, _NOT_POSITIVE))  # type: ignore[no-any-return]


def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """Like `cholesky`, with the order of the first leading minor that is not positive for each
    matrix without a factor; while a graph is recorded this is 1.

    >>> infinicore.linalg.cholesky_ex(infinicore.eye(2)).info
    tensor(0, dtype=infinicore.int32)
    """
    A = matrices("cholesky_ex", A, True)
    made = infinicore.cholesky(A, upper)
    if check_errors:
        checked("cholesky_ex", made, A, _NOT_POSITIVE)
    return into(
        out, return_types.linalg_cholesky_ex(made, _failed_minors(made, A.mH if upper else A))
    )


def _failed_minors(made: Tensor, A: Tensor) -> Tensor:
    """For each matrix without a factor, the order of the first leading minor that is not
    positive."""
    info = failures(made, A.shape[:-2])
    if _core.is_recording() or not bool(info if info.numel() == 1 else info.any()):
        return info
    n, flat = A.shape[-1], A.reshape((-1, A.shape[-1], A.shape[-1]))
    orders = info.reshape(-1).tolist()
    for at in (i for i, failed in enumerate(orders) if failed):
        # If a leading minor fails, so do all larger ones.
        low, high = 1, n
        while low < high:
            middle = (low + high) // 2
            factor = infinicore.cholesky(flat[at, :middle, :middle].contiguous())
            low, high = (low, middle) if bool(factor.isnan().any()) else (middle + 1, high)
        orders[at] = low
    made = infinicore.tensor(orders, dtype=infinicore.int32, device=A.device)
    return made.reshape(tuple(info.shape))


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues of symmetric matrices, the smallest first, and eigenvectors as columns.

    >>> infinicore.linalg.eigh(infinicore.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    return into(out, return_types.linalg_eigh(*infinicore.eigh(matrices("eigh", A, True), UPLO)))


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """Eigenvalues of symmetric matrices, the smallest first.

    >>> infinicore.linalg.eigvalsh(infinicore.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    A = matrices("eigvalsh", A, True)
    if packed.has_kernels(A):
        expect(UPLO in ("L", "U"), "eigvalsh", "UPLO", repr(UPLO), "'L' or 'U'")
        return into(out, packed.eigvalsh(A, UPLO))  # type: ignore[no-any-return]
    return into(out, eigh(A, UPLO).eigenvalues)  # type: ignore[no-any-return]


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """An orthogonal and an upper triangular factor of each matrix; `mode` is "reduced", "complete",
    or "r" for the triangular one only.

    >>> infinicore.linalg.qr(infinicore.ones(3, 2)).R.shape
    infinicore.Size([2, 2])
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr: mode is {mode!r}: expected 'reduced', 'complete' or 'r'")
    A = matrices("qr", A)
    q, r = infinicore.qr(A, mode != "complete")
    if mode == "r":
        q = infinicore.empty(0, dtype=A.dtype, device=A.device)
    return into(out, return_types.linalg_qr(q, r))


def _check_driver(function: str, driver: str | None) -> None:
    if driver is not None and driver not in ("gesvd", "gesvdj", "gesvda"):
        raise RuntimeError(f"{function}: driver is {driver!r}: expected gesvd, gesvdj or gesvda")


def svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None
) -> Any:
    """Singular values S, the largest first, with U and Vh: A = U @ diag(S) @ Vh.

    >>> infinicore.linalg.svd(infinicore.tensor([[3., 0.], [0., 2.]])).S
    tensor([3., 2.])
    """
    _check_driver("svd", driver)
    return into(out, return_types.linalg_svd(*_svd(matrices("svd", A), not full_matrices)))


def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """Singular values, the largest first.

    >>> infinicore.linalg.svdvals(infinicore.tensor([[3., 0.], [0., 2.]]))
    tensor([3., 2.])
    """
    A = matrices("svdvals", A)
    _check_driver("svdvals", driver)
    if packed.has_kernels(A):
        return into(out, packed.svdvals(A))  # type: ignore[no-any-return]
    return into(out, svd(A, False, driver=driver).S)  # type: ignore[no-any-return]


@traced
def householder_product(A: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of a product of reflections I - tau * v @ v.mH, whose vectors are the
    columns of A below its diagonal.

    >>> infinicore.linalg.householder_product(infinicore.eye(2), infinicore.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    A = matrices("householder_product", A)
    if packed.is_small(A, tau.shape[-1], packed.REFLECTED):
        return into(out, packed.householder_product(A, tau))  # type: ignore[no-any-return]
    return into(out, reflected(A, tau.to(A.dtype), None, False))  # type: ignore[no-any-return]


def eig(A: Tensor, *, out: Any = None) -> Any:
    """Eigenvalues of square matrices, in no particular order, and eigenvectors as columns; both
    complex.

    >>> infinicore.linalg.eig(infinicore.tensor([[0., -1.], [1., 0.]])).eigenvalues.shape
    infinicore.Size([2])
    """
    return into(out, return_types.linalg_eig(*_eig(matrices("eig", A, True))))


def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """Eigenvalues of square matrices, complex and in no particular order.

    >>> infinicore.linalg.eigvals(infinicore.eye(2))
    tensor([1.+0.j, 1.+0.j])
    """
    return into(out, _eigvals(matrices("eigvals", A, True)))  # type: ignore[no-any-return]
