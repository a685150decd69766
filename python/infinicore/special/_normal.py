"""The normal distribution, and the scaled error function."""

from __future__ import annotations

import math
from typing import Any

from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import float32_at_least, floats

__all__ = ["entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "xlog1py"]

_ROOT = math.sqrt(0.5)
_LEVELS = 60  # of the continued fraction, for the last bit at 2


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


def scaled_erfc(x: Tensor) -> Tensor:
    """e^(x^2) erfc(x): by its definition up to 2, by a continued fraction above."""
    near = emit("mul", emit("exp", emit("mul", x, x)), emit("erfc", x))
    far = emit("maximum", x, 2.0)
    rest = far
    for k in range(_LEVELS, 0, -1):
        rest = emit("add", far, emit("div", tensor_for(k / 2, x.dtype, x.device), rest))
    fraction = emit("div", tensor_for(1 / math.sqrt(math.pi), x.dtype, x.device), rest)
    return where(emit("less", x, 2.0), near, fraction, x)


@function
def erfcx(input: Tensor) -> Tensor:
    """e^(x^2) erfc(x), which does not vanish for large x.

    >>> infinicore.special.erfcx(infinicore.tensor([0.]))
    tensor([1.])
    """
    return _back(scaled_erfc(computed(input)), input)


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


def _log_ndtr(x: Tensor) -> Tensor:
    scaled = scaled_erfc(emit("maximum", emit("mul", x, -_ROOT), 0.0))
    low = emit("sub", emit("log", emit("mul", scaled, 0.5)), emit("mul", emit("mul", x, x), 0.5))
    high = emit("log1p", emit("mul", emit("erfc", emit("mul", x, _ROOT)), -0.5))
    return where(emit("less", x, -1.0), low, high, x)


@function
def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of the probability that a normal variable is below x.

    >>> infinicore.special.log_ndtr(infinicore.tensor([0.]))
    tensor([-0.6931])
    """
    return _back(_log_ndtr(computed(input)), input)


@function
def ndtri(input: Tensor) -> Tensor:
    """Below what a normal variable is with this probability: the inverse of `ndtr`.

    >>> infinicore.special.ndtri(infinicore.tensor([0.5]))
    tensor([0.])
    """
    p = computed(input)
    # The lower half by Newton's method on logarithms; the upper one is its mirror image.
    q = emit("minimum", p, emit("sub", tensor_for(1.0, p.dtype, p.device), p))
    log = emit("log", q)
    start = emit("mul", emit("sqrt", emit("mul", log, -2.0)), -1.0)
    start = where(emit("less", q, 0.1), start, emit("mul", emit("sub", q, 0.5), 2.5066), p)
    x = start
    for _ in range(6):
        value = _log_ndtr(x)
        half = emit("mul", emit("mul", x, x), -0.5)
        slope = emit("mul", emit("exp", emit("sub", half, value)), 1 / math.sqrt(2 * math.pi))
        x = emit("sub", x, emit("div", emit("sub", value, log), slope))
    made = where(emit("less", 0.5, p), emit("neg", x), x, p)
    made = where(emit("equal", p, 0.5), 0.0, made, p)
    made = where(emit("equal", p, 0.0), -math.inf, made, p)
    made = where(emit("equal", p, 1.0), math.inf, made, p)
    return _back(made, input)


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
