"""Pooling, grids and resampling: windows that slide over the last dimensions."""

from __future__ import annotations

from typing import Any

from ...language.boxes import Sizes, bins, mean_of, sum_of, window_count, windows
from ...language.expression import Array, floor, maximum, minimum, where
from ...language.gather import Out, gather, integer, item, largest, real, single
from ...language.model import operator

# ---- Adaptive pooling ---------------------------------------------------------------------------


@operator(
    "AdaptiveAvgPool1d(out_desc, input_desc) -> (!output=out, input)",
    """
    out out  F+    [*B, O]
    input    =out  [*B, L]
    """,
    where="len(B) >= 1; L > 0 or O == 0",
    lowered=True,
)
@gather(last=1)
def adaptive_avg_pool1d(out: Out, input: Array) -> Any:
    """Means of bins that cover the last dimension: bin i reaches from floor(i L / O) to
    ceil((i + 1) L / O)."""
    return mean_of(*bins(out, input.sizes), lambda *at: input[at])


@operator(
    "AdaptiveMaxPool1d(!y_desc, x_desc, size_t output_size)",
    """
    out y  F+  [*B, output_size]
    x      =y  [*B, L]
    """,
    where="len(B) >= 1; len(B) <= 2; L > 0 or output_size == 0",
    lowered=True,
)
@gather(last=1)
def adaptive_max_pool1d(out: Out, x: Array, *, output_size: Any) -> Any:
    """The largest elements of bins that cover the last dimension, as in adaptive_avg_pool1d."""
    (begin,), (end,) = bins(out, x.sizes)
    return largest(end - begin, lambda k: x[begin + k])


@operator(
    "AdaptiveAvgPool3D(!y, x, size_t *output_size[3])",
    """
    out y  F+  [N, C, output_size[0], output_size[1], output_size[2]]
    x      =y  [N, C, D, H, W]
    """,
    where="D > 0; H > 0; W > 0",
    lowered=True,
)
@gather(last=3)
def adaptive_avg_pool3d(out: Out, x: Array, *, output_size: Any) -> Any:
    """Means of boxes that cover the last three dimensions, with bins as in adaptive_avg_pool1d."""
    return mean_of(*bins(out, x.sizes), lambda *at: x[at])


# ---- Pooling ------------------------------------------------------------------------------------


@operator(
    "AvgPool1d(!output, input, size_t kernel_size, size_t stride, size_t padding)",
    """
    out output  F+       [N, C, O]
    input       =output  [N, C, L]
    """,
    where="kernel_size > 0; stride > 0; padding >= 0",
    lowered=True,
    sizes={"O": "(L + 2 * padding - kernel_size) // stride + 1"},
    complex_as="parts",
)
@gather(
    batch=2,
    split=lambda out, input, *, kernel_size, stride, padding: (
        (window_count(input.sizes[0], kernel_size, stride, padding),),
    ),
)
def avg_pool1d(out: Out, input: Array, *, kernel_size: Any, stride: Any, padding: Any) -> Any:
    """Means of windows over the last dimension; the zeros around it count."""
    begins, ends = windows(out, input.sizes, (kernel_size,), (stride,), (padding,))
    return sum_of(begins, ends, lambda *at: input[at]) / real(kernel_size)


def _pool3d(kernel_size: Any, stride: Any, padding: Any) -> tuple[Sizes, Sizes, Sizes]:
    kernel = tuple(item(kernel_size, d) for d in range(3))
    strides = tuple(item(stride, d, kernel[d]) for d in range(3))
    return kernel, strides, tuple(item(padding, d) for d in range(3))


