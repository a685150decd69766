"""The same elements in another layout."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array, maximum, minimum, where
from ...language.gather import Out, gather, item
from ...language.model import operator


@operator(
    "Rearrange(!dst, src)",
    """
    out dst  ANY   [*S]
    src      =dst  [*S]
    """,
    workspace=False,
    kernel=True,
    copies=True,
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
    lowered=True,
    complex_as="parts",
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
    lowered=True,
    sizes={"R": "total(x, 0)", "C": "total(x, 1)"},
    complex_as="parts",
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


@operator(
    "Flipud(!output, input)",
    """
    out output  F+       [R, *S]
    input       =output  [R, *S]
    """,
    lowered=True,
    complex_as="parts",
)
@gather(axis=0)
def flipud(out: Out, input: Array) -> Any:
    """The first dimension in reverse order."""
    (row,) = out.at
    return input[out.sizes[0] - 1 - row]


@operator(
    "PixelShuffle(!y, x, int upscale_factor)",
    """
    out y  F+  [N, C, H * upscale_factor, W * upscale_factor]         dense
    x      =y  [N, C * upscale_factor * upscale_factor, H, W]         dense
    """,
    where="upscale_factor > 0",
    lowered=True,
    complex_as="parts",
)
@gather(
    batch=1,
    split=lambda out, x, *, upscale_factor: (
        (out.sizes[0],),
        (x.sizes[1], upscale_factor),
        (x.sizes[2], upscale_factor),
    ),
)
def pixel_shuffle(out: Out, x: Array, *, upscale_factor: Any) -> Any:
    """Channels become pixels: with r the factor, channel (c r + i) r + j goes to offset (i, j) in
    every square of r x r."""
    c, row, i, column, j = out.at
    return x[(c * upscale_factor + i) * upscale_factor + j, row, column]


@operator(
    "Pad(!y, x, void *pad[pad_size/4:int], size_t pad_size, const char *mode, double value)",
    """
    out y  PLAIN  [*Y]
    x      =y     [*X]
    """,
    where="len(Y) == len(X); len(pad) % 2 == 0; len(pad) <= 2 * len(X)",
    kernel=True,
    sizes={"Y": "padded_sizes(X, pad)"},
    complex_as="parts",
)
@gather(
    batch=0,
    texts={"mode": ("constant", "reflect", "replicate", "circular")},
)
def pad(out: Out, x: Array, *, pad: Any, pad_size: Any, mode: Any, value: Any) -> Any:
    """Pads each dimension at both ends.

    `pad` lists pairs (before, after), beginning with the last dimension; negative numbers crop.
    pad_size is the list's size in bytes. The mode says what is added: "constant" a value, "reflect"
    the neighbours in reverse order without the outermost element, "replicate" the outermost
    element, "circular" those of the other end. Any other mode, or none, is "constant"."""
    rank = len(out.sizes)
    places = []
    for dim, (at, size) in enumerate(zip(out.at, x.sizes, strict=True)):
        place = at - item(pad, 2 * (rank - 1 - dim))
        if mode == "reflect":
            place = where(place < 0, -place, place)
            place = where(place < size, place, 2 * (size - 1) - place)
        elif mode == "replicate":
            place = minimum(maximum(place, 0), size - 1)
        elif mode == "circular":
            place = place % size
        places.append(place)
    return x.at(*places, otherwise=value) if mode == "constant" else x[tuple(places)]


@operator(
    "Flip(!y, x, const int64_t *dim[n], size_t n)",
    """
    out y  ANY  [*S]
    x      =y   [*S]
    """,
    workspace=False,
    lowered=True,
)
def flip(x: Array, *, dim: list[int], n: int) -> Array:
    """The listed dimensions in reverse order."""
    import numpy as np

    return np.flip(x, tuple(dim))


@operator(
    "Roll(!y, x, const int64_t *shifts[n], const int64_t *dim[n], size_t n)",
    """
    out y  ANY  [*S]
    x      =y   [*S]
    """,
    workspace=False,
    lowered=True,
)
def roll(x: Array, *, shifts: list[int], dim: list[int], n: int) -> Array:
    """Elements shifted along the listed dimensions; those shifted past one end reenter at the
    other. Shifts of a dimension that is listed again add up."""
    import numpy as np

    for shift, axis in zip(shifts, dim, strict=True):
        x = np.roll(x, shift, axis)
    return x
