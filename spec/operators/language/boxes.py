"""Boxes of coordinates, shared by windows, bins and patches of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expression import Array, maximum, minimum, where
from .gather import Out, item, real, total

Sizes = tuple[Any, ...]


def over(fold: Callable[..., Any], counts: Sizes, element: Callable[..., Any]) -> Any:
    """Folds element(i, j, ...) for i, j, ... from 0 to counts - 1."""
    if not counts:
        return element()
    return fold(counts[0], lambda k: over(fold, counts[1:], lambda *rest: element(k, *rest)))


def sum_of(begins: Sizes, ends: Sizes, element: Callable[..., Any]) -> Any:
    """The sum of element(i, j, ...) over a box of coordinates."""
    counts = tuple(end - begin for begin, end in zip(begins, ends, strict=True))
    return over(
        total,
        counts,
        lambda *at: element(*(begin + k for begin, k in zip(begins, at, strict=True))),
    )


def mean_of(begins: Sizes, ends: Sizes, element: Callable[..., Any]) -> Any:
    volume: Any = 1
    for begin, end in zip(begins, ends, strict=True):
        volume = volume * (end - begin)
    return sum_of(begins, ends, element) / real(volume)


def bins(out: Out, sizes: Sizes) -> tuple[Sizes, Sizes]:
    """Begin and end of the bins of adaptive pooling: floor(i L / O) and ceil((i + 1) L / O)."""
    pairs = list(zip(out.at, out.sizes, sizes, strict=True))
    begins = tuple(i * length // count for i, count, length in pairs)
    ends = tuple(((i + 1) * length + count - 1) // count for i, count, length in pairs)
    return begins, ends


def windows(out: Out, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Any:
    """Begin and end of windows, without the padding around the input."""
    starts = [o * s - p for o, s, p in zip(out.at, stride, padding, strict=True)]
    begins = tuple(maximum(start, 0) for start in starts)
    ends = tuple(minimum(b + k, n) for b, k, n in zip(starts, kernel, sizes, strict=True))
    return begins, ends


def window_count(
    size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any = 1, ceil_mode: Any = 0
) -> Any:
    """The number of windows; with ceil_mode including one that extends beyond the end, if it begins
    in the input or in the leading padding."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    beyond = minimum((room + stride - 1) // stride, (size + padding - 1) // stride)
    return where(ceil_mode > 0, beyond, room // stride) + 1


def taps(place: Any, size: Any, kernel: Any, dilation: Any) -> tuple[Any, Any]:
    """The first of the elements place + k * dilation inside the input, and the number of those
    inside."""
    before = maximum((dilation - 1 - place) // dilation, 0)
    end = minimum((size - place + dilation - 1) // dilation, kernel)
    return place + before * dilation, end - before


def items(values: Any, rank: int, otherwise: Any) -> Sizes:
    """A list with an entry for each dimension; if it was not given, the default."""
    if not isinstance(otherwise, tuple):
        otherwise = (otherwise,) * rank
    return tuple(item(values, d, otherwise[d]) for d in range(rank))


def best_of(x: Array, choices: list[tuple[Array, Array, int]]) -> tuple[Array, Array]:
    """The largest element of every window, and its row-major index in an image: the first of equal
    ones, and the first NaN if there is one. For each dimension `choices` has the windows' first
    indices, their sizes, and the dilation. In NumPy."""
    import numpy as np

    rank = len(choices)
    lead = x.shape[: x.ndim - rank]
    places, inside = [], np.asarray(True)
    flat: Any = 0
    for dim, (first, count, step) in enumerate(choices):
        k = np.arange(max(int(count.max(initial=0)), 1))
        shape = [1] * (2 * rank)
        shape[dim], shape[rank + dim] = first.size, k.size
        here = (k < count[:, None]).reshape(shape)
        place = np.where(here, (first[:, None] + k * step).reshape(shape), 0)
        places.append(place)
        inside = inside & here
        flat = flat * x.shape[len(lead) + dim] + place
    if 0 in x.shape:
        sizes = lead + tuple(first.size for first, *_ in choices)
        return np.full(sizes, -np.inf), np.zeros(sizes, np.int64)
    at: tuple[Any, ...] = (slice(None),) * len(lead) + tuple(np.broadcast_arrays(*places))
    found = np.where(inside, x[at], -np.inf)
    rows = found.reshape(*found.shape[:-rank], -1)
    best = np.argmax(rows, axis=-1)[..., None]
    flat = np.broadcast_to(flat.reshape(*flat.shape[:rank], -1), rows.shape)
    return tuple(np.take_along_axis(each, best, axis=-1)[..., 0] for each in (rows, flat))  # type: ignore[return-value]
