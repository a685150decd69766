"""Elementwise functions of one tensor, or of several that are broadcast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from .tensor import (
    FUNCTIONS,
    Tensor,
    alias,
    bool_,
    cast,
    define,
    float64,
    int32,
    is_float,
    raw,
    result_type,
    widened,
)

# ---- Of one -------------------------------------------------------------------------------------

_FLOAT: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("cos", "cosh", "exp", "exp2", "expm1", "sin", "sinh")},
    **{name: getattr(np, name) for name in ("tan", "tanh", "log", "log2", "log10", "log1p")},
    **{name: getattr(np, name) for name in ("sqrt", "deg2rad", "rad2deg", "sinc")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "sin", "tan")},
    **{f"a{name}h": getattr(np, f"arc{name}h") for name in ("cos", "sin", "tan")},
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "lgamma": special.gammaln,
    "digamma": special.psi,
    "sigmoid": special.expit,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / np.asarray(x, float64),
}
# Integers are unchanged.
_WHOLE: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("abs", "sign", "square", "positive")},
    "neg": np.negative,
    "relu": lambda x: np.where(x > 0, x, 0 * x) + np.where(np.isnan(x), x, 0 * x),
    "ceil": lambda x: np.ceil(x) if x.dtype == float64 else x,
    "floor": lambda x: np.floor(x) if x.dtype == float64 else x,
    "trunc": lambda x: np.trunc(x) if x.dtype == float64 else x,
    "frac": lambda x: x - np.trunc(x),
}
for _name, _function in (_FLOAT | _WHOLE).items():

    def _call(x: Any, f: Any = _function, is_float: bool = _name in _FLOAT) -> Any:
        return np.asarray(f(np.asarray(x, float64) if is_float else x))

    _call.__name__ = _name
    define(keep=_name in _WHOLE)(_call)
alias("abs", "absolute")
alias("neg", "negative")
alias("trunc", "fix")
alias("asin", "arcsin")
alias("atan", "arctan")
alias("sign", "sgn")
alias("positive", "conj")


@define(keep=True)
def round_(x: Any, *, decimals: int = 0) -> Any:
    return np.round(x, decimals) if x.dtype == float64 else x


@define()
def logit(x: Any, eps: float | None = None) -> Any:
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


class Frexp(NamedTuple):
    mantissa: Any
    exponent: Any


@define()
def frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(x)
    return Frexp(mantissa, exponent.astype(int32))


def nan_to_num(x: Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    import ml_dtypes

    if not is_float(x.dtype):
        return x
    limits = ml_dtypes.finfo(x.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    made = np.nan_to_num(widened(x.array), nan=nan, posinf=high, neginf=low)
    return Tensor(cast(made, x.dtype))


FUNCTIONS["nan_to_num"] = nan_to_num


@define(keep=True, numbers=True)
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


alias("clamp", "clip")


@define(keep=True, numbers=True)
def clamp_min(x: Any, min: Any) -> Any:
    return np.maximum(x, min)


@define(keep=True, numbers=True)
def clamp_max(x: Any, max: Any) -> Any:
    return np.minimum(x, max)


for _name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"):

    def _question(x: Any, name: str = _name) -> Any:
        if x.dtype == float64:
            return getattr(np, name)(x)
        return x < 0 if name == "signbit" else np.full(x.shape, name == "isfinite")

    _question.__name__ = _name
    define()(_question)


@define()
def isreal(x: Any) -> Any:
    return np.ones(x.shape, bool_)


@define()
def logical_not(x: Any) -> Any:
    return x == 0


@define(keep=True)
def bitwise_not(x: Any) -> Any:
    return ~x


# ---- Of several ---------------------------------------------------------------------------------


def _scaled(x: Any, alpha: Any) -> Any:
    return x if alpha == 1 else x * alpha


@define(keep=True, numbers=True)
def add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.add(x, _scaled(y, alpha))


@define(keep=True, numbers=True)
def sub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(x, _scaled(y, alpha))


@define(keep=True, numbers=True)
def rsub(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(y, _scaled(x, alpha))


@define(keep=True, numbers=True)
def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    if rounding_mode == "trunc":
        quotient = np.trunc(np.true_divide(x, y))
        is_whole = all(np.asarray(each).dtype != float64 for each in (x, y))
        return quotient.astype(np.int64) if is_whole else quotient
    return np.true_divide(x, y)


alias("div", "true_divide")


def _floor_divide(x: Any, y: Any) -> Any:
    if all(np.asarray(each).dtype == bool_ for each in (x, y)):
        raise TypeError("torch refuses to divide truth values")
    return np.floor_divide(x, y)


def _power(x: Any, y: Any) -> Any:
    if all(np.asarray(each).dtype != float64 for each in (x, y)):
        return np.asarray(x, np.int64) ** np.asarray(y, np.int64)
    return np.power(np.asarray(x, float64), y)


_BINARY: dict[str, Any] = {
    "mul": np.multiply,
    "floor_divide": _floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "pow": _power,
    **{name: getattr(np, name) for name in ("maximum", "minimum", "fmax", "fmin", "gcd", "lcm")},
    **{name: getattr(np, name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "heaviside": lambda x, y: np.where(x == 0, y, np.asarray(x > 0, np.asarray(y).dtype)),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    **{name: getattr(np, name) for name in ("logical_and", "logical_or", "logical_xor")},
}
_BINARY_FLOAT: dict[str, Any] = {
    **{name: getattr(np, name) for name in ("hypot", "copysign", "logaddexp", "logaddexp2")},
    "atan2": np.arctan2,
    "xlogy": special.xlogy,
}
for _name, _function in (_BINARY | _BINARY_FLOAT).items():

    def _both(x: Any, y: Any, f: Any = _function, is_float: bool = _name in _BINARY_FLOAT) -> Any:
        return np.asarray(f(*(np.asarray(e, float64) for e in (x, y))) if is_float else f(x, y))

    _both.__name__ = _name
    define(keep=True, numbers=True)(_both)
alias("gt", "greater")
alias("le", "less_equal")
alias("mul", "mul_scalar")


def ldexp(x: Tensor, y: Any) -> Tensor:
    """The result has x's type, whatever the exponents' type is."""
    exponents = widened(y.array) if isinstance(y, Tensor) else y
    return Tensor(cast(widened(x.array) * np.exp2(exponents), x.dtype))


FUNCTIONS["ldexp"] = ldexp


@raw
def nextafter(x: Any, y: Any) -> Any:
    return np.nextafter(x, y)


def float_power(x: Any, y: Any) -> Tensor:
    one, other = (widened(e.array) if isinstance(e, Tensor) else e for e in (x, y))
    return Tensor(np.float_power(one, other))


FUNCTIONS["float_power"] = float_power


@define(keep=True)
def lerp(x: Any, y: Any, weight: Any) -> Any:
    return x + weight * (y - x)


@define(keep=True)
def addcmul(x: Any, y: Any, z: Any, *, value: Any = 1) -> Any:
    return x + value * y * z


@define()
def addcdiv(x: Any, y: Any, z: Any, *, value: Any = 1) -> Any:
    return x + value * y / z


@define()
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return np.isclose(x, y, rtol, atol, equal_nan)


def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return tuple(Tensor(each) for each in np.nonzero(condition.array))
    kind = result_type(x, y)
    one, other = (cast(e.array if isinstance(e, Tensor) else e, kind) for e in (x, y))
    return Tensor(np.where(condition.array, one, other))


FUNCTIONS["where"] = where


@raw
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, cast(value, x.dtype), x)


@raw
def fill(x: Any, value: Any) -> Any:
    return np.full_like(x, value)
