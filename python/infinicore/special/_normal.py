"""The normal distribution, and the scaled error function."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import category
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import float32_at_least, floats

__all__ = ["entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "xlog1py"]

_ROOT = math.sqrt(0.5)


def given(input: Tensor) -> Tensor:
    """Integers as floats."""
    return floats(input)


def computed(input: Tensor) -> Tensor:
    """In float32 or float64."""
    return float32_at_least(floats(input))


def where(condition: Tensor, a: Any, b: Any, like: Tensor) -> Tensor:
    one, two = (
        each if isinstance(each, Tensor) else tensor_for(each, like.dtype, like.device)
        for each in (a, b)
    )
    return emit("where", condition, one, two)  # type: ignore[no-any-return]


def back(made: Tensor, like: Tensor) -> Tensor:
    return made.to(given(like).dtype) if made.dtype is not given(like).dtype else made


@function
def erfcx(input: Tensor) -> Tensor:
    """e^(x^2) erfc(x), which does not vanish for large x.

    >>> infinicore.special.erfcx(infinicore.tensor([0.]))
    tensor([1.])
    """
    return emit("erfcx", floats(input))  # type: ignore[no-any-return]


def _back(made: Tensor, like: Tensor) -> Tensor:
    from infinicore._emit import cast_to

    return cast_to(made, floats(like).dtype)


@function
def ndtr(input: Tensor) -> Tensor:
    """The probability that a normal variable is below x.

    >>> infinicore.special.ndtr(infinicore.tensor([0.]))
    tensor([0.5000])
    """
    x = computed(input)
    return _back(emit("mul", emit("erfc", emit("mul", x, -_ROOT)), 0.5), input)


@function
def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the probability that a normal variable is below x.

    >>> infinicore.special.log_ndtr(infinicore.tensor([0.]))
    tensor([-0.6931])
    """
    return emit("log_ndtr", floats(input))  # type: ignore[no-any-return]


@function
def ndtri(input: Tensor) -> Tensor:
    """The quantile of the normal distribution: the inverse of `ndtr`.

    >>> infinicore.special.ndtri(infinicore.tensor([0.5]))
    tensor([0.])
    """
    if category(input.dtype) < 2:  # of the integers only 0 and 1 are probabilities
        p = computed(input)
        nothing = tensor_for(math.nan, p.dtype, p.device)
        high = where(emit("equal", p, 1.0), math.inf, nothing, p)
        return _back(where(emit("equal", p, 0.0), -math.inf, high, p), input)
    return emit("ndtri", floats(input))  # type: ignore[no-any-return]


@function
def entr(input: Tensor) -> Tensor:
    """-x log(x): 0 at 0, -inf below.

    >>> infinicore.special.entr(infinicore.tensor([1., 0.]))
    tensor([-0., 0.])
    """
    x = given(input)
    made = emit("neg", emit("mul", x, emit("log", x)))
    made = where(emit("equal", x, 0.0), 0.0, made, x)
    return where(emit("less", x, 0.0), -math.inf, made, x)


@function
def xlog1py(input: Tensor, other: Tensor) -> Tensor:
    """x log1p(y): 0 where x is 0, NaN where y is.

    >>> infinicore.special.xlog1py(infinicore.zeros(1), infinicore.tensor([-1.]))
    tensor([0.])
    """
    x, y = given(input), given(other)
    made = emit("mul", x, emit("log1p", y))
    zero = emit("logical_and", emit("equal", x, 0.0), emit("logical_not", emit("isnan", y)))
    return where(zero, 0.0, made, made)
