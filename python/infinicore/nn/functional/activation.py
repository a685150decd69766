"""Activations that are operators of their own."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor

__all__ = ["gelu", "relu", "sigmoid", "silu", "tanh"]


@function
def relu(input: Tensor, inplace: bool = False, *, out: Any = None) -> Tensor:
    """max(input, 0).

    >>> F.relu(infinicore.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return emit("relu", input, out=input if inplace else out)  # type: ignore[no-any-return]


@function
def silu(input: Tensor, inplace: bool = False, *, out: Any = None) -> Tensor:
    """input * sigmoid(input).

    >>> F.silu(infinicore.tensor([0.0]))
    tensor([0.])
    """
    return emit("silu", input, out=input if inplace else out)  # type: ignore[no-any-return]


@function
def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Tensor:
    """input times the share of a normal distribution below it; `approximate="tanh"` is the usual
    formula with tanh.

    >>> F.gelu(infinicore.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate is {approximate!r}: expected 'none' or 'tanh'")
    return emit(  # type: ignore[no-any-return]
        "gelutanh" if approximate == "tanh" else "gelu", input, out=out
    )


@function
def sigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-input)).

    >>> F.sigmoid(infinicore.zeros(1))
    tensor([0.5000])
    """
    return emit("sigmoid", input, out=out)  # type: ignore[no-any-return]


@function
def tanh(input: Tensor, *, out: Any = None) -> Tensor:
    """The hyperbolic tangent.

    >>> F.tanh(infinicore.zeros(1))
    tensor([0.])
    """
    return emit("tanh", input, out=out)  # type: ignore[no-any-return]
