"""Masks, and the neutral elements that replace masked elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore._dtype import category
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


def mask_for(name: str, input: Tensor, mask: Any) -> Tensor:
    """A mask as booleans in the shape of the input."""
    need_tensor(name, "mask", mask)
    if mask.ndim > input.ndim:
        raise IndexError(
            f"{name}: mask has {mask.ndim} dimensions: expected at most those of input,"
            f" {input.ndim}"
        )
    made: Tensor = mask.to(infinicore.bool).broadcast_to(input.shape)
    return made


def _extreme(name: str, input: Tensor, sign: int) -> float:
    if input.dtype.is_floating_point:
        return sign * math.inf
    if category(input.dtype) != 1:
        raise TypeError(f"{name}: no tensors of type {input.dtype!r}: expected floats or integers")
    limits = infinicore.iinfo(input.dtype)
    return limits.max if sign > 0 else limits.min


def _infinitely_small(name: str, input: Tensor) -> float:
    return -math.inf if input.dtype.is_complex else _extreme(name, input, -1)


# The neutral elements, which change no result.
NEUTRAL: dict[str, Callable[[str, Tensor], Any]] = {
    "0": lambda name, input: 0,
    "1": lambda name, input: 1,
    "least": lambda name, input: _extreme(name, input, -1),
    "most": lambda name, input: _extreme(name, input, 1),
    "-inf": _infinitely_small,
    "nan": lambda name, input: math.nan,
}


def filled(name: str, input: Tensor, mask: Tensor | None, neutral: str) -> Tensor:
    """The input with a neutral element where the mask is false."""
    if mask is None:
        return input
    value = NEUTRAL[neutral](name, input)
    return input.masked_fill(mask_for(name, input, mask).logical_not(), value)


def named(body: Callable[..., Any], name: str, module: str, text: str) -> Any:
    """A body as a function with this name and text."""
    body.__name__ = body.__qualname__ = name
    body.__module__, body.__doc__ = module, text
    return function(body)
