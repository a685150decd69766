"""Functions around the gamma function: zeta, polygamma, incomplete gamma functions."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import float64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._operands import counting, floats
from infinicore.special._normal import computed, where

__all__ = ["gammainc", "gammaincc", "multigammaln", "polygamma", "zeta"]

# B_2k / (2k)!, from k = 1 on.
_BERNOULLI = [
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
]
_FIRST = 12  # terms that are summed one by one


def _kind(*operands: Any) -> Any:
    kind = result_type(*operands)
    return kind if kind.is_floating_point else floats(operands[0]).dtype


def _zeta(s: Tensor, q: Tensor) -> Tensor:
    """The sum of (q + k)^-s: some terms, and Euler's and Maclaurin's formula for the rest."""
    total = None
    for k in range(_FIRST):
        term = emit("pow", emit("add", q, float(k)), emit("neg", s))
        total = term if total is None else emit("add", total, term)
    a = emit("add", q, float(_FIRST))
    power = emit("pow", a, emit("neg", s))
    total = emit("add", total, emit("div", emit("mul", power, a), emit("sub", s, 1.0)))
    total = emit("add", total, emit("mul", power, 0.5))
    factor = emit("div", emit("mul", s, power), a)  # s (s + 1) ... a^(-s - 2k + 1)
    for k, each in enumerate(_BERNOULLI, 1):
        total = emit("add", total, emit("mul", factor, each))
        more = emit("mul", emit("add", s, 2.0 * k - 1), emit("add", s, 2.0 * k))
        factor = emit("div", emit("mul", factor, more), emit("mul", a, a))
    return total  # type: ignore[no-any-return]


@function
def zeta(input: Operand, other: Operand) -> Tensor:
    """Hurwitz' zeta function: the sum of (q + k)^-s over k = 0, 1, ...

    >>> infinicore.special.zeta(infinicore.tensor([2.]), 1)
    tensor([1.6449])
    """
    kind = _kind(input, other)
    s, q = (
        cast_to(tensor_for(each, kind, _device(input, other)), float64) for each in (input, other)
    )
    made = _zeta(s, q)
    whole = emit("equal", q, emit("floor", q))
    made = where(emit("less", s, 1.0), math.nan, made, made)
    made = where(emit("equal", s, 1.0), math.inf, made, made)
    below = emit("less_equal", q, 0.0)
    made = where(emit("logical_and", below, whole), math.inf, made, made)
    return cast_to(made, kind)


def _device(*operands: Any) -> Any:
    return next(each.device for each in operands if isinstance(each, Tensor))


@function
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`.

    >>> infinicore.special.polygamma(1, infinicore.tensor([1.]))
    tensor([1.6449])
    """
    if not isinstance(n, int) or n < 0:
        raise RuntimeError(f"polygamma: n is {n}: expected an integer that is not negative")
    kind = floats(input).dtype
    if n == 0:
        return (
            emit("digamma", computed(input))
            if kind is computed(input).dtype
            else cast_to(emit("digamma", computed(input)), kind)
        )
    x = cast_to(input, float64)
    made = emit("mul", _zeta(tensor_for(n + 1.0, float64, x.device), x), float(math.factorial(n)))
    made = made if n % 2 else emit("neg", made)
    whole = emit("logical_and", emit("less_equal", x, 0.0), emit("equal", x, emit("floor", x)))
    return cast_to(where(whole, math.inf, made, made), kind)


@function
def multigammaln(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

    >>> infinicore.special.multigammaln(infinicore.tensor([2.]), 1)
    tensor([0.])
    """
    if p < 1:
        raise RuntimeError(f"multigammaln: p is {p}: expected 1 or more")
    x = computed(input)
    made = emit("lgamma", x)
    for j in range(1, p):
        made = emit("add", made, emit("lgamma", emit("sub", x, j / 2)))
    made = emit("add", made, p * (p - 1) / 4 * math.log(math.pi)) if p > 1 else made
    return cast_to(made, floats(input).dtype)


_NODES = 600


def _lower(a: Tensor, x: Tensor) -> Tensor:
    """The sum of x^(a + k) e^-x / gamma(a + k + 1): all terms are positive."""
    k = cast_to(counting(_NODES, a), a.dtype)
    shifted = emit("add", a.unsqueeze(-1), k)
    log = emit("mul", shifted, emit("log", x).unsqueeze(-1))
    log = emit("sub", log, emit("lgamma", emit("add", shifted, 1.0)))
    terms = emit("exp", emit("sub", log, x.unsqueeze(-1)))
    return emit("sum", terms, dim=[terms.ndim - 1])  # type: ignore[no-any-return]


def _upper(a: Tensor, x: Tensor) -> Tensor:
    """A continued fraction, for x above a + 1."""
    rest = emit("add", emit("sub", x, a), 2.0 * 100 + 1)
    for k in range(100, 0, -1):
        up = emit("mul", emit("sub", tensor_for(float(k), a.dtype, a.device), a), float(k))
        down = emit("add", emit("sub", x, a), 2.0 * k - 1)
        rest = emit("sub", down, emit("div", up, rest))
    log = emit("sub", emit("mul", a, emit("log", x)), emit("add", x, emit("lgamma", a)))
    return emit("div", emit("exp", log), rest)  # type: ignore[no-any-return]


def _incomplete(a: Any, x: Any, upper: bool) -> Tensor:
    kind, device = _kind(a, x), _device(a, x)
    one, two = (cast_to(tensor_for(each, kind, device), float64) for each in (a, x))
    shape = emit("add", one, two).shape
    one, two = one.expand(*shape), two.expand(*shape)
    series = emit("less", two, emit("add", one, 1.0))
    low = _lower(one, emit("minimum", two, emit("add", one, 1.0)))
    high = _upper(one, emit("maximum", two, emit("add", one, 1.0)))
    if upper:
        made = where(series, emit("sub", tensor_for(1.0, float64, device), low), high, one)
    else:
        made = where(series, low, emit("sub", tensor_for(1.0, float64, device), high), one)
    made = where(emit("equal", two, 0.0), 1.0 if upper else 0.0, made, one)
    made = where(emit("isinf", two), 0.0 if upper else 1.0, made, one)
    made = where(emit("equal", one, 0.0), 0.0 if upper else 1.0, made, one)
    bad = emit("logical_or", emit("less", one, 0.0), emit("less", two, 0.0))
    return cast_to(where(bad, math.nan, made, one), kind)


@function
def gammainc(input: Operand, other: Operand) -> Tensor:
    """The regularized lower incomplete gamma function; to full precision for arguments below about
    200.

    >>> infinicore.special.gammainc(infinicore.tensor([1.]), infinicore.tensor([0.]))
    tensor([0.])
    """
    return _incomplete(input, other, False)


@function
def gammaincc(input: Operand, other: Operand) -> Tensor:
    """The regularized upper incomplete gamma function; to full precision for arguments below about
    200.

    >>> infinicore.special.gammaincc(infinicore.tensor([1.]), infinicore.tensor([0.]))
    tensor([1.])
    """
    return _incomplete(input, other, True)
