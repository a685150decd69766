"""The same elements in another layout."""

from __future__ import annotations

from .expression import Array
from .model import operator


@operator(
    "Rearrange(!dst, src)",
    """
    out dst  ANY   [*S]
    src      =dst  [*S]
    """,
    workspace=False,
    kernel=True,
)
def rearrange(src: Array) -> Array:
    """A copy in other strides."""
    return src


@operator(
    "BroadcastTo(!y, x)",
    """
    out y  F+|I8|U8|I32|I64  [*S]
    x      =y                [~S]
    """,
    kernel=True,
)
def broadcast_to(x: Array, *, shapes: dict[str, tuple[int, ...]]) -> Array:
    """x repeated to the shape of y, by NumPy's rules of broadcasting."""
    import numpy as np

    return np.broadcast_to(x, shapes["y"])


@operator(
    "BlockDiag(y, x[num_inputs], size_t num_inputs) -> (!y, const void **x[num_inputs]=x)",
    """
    out y  F+  [R, C]
    x      =y  [H, W]
    """,
    where="num_inputs > 0",
    kernel=True,
)
def block_diag(x: list[Array], *, num_inputs: int) -> Array:
    """The matrices x on the diagonal of y, zeros elsewhere."""
    import numpy as np

    result = np.zeros((sum(m.shape[0] for m in x), sum(m.shape[1] for m in x)))
    row = column = 0
    for matrix in x[:num_inputs]:
        height, width = matrix.shape
        result[row : row + height, column : column + width] = matrix
        row, column = row + height, column + width
    return result
