"""Equations, inverses, determinants."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore import _core, return_types
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions.linalg import packed
from infinicore.functions.linalg.eig import lu_factor as _lu_factor
from infinicore.linalg._matrices import adjoint, eps, floats, into, matrices

__all__ = [
    "LinAlgError",
    "det",
    "inv",
    "inv_ex",
    "lstsq",
    "matrix_exp",
    "matrix_rank",
    "pinv",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
]


_LONG = 8  # so many times as long as wide, singular values are faster by a QR factorisation


class LinAlgError(RuntimeError):
    """A matrix for which a function has no result, such as a singular one."""


@traced
def failures(made: Tensor, batch: Any) -> Tensor:
    """1 for each matrix of the batch without a result, else 0."""
    count = math.prod(made.shape[len(batch) :])
    bad = infinicore.isnan(made.reshape((*batch, count)))
    return infinicore.any(bad, -1).to(infinicore.int32)


def first_zero(lu: Tensor) -> Tensor:
    """The index, counted from 1, of the first zero pivot of each matrix; 0 if there is none."""
    pivots = infinicore.diagonal(lu, 0, -2, -1)
    on_host = lu.device.type == "cpu" and not _core.is_recording()
    is_real = not lu.dtype.is_complex
    if not pivots.shape[-1] or (on_host and is_real and pivots.all()):
        return infinicore.zeros(pivots.shape[:-1], dtype=infinicore.int32, device=lu.device)
    zero = pivots == 0
    first = infinicore.argmax(zero.to(infinicore.int32), -1) + 1
    found: Tensor = infinicore.where(zero.any(-1), first, 0)
    return found.to(infinicore.int32)


def failed_pivots(made: Tensor, A: Tensor, batch: Any) -> Tensor:
    """For each matrix without a result, the index of the zero pivot, else 0."""
    # A missing result is all NaN, so its first element is enough to check.
    failed = failures(made.reshape((*batch, -1))[..., :1] if made.numel() else made, batch)
    if not _core.is_recording() and not bool(failed if failed.numel() == 1 else failed.any()):
        return failed  # the usual case: the factors need not be computed again
    found: Tensor = infinicore.where(failed != 0, first_zero(_lu_factor(A)[0]), 0)
    return found.to(infinicore.int32)


def checked(function: str, made: Tensor, given: Tensor, why: str) -> Tensor:
    """Raises an error if there is a matrix without a result; not checked while recording."""
    if _core.is_recording() or not made.numel():
        return made
    # A missing result is all NaN, so its first element is enough to check.
    first = made.select(-1, 0)
    if made.ndim >= given.ndim:  # else they are vectors
        first = first.select(-1, 0)
    if first.dtype.is_complex:
        first = first.real
    total = (first if first.numel() == 1 else first.sum()).item()
    if total == total or not bool(infinicore.isnan(first).any()):
        return made
    if not bool(infinicore.isnan(given).any()):
        raise LinAlgError(f"{function}: {why}")
    return made


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """Determinants of square matrices.

    >>> infinicore.linalg.det(infinicore.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.)
    """
    return into(out, infinicore.det(matrices("det", A, True)))  # type: ignore[no-any-return]


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """Signs of determinants, and logarithms of their absolute values.

    >>> infinicore.linalg.slogdet(infinicore.eye(2)).sign
    tensor(1.)
    """
    return into(out, return_types.linalg_slogdet(*infinicore.slogdet(matrices("slogdet", A, True))))


def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """Inverses of square matrices.

    >>> infinicore.linalg.inv(infinicore.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    A = matrices("inv", A, True)
    return into(out, checked("inv", infinicore.inverse(A), A, "a matrix is singular"))  # type: ignore[no-any-return]


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """Inverses, and for each singular matrix the index of its zero pivot.

    >>> infinicore.linalg.inv_ex(infinicore.eye(2)).info
    tensor(0, dtype=infinicore.int32)
    """
    A = matrices("inv_ex", A, True)
    made = infinicore.inverse(A)
    if check_errors:
        checked("inv_ex", made, A, "a matrix is singular")
    return into(out, return_types.linalg_inv_ex(made, failed_pivots(made, A, A.shape[:-2])))


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """The solution X of A @ X = B, or of X @ A = B if not `left`; B may be a vector for each
    matrix.

    >>> infinicore.linalg.solve(infinicore.eye(2) * 2, infinicore.tensor([2., 4.]))
    tensor([1., 2.])
    """
    A = matrices("solve", A, True)
    made = infinicore.solve(A, floats(B), left=left)
    return into(out, checked("solve", made, A, "a matrix is singular"))  # type: ignore[no-any-return]


def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """Like `solve`, with the index of the zero pivot for each singular matrix.

    >>> infinicore.linalg.solve_ex(infinicore.eye(2), infinicore.ones(2)).info
    tensor(0, dtype=infinicore.int32)
    """
    A = matrices("solve_ex", A, True)
    made = infinicore.solve(A, floats(B), left=left)
    if check_errors:
        checked("solve_ex", made, A, "a matrix is singular")
    batch = A.shape[:-2] if made.ndim >= A.ndim else made.shape[:-1]
    return into(out, return_types.linalg_solve_ex(made, failed_pivots(made, A, batch)))


@traced
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Tensor:
    """The solution X of A @ X = B for triangular A. Only that triangle is read; with
    `unitriangular` the diagonal is taken as ones.

    >>> one = infinicore.eye(2)
    >>> infinicore.linalg.solve_triangular(one, infinicore.ones(2, 1), upper=True).tolist()
    [[1.0], [1.0]]
    """
    A, B = matrices("solve_triangular", A, True), floats(B)
    if packed.is_small(A, A.shape[-1], packed.SUBSTITUTED) and not B.dtype.is_complex:
        return into(out, packed.solve_triangular(A, B, upper, left, unitriangular))  # type: ignore[no-any-return]
    triangle = infinicore.triu if upper else infinicore.tril
    if unitriangular:
        one = infinicore.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        A = triangle(A, 1 if upper else -1) + one
    else:
        A = triangle(A)
    return into(out, infinicore.solve(A, B, left=left))  # type: ignore[no-any-return]


def _limit(A: Tensor, values: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Below this, singular values count as 0."""
    if rtol is None:
        rtol = 0.0 if atol is not None and _positive(atol) else max(A.shape[-2:]) * eps(A)
    largest = infinicore.amax(values, -1) if values.shape[-1] else values.sum(-1)
    rtol, atol = (each if isinstance(each, Tensor) else each or 0.0 for each in (rtol, atol))
    relative = largest * rtol
    absolute = infinicore.zeros_like(relative) + atol
    return infinicore.maximum(relative, absolute)


def _positive(value: Any) -> bool:
    return True if isinstance(value, Tensor) else value > 0


def matrix_rank(
    A: Tensor,
    tol: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
    out: Any = None,
) -> Tensor:
    """The rank of matrices: the number of singular values above the tolerance.

    >>> infinicore.linalg.matrix_rank(infinicore.eye(3))
    tensor(3)
    """
    A = matrices("matrix_rank", A)
    if hermitian:
        values = abs(infinicore.linalg.eigvalsh(A))
    else:
        values = infinicore.linalg.svdvals(A)
    if tol is not None:
        atol, rtol = tol, 0.0
    limit = _limit(A, values, atol, rtol)
    return into(out, infinicore.sum(values > limit.unsqueeze(-1), -1))  # type: ignore[no-any-return]


def pinv(
    A: Tensor,
    rcond: Any = None,
    *,
    atol: Any = None,
    rtol: Any = None,
    hermitian: bool = False,
    out: Any = None,
) -> Tensor:
    """Pseudo-inverses: singular values below the tolerance count as 0.

    >>> infinicore.linalg.pinv(infinicore.tensor([[2., 0.], [0., 4.]])).shape
    infinicore.Size([2, 2])
    """
    A = matrices("pinv", A)
    if not A.numel():
        return into(out, adjoint(A).contiguous())  # type: ignore[no-any-return]
    if rcond is not None:
        rtol = rcond
    if hermitian:  # only the lower triangle is read
        w, v = infinicore.linalg.eigh(A)
        kept = abs(w) > _limit(A, abs(w), atol, rtol).unsqueeze(-1)
        inverse = infinicore.where(kept, 1 / w, infinicore.zeros_like(w))
        made = infinicore.matmul(v * inverse.unsqueeze(-2), adjoint(v))
        return into(out, made)  # type: ignore[no-any-return]
    m, n = A.shape[-2:]
    if A.device.type != "cpu" and max(m, n) >= _LONG * min(m, n):
        if rtol is None and (atol is None or not _positive(atol)):
            rtol = max(m, n) * eps(A)
        return into(out, _pinv_of_triangle(A, atol, rtol))  # type: ignore[no-any-return]
    u, s, vh = infinicore.linalg.svd(A, full_matrices=False)
    limit = _limit(A, s, atol, rtol)
    zero = infinicore.zeros_like(s)
    inverse = infinicore.where(s > limit.unsqueeze(-1), 1 / s, zero)
    made = infinicore.matmul(adjoint(vh) * inverse.unsqueeze(-2), adjoint(u))
    return into(out, made)  # type: ignore[no-any-return]


def _pinv_of_triangle(A: Tensor, atol: Any, rtol: Any) -> Tensor:
    """`pinv` of tall or wide matrices: the singular values are those of the triangular factor."""
    tall = A.shape[-2] >= A.shape[-1]
    q, r = infinicore.qr(A if tall else adjoint(A))
    made = pinv(r, atol=atol, rtol=rtol)
    product = infinicore.matmul
    return product(made, adjoint(q)) if tall else product(q, adjoint(made))


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices.

    >>> infinicore.linalg.matrix_exp(infinicore.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return infinicore.matrix_exp(matrices("matrix_exp", A, True))


def _gives_residuals(driver: str | None, rank: Tensor, n: int) -> bool:
    """Residuals as LAPACK's drivers return them: none from gelsy, the default, and from those with
    singular values only for matrices of full rank."""
    if driver in (None, "gelsy"):
        return False
    return driver == "gels" or _core.is_recording() or bool((rank == n).all())


def _by_reflections(A: Tensor, right: Tensor, rcond: float | None, driver: str | None) -> Any:
    """What `lstsq` gives, by QR; None if a matrix may not have full rank."""
    m, n = A.shape[-2:]
    least = max(m, n) * eps(A) if rcond is None else float(rcond)
    on_host = A.device.type == "cpu" and not _core.is_recording()
    if not (on_host and A.numel() and right.numel() and 0 < least < 1):
        return None
    q, r = infinicore.qr(A if m >= n else adjoint(A).contiguous())
    one = infinicore.eye(min(m, n), dtype=A.dtype, device=A.device).expand(*r.shape)
    inverse = infinicore.solve(r, one)
    # The largest singular value by the smallest, at most.
    length = infinicore.linalg.vector_norm
    bound = length(r, 2, (-2, -1)) * length(inverse, 2, (-2, -1))
    if not bool((bound * least < 1).all()):
        return None
    if m >= n:
        made = infinicore.solve(r, infinicore.matmul(adjoint(q), right))
    else:
        made = infinicore.matmul(q, infinicore.solve(adjoint(r), right))
    none = infinicore.empty(0, dtype=bound.dtype, device=A.device)
    residuals, rank = none, none.to(infinicore.int64)
    if driver != "gels":
        rank = infinicore.full(A.shape[:-2], min(m, n), dtype=infinicore.int64, device=A.device)
    elif m > n:
        residuals = infinicore.sum(abs(infinicore.matmul(A, made) - right) ** 2, -2)
    return made, residuals, rank, none


@traced
def _by_kernel(A: Tensor, B: Tensor, rcond: float, driver: str | None) -> Any:
    """What `lstsq` gives, by QR with exchanged columns."""
    solution, rank = packed.lstsq(A, B, rcond)
    none = infinicore.empty(0, dtype=A.dtype, device=A.device)
    residuals = none
    if driver == "gels":
        rank = infinicore.empty(0, dtype=infinicore.int64, device=A.device)
        if A.shape[-2] > A.shape[-1]:
            made, right = solution, B
            if B.ndim < A.ndim:
                made, right = made.unsqueeze(-1), right.unsqueeze(-1)
            residuals = infinicore.sum((infinicore.matmul(A, made) - right) ** 2, -2)
    return return_types.linalg_lstsq(solution, residuals, rank, none)


def _has_kernel(A: Tensor, right: Tensor, rcond: Any) -> bool:
    """Whether the kernel takes these matrices."""
    if not packed.has_kernels(A) or right.dtype.is_complex or not (A.numel() and right.numel()):
        return False
    fits = tuple(A.shape[:-1]) == tuple(right.shape[:-1]) and not isinstance(rcond, Tensor)
    return fits and (rcond is None or 0 < rcond < 1)


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The least-squares solution X of A @ X = B with the smallest norm.

    >>> infinicore.linalg.lstsq(infinicore.eye(2), infinicore.ones(2, 1)).solution.tolist()
    [[1.0], [1.0]]
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f"lstsq: driver is {driver!r}: expected gels, gelsy, gelsd or gelss")
    A, B = matrices("lstsq", A), floats(B)
    is_vector = B.ndim == A.ndim - 1
    right = B.unsqueeze(-1) if is_vector else B
    by_qr = driver in (None, "gels", "gelsy") and not isinstance(rcond, Tensor)
    if by_qr and _has_kernel(A, right, rcond):
        least = max(A.shape[-2:]) * eps(A) if rcond is None else float(rcond)
        return _by_kernel(A, B, least, driver)
    if by_qr:
        found = _by_reflections(A, right, rcond, driver)
        if found is not None:
            solution = found[0].squeeze(-1) if is_vector else found[0]
            return return_types.linalg_lstsq(solution, *found[1:])
    u, s, vh = infinicore.linalg.svd(A, full_matrices=False)
    kept = s > _limit(A, s, None, rcond).unsqueeze(-1)
    inverse = infinicore.where(kept, 1 / s, infinicore.zeros_like(s))
    made = infinicore.matmul(
        adjoint(vh), infinicore.matmul(adjoint(u), right) * inverse.unsqueeze(-1)
    )
    m, n = A.shape[-2:]
    none = infinicore.empty(0, dtype=s.dtype, device=A.device)
    residuals = none
    rank = infinicore.sum(kept, -1) if driver != "gels" else none.to(infinicore.int64)
    if m > n and _gives_residuals(driver, rank, n):
        rest = infinicore.matmul(A, made) - right
        residuals = infinicore.sum(abs(rest) ** 2, -2)
    values = s if driver in ("gelsd", "gelss") else none
    return return_types.linalg_lstsq(
        made.squeeze(-1) if is_vector else made, residuals, rank, values
    )
