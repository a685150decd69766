"""The normal distribution, and the scaled error function."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import category, float32, float64
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import float32_at_least, floats

__all__ = ["entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "xlog1py"]

_ROOT = math.sqrt(0.5)
# The argument from which the continued fraction is used, and the number of its levels.
_FRACTION = {float32: (2.0, 12), float64: (3.5, 32)}


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
    """e^(x^2) erfc(x): by its definition for small x, by a continued fraction above."""
    begin, levels = _FRACTION[x.dtype]
    near = emit("mul", emit("exp", emit("mul", x, x)), emit("erfc", x))
    far = emit("maximum", x, begin)
    rest = far
    for k in range(levels, 0, -1):
        rest = emit("add", far, emit("div", tensor_for(k / 2, x.dtype, x.device), rest))
    fraction = emit("div", tensor_for(1 / math.sqrt(math.pi), x.dtype, x.device), rest)
    return where(emit("less", x, begin), near, fraction, x)


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


# Quotients of polynomials (Wichura, 1988) for r - 1.6 and r - 5, the highest power first.
_TAILS = {
    1.6: (
        (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
         1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
         4.63033784615654529590, 1.42343711074968357734),
        (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
         1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
         2.05319162663775882187, 1.0),
    ),
    5.0: (
        (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
         2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
         5.46378491116411436990, 6.65790464350110377720),
        (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
         7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
         5.99832206555887937690e-1, 1.0),
    ),
}  # fmt: skip


def _tail(x: Tensor, top: tuple[float, ...], bottom: tuple[float, ...]) -> Tensor:
    sums = []
    for first, *others in (top, bottom):
        made = emit("mul", x, first)
        for each in others[:-1]:
            made = emit("mul", emit("add", made, each), x)
        sums.append(emit("add", made, others[-1]))
    return emit("div", *sums)  # type: ignore[no-any-return]


@function
def ndtri(input: Tensor) -> Tensor:
    """The quantile of the normal distribution: the inverse of `ndtr`.

    >>> infinicore.special.ndtri(infinicore.tensor([0.5]))
    tensor([0.])
    """
    p = computed(input)
    if category(input.dtype) < 2:  # of the integers only 0 and 1 are probabilities
        nothing = tensor_for(math.nan, p.dtype, p.device)
        high = where(emit("equal", p, 1.0), math.inf, nothing, p)
        return _back(where(emit("equal", p, 0.0), -math.inf, high, p), input)
    # Around 1/2 by the inverse of erf; the lower tail as a function of r, and the upper one by
    # symmetry.
    q = emit("minimum", p, emit("sub", tensor_for(1.0, p.dtype, p.device), p))
    r = emit("sqrt", emit("neg", emit("log", q)))
    near, far = (_tail(emit("sub", r, at), *_TAILS[at]) for at in (1.6, 5.0))
    tail = where(emit("less_equal", r, 5.0), near, far, p)
    tail = where(emit("less", p, 0.5), emit("neg", tail), tail, p)
    middle = emit("mul", emit("erfinv", emit("sub", emit("mul", p, 2.0), 1.0)), math.sqrt(2))
    made = where(emit("less", q, 0.075), tail, middle, p)
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
