"""Linear algebra."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array, power, where
from ...language.gather import Out, gather, real
from ...language.model import operator


@operator(
    "Logdet(!y, x)",
    """
    out y  F32|F64  [] or [1]
    x      =y       [N, N]
    """,
    kernel="det",
)
def logdet(x: Array, *, dtypes: dict[str, str], shapes: dict[str, tuple[int, ...]]) -> Array:
    """The logarithm of a matrix's determinant: NaN for a negative one, -inf for a singular matrix
    (one with a pivot of at most 1e-6, or 1e-12 in F64)."""
    import numpy as np

    least = 1e-12 if dtypes["x"] == "F64" else 1e-6
    matrix = np.array(x, dtype=np.float64)
    result, sign = 0.0, 1.0
    for k in range(len(matrix)):
        pivot = k + int(np.argmax(np.abs(matrix[k:, k])))
        if abs(matrix[pivot, k]) <= least:
            return np.full(shapes["y"], -np.inf)
        if pivot != k:
            matrix[[k, pivot]] = matrix[[pivot, k]]
            sign = -sign
        sign *= np.sign(matrix[k, k])
        result += np.log(abs(matrix[k, k]))
        matrix[k + 1 :] -= np.outer(matrix[k + 1 :, k] / matrix[k, k], matrix[k])
    return np.full(shapes["y"], result if sign > 0 else np.nan)


@operator(
    "Kron(!y, x1, x2)",
    """
    out y  F+  [*Y]
    x1     =y  [*A]
    x2     =y  [*B]
    """,
    where="len(A) == len(Y); len(B) == len(Y)",
    lowered=True,
    sizes={"Y": "products(A, B)"},
    complex_as="product",
)
@gather(batch=0, split=lambda out, x1, x2: tuple(zip(x1.sizes, x2.sizes, strict=True)))
def kron(out: Out, x1: Array, x2: Array) -> Any:
    """The Kronecker product: every element of x1 times the whole x2."""
    return x1[out.at[::2]] * x2[out.at[1::2]]


@operator(
    "Vander(!output, input, int N, int increasing)",
    """
    out output  F+       [R, N if N > 0 else R]  dense
    input       =output  [R]                     dense
    """,
    lowered=True,
)
@gather(batch=0)
def vander(out: Out, input: Array, *, N: Any, increasing: Any) -> Any:
    """Powers of the input as rows: column j is the power N - 1 - j, or j with `increasing`. An N of
    0 or less means as many columns as rows."""
    row, column = out.at
    return power(input[row], real(where(increasing > 0, column, out.sizes[1] - 1 - column)))
