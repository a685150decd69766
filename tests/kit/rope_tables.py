"""Tables of rotary embeddings in float64, by scaling: the formulas of the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def frequencies(size: int, theta: float) -> Any:
    return theta ** (-np.arange(0, size, 2) / size)


def longrope(positions: Any, base: Any, original: int, numbers: list[float]) -> tuple[Any, float]:
    half = len(base)
    factor, short, long = numbers[0], numbers[1 : 1 + half], numbers[1 + half :]
    chosen = np.where((positions < original)[:, None], np.array(short), np.array(long))
    size = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return base / chosen, size


def llama3(_: Any, base: Any, original: int, numbers: list[float]) -> tuple[Any, float]:
    factor, low, high = numbers
    wavelength = 2 * np.pi / base
    smooth = (original / wavelength - low) / (high - low)
    between = (1 - smooth) * base / factor + smooth * base
    scaled = np.where(wavelength > original / low, base / factor, between)
    return np.where(wavelength < original / high, base, scaled), 1.0


def yarn(_: Any, base: Any, original: int, numbers: list[float], theta: float) -> Any:
    factor, fast, slow, mscale, mscale_all = numbers
    size = 2 * len(base)

    def pair(turns: float) -> float:
        return size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), size - 1)
    ramp = np.clip((np.arange(len(base)) - low) / max(high - low, 0.001), 0, 1)

    def magnitude(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    scale = magnitude(mscale) / magnitude(mscale_all)
    return base / factor * ramp + base * (1 - ramp), scale


HALF = 16
SCALINGS = {
    "none": (("", 0, []), 10000.0, 600),
    "longrope": (
        ("longrope", 256, [8.0, *np.linspace(1, 3, HALF), *np.linspace(2, 40, HALF)]),
        10000.0,
        600,
    ),
    "longrope, factor 1": (
        ("longrope", 300, [1.0, *np.ones(HALF), *np.linspace(1, 5, HALF)]),
        10000.0,
        400,
    ),
    "llama3": (("llama3", 8192, [8.0, 1.0, 4.0]), 500000.0, 600),
    "llama3, long": (("llama3", 64, [32.0, 1.0, 4.0]), 10000.0, 600),
    "yarn": (("yarn", 128, [4.0, 32.0, 1.0, 1.0, 0.0]), 10000.0, 512),
    "yarn, mscale": (("yarn", 4096, [40.0, 32.0, 1.0, 0.707, 1.0]), 10000.0, 512),
    "yarn, factor 1": (("yarn", 4096, [1.0, 32.0, 1.0, 1.0, 0.0]), 10000.0, 512),
}


def expected_tables(
    scaling: tuple[str, int, list[float]], theta: float, length: int
) -> tuple[Any, Any]:
    name, original, numbers = scaling
    numbers = [float(np.float32(number)) for number in numbers]
    positions, base = np.arange(length), frequencies(2 * HALF, theta)
    size = 1.0
    if name == "longrope":
        base, size = longrope(positions, base, original, numbers)
    elif name == "llama3":
        base, size = llama3(positions, base, original, numbers)
    elif name == "yarn":
        base, size = yarn(positions, base, original, numbers, theta)
    angles = positions[:, None] * base
    return size * np.sin(angles), size * np.cos(angles)
