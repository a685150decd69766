"""Gamma-related functions: polygamma, incomplete and multivariate gamma functions."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import float64, get_default_dtype
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Methods, Tensor
from infinicore.functions._operands import counting, floats, wide_floats

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
_FIRST = 12  # terms that are summed directly


def _float_type(*operands: Any) -> Any:
    """The result type: integers give floats."""
    kind = result_type(*operands)
    return kind if kind.is_floating_point else get_default_dtype()


def _device_of(*operands: Any) -> Any:
    return next(each.device for each in operands if isinstance(each, Tensor))


def _inverse_power(a: Tensor, s: Tensor | int) -> Tensor:
    """a^-s; for a constant integer s by products, which are much faster."""
    if not isinstance(s, int):
        return emit("pow", a, emit("neg", s))  # type: ignore[no-any-return]
    square = emit("reciprocal", a)
    made: Any = None
    while s:
        if s % 2:
            made = square if made is None else emit("mul", made, square)
        s //= 2
        square = emit("mul", square, square) if s else square
    return made  # type: ignore[no-any-return]


def _zeta_above(given: Tensor | int, q: Tensor, narrow: bool = False) -> Tensor:
    """The sum of (q + k)^-s for positive q: some terms directly, and the rest by the
    Euler-Maclaurin formula. Half as many terms suffice for float32 results."""
    narrow = narrow and isinstance(given, int) and given <= 4
    first, more_terms = (_FIRST // 2, 6) if narrow else (_FIRST, len(_BERNOULLI))
    total = None
    for k in range(first):
        term = _inverse_power(emit("add", q, float(k)), given)
        total = term if total is None else emit("add", total, term)
    a = emit("add", q, float(first))
    power = _inverse_power(a, given)
    s = tensor_for(float(given), q.dtype, q.device) if isinstance(given, int) else given
    if isinstance(given, int) and given > 1:
        rest = _inverse_power(a, given - 1)
    else:
        rest = emit("mul", power, a)
    total = emit("add", total, emit("div", rest, emit("sub", s, 1.0)))
    total = emit("add", total, emit("mul", power, 0.5))
    factor = emit("div", emit("mul", s, power), a)  # s (s + 1) ... a^(-s - 2k + 1)
    inverse = emit("reciprocal", emit("mul", a, a))
    for k, each in enumerate(_BERNOULLI[:more_terms], 1):
        total = emit("add", total, emit("mul", factor, each))
        more = emit("mul", emit("add", s, 2.0 * k - 1), emit("add", s, 2.0 * k))
        factor = emit("mul", emit("mul", factor, more), inverse)
    return total


def _trigamma(x: Tensor, narrow: bool) -> Tensor:
    """The sum of (x + k)^-2, for negative x by reflection."""
    below = emit("less", x, 0.0)
    one = tensor_for(1.0, x.dtype, x.device)
    made = _zeta_above(2, emit("where", below, emit("sub", one, x), x), narrow)
    angle = emit("mul", emit("sub", x, emit("round", x)), math.pi)
    ratio = emit("div", tensor_for(math.pi, x.dtype, x.device), emit("sin", angle))
    return emit("where", below, emit("sub", emit("mul", ratio, ratio), made), made)  # type: ignore[no-any-return]


def _zeta_sum(s: Tensor | int, q: Tensor, narrow: bool = False) -> Tensor:
    """The sum of (q + k)^-s over k = 0, 1, ...; for negative q, s must be an integer, and the
    negative terms are another such sum, up to the sign."""
    below = emit("less", q, 0.0)
    rest = emit("sub", q, emit("floor", q))
    one = tensor_for(1.0, q.dtype, q.device)
    made = _zeta_above(s, emit("where", below, rest, q), narrow)
    ends = [emit("sub", one, emit("where", below, each, 0.0)) for each in (rest, q)]
    terms = emit("sub", *(_zeta_above(s, each, narrow) for each in ends))
    if isinstance(s, int):
        terms = emit("neg", terms) if s % 2 else terms
    else:
        is_odd = emit("not_equal", emit("remainder", s, 2.0), 0.0)
        terms = emit("where", is_odd, emit("neg", terms), terms)
    return emit("where", below, emit("add", made, terms), made)


@function
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`.

    >>> infinicore.polygamma(1, infinicore.tensor([1.]))
    tensor([1.6449])
    """
    if not isinstance(n, int) or n < 0:
        raise RuntimeError(f"polygamma: n is {n}: expected an integer that is not negative")
    kind = floats(input).dtype
    if n == 0:
        return cast_to(emit("digamma", wide_floats(input)), kind)
    x = cast_to(cast_to(input, kind), float64)
    narrow = kind is not float64
    if n == 1:
        made = _trigamma(x, narrow)
    else:  # for large exponents products are less accurate than pow
        s = n + 1 if n < 32 else tensor_for(n + 1.0, float64, x.device)
        made = _zeta_sum(s, x, narrow)
    whole = emit("logical_and", emit("less_equal", x, 0.0), emit("equal", x, emit("floor", x)))
    factor = float(math.factorial(n)) if n <= 170 else math.inf  # larger results overflow float64
    made = emit("mul", emit("where", whole, math.inf, made), factor)
    return cast_to(made if n % 2 else emit("neg", made), kind)


