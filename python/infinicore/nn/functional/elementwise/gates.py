"""Gated activations."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dimension, expect


@function
def silu_and_mul(input: Tensor, out: Any = None) -> Tensor:
    """silu(first half) * second half of the last dimension.

    >>> F.silu_and_mul(infinicore.tensor([0.0, 5.0]))
    tensor([0.])
    """
    width = input.shape[-1] if input.ndim else 1
    expect(width % 2 == 0, "silu_and_mul", "the last size of input", width, "an even number")
    half = width // 2
    gate, up = input.narrow(-1, 0, half), input.narrow(-1, half, half)
    return emit("swiglu", up, gate, out=out)  # type: ignore[no-any-return]


@function
def glu(input: Tensor, dim: int = -1, *, out: Any = None) -> Tensor:
    """first half * sigmoid(second half) along a dimension.

    >>> F.glu(infinicore.tensor([4.0, 0.0]))
    tensor([2.])
    """
    place = dimension("glu", dim, input.ndim)
    width = input.shape[place] if input.ndim else 1
    expect(width % 2 == 0, "glu", f"size {place} of input", width, "an even number")
    half = width // 2
    kept, gate = input.narrow(place, 0, half), input.narrow(place, half, half)
    return emit("mul", kept, emit("sigmoid", gate), out=out)  # type: ignore[no-any-return]
