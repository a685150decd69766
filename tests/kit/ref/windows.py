"""Windows that slide over images: pools, convolutions, resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.operators import REGISTRY

from .tensor import alias, define, raw, widened


def _each(value: Any, rank: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank


def _count(size: int, kernel: int, step: int, pad: int, gap: int, ceil: bool) -> int:
    room = size + 2 * pad - gap * (kernel - 1) - 1
    count = (-(-room // step) if ceil else room // step) + 1
    return count - 1 if ceil and (count - 1) * step >= size + pad else count


def _windows(
    x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, rank: int, fill: Any
) -> tuple[Any, Any]:
    """[taps, ..., *counts]: the elements of all windows, `fill` outside; and their flat places."""
    sizes = x.shape[-rank:]
    k, p, d = _each(kernel, rank), _each(padding, rank), _each(dilation, rank)
    s = k if stride is None else _each(stride, rank)
    counts = [_count(*each, ceil) for each in zip(sizes, k, s, p, d, strict=True)]
    taps, places = [], []
    for tap in np.ndindex(*k):
        at = [
            np.arange(n) * step - pad + t * gap
            for n, step, pad, t, gap in zip(counts, s, p, tap, d, strict=True)
        ]
        grid = np.meshgrid(*at, indexing="ij")
        inside = np.all([(g >= 0) & (g < n) for g, n in zip(grid, sizes, strict=True)], 0)
        clipped = tuple(np.clip(g, 0, n - 1) for g, n in zip(grid, sizes, strict=True))
        taps.append(np.where(inside, x[(..., *clipped)], fill))
        places.append(np.ravel_multi_index(clipped, sizes))
    return np.stack(taps), np.stack(places)


# ---- Pools --------------------------------------------------------------------------------------


def _max_pool(rank: int) -> Any:
    def call(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        lists = (kernel_size, stride, padding, dilation, ceil_mode, rank)
        taps, places = _windows(widened(x), *lists, -np.inf)
        values = np.max(taps, 0).astype(x.dtype)
        if not return_indices:
            return values
        spread = places.reshape(len(taps), *[1] * (x.ndim - rank), *places.shape[1:])
        places = np.broadcast_to(spread, taps.shape)
        return values, np.take_along_axis(places, np.argmax(taps, 0)[None], 0)[0]

    return call


def _avg_pool(rank: int) -> Any:
    def call(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        lists = (kernel_size, stride, padding, 1, ceil_mode, rank)
        total = np.sum(_windows(x, *lists, 0.0)[0], 0)
        if divisor_override:
            return total / divisor_override
        ones = np.ones(x.shape[-rank:])
        if not count_include_pad:
            return total / np.sum(_windows(ones, *lists, 0.0)[0], 0)
        # The padding counts, but not elements beyond it.
        pads = _each(padding, rank)
        wide = np.pad(ones, [(p, p) for p in pads], constant_values=1.0)
        steps = kernel_size if stride is None else stride
        counts = [
            _count(n, k, s, p, 1, ceil_mode)
            for n, k, s, p in zip(
                ones.shape, _each(kernel_size, rank), _each(steps, rank), pads, strict=True
            )
        ]
        taps = _windows(wide, kernel_size, steps, 0, 1, True, rank, 0.0)[0]
        divisor = np.sum(taps, 0)[tuple(slice(0, n) for n in counts)]
        missing = [(0, n - have) for n, have in zip(counts, divisor.shape, strict=True)]
        return total / np.pad(divisor, missing, mode="edge")

    return call


def _lp_pool(rank: int) -> Any:
    mean = _avg_pool(rank)

    def call(
        x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Any:
        made = mean(x**norm_type, kernel_size, stride, 0, ceil_mode)
        return (made * np.prod(_each(kernel_size, rank))) ** (1 / norm_type)

    return call


def _adaptive(x: Any, output_size: Any, rank: int, fold: Any) -> Any:
    """fold(elements of a bin, its first places) of bins that cover the image."""
    sizes = x.shape[-rank:]
    counts = [n if o is None else o for o, n in zip(_each(output_size, rank), sizes, strict=True)]
    first = np.empty((*x.shape[:-rank], *counts), object)
    for at in np.ndindex(*counts):
        bounds = [
            (i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(at, sizes, counts, strict=True)
        ]
        part = x[(..., *(slice(*each) for each in bounds))]
        first[(..., *at)] = fold(part, bounds, sizes)
    return first


def _adaptive_avg_pool(rank: int) -> Any:
    axes = tuple(range(-rank, 0))

    def call(x: Any, output_size: Any) -> Any:
        made = _adaptive(x, output_size, rank, lambda part, *_: np.mean(part, axes))
        return made.astype(np.float64)

    return call


def _adaptive_max_pool(rank: int) -> Any:
    def place(part: Any, bounds: Any, sizes: Any) -> Any:
        flat = np.argmax(part.reshape(*part.shape[:-rank], -1), -1)
        inner = np.unravel_index(flat, part.shape[-rank:])
        moved = tuple(i + lo for i, (lo, _) in zip(inner, bounds, strict=True))
        return np.ravel_multi_index(moved, sizes)

    def call(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        places = _adaptive(widened(x), output_size, rank, place).astype(np.int64)
        flat = x.reshape(*x.shape[:-rank], -1)
        index = places.reshape(*places.shape[:-rank], -1)
        values = np.take_along_axis(flat, index, -1).reshape(places.shape)
        return (values, places) if return_indices else values

    return call


def _max_unpool(rank: int) -> Any:
    def call(
        x: Any,
        indices: Any,
        kernel: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Any:
        made = np.zeros((*x.shape[:-rank], int(np.prod(output_size[-rank:]))), x.dtype)
        flat = (each.reshape(*each.shape[:-rank], -1) for each in (indices, x))
        np.put_along_axis(made, *flat, -1)
        return made.reshape(output_size)

    return call


def _fractional_max_pool(rank: int) -> Any:
    definition = REGISTRY["fractional_max_pool"].definition

    def call(
        x: Any,
        kernel_size: Any,
        output_size: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        sizes = _each(output_size, rank)
        shape = (*x.shape[:-rank], *sizes)
        made = definition(
            x=x,
            samples=_random_samples,
            kernel_size=_each(kernel_size, rank),
            output_size=sizes,
            n=rank,
            shapes={"y": shape, "indices": shape, "x": x.shape},
        )
        return tuple(made) if return_indices else made[0]

    return call


# ---- Convolutions -------------------------------------------------------------------------------


def _conv(rank: int) -> Any:
    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        kernel, gaps = weight.shape[2:], _each(dilation, rank)
        if padding == "same":
            room = [d * (k - 1) for k, d in zip(kernel, gaps, strict=True)]
            edges = [(r // 2, r - r // 2) for r in room]
            x, padding = np.pad(x, [(0, 0)] * (x.ndim - rank) + edges), 0
        padding = 0 if padding == "valid" else padding
        taps, _ = _windows(x, kernel, stride, padding, dilation, False, rank, 0.0)
        axis = taps.ndim - rank - 1
        parts = [
            np.tensordot(group, features.reshape(*features.shape[:2], -1), ([0, axis], [2, 1]))
            for group, features in zip(
                np.split(taps, groups, axis), np.split(weight, groups), strict=True
            )
        ]
        made = np.moveaxis(np.concatenate(parts, -1), -1, -rank - 1)
        return made if bias is None else made + bias.reshape(-1, *[1] * rank)

    return call


def _conv_transpose(rank: int) -> Any:
    def call(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        s, p, d, o = (_each(e, rank) for e in (stride, padding, dilation, output_padding))
        kernel, sizes = weight.shape[2:], x.shape[-rank:]
        lists = zip(sizes, s, d, kernel, o, strict=True)
        whole = [(n - 1) * step + gap * (k - 1) + 1 + more for n, step, gap, k, more in lists]
        parts = []
        for image, taps in zip(np.split(x, groups, 1), np.split(weight, groups), strict=True):
            made = np.zeros((len(x), weight.shape[1], *whole))
            for tap in np.ndindex(*kernel):
                key = tuple(
                    slice(t * gap, t * gap + (n - 1) * step + 1, step)
                    for t, gap, n, step in zip(tap, d, sizes, s, strict=True)
                )
                part = np.tensordot(image, taps[(..., *tap)], ([1], [0]))
                made[(..., *key)] += np.moveaxis(part, -1, 1)
            parts.append(made)
        made = np.concatenate(parts, 1)
        made = made[(..., *(slice(e, n - e) for e, n in zip(p, whole, strict=True)))]
        return made if bias is None else made + bias.reshape(-1, *[1] * rank)

    return call


_RAW = {"max_pool": _max_pool, "adaptive_max_pool": _adaptive_max_pool, "max_unpool": _max_unpool}
_COMPUTED = {
    "avg_pool": _avg_pool,
    "lp_pool": _lp_pool,
    "adaptive_avg_pool": _adaptive_avg_pool,
    "fractional_max_pool": _fractional_max_pool,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
}
for _table, _decorate in ((_RAW, raw), (_COMPUTED, define())):
    for _name, _make in _table.items():
        for _rank in (1, 2, 3):
            _made = _make(_rank)
            _made.__name__ = f"{_name}{_rank}d"
            _decorate(_made)

# ---- Images -------------------------------------------------------------------------------------


@raw
def pad(x: Any, pad: Any, mode: str = "constant", value: float = 0.0) -> Any:
    edges = [(0, 0)] * (x.ndim - len(pad) // 2)
    edges += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    kept = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, edges, strict=True)
    )
    grown = [(max(a, 0), max(b, 0)) for a, b in edges]
    if mode == "constant":
        return np.pad(x[kept], grown, constant_values=value)
    how: Any = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x[kept], grown, how)


@define()
def unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    taps, _ = _windows(x, kernel_size, stride, padding, dilation, False, 2, 0.0)
    return np.moveaxis(taps, 0, 2).reshape(len(x), taps.shape[0] * x.shape[1], -1)


@define()
def fold(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    batch = x[None] if x.ndim == 2 else x
    size, kernel = _each(output_size, 2), _each(kernel_size, 2)
    channels = batch.shape[1] // (kernel[0] * kernel[1])
    ones = np.ones((1, 1, *size))
    taps, places = _windows(ones, kernel, stride, padding, dilation, False, 2, 0.0)
    inside = taps.reshape(len(taps), -1)
    places = places.reshape(len(taps), -1)
    made = np.zeros((len(batch), channels, size[0] * size[1]))
    columns = batch.reshape(len(batch), channels, *inside.shape) * inside
    np.add.at(made, (slice(None), slice(None), places), columns)
    made = made.reshape(len(batch), channels, *size)
    return made[0] if x.ndim == 2 else made


@raw
def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(*batch, c // r**2, r, r, h, w)
    n = len(batch)
    order = [*range(n + 1), n + 3, n + 1, n + 4, n + 2]
    return parts.transpose(order).reshape(*batch, c // r**2, h * r, w * r)


@raw
def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    r = downscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(*batch, c, h // r, r, w // r, r)
    n = len(batch)
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return parts.transpose(order).reshape(*batch, c * r**2, h // r, w // r)


@raw
def channel_shuffle(x: Any, groups: int) -> Any:
    n, c, *image = x.shape
    return x.reshape(n, groups, c // groups, *image).swapaxes(1, 2).reshape(x.shape)


_MODES = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@define()
def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    antialias: bool = False,
) -> Any:
    rank = x.ndim - 2
    scales = None if scale_factor is None else [*map(float, _each(scale_factor, rank))]
    if size is None:
        sizes = [int(n * scale) for n, scale in zip(x.shape[2:], scales or (), strict=True)]
    else:
        sizes = [*_each(size, rank)]
    if mode == "area":
        return _adaptive_avg_pool(rank)(x, sizes)
    mode = _MODES.get(mode, mode) + ("-antialias" if antialias else "")
    shapes = {"y": (*x.shape[:2], *sizes), "x": x.shape}
    given = {"size": sizes, "scales": scales, "n": rank, "align_corners": align_corners}
    return REGISTRY["resample"].definition(x=x, mode=mode, shapes=shapes, **given)


alias("interpolate", "upsample_nearest")


@define()
def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Any:
    shapes = {"y": (*x.shape[:2], *grid.shape[1:-1]), "x": x.shape, "grid": grid.shape}
    around = ("zeros", "border", "reflection").index(padding_mode)
    given = {"mode": mode, "padding_mode": around, "align_corners": align_corners}
    return REGISTRY["grid_sample"].definition(x=x, grid=grid, shapes=shapes, **given)


@define()
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    def line(n: int) -> Any:
        if align_corners:
            return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        return (2 * np.arange(n) + 1) / n - 1

    axes = np.meshgrid(*map(line, size[2:]), indexing="ij")
    points = np.stack([*axes[::-1], np.ones_like(axes[0])], -1)
    return np.einsum("nij,...j->n...i", theta, points)
