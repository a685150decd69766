"""Convolutions with groups, and transposed ones."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from .conv import conv

_LISTS = "const size_t *pads[n], const size_t *strides[n], const size_t *dilations[n]"
_COUNTS = "n >= 1; n <= 3; len(X) == n; len(Y) == n; len(K) == n; groups >= 1"
_DEFAULTS = {"groups": "1"}


@operator(
    f"GroupedConv(!y, x, w, b, {_LISTS}, size_t n, size_t groups)",
    """
    out y F+ [N, M, *Y] dense
    x     =y [N, C, *X] dense
    w     =y [M, G, *K] dense
    b?    =y [M]        dense
    """,
    where=f"{_COUNTS}; M % groups == 0; C == G * groups",
    kernel=True,
    sizes={"Y": "conv_sizes(X, K, pads, strides, dilations)"},
    defaults=_DEFAULTS,
)
def grouped_conv(
    x: Array,
    w: Array,
    b: Array,
    *,
    n: int,
    groups: int,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
    dilations: list[int] | None = None,
) -> Array:
    """conv in groups: the features of a group see the channels of that group only."""
    import numpy as np

    parts = [
        conv(channels, features, None, n=n, pads=pads, strides=strides, dilations=dilations)
        for channels, features in zip(np.split(x, groups, axis=1), np.split(w, groups), strict=True)
    ]
    y = np.concatenate(parts, axis=1)
    return y if b is None else y + b.reshape(-1, *([1] * n))


@operator(
    f"ConvTranspose(!y, x, w, b, {_LISTS}, const size_t *output_pads[n], size_t n, size_t groups)",
    """
    out y F+ [N, M, *Y] dense
    x     =y [N, C, *X] dense
    w     =y [C, G, *K] dense
    b?    =y [M]        dense
    """,
    where=f"{_COUNTS}; C % groups == 0; M == G * groups",
    kernel=True,
    sizes={"Y": "conv_transpose_sizes(X, K, pads, strides, dilations, output_pads)"},
    defaults=_DEFAULTS | {"output_pads": "0"},
)
def conv_transpose(
    x: Array,
    w: Array,
    b: Array,
    *,
    n: int,
    groups: int,
    shapes: dict[str, tuple[int, ...]],
    pads: list[int] | None = None,
    strides: list[int] | None = None,
    dilations: list[int] | None = None,
    output_pads: list[int] | None = None,
) -> Array:
    """The transpose of a convolution, which makes an image of its outputs: each element of x adds
    its multiple of a filter to the window of y that it belongs to. Along a dimension y has
    (X - 1) * stride - 2 * pad + dilation * (K - 1) + output_pad + 1 elements."""
    import numpy as np

    pads, strides, dilations = pads or [0] * n, strides or [1] * n, dilations or [1] * n
    wide = [
        max((size - 1) * s + d * (k - 1) + 1, p + out)
        for size, k, s, d, p, out in zip(
            x.shape[2:], w.shape[2:], strides, dilations, pads, shapes["y"][2:], strict=True
        )
    ]
    y: Array = np.zeros((*shapes["y"][:2], *wide))
    each, all_of = w.shape[1], (slice(None), slice(None))
    for group, (channels, filters) in enumerate(
        zip(np.split(x, groups, axis=1), np.split(w, groups), strict=True)
    ):
        to = y[:, group * each : (group + 1) * each]
        for tap in np.ndindex(w.shape[2:]):
            at = tuple(
                slice(t * d, t * d + (size - 1) * s + 1, s)
                for t, d, s, size in zip(tap, dilations, strides, x.shape[2:], strict=True)
            )
            part = np.tensordot(channels, filters[all_of + tap], (1, 0))
            to[all_of + at] += np.moveaxis(part, -1, 1)
    inside = tuple(slice(p, p + out) for p, out in zip(pads, shapes["y"][2:], strict=True))
    y = y[all_of + inside]
    return y if b is None else y + b.reshape(-1, *([1] * n))
