"""Low-rank factors, from random projections of a matrix."""

from __future__ import annotations

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._results import SingularValues


def _adjoint(x: Tensor) -> Tensor:
    made = x.transpose(-2, -1)
    return made.conj() if x.dtype.is_complex else made


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Columns that span most of what A maps to (Halko et al. 2009, algorithm 4.4)."""
    samples = infinicore.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = infinicore.linalg.qr(A @ samples).Q
    for _ in range(niter):
        basis = infinicore.linalg.qr(_adjoint(A) @ basis).Q
        basis = infinicore.linalg.qr(A @ basis).Q
    return basis  # type: ignore[no-any-return]


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> SingularValues:
    """Approximate U, S, V for the `q` largest singular values of A, or of A - M. The accuracy
    depends on random projections and `niter` iterations.

    >>> infinicore.svd_lowrank(infinicore.ones(4, 4), q=1)[1].round()
    tensor([4.])
    """
    need_tensor("svd_lowrank", "A", A)
    expect(A.ndim >= 2, "svd_lowrank", "A.ndim", A.ndim, "2 or more")
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    expect(q >= 0, "svd_lowrank", "q", q, "0 or more")
    expect(niter >= 0, "svd_lowrank", "niter", niter, "0 or more")
    whole = A if M is None else A - M.broadcast_to(A.shape)
    turned = whole.shape[-2] < whole.shape[-1]
    tall = _adjoint(whole) if turned else whole
    basis = _basis(tall, q, niter)
    small = infinicore.linalg.svd(_adjoint(basis) @ tall, full_matrices=False)
    left, right = basis @ small.U, _adjoint(small.Vh)
    left, right = (right, left) if turned else (left, right)
    return SingularValues(left, small.S, right)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> SingularValues:
    """`svd_lowrank` of rows of A, less their mean if `center`: the columns of V are the principal
    directions.

    >>> infinicore.pca_lowrank(infinicore.ones(4, 3), q=1)[1].round()
    tensor([0.])
    """
    need_tensor("pca_lowrank", "A", A)
    expect(A.ndim >= 2, "pca_lowrank", "A.ndim", A.ndim, "2 or more")
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    expect(0 <= q <= most, "pca_lowrank", "q", q, f"0 to {most}")
    expect(niter >= 0, "pca_lowrank", "niter", niter, "0 or more")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
