"""Convolution."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator


@operator(
    "Conv(y_desc, x_desc, w_desc, b_desc, void *pads[n:size_t], void *strides[n:ptrdiff_t],"
    " void *dilations[n:size_t], size_t n) -> (!y, x, w, bias=b)",
    """
    out y F+ [N, M, *Y] dense
    x     =y [N, C, *X] dense
    w     =y [M, C, *K] dense
    b?    =y [M]        dense
    """,
    where="n >= 1; n <= 3",
    lowered=True,
    sizes={"Y": "conv_sizes(X, K, pads, strides, dilations)"},
)
def conv(
    x: Array,
    w: Array,
    b: Array,
    *,
    n: int,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
    dilations: list[int] | None = None,
) -> Array:
    """Cross-correlation over `n` spatial dimensions, with zeros around x. Pads are the same at both
    ends; null pointers mean pads of 0, strides and dilations of 1."""
    import numpy as np

    pads, strides, dilations = pads or [0] * n, strides or [1] * n, dilations or [1] * n
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)])
    span = [d * (k - 1) + 1 for d, k in zip(dilations, w.shape[2:], strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(2, n + 2)))
    steps = tuple(slice(None, None, s) for s in strides)
    taps = tuple(slice(None, None, d) for d in dilations)
    at = (slice(None), slice(None), *steps, *taps)
    axes = [1, *range(n + 2, 2 * n + 2)]
    y = np.moveaxis(np.tensordot(windows[at], w, (axes, range(1, n + 2))), -1, 1)
    return y if b is None else y + b.reshape(-1, *([1] * n))
