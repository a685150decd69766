"""Window functions."""

from __future__ import annotations

import importlib
import math
from typing import Any

from infinicore._dtype import get_default_dtype
from infinicore._ranges import arange
from infinicore._tensor import Tensor


def _phase(name: str, length: int, periodic: bool, dtype: Any, device: Any) -> Tensor:
    """0 to 1 over a window (1 is excluded for a periodic one)."""
    if isinstance(length, bool) or not isinstance(length, int) or length < 0:
        raise ValueError(f"{name}: window_length is {length!r}: expected 0 or more")
    steps = arange(length, dtype=dtype or get_default_dtype(), device=device)
    return steps / max(length if periodic else length - 1, 1)


def _raised(name: str, length: int, periodic: bool, rest: list[float], **kind: Any) -> Tensor:
    """A sum of cosines; 1 for a window of one element."""
    phase = _phase(name, length, periodic, **kind)
    if length == 1:
        return phase + 1
    result: Tensor = phase * 0 + rest[0]
    for order, factor in enumerate(rest[1:], 1):
        result = result + (phase * (2 * math.pi * order)).cos() * factor
    return result


def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Hann's window [window_length]: half of 1 - cos.

    >>> infinicore.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _raised("hann_window", window_length, periodic, [0.5, -0.5], dtype=dtype, device=device)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Hamming's window [window_length]: alpha - beta * cos.

    >>> infinicore.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    parts = [float(alpha), -float(beta)]
    return _raised("hamming_window", window_length, periodic, parts, dtype=dtype, device=device)


def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Blackman's window [window_length].

    >>> infinicore.blackman_window(3, periodic=False).round(decimals=2).abs()
    tensor([0., 1., 0.])
    """
    parts = [0.42, -0.5, 0.08]
    return _raised("blackman_window", window_length, periodic, parts, dtype=dtype, device=device)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Bartlett's window [window_length]: a triangle.

    >>> infinicore.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    phase = _phase("bartlett_window", window_length, periodic, dtype, device)
    if window_length == 1:
        return phase + 1
    return 1 - (phase * 2 - 1).abs()


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Kaiser's window [window_length].

    >>> infinicore.kaiser_window(3, periodic=False).round(decimals=2)
    tensor([0., 1., 0.])
    """
    # Imported on first use: its functions are composed of those of this package.
    windows = importlib.import_module("infinicore.signal.windows")
    return windows.kaiser(  # type: ignore[no-any-return]
        window_length, beta=beta, sym=not periodic, dtype=dtype, device=device
    )
