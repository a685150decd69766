"""Activations, element by element."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import category
from infinicore._emit import emit, ordered_strides
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape

_CPU = device("cpu")


@function
def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Tensor:
    """input times the normal cumulative distribution function of input; `approximate="tanh"` uses
    the tanh approximation.

    >>> F.gelu(infinicore.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """
    expect(approximate in ("none", "tanh"), "gelu", "approximate", approximate, "'none' or 'tanh'")
    return emit("gelutanh" if approximate == "tanh" else "gelu", input, out=out)


@function
def logsigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """log(sigmoid(input)).

    >>> F.logsigmoid(infinicore.zeros(1))
    tensor([-0.6931])
    """
    tail = emit("log1p", emit("exp", emit("neg", emit("abs", input))))
    return emit("sub", emit("minimum", input, 0.0), tail, out=out)


@function
def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """input where it is positive, negative_slope * input elsewhere.

    >>> F.leaky_relu(infinicore.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    target = input if inplace else out
    if category(input.dtype) == 2:
        order = ordered_strides(input.shape, [input])
        if target is None and order is not None:
            target = _core.empty(input.shape, input.dtype, input.device, order)
        return emit("prelu", input, float(negative_slope), out=target)
    scaled = emit("mul", input, float(negative_slope))
    return emit("where", emit("greater", input, 0.0), input, scaled, out=target)


@function
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Any = None) -> Tensor:
    """input where it is positive, alpha * (exp(input) - 1) elsewhere.

    >>> F.elu(infinicore.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    below = emit("mul", emit("expm1", emit("minimum", input, 0.0)), float(alpha))
    return emit("where", emit("greater", input, 0.0), input, below, out=input if inplace else out)


@function
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False, *, out: Any = None) -> Tensor:
    """input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere.

    >>> F.celu(infinicore.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    expect(alpha != 0, "celu", "alpha", alpha, "another number than 0")
    share = emit("div", emit("minimum", input, 0.0), float(alpha))
    below = emit("mul", emit("expm1", share), float(alpha))
    return emit("where", emit("greater", input, 0.0), input, below, out=input if inplace else out)


@function
def hardsigmoid(input: Tensor, inplace: bool = False, *, out: Any = None) -> Tensor:
    """relu6(input + 3) / 6.

    >>> F.hardsigmoid(infinicore.tensor([-3.0, 0.0]))
    tensor([0.0000, 0.5000])
    """
    return emit("hardsigmoid", input, out=input if inplace else out)


@function
def hardtanh(
    input: Tensor,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """input clamped to the range from min_val to max_val.

    >>> F.hardtanh(infinicore.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    expect(min_val <= max_val, "hardtanh", "min_val", min_val, f"at most max_val, {max_val}")
    target = input if inplace else out
    if category(input.dtype) < 2:
        min_val, max_val = int(min_val), int(max_val)
    return emit("clamp", input, min_val, max_val, out=target)


@function
def relu6(input: Tensor, inplace: bool = False, *, out: Any = None) -> Tensor:
    """input clamped to [0, 6].

    >>> F.relu6(infinicore.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    target = input if inplace else out
    if category(input.dtype) == 1:
        return emit("minimum", emit("maximum", input, 0), 6, out=target)
    return emit("relu6", input, out=target)


@function
def prelu(input: Tensor, weight: Tensor, *, out: Any = None) -> Tensor:
    """input where it is positive, weight * input elsewhere; weight has one element, or one for each
    channel (dimension 1).

    >>> F.prelu(infinicore.tensor([-2.0, 2.0]), infinicore.tensor([0.5]))
    tensor([-1.,  2.])
    """
    channels = input.shape[1] if input.ndim > 1 else 1
    fits = weight.numel() in (1, channels) and weight.ndim <= 1
    expect_shape(fits, "prelu", "weight", weight, f"[1] or [{channels}]")
    if weight.numel() != 1 or input.ndim > 1:
        slope = weight.reshape(-1, *[1] * (input.ndim - 2))
    else:
        slope = weight.reshape(()) if input.ndim == 0 else weight.reshape(1)
    if input.device is _CPU and input.dtype is weight.dtype and category(input.dtype) == 2:
        return emit("prelu", input, slope.expand(*input.shape), out=out)
    scaled = emit("mul", input, slope)
    return emit("where", emit("greater", input, 0.0), input, scaled, out=out)
