"""Shapes that `--wild` draws by rule: growing the sizes of a small sample would give windows of
hundreds of elements, or heads of one channel."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Shapes = tuple[list[tuple[int, ...]], dict[str, Any]]  # shapes of tensors; other arguments
CHANNELS = (3, 16, 32, 48, 64, 96, 128, 256, 384, 512)


def _windows(rng: random.Random, elements: int, dims: int, channels: int) -> tuple[int, ...]:
    """Batch, channels and spatial sizes of an image of about this many elements."""
    room = max(elements // channels, 1)
    space = max(3, min(round(room ** (1 / dims)), rng.choice((7, 14, 28, 56, 112, 224, 512))))
    batch = max(1, min(room // space**dims, 32))
    return (batch, channels, *(max(1, space + rng.choice((0, 0, 0, 1, -1))) for _ in range(dims)))


def conv(dims: int, transposed: bool) -> Callable[[random.Random, int], Shapes]:
    def draw(rng: random.Random, elements: int) -> Shapes:
        room = [each for each in CHANNELS if each * 16 <= elements] or [3]
        inner, outer = rng.choice(room), rng.choice(room)
        kind, kernel = rng.random(), rng.choice((1, 3, 3, 3, 5, 7) if dims < 3 else (1, 3, 3))
        groups = inner if kind < 0.2 else (4 if kind < 0.3 and not (inner | outer) % 4 else 1)
        outer = inner if groups == inner and groups > 1 else outer
        window = (kernel,) * dims
        weight = (inner, outer // groups) if transposed else (outer, inner // groups)
        image = _windows(rng, elements, dims, inner)
        given = {"stride": rng.choice((1, 1, 2)), "padding": kernel // 2, "groups": groups}
        bias = [(outer,)] if rng.random() < 0.7 else []
        return [image, (*weight, *window), *bias], given

    return draw


def attention(rng: random.Random, elements: int) -> Shapes:
    depth, heads = rng.choice((32, 64, 64, 80, 128, 128)), rng.choice((1, 4, 9, 14, 16, 32))
    room = max(elements // (depth * heads), 1)
    keys = max(1, min(room, rng.choice((17, 64, 128, 300, 512, 1024, 2048))))
    queries = rng.choice((1, keys, keys, max(1, keys // 4)))
    batch = max(1, min(room // keys, 8))
    q, k = (batch, heads, queries, depth), (batch, heads, keys, depth)
    return [q, k, k], {"is_causal": queries == keys and rng.random() < 0.6}


def product(rng: random.Random, elements: int) -> Shapes:
    """A layer of a model: inputs of several rows, weights, perhaps a bias."""
    wide = max(8, min(int((elements / 4) ** 0.5) // 8 * 8, 4096))
    inner, outer = (max(8, rng.choice((wide, wide // 2, wide * 2)) // 8 * 8) for _ in range(2))
    rows = rng.choice(((1,), (7,), (16,), (128,), (2, 64), (512,)))
    bias = [(outer,)] if rng.random() < 0.5 else []
    return [(*rows, inner), (outer, inner), *bias], {}


SHAPES: dict[str, Callable[[random.Random, int], Shapes]] = {
    **{f"nn.functional.conv{n}d": conv(n, False) for n in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{n}d": conv(n, True) for n in (1, 2, 3)},
    "nn.functional.scaled_dot_product_attention": attention,
    "nn.functional.linear": product,
}