@function
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p.

    >>> infinicore.mvlgamma(infinicore.tensor([2.]), 1)
    tensor([0.])
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p is {p}: expected 1 or more")
    x = wide_floats(input)
    made = emit("lgamma", x)
    for j in range(1, p):
        made = emit("add", made, emit("lgamma", emit("sub", x, j / 2)))
    made = emit("add", made, p * (p - 1) / 4 * math.log(math.pi)) if p > 1 else made
    return cast_to(made, floats(input).dtype)


_POINTS = 104  # nodes of the integral
_NEAR = 1.5  # up to this x, a power series
_TERMS = 28


def _series(a: Tensor, x: Tensor) -> Tensor:
    """The lower function for small x: the sum of x^(a + k) e^-x / gamma(a + k + 1)."""
    term = total = tensor_for(1.0, a.dtype, a.device).expand(*x.shape)
    for k in range(1, _TERMS):
        term = emit("div", emit("mul", term, x), emit("add", a, float(k)))
        total = emit("add", total, term)
    log = emit("sub", emit("mul", a, emit("log", x)), x)
    log = emit("sub", log, emit("lgamma", emit("add", a, 1.0)))
    return emit("mul", total, emit("exp", log))  # type: ignore[no-any-return]


def _factor(a: Tensor, x: Tensor) -> Tensor:
    """x^a e^-x / gamma(a), for large a by Stirling's series, where the logarithms would cancel."""
    log = emit("sub", emit("mul", a, emit("log", x)), emit("add", x, emit("lgamma", a)))
    large = emit("maximum", a, 10.0)
    share = emit("div", emit("sub", x, large), large)
    power = emit("mul", large, emit("sub", emit("log1p", share), share))
    inverse = emit("reciprocal", large)
    square = emit("mul", inverse, inverse)
    rest: Any = 691 / 360360
    for each in (-1 / 1188, 1 / 1680, -1 / 1260, 1 / 360, -1 / 12):
        rest = emit("add", emit("mul", square, rest), each)
    power = emit("add", power, emit("mul", inverse, rest))
    stirling = emit("mul", emit("exp", power), emit("sqrt", emit("mul", large, 0.5 / math.pi)))
    return emit("where", emit("less", a, 10.0), emit("exp", log), stirling)  # type: ignore[no-any-return]


