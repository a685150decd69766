"""Linear algebra."""

from __future__ import annotations

from .expression import Array
from .model import operator


@operator(
    "Logdet(!y, x)",
    """
    out y  F32|F64  [] or [1]
    x      =y       [N, N]
    """,
    kernel=True,
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
