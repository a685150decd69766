"""Factors in LAPACK's packed forms, equations solved with them, and factors without vectors.

The Python functions call these on the CPU, and other operators on other devices.
"""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator

_K = "M if M < N else N"


@operator(
    "Svdvals(!s, x)",
    f"""
    out s  F32|F64  [*B, {_K}]
    x      =s       [*B, M, N]
    """,
    kernel="svd",
)
def svdvals(x: Array) -> Array:
    """The singular values, from the largest to the smallest."""
    import numpy as np

    return np.linalg.svd(x, compute_uv=False)


@operator(
    "Eigvalsh(!w, x)",
    """
    out w  F32|F64  [*B, N]
    x      =w       [*B, N, N]
    """,
    kernel="eigh",
)
def eigvalsh(x: Array) -> Array:
    """The eigenvalues of a symmetric matrix, from the smallest to the largest. Only the lower
    triangle of x is read."""
    import numpy as np

    return np.linalg.eigvalsh(x)


@operator(
    "Geqrf(!a, !tau, x)",
    f"""
    out a    F32|F64  [*B, M, N]
    out tau  =a       [*B, {_K}]
    x        =a       [*B, M, N]
    """,
    kernel="reflectors",
)
def geqrf(x: Array) -> tuple[Array, Array]:
    """R in the upper triangle of a, and below it the vectors v of the reflections 1 - tau v v^T
    whose product is Q, each with a 1 on the diagonal, which is not stored: x = Q R."""
    import numpy as np

    a, tau = np.linalg.qr(x, mode="raw")
    return np.swapaxes(a, -1, -2), tau


def _reflected(c: Array, a: Array, tau: Array, transpose: bool) -> Array:
    c = c.copy()
    steps = range(tau.shape[-1])
    for k in steps if transpose else reversed(steps):
        v = a[..., :, k].copy()
        v[..., :k], v[..., k] = 0, 1
        across = v[..., None, :] @ c * tau[..., k, None, None]
        c -= v[..., :, None] * across
    return c


@operator(
    "HouseholderProduct(!q, a, tau)",
    """
    out q  F32|F64  [*B, M, N]
    a      =q       [*B, M, N]
    tau    =q       [*B, K]
    """,
    where="K <= N; N <= M",
    kernel="reflectors",
)
def householder_product(a: Array, tau: Array) -> Array:
    """The first columns of the Q of `geqrf`."""
    import numpy as np

    return _reflected(np.broadcast_to(np.eye(*a.shape[-2:]), a.shape), a, tau, False)


@operator(
    "Ormqr(!y, a, tau, c, bool transpose)",
    """
    out y  F32|F64  [*B, M, P]
    a      =y       [*B, M, N]
    tau    =y       [*B, K]
    c      =y       [*B, M, P]
    """,
    where="K <= N; K <= M",
    kernel="reflectors",
)
def ormqr(a: Array, tau: Array, c: Array, *, transpose: bool) -> Array:
    """Q c with the Q of `geqrf`, or Q^T c."""
    return _reflected(c, a, tau, transpose)


@operator(
    "LDLFactor(!ld, !pivots, !infos, a)",
    """
    out ld      F32|F64  [*B, N, N]
    out pivots  I32      [*B, N]
    out infos   I32      [*B]
    a           =ld      [*B, N, N]
    """,
    kernel="ldl",
)
def ldl_factor(a: Array) -> Any:
    """The factors of a symmetric matrix by LAPACK's sytrf: L below the diagonal, D on it, with
    blocks of two rows where pivots are negative. Only the lower triangle of a is read. `infos` is
    the index, counted from 1, of the first zero of D, or 0."""
    import numpy as np

    n = a.shape[-1]
    ld, pivots = np.tril(a), np.zeros(a.shape[:-1], np.int64)
    infos = np.zeros(a.shape[:-2], np.int64)
    alpha = (1 + 17**0.5) / 8
    for place in np.ndindex(a.shape[:-2]):
        x, k = ld[place], 0
        while k < n:
            below = np.abs(x[k + 1 :, k])
            here, most = abs(x[k, k]), below.max(initial=0.0)
            at = k + 1 + int(below.argmax()) if below.size else k
            other, two = k, 1
            if max(here, most) == 0:
                infos[place] = infos[place] or k + 1
            elif here < alpha * most:
                row = np.abs(np.concatenate([x[at, k:at], x[at + 1 :, at]])).max(initial=0.0)
                if here * row < alpha * most * most:
                    other, two = at, 1 if abs(x[at, at]) >= alpha * row else 2
            last = k + two - 1
            full = np.tril(x[k:, k:]) + np.tril(x[k:, k:], -1).T
            order = np.arange(n - k)
            order[[last - k, other - k]] = order[[other - k, last - k]]
            full = full[order][:, order]
            block, left = full[:two, :two], full[two:, :two]
            if not (two == 1 and block[0, 0] == 0):
                rows = left @ np.linalg.inv(block)
                full[two:, two:] -= rows @ left.T
                full[two:, :two] = rows
            x[k:, k:] = np.tril(full)
            pivots[place][k : k + two] = other + 1 if two == 1 else -other - 1
            k += two
    return ld, pivots, infos


