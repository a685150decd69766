"""Tensors from numbers, and at random."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .tensor import FUNCTIONS, Tensor, cast, float32, float64, int64, is_float


def _made(array: Any, dtype: Any, usual: Any) -> Tensor:
    return Tensor(cast(array, usual if dtype is None else dtype))


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(sizes[0]) if sizes and isinstance(sizes[0], (tuple, list)) else sizes


def tensor(data: Any, dtype: Any = None) -> Tensor:
    array = np.asarray(data)
    return _made(array, dtype, float32 if array.dtype == float64 else array.dtype)


def full(size: Any, value: Any, dtype: Any = None) -> Tensor:
    usual = float32 if isinstance(value, float) else np.asarray(value).dtype
    return _made(np.full(size, value), dtype, usual)


def zeros(*size: Any, dtype: Any = None) -> Tensor:
    return _made(np.zeros(_shape(size)), dtype, float32)


def ones(*size: Any, dtype: Any = None) -> Tensor:
    return _made(np.ones(_shape(size)), dtype, float32)


empty = zeros


def zeros_like(x: Tensor) -> Tensor:
    return Tensor(np.zeros(x.shape, x.dtype))


empty_like = zeros_like


def eye(rows: int, columns: int | None = None, dtype: Any = None) -> Tensor:
    return _made(np.eye(rows, columns), dtype, float32)


def arange(*limits: Any, dtype: Any = None) -> Tensor:
    usual = float32 if any(isinstance(limit, float) for limit in limits) else int64
    return _made(np.arange(*limits), dtype, usual)


def linspace(start: float, end: float, steps: int, dtype: Any = None) -> Tensor:
    if dtype is not None and not is_float(dtype):
        start, end = int(start), int(end)
    return _made(np.linspace(start, end, steps), dtype, float32)


_WINDOWS = {"hann": (0.5, -0.5), "hamming": (0.54, -0.46), "blackman": (0.42, -0.5, 0.08)}


def _window(name: str, length: int, periodic: bool) -> Tensor:
    if length < 2:
        return ones(length)
    at = np.arange(length) / (length if periodic else length - 1)
    if name == "bartlett":
        return _made(1 - np.abs(2 * at - 1), None, float32)
    terms = (a * np.cos(2 * np.pi * k * at) for k, a in enumerate(_WINDOWS[name]))
    return _made(sum(terms), None, float32)


for _name in (*_WINDOWS, "bartlett"):
    FUNCTIONS[f"{_name}_window"] = functools.partial(_window, _name)

# ---- At random ----------------------------------------------------------------------------------

_random = np.random.default_rng(0)


def manual_seed(seed: int) -> None:
    """Seeds random tensors without a generator; conftest.py calls it for every test."""
    global _random
    _random = np.random.default_rng(seed)


def _generator(seed: int | None) -> np.random.Generator:
    return _random if seed is None else np.random.default_rng(abs(seed))


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    return _made(_generator(seed).random(_shape(size)), dtype, float32)


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    return _made(_generator(seed).standard_normal(_shape(size)), dtype, float32)


def randint(low: int, high: int, size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    return _made(_generator(seed).integers(low, high, size), dtype, int64)


def randperm(count: int, seed: int | None = None) -> Tensor:
    return Tensor(_generator(seed).permutation(count).astype(int64))


FUNCTIONS |= {"zeros_like": zeros_like, "empty_like": empty_like}
