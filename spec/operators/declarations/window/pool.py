"""Pooling over one, two or three dimensions."""

from __future__ import annotations

from typing import Any

from ...language.boxes import (
    Sizes,
    best_of,
    bins,
    items,
    mean_of,
    over,
    sum_of,
    taps,
    window_count,
    windows,
)
from ...language.expression import Array, minimum, where
from ...language.gather import Out, gather, largest, real
from ...language.model import operator

_WINDOWS = "const size_t *kernel_size[n], const size_t *stride[n], const size_t *padding[n]"
_BOTH = """
    out y  F+  [N, C, *O]
    x      =y  [N, C, *I]
"""
_INDEXED = """
    out y        F+   [N, C, *O]
    out indices  I64  [N, C, *O]
    x            =y   [N, C, *I]
"""
_RANKS = "n >= 1; n <= 3; len(I) == n; len(O) == n"
_DEFAULTS = {"stride": "None", "padding": "0", "dilation": "1", "ceil_mode": "False"}


def _lists(rank: int, kernel_size: Any, stride: Any, padding: Any) -> tuple[Sizes, Sizes, Sizes]:
    kernel = items(kernel_size, rank, 1)
    return kernel, items(stride, rank, kernel), items(padding, rank, 0)


# ---- Largest elements ---------------------------------------------------------------------------


def _max_counts(out: Out, x: Array, *, dilation: Any, n: Any, ceil_mode: Any, **lists: Any) -> Any:
    rank = len(out.sizes)
    each = zip(x.sizes, *_lists(rank, **lists), items(dilation, rank, 1), strict=True)
    return [(window_count(*sizes, ceil_mode),) for sizes in each]