@operator(
    "LDLSolve(!x, ld, pivots, b)",
    """
    out x   F32|F64  [*B, N, K]
    ld      =x       [*B, N, N]
    pivots  I32      [*B, N]
    b       =x       [*B, N, K]
    """,
    kernel="ldl",
)
def ldl_solve(ld: Array, pivots: Array, b: Array) -> Array:
    """The x with a x = b, given the factors of a from `ldl_factor`, as LAPACK's sytrs."""
    import numpy as np

    n, made = ld.shape[-1], b.copy()
    for place in np.ndindex(ld.shape[:-2]):
        a, x, p, k = ld[place], made[place], pivots[place].astype(int), 0
        while k < n:
            two = 1 if p[k] > 0 else 2
            one, other = k + two - 1, abs(p[k]) - 1
            x[[one, other]] = x[[other, one]]
            x[k + two :] -= a[k + two :, k : k + two] @ x[k : k + two]
            block = np.tril(a[k : k + two, k : k + two])
            x[k : k + two] = np.linalg.solve(block + np.tril(block, -1).T, x[k : k + two])
            k += two
        k = n - 1
        while k >= 0:
            two = 1 if p[k] > 0 else 2
            x[k - two + 1 : k + 1] -= a[k + 1 :, k - two + 1 : k + 1].T @ x[k + 1 :]
            other = abs(p[k]) - 1
            x[[k, other]] = x[[other, k]]
            k -= two
    return made


@operator(
    "LUSolve(!x, lu, pivots, b, bool transpose)",
    """
    out x   F32|F64  [*B, N, K]
    lu      =x       [*B, N, N]
    pivots  I32      [*B, N]
    b       =x       [*B, N, K]
    """,
    kernel="triangular",
)
def lu_solve(lu: Array, pivots: Array, b: Array, *, transpose: bool) -> Array:
    """The x with a x = b, or a^T x = b, given the packed factors of a and the row exchanges."""
    import numpy as np

    made = b.copy()
    for place in np.ndindex(lu.shape[:-2]):
        swaps = [*enumerate(pivots[place].astype(int) - 1)]
        lower = np.tril(lu[place], -1) + np.eye(lu.shape[-1])
        upper, x = np.triu(lu[place]), made[place]
        if transpose:
            x[:] = np.linalg.solve(lower.T, np.linalg.solve(upper.T, x))
        for row, other in reversed(swaps) if transpose else swaps:
            x[[row, other]] = x[[other, row]]
        if not transpose:
            x[:] = np.linalg.solve(upper, np.linalg.solve(lower, x))
    return made


@operator(
    "SolveTriangular(!x, a, b, bool upper, bool unitriangular)",
    """
    out x  F32|F64  [*B, N, K]
    a      =x       [*B, N, N]
    b      =x       [*B, N, K]
    """,
    kernel="triangular",
)
def solve_triangular(a: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """The x with a x = b. Only one triangle of a is read, and not its diagonal, which is 1, with
    `unitriangular`."""
    import numpy as np

    n = a.shape[-1]
    triangle = np.triu(a, int(unitriangular)) if upper else np.tril(a, -int(unitriangular))
    return np.linalg.solve(triangle + np.eye(n) * int(unitriangular), b)


@operator(
    "LUUnpack(!p, !l, !u, lu, pivots)",
    f"""
    out p   F32|F64  [*B, M, M]
    out l   =p       [*B, M, {_K}]
    out u   =p       [*B, {_K}, N]
    lu      =p       [*B, M, N]
    pivots  I32      [*B, {_K}]
    """,
    kernel=True,
)
def lu_unpack(lu: Array, pivots: Array) -> Any:
    """The permutation p, the unit lower triangular l and the upper triangular u, from the packed
    factors and row exchanges of `lu_factor`."""
    import numpy as np

    m, k = lu.shape[-2], min(lu.shape[-2:])
    p = np.zeros((*lu.shape[:-1], m))
    for place in np.ndindex(lu.shape[:-2]):
        order = np.arange(m)
        for row, other in enumerate(pivots[place].astype(int) - 1):
            order[[row, other]] = order[[other, row]]
        p[place][order, np.arange(m)] = 1
    return p, np.tril(lu[..., :k], -1) + np.eye(m, k), np.triu(lu[..., :k, :])


@operator(
    "Lstsq(!x, !rank, a, b, double rcond)",
    """
    out x     F32|F64  [*B, N, K]
    out rank  I64      [*B]
    a         =x       [*B, M, N]
    b         =x       [*B, M, K]
    """,
    kernel=True,
)
def lstsq(a: Array, b: Array, *, rcond: float) -> Any:
    """The x of least norm among those with the least |a x - b|, and the rank of a, of which the
    singular values below about rcond times the largest count as 0, as LAPACK's gelsy."""
    import numpy as np

    x = np.linalg.pinv(a, rcond) @ b
    return x, np.linalg.matrix_rank(a, rtol=rcond)
