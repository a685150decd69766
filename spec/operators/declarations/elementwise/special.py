"""Special functions of two arguments whose loop counts depend on the data."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator
from .elementwise import BINARY

_PAIR = """
    out y F+ [*S]
    x     =y [*S]
    n     =y [*S]
"""


def _next(kind: int, x: Any, k: int, last: Any, before: Any) -> Any:
    """Degree k + 1 from degrees k and k - 1."""
    if kind < 4:
        return 2 * x * last - before
    if kind < 6:
        return (x * last - before * k) * (2 if kind == 4 else 1)
    if kind == 6:
        return ((2 * k + 1 - x) * last - before * k) / (k + 1)
    return (x * last * (2 * k + 1) - before * k) / (k + 1)


@operator(
    "OrthogonalPolynomial(!y, x, n, int kind)",
    _PAIR,
    where="kind >= 0; kind < 12",
    kernel="special",
)
def orthogonal_polynomial(x: Array, n: Array, *, kind: int) -> Array:
    """The polynomial of degree n at x; 0 where n is negative. `kind` 0 to 3: Chebyshev polynomials
    of the first to the fourth kind; 4 and 5: physicists' and probabilists' Hermite polynomials; 6:
    Laguerre; 7: Legendre; 8 to 11: Chebyshev polynomials at 2 x - 1. NaN for Hermite degrees above
    512 (F32: 128), and for Laguerre and Legendre degrees above 32768."""
    import numpy as np

    kind, x = (kind - 8, 2 * x - 1) if kind >= 8 else (kind, x)
    n = np.trunc(n)
    first = (x, 2 * x, 2 * x - 1, 2 * x + 1, 2 * x, x, 1 - x, x)[kind]
    before, last = np.ones_like(x), first
    made = np.where(n >= 1, last, before)
    with np.errstate(all="ignore"):
        for k in range(1, int(np.max(n, initial=0))):
            before, last = last, _next(kind, x, k, last, before)
            made = np.where(n > k, last, made)
    return np.where(n < 0, 0.0, made)


@operator("Zeta(!c, a, b)", BINARY, kernel="special")
def zeta(a: Array, b: Array) -> Array:
    """The Hurwitz zeta function: the sum of (b + k)^-a over k = 0, 1, ..."""
    import numpy as np
    from scipy import special

    whole = np.floor(a)
    below = (b < 0) & (b != np.floor(b)) & (a == whole) & (a > 1)
    count = np.where(below, -np.floor(b), 0)
    total = np.where(below, 0.0, special.zeta(a, b))
    with np.errstate(all="ignore"):
        for k in range(int(np.max(count, initial=0))):  # terms below 0, one by one
            total = total + np.where(k < count, np.power(b + k, -whole), 0.0)
        rest = special.zeta(np.where(below, a, 2.0), np.where(below, b + count, 1.0))
    return np.where(below, total + rest, total)


@operator("IncompleteGamma(!c, a, b, int upper)", BINARY, kernel="special")
def incomplete_gamma(a: Array, b: Array, *, upper: int) -> Array:
    """The regularized incomplete gamma function of a at b: the lower one, or the upper one."""
    from scipy import special

    return (special.gammaincc if upper else special.gammainc)(a, b)