def _max_windows(
    out: Out, sizes: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> list[tuple[Any, Any, Any]]:
    """First places, numbers of elements and gaps, for each dimension."""
    rank = len(sizes)
    kernel, strides, pads = _lists(rank, kernel_size, stride, padding)
    gaps = items(dilation, rank, 1)
    found = []
    for d in range(rank):
        first, count = taps(out.at[d] * strides[d] - pads[d], sizes[d], kernel[d], gaps[d])
        found.append((first, count, gaps[d]))
    return found


@operator(
    f"MaxPool(!y, x, {_WINDOWS}, const size_t *dilation[n], size_t n, bool ceil_mode)",
    _BOTH,
    where=f"given(kernel_size); {_RANKS}",
    kernel="pool",
    sizes={"O": "pool_sizes(I, kernel_size, stride, padding, dilation, ceil_mode)"},
    defaults=_DEFAULTS,
)
@gather(batch=2, split=_max_counts)
def max_pool(
    out: Out,
    x: Array,
    *,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    n: Any,
    ceil_mode: Any,
) -> Any:
    """The largest element of every window; the padding counts as minus infinity, a NaN wins.

    Lists have an entry for each of the n last dimensions. Without a stride it is the kernel's size,
    without a padding there is none, without a dilation it is 1. With ceil_mode a last window may
    reach beyond the end, if it does not begin there."""
    found = _max_windows(out, x.sizes, kernel_size, stride, padding, dilation)
    return over(
        largest,
        tuple(count for _, count, _ in found),
        lambda *at: x[tuple(first + k * gap for k, (first, _, gap) in zip(at, found, strict=True))],
    )


@operator(
    "MaxPoolWithIndices(!y, !indices, x,"
    f" {_WINDOWS}, const size_t *dilation[n], size_t n, bool ceil_mode)",
    _INDEXED,
    where=f"given(kernel_size); {_RANKS}",
    kernel="pool",
    sizes={"O": "pool_sizes(I, kernel_size, stride, padding, dilation, ceil_mode)"},
    defaults=_DEFAULTS,
)
def max_pool_with_indices(
    x: Array,
    *,
    kernel_size: list[int],
    stride: list[int] | None,
    padding: list[int] | None,
    dilation: list[int] | None,
    n: int,
    ceil_mode: bool,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """max_pool, and the row-major index of each element in its image: of the first of equal
    elements."""
    import numpy as np

    out = Out(tuple(map(np.arange, shapes["y"][2:])), shapes["y"][2:])
    return best_of(x, _max_windows(out, x.shape[2:], kernel_size, stride, padding, dilation))


# ---- Means --------------------------------------------------------------------------------------


def _mean_counts(
    out: Out,
    x: Array,
    *,
    n: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
    **lists: Any,
) -> Any:
    each = zip(x.sizes, *_lists(len(out.sizes), **lists), strict=True)
    return [(window_count(*sizes, 1, ceil_mode),) for sizes in each]


@operator(
    f"AvgPool(!y, x, {_WINDOWS}, size_t n, bool ceil_mode, bool count_include_pad,"
    " int64_t divisor_override)",
    _BOTH,
    where=f"given(kernel_size); {_RANKS}; divisor_override >= 0",
    kernel="pool",
    sizes={"O": "pool_sizes(I, kernel_size, stride, padding, (), ceil_mode)"},
    defaults=_DEFAULTS | {"count_include_pad": "True", "divisor_override": "0"},
    complex_as="parts",
)
@gather(batch=2, split=_mean_counts)
def avg_pool(
    out: Out,
    x: Array,
    *,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    n: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Any:
    """The mean of every window. Windows are those of max_pool.

    The sum is divided by divisor_override if that is not 0, else by the number of elements: with
    count_include_pad also of those in the padding, but not of those beyond it."""
    kernel, strides, pads = _lists(len(out.sizes), kernel_size, stride, padding)
    begins, ends = windows(out, x.sizes, kernel, strides, pads)
    inside: Any = 1
    covered: Any = 1
    for at, begin, end, k, s, p, size in zip(
        out.at, begins, ends, kernel, strides, pads, x.sizes, strict=True
    ):
        start = at * s - p
        inside = inside * (end - begin)
        covered = covered * (minimum(start + k, size + p) - start)
    divisor = where(count_include_pad > 0, covered, inside)
    divisor = where(divisor_override > 0, divisor_override, divisor)
    return sum_of(begins, ends, lambda *at: x[at]) / real(divisor)


# ---- Bins ---------------------------------------------------------------------------------------


def _bin_counts(out: Out, x: Array, *, output_size: Any, n: Any) -> Any:
    return [(size,) for size in items(output_size, len(out.sizes), 0)]


_BINS = f"given(output_size); {_RANKS}; prod(I) > 0 or prod(O) == 0"


@operator(
    "AdaptiveAvgPool(!y, x, const size_t *output_size[n], size_t n)",
    _BOTH,
    where=_BINS,
    kernel="pool",
    sizes={"O": "output_size"},
)
@gather(batch=2, split=_bin_counts)
def adaptive_avg_pool(out: Out, x: Array, *, output_size: Any, n: Any) -> Any:
    """Means of bins that cover the last dimensions: bin i of a dimension reaches from floor(i L /
    O) to ceil((i + 1) L / O)."""
    return mean_of(*bins(out, x.sizes), lambda *at: x[at])


@operator(
    "AdaptiveMaxPool(!y, x, const size_t *output_size[n], size_t n)",
    _BOTH,
    where=_BINS,
    kernel="pool",
    sizes={"O": "output_size"},
)
@gather(batch=2, split=_bin_counts)
def adaptive_max_pool(out: Out, x: Array, *, output_size: Any, n: Any) -> Any:
    """The largest elements of bins, as in adaptive_avg_pool. A NaN wins."""
    begins, ends = bins(out, x.sizes)
    counts = tuple(end - begin for begin, end in zip(begins, ends, strict=True))
    return over(
        largest,
        counts,
        lambda *at: x[tuple(begin + k for begin, k in zip(begins, at, strict=True))],
    )


@operator(
    "AdaptiveMaxPoolWithIndices(!y, !indices, x, const size_t *output_size[n], size_t n)",
    _INDEXED,
    where=_BINS,
    kernel="pool",
    sizes={"O": "output_size"},
)
def adaptive_max_pool_with_indices(
    x: Array, *, output_size: list[int], n: int, shapes: dict[str, tuple[int, ...]]
) -> tuple[Array, Array]:
    """adaptive_max_pool, and the index of each element in its image."""
    import numpy as np

    out = Out(tuple(map(np.arange, shapes["y"][2:])), shapes["y"][2:])
    begins, ends = bins(out, x.shape[2:])
    return best_of(x, [(begin, end - begin, 1) for begin, end in zip(begins, ends, strict=True)])


@operator(
    "FractionalMaxPool(!y, !indices, x, samples, const size_t *kernel_size[n],"
    " const size_t *output_size[n], size_t n)",
    """
    out y        F+   [N, C, *O]
    out indices  I64  [N, C, *O]
    x            =y   [N, C, *I]
    samples      =y   [N, C, n]
    """,
    where=f"given(kernel_size); given(output_size); {_RANKS}",
    kernel=True,
    sizes={"O": "output_size"},
)
def fractional_max_pool(
    x: Array,
    samples: Array,
    *,
    kernel_size: list[int],
    output_size: list[int],
    n: int,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The largest elements of windows that lie about evenly, as a number u of each image and
    dimension says, and where they stand, as in max_pool_with_indices.

    Window i of O begins at floor((i + u) a) - floor(u a), with a = (L - K) / (O - 1); the last one
    ends where the dimension does. 0 <= u < 1; others are taken for the nearest of these."""
    import numpy as np

    y = np.zeros(shapes["y"])
    places = np.zeros(shapes["y"], np.int64)
    for image in np.ndindex(shapes["y"][:2]):
        choices = []
        for size, kernel, count, u in zip(
            x.shape[2:], kernel_size, shapes["y"][2:], samples[image], strict=True
        ):
            step = (size - kernel) / max(count - 1, 1)
            u = float(min(max(u, 0.0), 1.0 - 2.0**-24)) if u == u else 0.0
            first = np.floor((np.arange(count) + u) * step) - np.floor(u * step)
            first = np.minimum(first.astype(np.int64), size - kernel)
            first[-1:] = size - kernel
            choices.append((first, np.full(count, kernel), 1))
        y[image], places[image] = best_of(x[image], choices)
    return y, places
