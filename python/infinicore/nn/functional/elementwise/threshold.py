"""Thresholds and shrinkage, randomized leaky ReLU, and in-place forms."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import category
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.nn.functional.elementwise import activation


@function
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """0 where abs(input) <= lambd, input elsewhere.

    >>> F.hardshrink(infinicore.tensor([0.25, -2.0]))
    tensor([ 0., -2.])
    """
    return emit("hardshrink", input, lambd=float(lambd), out=out)


@function
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """input moved towards 0 by lambd; 0 where abs(input) <= lambd.

    >>> F.softshrink(infinicore.tensor([0.25, -2.0]))
    tensor([ 0.0000, -1.5000])
    """
    expect(lambd >= 0, "softshrink", "lambd", lambd, "0 or more")
    near = emit("clamp", input, -float(lambd), float(lambd))
    return emit("sub", input, near, out=out)


@function
def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """`value` where input <= threshold, input elsewhere.

    >>> F.threshold(infinicore.tensor([1.0, 3.0]), 2, 0)
    tensor([0., 3.])
    """
    target = input if inplace else out
    if category(input.dtype) == 2:
        numbers = {"threshold": float(threshold), "value": float(value)}
        return emit("threshold", input, **numbers, out=target)
    return emit("where", emit("less_equal", input, threshold), value, input, out=target)


@function
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """leaky_relu with a slope between `lower` and `upper`: random for each element while training,
    otherwise their mean.

    >>> F.rrelu(infinicore.tensor([-4.0, 2.0]), 0.25, 0.75)
    tensor([-2.,  2.])
    """
    expect(lower <= upper, "rrelu", "lower", lower, f"at most upper, {upper}")
    target = input if inplace else out
    scaled = emit("mul", input, (float(lower) + float(upper)) / 2)
    if training:
        slopes = _core.empty(input.shape, input.dtype, input.device)
        emit("random_uniform", out=slopes, seed=0, offset=0, low=float(lower), high=float(upper))
        scaled = emit("mul", input, slopes)
    return emit("where", emit("greater_equal", input, 0.0), input, scaled, out=target)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place.

    >>> F.elu_(infinicore.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    return activation.elu(input, alpha, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place.

    >>> F.celu_(infinicore.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    return activation.celu(input, alpha, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place.

    >>> F.leaky_relu_(infinicore.tensor([-1.0, 2.0]), 0.5)
    tensor([-0.5000,  2.0000])
    """
    return activation.leaky_relu(input, negative_slope, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place.

    >>> F.hardtanh_(infinicore.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return activation.hardtanh(input, min_val, max_val, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place.

    >>> F.threshold_(infinicore.tensor([1.0, 3.0]), 2, 0)
    tensor([0., 3.])
    """
    return _threshold(input, threshold, value, True)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`rrelu` in place.

    >>> F.rrelu_(infinicore.tensor([-4.0, 2.0]), 0.25, 0.75)
    tensor([-2.,  2.])
    """
    return rrelu(input, lower, upper, training, True)


_threshold = threshold
