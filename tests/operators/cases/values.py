"""Values and sizes for cases of several families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kit.drawing import Draw, Shape

Values = Callable[[Draw, Shape], Any]


def between(low: int, high: int) -> Values:
    """Integers from low to high - 1."""
    return lambda draw, shape: draw.integers(low, high, shape)


def below(name: str, low: int = 0, beyond: int = 0) -> Values:
    """Indices of a dimension of that size; up to `beyond` too large."""
    return lambda draw, shape: draw.integers(low, draw[name] + beyond, shape)


def normal(by: float, least: float | None = None) -> Values:
    """Normal numbers; with `least`, of larger magnitude."""

    def make(draw: Draw, shape: Shape) -> Any:
        drawn = draw.normal(shape, by)
        return drawn if least is None else np.abs(drawn) + least

    return make


def one_of(*options: float) -> Values:
    return lambda draw, shape: np.asarray(options)[draw.integers(0, len(options), shape)]


def distinct(limit: Callable[[Draw], int], low: int = 0) -> Values:
    """Distinct integers below the limit; -1 for the rest if there are not enough."""

    def make(draw: Draw, shape: Shape) -> Any:
        count = math.prod(shape)
        found = draw.rng.permutation(np.arange(low, limit(draw)))[:count]
        return np.concatenate([found, np.full(count - found.size, -1)]).reshape(shape)

    return make


def separated(draw: Draw, shape: Shape) -> Any:
    """Numbers that are distinct in every dtype, so that their order is unambiguous."""
    row = shape[-1] if shape else 1
    steps = draw.rng.permuted(np.broadcast_to(np.arange(row), shape), axis=-1)
    return (steps - row // 2) / 8.0


def prefix_sums(total: Callable[[Draw], int]) -> Values:
    """Offsets from 0 to the total, ascending."""

    def make(draw: Draw, shape: Shape) -> Any:
        inner = np.sort(draw.integers(0, total(draw) + 1, shape[0] - 2)) if shape[0] > 2 else []
        return np.concatenate([[0], inner, [total(draw)]])[: shape[0]]

    return make


def near_one(draw: Draw, shape: Shape) -> Any:
    """Numbers of which even long products do not overflow in any dtype."""
    if draw.main.startswith("F") or draw.main == "BF16":
        return np.exp(draw.normal(shape, 0.1)) * one_of(-1, 1)(draw, shape)
    return draw.integers(0, 2 if draw.main == "BOOL" else 100, shape)


def often_equal(draw: Draw, shape: Shape) -> Any:
    return draw.integers(0, 2 if draw.main == "BOOL" else 40, shape)


SPATIAL = ((9,), (7, 8), (5, 6, 7))


def rank_of(draw: Draw) -> int:
    return len(draw["*I"] if "*I" in draw.symbols else draw["*X"])


def each(*options: int, null: bool = False) -> Callable[[Draw], Any]:
    """A list with an option for each dimension of the image; with `null` occasionally none."""

    def make(draw: Draw) -> list[int] | None:
        if null and draw.rng.integers(3) == 0:
            return None
        return [draw.choose(options) for _ in range(rank_of(draw))]

    return make


def same_as(name: str) -> Callable[[Draw], Any]:
    return lambda draw: draw[name]


def lengths(draw: Draw, shape: Shape) -> Any:
    return draw.integers(0, draw["M"] * draw["R"] + 1, shape)


def latent_entries(draw: Draw, shape: Shape) -> Any:
    rows = shape[0] * shape[1]
    codes = draw.integers(0, 0x7F, (rows, 512)) | draw.integers(0, 2, (rows, 512)) << 7
    scales = (draw.rng.random((rows, 4)) * 0.01).astype(np.float32)
    rotary = (draw.normal((rows, 64)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    parts = [codes.astype(np.uint8), scales.view(np.uint8), rotary.view(np.uint8)]
    return np.concatenate(parts, axis=1).reshape(shape)


def codes_close(limit: int) -> Any:
    """A few e4m3 results may differ by one code, where rounding went the other way."""

    def check(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        for name, result in got.items():
            if result is None:
                continue
            wanted = np.asarray(expected[name]).reshape(result.shape)
            off = result.astype(np.float64) != wanted
            near = np.abs(result.astype(np.float64) - wanted) <= 0.13 * np.abs(wanted) + 1e-2
            if draw.dtypes[name] == "U8":
                near = np.abs(result.astype(int) - wanted.astype(int)) <= 1
            assert (near | ~off).all(), f"{name} is wrong"
            assert off.sum() * 1000 <= limit * off.size, f"{name}: {off.sum()} of {off.size} differ"

    return check


Listed = Callable[[Draw], Any]


def listed(count: int, *options: int, null: bool = False) -> Listed:
    """A list of options; with `null` occasionally none at all."""

    def make(draw: Draw) -> list[int] | None:
        if null and draw.rng.integers(3) == 0:
            return None
        return [draw.choose(options) for _ in range(count)]

    return make


def windows(size: int, kernel: int, step: int, pad: int, gap: int = 1) -> int:
    return (size + 2 * pad - gap * (kernel - 1) - 1) // step + 1