@operator(
    "AvgPool3d(!y, x, void *kernel_size[3:size_t], void *stride[3:size_t],"
    " void *padding[3:size_t])",
    """
    out y  F+  [N, C, P, Q, R]
    x      =y  [N, C, D, H, W]
    """,
    where="""
    given(kernel_size); kernel_size[0] > 0; kernel_size[1] > 0; kernel_size[2] > 0;
    not given(stride) or (stride[0] > 0 and stride[1] > 0 and stride[2] > 0);
    padding[0] >= 0; padding[1] >= 0; padding[2] >= 0
    """,
    lowered=True,
    sizes={
        "P": "pool_size(D, 0, kernel_size, stride, padding)",
        "Q": "pool_size(H, 1, kernel_size, stride, padding)",
        "R": "pool_size(W, 2, kernel_size, stride, padding)",
    },
    complex_as="parts",
)
@gather(
    batch=2,
    split=lambda out, x, **lists: [
        (window_count(*each),) for each in zip(x.sizes, *_pool3d(**lists), strict=True)
    ],
)
def avg_pool3d(out: Out, x: Array, *, kernel_size: Any, stride: Any, padding: Any) -> Any:
    """Means of boxes over the last three dimensions; the zeros around them count.

    Without a stride it is the kernel's size, without a padding there is none."""
    kernel, strides, paddings = _pool3d(kernel_size, stride, padding)
    begins, ends = windows(out, x.sizes, kernel, strides, paddings)
    return sum_of(begins, ends, lambda *at: x[at]) / real(kernel[0] * kernel[1] * kernel[2])


def _unfold_split(
    out: Out, input: Array, *, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any
) -> Any:
    kernel = (item(kernel_sizes, 0), item(kernel_sizes, 1))
    counts = tuple(
        window_count(
            input.sizes[d + 1], kernel[d], item(strides, d), item(paddings, d), item(dilations, d)
        )
        for d in range(2)
    )
    return (input.sizes[0], *kernel), counts


@operator(
    "Unfold(!output, input, const int *kernel_sizes[2], const int *strides[2],"
    " const int *paddings[2], const int *dilations[2])",
    """
    out output  F+       [N, R, L]     dense
    input       =output  [N, C, H, W]  dense
    """,
    where="""
    given(kernel_sizes); given(strides); given(paddings); given(dilations);
    kernel_sizes[0] > 0; kernel_sizes[1] > 0; strides[0] > 0; strides[1] > 0;
    paddings[0] >= 0; paddings[1] >= 0; dilations[0] > 0; dilations[1] > 0
    """,
    lowered=True,
    sizes={
        "R": "C * kernel_sizes[0] * kernel_sizes[1]",
        "L": "conv_size(H, 0, kernel_sizes, paddings, strides, dilations)"
        " * conv_size(W, 1, kernel_sizes, paddings, strides, dilations)",
    },
    complex_as="parts",
)
@gather(batch=1, split=_unfold_split)
def unfold(
    out: Out, input: Array, *, kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any
) -> Any:
    """The windows of an image as columns: row (c, i, j) of column (p, q) is the element (i, j) of
    the window of channel c that begins at (p, q) times the strides. Zeros lie around the image."""
    c, i, j, p, q = out.at
    y = p * item(strides, 0) - item(paddings, 0) + i * item(dilations, 0)
    x = q * item(strides, 1) - item(paddings, 1) + j * item(dilations, 1)
    return input.at(c, y, x)


# ---- Grids and resampling -----------------------------------------------------------------------


@operator(
    "AffineGrid(!output_desc, input_desc, uint8_t align_corners)",
    """
    out output  F+       [N, H, W, 2]  dense
    input       =output  [N, 2, 3]     dense
    """,
    lowered=True,
)
@gather(batch=1)
def affine_grid(out: Out, input: Array, *, align_corners: Any) -> Any:
    """The points of a grid on [-1, 1] x [-1, 1] under the affine maps of the input: component k at
    row i, column j is input[k, 0] x + input[k, 1] y + input[k, 2].

    Points lie at the corners of the outermost pixels (align_corners), or in the pixels' middle."""
    i, j, k = out.at
    height, width, _ = out.sizes

    def place(at: Any, size: Any) -> Any:
        corners = where(size > 1, real(2 * at) / real(maximum(size - 1, 1)) - 1.0, real(0 * at))
        middles = real(2 * at + 1) / real(size) - 1.0
        return where(align_corners > 0, corners, middles)

    x, y = place(j, width), place(i, height)
    return input[k, 0] * x + input[k, 1] * y + input[k, 2]


