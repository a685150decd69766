"""Linear algebra on batches of matrices: determinants, equations, factors, the exponential.

Our own kernels compute in double precision, a vendor's library in the type of the tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...language.expression import Array
from ...language.model import operator

_K = "M if M < N else N"


def each_matrix(function: Callable[..., Any], otherwise: Any, *batches: Array) -> Array:
    """The function for each matrix of the batch; something else where it finds no result."""
    import numpy as np

    made = np.empty(batches[-1].shape, np.result_type(*batches))
    for place in np.ndindex(batches[0].shape[:-2]):
        try:
            made[place] = function(*(batch[place] for batch in batches))
        except np.linalg.LinAlgError:
            made[place] = otherwise
    return made


@operator(
    "Det(!y, x)",
    """
    out y  F32|F64  [*B]
    x      =y       [*B, N, N]
    """,
    kernel=True,
)
def det(x: Array) -> Array:
    """The determinant; 1 for matrices without elements."""
    import numpy as np

    return np.linalg.det(x)


@operator(
    "Slogdet(!sign, !logabsdet, x)",
    """
    out sign       F32|F64  [*B]
    out logabsdet  =sign    [*B]
    x              =sign    [*B, N, N]
    """,
    kernel="det",
)
def slogdet(x: Array) -> tuple[Array, Array]:
    """The determinant's sign and the logarithm of its absolute value: 0 and -inf for a singular
    matrix."""
    import numpy as np

    sign, logabsdet = np.linalg.slogdet(x)
    return sign, logabsdet


@operator(
    "Inverse(!y, x)",
    """
    out y  F32|F64  [*B, N, N]
    x      =y       [*B, N, N]
    """,
    kernel="solve",
)
def inverse(x: Array) -> Array:
    """The inverse matrix; NaN for one that has a pivot of 0, and so none."""
    import numpy as np

    return each_matrix(np.linalg.inv, np.nan, x)


@operator(
    "Solve(!x, a, b)",
    """
    out x  F32|F64  [*B, N, K]
    a      =x       [*B, N, N]
    b      =x       [*B, N, K]
    """,
    kernel=True,
)
def solve(a: Array, b: Array) -> Array:
    """The x with a x = b; NaN when a has a pivot of 0."""
    import numpy as np

    return each_matrix(np.linalg.solve, np.nan, a, b)


@operator(
    "Cholesky(!y, x, bool upper)",
    """
    out y  F32|F64  [*B, N, N]
    x      =y       [*B, N, N]
    """,
    defaults={"upper": "False"},
    kernel=True,
)
def cholesky(x: Array, *, upper: bool) -> Array:
    """The lower triangular L with a positive diagonal for which x = L L^T; with `upper` its
    transpose. NaN when x is not positive definite.

    Only the lower triangle of x is read, with `upper` only the upper one."""
    import numpy as np

    if upper:
        return np.swapaxes(each_matrix(np.linalg.cholesky, np.nan, np.swapaxes(x, -1, -2)), -1, -2)
    return each_matrix(np.linalg.cholesky, np.nan, x)


@operator(
    "QR(!q, !r, x)",
    f"""
    out q  F32|F64  [*B, M, {_K}]
    out r  =q       [*B, {_K}, N]
    x      =q       [*B, M, N]
    """,
    kernel=True,
)
def qr(x: Array) -> tuple[Array, Array]:
    """A q with orthonormal columns and an upper triangular r with x = q r, by Householder's
    reflections, so that the diagonal of r may have either sign."""
    import numpy as np

    q, r = np.linalg.qr(x)
    return q, r


@operator(
    "SVD(!u, !s, !vh, x)",
    f"""
    out u   F32|F64  [*B, M, {_K}]
    out s   =u       [*B, {_K}]
    out vh  =u       [*B, {_K}, N]
    x       =u       [*B, M, N]
    """,
    kernel=True,
)
def svd(x: Array) -> tuple[Array, Array, Array]:
    """The singular values s, from the largest to the smallest, with the singular vectors: the
    columns of u and the rows of vh are orthonormal, and x = u diag(s) vh. The vectors are not
    unique."""
    import numpy as np

    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return u, s, vh


@operator(
    "Eigh(!w, !v, x)",
    """
    out w  F32|F64  [*B, N]
    out v  =w       [*B, N, N]
    x      =w       [*B, N, N]
    """,
    kernel=True,
)
def eigh(x: Array) -> tuple[Array, Array]:
    """The eigenvalues w of a symmetric matrix, from the smallest to the largest, and its
    eigenvectors, the orthonormal columns of v: x v = v diag(w). The vectors are not unique. Only
    the lower triangle of x is read."""
    import numpy as np

    w, v = np.linalg.eigh(x)
    return w, v


@operator(
    "MatrixExp(!y, x)",
    """
    out y  F+  [*B, N, N]
    x      =y  [*B, N, N]
    """,
    kernel=True,
)
def matrix_exp(x: Array) -> Array:
    """The exponential of a matrix: 1 + x + x^2 / 2! + x^3 / 3! + ..."""
    import numpy as np

    def exponential(matrix: Array) -> Array:
        # Scaling and squaring: halved until the sum is short, then squared as often.
        halvings = max(int(np.frexp(np.abs(matrix).sum(axis=0).max(initial=0.0))[1]), 0)
        term = result = np.eye(len(matrix))
        for k in range(1, 25):
            term = term @ np.ldexp(matrix, -halvings) / k
            result = result + term
        for _ in range(halvings):
            result = result @ result
        return result

    return each_matrix(exponential, np.nan, x)