def _smaller(a: Tensor, x: Tensor) -> Tensor:
    """The lower function if x < a, else the upper one, divided by x^a e^-x / gamma(a): the integral
    of e^(-|a - x| s - x (e^s - 1 - s)), with -s for the lower one, by the trapezoidal rule in w
    with s = scale e^(w - e^-w), which converges faster than any power of the step."""
    apart = emit("abs", emit("sub", a, x))
    scale = emit("reciprocal", emit("add", apart, emit("sqrt", x))).unsqueeze(-1)
    step = 8.0 / _POINTS
    w = emit("sub", emit("mul", cast_to(counting(_POINTS, a), a.dtype), step), 4.0)
    shrunk = emit("exp", emit("neg", w))
    s = emit("mul", scale, emit("exp", emit("sub", w, shrunk)))
    weight = emit("mul", s, emit("mul", emit("add", shrunk, 1.0), step))
    is_lower = emit("less", x, a).unsqueeze(-1)
    signed = emit("where", is_lower, emit("neg", s), s)
    power = emit("mul", x.unsqueeze(-1), emit("sub", emit("expm1", signed), signed))
    power = emit("add", power, emit("mul", apart.unsqueeze(-1), s))
    terms = emit("mul", weight, emit("exp", emit("neg", power)))
    return emit("sum", terms, dim=[terms.ndim - 1])  # type: ignore[no-any-return]


def _incomplete(a: Any, x: Any, upper: bool) -> Tensor:
    kind, device = _float_type(a, x), _device_of(a, x)
    a, x = (cast_to(tensor_for(each, kind, device), float64) for each in (a, x))
    shape = emit("add", a, x).shape
    a, x = a.expand(*shape), x.expand(*shape)
    is_near = emit("less", x, _NEAR)
    far = emit("maximum", x, _NEAR)
    made = emit("where", is_near, _series(a, emit("minimum", x, _NEAR)), _integral(a, far))
    is_lower = emit("logical_or", is_near, emit("less", x, a))
    turned = emit("sub", tensor_for(1.0, float64, device), made)
    made = emit("where", is_lower, turned, made) if upper else emit("where", is_lower, made, turned)
    none, all_ = (1.0, 0.0) if upper else (0.0, 1.0)
    endless = emit("isinf", a)
    made = emit("where", emit("isinf", x), all_, made)
    made = emit("where", endless, none, made)
    made = emit("where", emit("equal", x, 0.0), none, made)
    made = emit("where", emit("equal", a, 0.0), all_, made)
    bad = emit("logical_or", emit("less", a, 0.0), emit("less", x, 0.0))
    bad = emit("logical_or", bad, emit("logical_and", endless, emit("isinf", x)))
    zeros = emit("logical_and", emit("equal", a, 0.0), emit("equal", x, 0.0))
    unknown = emit("logical_or", emit("isnan", a), emit("isnan", x))
    for each in (zeros, unknown):
        bad = emit("logical_or", bad, each)
    return cast_to(emit("where", bad, math.nan, made), kind)


def _integral(a: Tensor, x: Tensor) -> Tensor:
    return emit("mul", _factor(a, x), _smaller(a, x))  # type: ignore[no-any-return]


@function
def igamma(input: Operand, other: Operand) -> Tensor:
    """The regularized lower incomplete gamma function.

    >>> infinicore.igamma(infinicore.tensor([1.]), infinicore.tensor([0.]))
    tensor([0.])
    """
    return _incomplete(input, other, False)


@function
def igammac(input: Operand, other: Operand) -> Tensor:
    """The regularized upper incomplete gamma function.

    >>> infinicore.igammac(infinicore.tensor([1.]), infinicore.tensor([0.]))
    tensor([1.])
    """
    return _incomplete(input, other, True)


_polygamma = polygamma


class _Methods(Methods):
    def polygamma(self, n: int) -> Tensor:
        """The n-th derivative of `digamma`."""
        return _polygamma(n, self)

    def polygamma_(self, n: int) -> Tensor:
        """`polygamma` in place."""
        return _polygamma(n, self, out=self)