def _linear(out: Out, input: Array, align_corners: Any) -> Any:
    """Interpolates linearly along every dimension."""
    places = []
    for o, count, size in zip(out.at, out.sizes, input.sizes, strict=True):
        corners = where(count > 1, real(o * (size - 1)) / real(maximum(count - 1, 1)), real(0 * o))
        middles = (real(o) + 0.5) * real(size) / real(count) - 0.5
        source = maximum(where(align_corners > 0, corners, middles), 0.0)
        before = minimum(integer(floor(source)), size - 1)
        after = minimum(before + 1, size - 1)
        places.append((before, after, minimum(source - real(before), 1.0)))

    def blend(done: Sizes, rest: Any) -> Any:
        if not rest:
            return input[done]
        before, after, share = rest[0]
        first, second = blend((*done, before), rest[1:]), blend((*done, after), rest[1:])
        return first * (1.0 - share) + second * share

    return blend((), places)


def _nearest(out: Out, input: Array) -> Any:
    """The element at floor(o * in / out), in single precision as everywhere."""
    return input[
        tuple(
            minimum(integer(floor(single(real(o) * single(real(n) / real(count))))), n - 1)
            for o, count, n in zip(out.at, out.sizes, input.sizes, strict=True)
        )
    ]


def _scaled(
    out: Out, x: Array, *, mode: Any, size: Any, scale_factor: Any, align_corners: Any
) -> Any:
    """The sizes that a scale factor asks for."""
    if scale_factor is None:
        return [(extent,) for extent in out.sizes]
    scale = item(scale_factor, 0, 0.0)
    return [
        (where(scale > 0.0, integer(floor(real(n) * scale)), extent),)
        for n, extent in zip(x.sizes, out.sizes, strict=True)
    ]


@operator(
    "Interpolate(!y, x, const char *mode, void *size[0:size_t], void *scale_factor[1:double],"
    " int align_corners)",
    """
    out y  F+  [N, C, *O]
    x      =y  [N, C, *I]
    """,
    where="""
    len(O) == len(I); len(O) >= 1; len(O) <= 3; prod(I) > 0 or prod(O) == 0;
    given(size) != given(scale_factor)
    """,
    umbrella=False,
    lowered=True,
    sizes={"O": "scaled_sizes(I, size, scale_factor)"},
)
@gather(batch=2, split=_scaled)
def interpolate(
    out: Out, x: Array, *, mode: Any, size: Any, scale_factor: Any, align_corners: Any
) -> Any:
    """An image in other sizes.

    "nearest" takes the element at floor(o * in / out); "linear", "bilinear" and "trilinear" (for 1,
    2 and 3 dimensions) blend the neighbours of (o + 1/2) * in / out - 1/2, or of o * (in - 1) /
    (out - 1) with align_corners; "area" is adaptive average pooling. Exactly one of size (a flag:
    the sizes are those of y) and scale_factor (one number) is given."""
    if mode == "nearest":
        return _nearest(out, x)
    if mode == "area":
        return mean_of(*bins(out, x.sizes), lambda *at: x[at])
    return _linear(out, x, align_corners)


@operator(
    "UpsampleBilinear(!output, input, int align_corners)",
    """
    out output  F+       [*B, P, Q]  dense
    input       =output  [*B, H, W]  dense
    """,
    where="H * W > 0 or P * Q == 0",
    lowered=True,
)
@gather(last=2)
def upsample_bilinear(out: Out, input: Array, *, align_corners: Any) -> Any:
    """Bilinear interpolation along the last two dimensions; see interpolate."""
    return _linear(out, input, align_corners)


@operator(
    "UpsampleNearest(!output, input)",
    """
    out output  F+|I*    [P, Q] or [N, C, Q] or [N, C, P, Q]  dense
    input       =output  [H, W] or [N, C, W] or [N, C, H, W]  dense
    """,
    where="rank(output) == rank(input); H > 0 or P == 0; W > 0 or Q == 0",
    lowered=True,
    complex_as="parts",
)
@gather(last=2)
def upsample_nearest(out: Out, input: Array) -> Any:
    """The nearest element along the last one or two dimensions: that at floor(o * in / out)."""
    return _nearest(out, input)
