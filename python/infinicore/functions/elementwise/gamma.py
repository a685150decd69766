"""Functions around the gamma function: polygamma, incomplete gamma functions, the gamma function of
several dimensions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from infinicore._dtype import float64, get_default_dtype
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Methods, Tensor
from infinicore.functions._operands import floats, wide_floats

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


def _float_type(*operands: Any) -> Any:
    """The type of results: integers give floats."""
    kind = result_type(*operands)
    return kind if kind.is_floating_point else get_default_dtype()


def _device_of(*operands: Any) -> Any:
    return next(each.device for each in operands if isinstance(each, Tensor))


def _inverse_power(a: Tensor, s: Tensor | int) -> Tensor:
    """a^-s; of a number s that is known, by products, which take a fraction of the time."""
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
    """The sum of (q + k)^-s: some terms, and Euler's and Maclaurin's formula for the rest,
    for q above 0. Half as many do for results with the digits of a float32."""
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


def _cotangent_derivative(n: int) -> list[float]:
    """The coefficients, in powers of cot(x)^2, of the n-th derivative of cot(x) over n!; of even
    derivatives, which are odd functions, cot(x) is a factor that is left out."""
    powers = [Fraction(0), Fraction(1)]  # of cot(x); its derivative is -(1 + cot(x)^2)
    for k in range(1, n + 1):
        slope = [-power * coefficient / k for power, coefficient in enumerate(powers)][1:]
        powers = [
            (slope[i] if i < len(slope) else Fraction(0))
            + (slope[i - 2] if i >= 2 else Fraction(0))
            for i in range(len(slope) + 2)
        ]
    return [float(each) for each in powers[(n + 1) % 2 :: 2]]


def _cotangent_terms(n: int, x: Tensor) -> Tensor:
    """The n-th derivative of pi cot(pi x) over n!."""
    r = emit("sub", x, emit("round", x))
    # cot(pi r) is exactly 0 at halves, where even derivatives are small differences.
    is_near = emit("less", emit("abs", r), 0.25)
    half = emit("copysign", tensor_for(0.5, x.dtype, x.device), r)
    tangent = emit("tan", emit("mul", emit("where", is_near, r, emit("sub", half, r)), math.pi))
    cotangent = emit("where", is_near, emit("reciprocal", tangent), tangent)
    square = emit("mul", cotangent, cotangent)
    *rest, last = (math.pi ** (n + 1) * each for each in _cotangent_derivative(n))
    whole = emit("add", emit("mul", square, last), rest.pop())
    while rest:
        whole = emit("add", emit("mul", whole, square), rest.pop())
    return emit("mul", whole, cotangent) if n % 2 == 0 else whole  # type: ignore[no-any-return]


def _polygamma_terms(n: int, x: Tensor, narrow: bool) -> Tensor:
    """The sum of (x + k)^-(n + 1) over k = 0, 1, ...; below 0 by reflection."""
    below = emit("less", x, 0.0)
    one = tensor_for(1.0, x.dtype, x.device)
    made = _zeta_above(n + 1, emit("where", below, emit("sub", one, x), x), narrow)
    whole = _cotangent_terms(n, x)
    both = emit("add", made, whole)
    return emit("where", below, emit("neg", both) if n % 2 else both, made)  # type: ignore[no-any-return]


def _zeta_sum(s: Tensor, q: Tensor) -> Tensor:
    """The sum of (q + k)^-s over k = 0, 1, ...; s is an integer where q is below 0, and the terms
    below 0 are those of another such sum, up to their sign."""
    below = emit("less", q, 0.0)
    rest = emit("sub", q, emit("floor", q))
    one = tensor_for(1.0, q.dtype, q.device)
    made = _zeta_above(s, emit("where", below, rest, q))
    ends = [emit("sub", one, emit("where", below, each, 0.0)) for each in (rest, q)]
    terms = emit("sub", *(_zeta_above(s, each) for each in ends))
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
    if n == 1:
        return emit("trigamma", cast_to(input, kind))  # type: ignore[no-any-return]
    x = cast_to(cast_to(input, kind), float64)
    if n < 32:
        made = _polygamma_terms(n, x, kind is not float64)
    else:  # of great powers the products are less exact than a power
        made = _zeta_sum(tensor_for(n + 1.0, float64, x.device), x)
    whole = emit("logical_and", emit("less_equal", x, 0.0), emit("equal", x, emit("floor", x)))
    factor = float(math.factorial(n)) if n <= 170 else math.inf  # beyond, more than a float64
    made = emit("mul", emit("where", whole, math.inf, made), factor)
    return cast_to(made if n % 2 else emit("neg", made), kind)


@function
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of p dimensions.

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


def _incomplete(a: Any, x: Any, upper: bool) -> Tensor:
    kind, device = _float_type(a, x), _device_of(a, x)
    a, x = (tensor_for(each, kind, device) for each in (a, x))
    return emit("incomplete_gamma", a, x, upper=int(upper))  # type: ignore[no-any-return]


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
