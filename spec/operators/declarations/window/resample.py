"""Images sampled between their elements: resampling, grids; and patches put together."""

from __future__ import annotations

from typing import Any

from ...language.boxes import Sizes, items, over, window_count
from ...language.expression import (
    Array,
    absolute,
    both,
    equal,
    floor,
    fmod,
    maximum,
    minimum,
    nearest,
    where,
)
from ...language.gather import Out, gather, integer, item, real, single, total
from ...language.model import operator

# ---- Weights ------------------------------------------------------------------------------------


def _cubic(t: Any) -> tuple[Any, Any, Any, Any]:
    """Weights of the elements at -1, 0, 1, 2 for a place between 0 and 1: cubic convolution with
    a = -3/4."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0

    def far(x: Any) -> Any:
        return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a

    return far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)


def _blend(places: list[list[tuple[Any, Any]]], element: Any, done: Sizes = ()) -> Any:
    """The sum of element(i, j, ...) times the weights of i, j, ...; `places` lists them."""
    if not places:
        return element(*done)
    result: Any = None
    for place, weight in places[0]:
        part = _blend(places[1:], element, (*done, place)) * weight
        result = part if result is None else result + part
    return result


# ---- Resampling ---------------------------------------------------------------------------------


def _resampled(
    out: Out, x: Array, *, mode: Any, size: Any, scales: Any, n: Any, align_corners: Any
) -> Any:
    return [(each,) for each in items(size, len(out.sizes), 0)]


def _step(scales: Any, d: int, length: Any, count: Any) -> Any:
    """How far apart the outputs of a dimension lie in the input."""
    scale = item(scales, d, 0.0)
    return where(scale > 0.0, 1.0 / maximum(scale, 1e-300), real(length) / real(count))


def _smooth(out: Out, x: Array, mode: Any, scales: Any, align_corners: Any) -> Any:
    """Every output is a mean of the elements around it, with the weights of a triangle or of cubic
    convolution (a = -1/2) that is as wide as the outputs lie apart."""

    def filter(x: Any) -> Any:
        x = absolute(x)
        if mode == "linear-antialias":
            return maximum(1.0 - x, 0.0)
        near = (1.5 * x - 2.5) * x * x + 1.0
        far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
        return where(x < 1.0, near, where(x < 2.0, far, 0.0))

    begins, counts, weights = [], [], []
    for d, (o, count, length) in enumerate(zip(out.at, out.sizes, x.sizes, strict=True)):
        corners = where(count > 1, real(length - 1) / real(maximum(count - 1, 1)), 0.0)
        step = where(align_corners > 0, corners, _step(scales, d, length, count))
        middle = step * (real(o) + 0.5)
        wide = maximum(step, 1.0)
        reach = wide * (1.0 if mode == "linear-antialias" else 2.0)
        begin = integer(floor(minimum(maximum(middle - reach + 0.5, 0.0), real(length))))
        end = integer(floor(minimum(maximum(middle + reach + 0.5, 0.0), real(length))))

        def weight(k: Any, begin: Any = begin, middle: Any = middle, wide: Any = wide) -> Any:
            return filter((real(begin + k) - middle + 0.5) / wide)

        begins.append(begin)
        counts.append(end - begin)
        weights.append((weight, total(end - begin, weight)))

    def element(*at: Any) -> Any:
        share: Any = 1.0
        for k, (weight, sum_) in zip(at, weights, strict=True):
            share = share * (weight(k) / sum_)
        return x[tuple(begin + k for begin, k in zip(begins, at, strict=True))] * share

    return over(total, tuple(counts), element)


@operator(
    "Resample(!y, x, const char *mode, const size_t *size[n], const double *scales[n], size_t n,"
    " bool align_corners)",
    """
    out y  F+  [N, C, *O]
    x      =y  [N, C, *I]
    """,
    where="n >= 1; n <= 3; len(I) == n; len(O) == n; given(size); prod(I) > 0 or prod(O) == 0",
    kernel=True,
    sizes={"O": "size"},
    defaults={"mode": '"nearest"', "scales": "None"},
)
@gather(batch=2, split=_resampled)
def resample(
    out: Out, x: Array, *, mode: Any, size: Any, scales: Any, n: Any, align_corners: Any
) -> Any:
    """An image in other sizes, by the steps of each dimension: with r = 1 / scale, or in / out
    without a scale (or one of 0), element o is made of those around (o + 1/2) r - 1/2, or with
    align_corners around o (in - 1) / (out - 1).

    "nearest" takes the element at floor(o r), "nearest-exact" that at floor((o + 1/2) r), both in
    single precision; "linear" blends two neighbours of each dimension, "cubic" four (for one and
    two dimensions). Beyond the edges the outermost elements go on. "linear-antialias" and
    "cubic-antialias" (for one and two dimensions) blend all elements that fall together when the
    image gets smaller."""
    if mode.endswith("antialias"):
        return _smooth(out, x, mode, scales, align_corners)
    places: list[list[tuple[Any, Any]]] = []
    for d, (o, count, length) in enumerate(zip(out.at, out.sizes, x.sizes, strict=True)):
        step = _step(scales, d, length, count)
        if mode.startswith("nearest"):
            middle = 0.5 if mode == "nearest-exact" else 0.0
            source = floor(single(single(real(o) + middle) * single(step)))
            places.append([(minimum(maximum(integer(source), 0), length - 1), 1.0)])
            continue
        corner = real(o * (length - 1)) / real(maximum(count - 1, 1))
        source = where(align_corners > 0, corner, (real(o) + 0.5) * step - 0.5)
        if mode == "linear":
            source = maximum(source, 0.0)
        before = floor(source)
        share = source - before
        shares = (1.0 - share, share) if mode == "linear" else _cubic(share)
        first = integer(before) - (0 if mode == "linear" else 1)
        places.append(
            [
                (minimum(maximum(first + k, 0), length - 1), weight)
                for k, weight in enumerate(shares)
            ]
        )
    if mode.startswith("nearest"):
        return x[tuple(place for ((place, _),) in places)]
    return _blend(places, lambda *at: x[at])


# ---- Grids --------------------------------------------------------------------------------------


def _reflected(at: Any, low: Any, span: Any) -> Any:
    """A place mirrored at low and low + span until it lies between them."""
    away = absolute(at - low)
    extra = fmod(away, span)
    even = equal(fmod(floor(away / span), 2.0), 0.0)
    return where(span > 0.0, where(even, extra, span - extra) + low, 0.0)


def _placed(at: Any, size: Any, align_corners: Any, padding_mode: Any) -> Any:
    """What the padding makes of a place in elements: border and reflection leave none outside."""
    last = real(size - 1)
    low = where(align_corners > 0, 0.0, -0.5)
    span = where(align_corners > 0, last, real(size))
    at = where(equal(padding_mode, 2), _reflected(at, low, span), at)
    return where(equal(padding_mode, 0), at, minimum(maximum(at, 0.0), last))


@operator(
    "GridSample(!y, x, grid, const char *mode, infiniopGridPadding_t padding_mode,"
    " bool align_corners)",
    """
    out y  F+  [N, C, *O]
    x      =y  [N, C, *I]
    grid   =y  [N, *O, R]
    """,
    where="""
    R == len(O); len(I) == len(O); R >= 2; R <= 3; padding_mode >= 0; padding_mode <= 2;
    prod(I) > 0 or prod(O) == 0
    """,
    kernel=True,
    defaults={"mode": '"bilinear"', "padding_mode": '"zeros"'},
)
@gather(batch=1)
def grid_sample(
    out: Out, x: Array, grid: Array, *, mode: Any, padding_mode: Any, align_corners: Any
) -> Any:
    """Samples of an image at the positions in a grid: -1 and 1 are the edges of a dimension,
    or with align_corners the middles of its outermost elements; the last dimension comes first.

    "bilinear" blends the two neighbours of each dimension, "bicubic" four (for two dimensions),
    "nearest" takes the nearest element, ties to even. The padding mode defines the values
    outside."""
    rank = len(out.sizes) - 1
    channel, *point = out.at
    places: list[list[tuple[Any, Any]]] = []
    for d, size in enumerate(x.sizes[1:]):
        component: tuple[Any, ...] = (*point, rank - 1 - d)
        at = grid[component]
        at = where(
            align_corners > 0,
            (at + 1.0) / 2.0 * real(size - 1),
            ((at + 1.0) * real(size) - 1.0) / 2.0,
        )
        if mode == "bicubic":
            before = floor(at)
            places.append(
                [
                    (integer(_placed(before + (k - 1.0), size, align_corners, padding_mode)), w)
                    for k, w in enumerate(_cubic(at - before))
                ]
            )
            continue
        at = _placed(at, size, align_corners, padding_mode)
        if mode == "nearest":
            places.append([(integer(nearest(at)), 1.0)])
        else:
            before = floor(at)
            share = at - before
            first = integer(before)
            places.append([(first, 1.0 - share), (first + 1, share)])
    if mode == "nearest":
        return x.at(channel, *(place for ((place, _),) in places))
    return _blend(places, lambda *here: x.at(channel, *here))


@operator(
    "AffineGrid3d(!output, input, bool align_corners)",
    """
    out output  F+       [N, D, H, W, 3]
    input       =output  [N, 3, 4]
    """,
    lowered=True,
)
@gather(batch=1)
def affine_grid3d(out: Out, input: Array, *, align_corners: Any) -> Any:
    """affine_grid in three dimensions: component k at (d, h, w) is input[k, 0] x + input[k, 1] y +
    input[k, 2] z + input[k, 3] with x along the last dimension and z along the first."""
    *point, k = out.at
    places = []
    for at, size in zip(point, out.sizes[:3], strict=True):
        corners = where(size > 1, real(2 * at) / real(maximum(size - 1, 1)) - 1.0, real(0 * at))
        middles = real(2 * at + 1) / real(size) - 1.0
        places.append(where(align_corners > 0, corners, middles))
    z, y, x = places
    return input[k, 0] * x + input[k, 1] * y + input[k, 2] * z + input[k, 3]


# ---- Patches ------------------------------------------------------------------------------------


@operator(
    "Fold(!output, input, const size_t *output_size[2], const size_t *kernel_sizes[2],"
    " const size_t *strides[2], const size_t *paddings[2], const size_t *dilations[2])",
    """
    out output  F+       [N, C, output_size[0], output_size[1]]
    input       =output  [N, R, L]
    """,
    where="""
    given(output_size); given(kernel_sizes); R == C * kernel_sizes[0] * kernel_sizes[1]
    """,
    kernel=True,
    complex_as="parts",
)
@gather(batch=1)
def fold(
    out: Out,
    input: Array,
    *,
    output_size: Any,
    kernel_sizes: Any,
    strides: Any,
    paddings: Any,
    dilations: Any,
) -> Any:
    """Windows put back into an image, the inverse of unfold: row (c, i, j) of column
    (p, q) is added to the element (i, j) of the window of channel c that begins at (p, q) times the
    strides. Elements in the padding are dropped. Without lists of them, strides and dilations are
    1, paddings 0."""
    channel, *point = out.at
    kernel = items(kernel_sizes, 2, 1)
    steps, pads, gaps = items(strides, 2, 1), items(paddings, 2, 0), items(dilations, 2, 1)
    counts = tuple(
        window_count(size, k, s, p, d)
        for size, k, s, p, d in zip(out.sizes[1:], kernel, steps, pads, gaps, strict=True)
    )

    def element(i: Any, j: Any) -> Any:
        row = channel
        column: Any = 0
        fits: Any = None
        for tap, at, k, s, p, d, count in zip(
            (i, j), point, kernel, steps, pads, gaps, counts, strict=True
        ):
            start = at + p - tap * d
            window = start // s
            inside = both(equal(start % s, 0), both(window >= 0, window < count))
            fits = inside if fits is None else both(fits, inside)
            row = row * k + tap
            column = column * count + window
        return input.at(row, where(fits, column, -1))

    return over(total, kernel, element)
