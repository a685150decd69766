"""Linear algebra on complex matrices, given as tensors of real and of imaginary parts.

Our own kernels compute factors in double precision, a vendor's library in the type of the tensors.
"""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator
from .factorizations import each_matrix

_K = "M if M < N else N"


def _split(*results: Any) -> tuple[Any, ...]:
    """Complex arrays as two, real ones as they are."""
    made: list[Any] = []
    for each in results:
        made += [each.real, each.imag] if each.dtype.kind == "c" else [each]
    return tuple(made)


@operator(
    "LUFactor(!lu_real, !lu_imag, !pivots, a_real, a_imag)",
    f"""
    out lu_real  F32|F64   [*B, M, N]
    out lu_imag  =lu_real  [*B, M, N]
    out pivots   I32       [*B, {_K}]
    a_real       =lu_real  [*B, M, N]
    a_imag       =lu_real  [*B, M, N]
    """,
    kernel=True,
)
def lu_factor(a_real: Array, a_imag: Array) -> Any:
    """A unit lower triangular L and an upper triangular U in one matrix, with a = P L U; pivots[k]
    - 1 is the row that was exchanged with row k: the one with the largest element, by the sum of
    the sizes of its parts, as in LAPACK."""
    import numpy as np

    m = (a_real + 1j * a_imag).copy()
    rows, columns = m.shape[-2:]
    count = min(rows, columns)
    pivots = np.zeros((*m.shape[:-2], count), np.int64)
    for place in np.ndindex(m.shape[:-2]):
        x = m[place]
        for k in range(count):
            best = k + int(np.argmax(np.abs(x[k:, k].real) + np.abs(x[k:, k].imag)))
            at = (*place, k)
            pivots[at] = best + 1
            x[[k, best]] = x[[best, k]]
            if x[k, k] != 0:
                x[k + 1 :, k] /= x[k, k]
                x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return (*_split(m), pivots)


@operator(
    "ComplexInverse(!y_real, !y_imag, x_real, x_imag)",
    """
    out y_real  F32|F64  [*B, N, N]
    out y_imag  =y_real  [*B, N, N]
    x_real      =y_real  [*B, N, N]
    x_imag      =y_real  [*B, N, N]
    """,
    kernel="solve",
)
def complex_inverse(x_real: Array, x_imag: Array) -> Any:
    """The inverse matrix; NaN for one that has a pivot of 0, and so none."""
    import numpy as np

    return _split(each_matrix(np.linalg.inv, np.nan, x_real + 1j * x_imag))


@operator(
    "ComplexSolve(!x_real, !x_imag, a_real, a_imag, b_real, b_imag)",
    """
    out x_real  F32|F64  [*B, N, K]
    out x_imag  =x_real  [*B, N, K]
    a_real      =x_real  [*B, N, N]
    a_imag      =x_real  [*B, N, N]
    b_real      =x_real  [*B, N, K]
    b_imag      =x_real  [*B, N, K]
    """,
    kernel="solve",
)
def complex_solve(a_real: Array, a_imag: Array, b_real: Array, b_imag: Array) -> Any:
    """The x with a x = b; NaN when a has a pivot of 0."""
    import numpy as np

    a, b = a_real + 1j * a_imag, b_real + 1j * b_imag
    return _split(each_matrix(np.linalg.solve, np.nan, a, b))


@operator(
    "ComplexCholesky(!y_real, !y_imag, x_real, x_imag)",
    """
    out y_real  F32|F64  [*B, N, N]
    out y_imag  =y_real  [*B, N, N]
    x_real      =y_real  [*B, N, N]
    x_imag      =y_real  [*B, N, N]
    """,
    kernel="cholesky",
)
def complex_cholesky(x_real: Array, x_imag: Array) -> Any:
    """The lower triangular L with a positive diagonal for which x = L L^H. NaN when x is not
    positive definite. Only the lower triangle of x is read."""
    import numpy as np

    return _split(each_matrix(np.linalg.cholesky, np.nan, x_real + 1j * x_imag))


@operator(
    "ComplexQR(!q_real, !q_imag, !r_real, !r_imag, x_real, x_imag)",
    f"""
    out q_real  F32|F64  [*B, M, {_K}]
    out q_imag  =q_real  [*B, M, {_K}]
    out r_real  =q_real  [*B, {_K}, N]
    out r_imag  =q_real  [*B, {_K}, N]
    x_real      =q_real  [*B, M, N]
    x_imag      =q_real  [*B, M, N]
    """,
    kernel=True,
)
def complex_qr(x_real: Array, x_imag: Array) -> Any:
    """A q with orthonormal columns and an upper triangular r with x = q r."""
    import numpy as np

    return _split(*np.linalg.qr(x_real + 1j * x_imag))


@operator(
    "ComplexSVD(!u_real, !u_imag, !s, !vh_real, !vh_imag, x_real, x_imag)",
    f"""
    out u_real   F32|F64  [*B, M, {_K}]
    out u_imag   =u_real  [*B, M, {_K}]
    out s        =u_real  [*B, {_K}]
    out vh_real  =u_real  [*B, {_K}, N]
    out vh_imag  =u_real  [*B, {_K}, N]
    x_real       =u_real  [*B, M, N]
    x_imag       =u_real  [*B, M, N]
    """,
    kernel=True,
)
def complex_svd(x_real: Array, x_imag: Array) -> Any:
    """The singular values s, from the largest to the smallest, with the singular vectors: x = u
    diag(s) vh."""
    import numpy as np

    return _split(*np.linalg.svd(x_real + 1j * x_imag, full_matrices=False))


@operator(
    "ComplexEigh(!w, !v_real, !v_imag, x_real, x_imag)",
    """
    out w       F32|F64  [*B, N]
    out v_real  =w       [*B, N, N]
    out v_imag  =w       [*B, N, N]
    x_real      =w       [*B, N, N]
    x_imag      =w       [*B, N, N]
    """,
    kernel=True,
)
def complex_eigh(x_real: Array, x_imag: Array) -> Any:
    """The eigenvalues w of a Hermitian matrix, from the smallest to the largest, and its
    eigenvectors, the orthonormal columns of v. Only the lower triangle of x is read."""
    import numpy as np

    return _split(*np.linalg.eigh(x_real + 1j * x_imag))


@operator(
    "Eig(!w_real, !w_imag, !v_real, !v_imag, x_real, x_imag)",
    """
    out w_real  F32|F64  [*B, N]
    out w_imag  =w_real  [*B, N]
    out v_real  =w_real  [*B, N, N]
    out v_imag  =w_real  [*B, N, N]
    x_real      =w_real  [*B, N, N]
    x_imag      =w_real  [*B, N, N]
    """,
    kernel=True,
)
def eig(x_real: Array, x_imag: Array) -> Any:
    """The eigenvalues w of a square matrix, in no particular order, and eigenvectors of length 1,
    the columns of v: x v = v diag(w). NaN for a matrix with NaN."""
    import numpy as np

    return _split(*np.linalg.eig(x_real + 1j * x_imag))


@operator(
    "Eigvals(!w_real, !w_imag, x_real, x_imag)",
    """
    out w_real  F32|F64  [*B, N]
    out w_imag  =w_real  [*B, N]
    x_real      =w_real  [*B, N, N]
    x_imag      =w_real  [*B, N, N]
    """,
    kernel="eig",
)
def eigvals(x_real: Array, x_imag: Array) -> Any:
    """The eigenvalues of a square matrix, in no particular order. NaN for a matrix with NaN."""
    import numpy as np

    return _split(np.linalg.eigvals(x_real + 1j * x_imag))
