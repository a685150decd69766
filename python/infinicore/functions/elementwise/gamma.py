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


def _inverse_power(a: Tensor, s: int) -> Tensor:
    """a^-s by products, which take a fraction of the time of a power."""
    square = emit("reciprocal", a)
    made: Any = None
    while s:
        if s % 2:
            made = square if made is None else emit("mul", made, square)
        s //= 2
        square = emit("mul", square, square) if s else square
    return made  # type: ignore[no-any-return]


def _zeta_above(s: int, q: Tensor, narrow: bool) -> Tensor:
    """The sum of (q + k)^-s: some terms, and Euler's and Maclaurin's formula for the rest,
    for q above 0. Half as many do for results with the digits of a float32."""
    first, more_terms = (_FIRST // 2, 6) if narrow else (_FIRST, len(_BERNOULLI))
    total = None
    for k in range(first):
        term = _inverse_power(emit("add", q, float(k)), s)
        total = term if total is None else emit("add", total, term)
    a = emit("add", q, float(first))
    power = _inverse_power(a, s)
    total = emit("add", total, emit("mul", _inverse_power(a, s - 1), 1 / (s - 1)))
    total = emit("add", total, emit("mul", power, 0.5))
    factor = emit("div", emit("mul", power, float(s)), a)  # s (s + 1) ... a^(-s - 2k + 1)
    inverse = emit("reciprocal", emit("mul", a, a))
    for k, each in enumerate(_BERNOULLI[:more_terms], 1):
        total = emit("add", total, emit("mul", factor, each))
        more = (s + 2.0 * k - 1) * (s + 2.0 * k)
        factor = emit("mul", emit("mul", factor, more), inverse)
    return total  # type: ignore[no-any-return]


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
    factor = float(math.factorial(n)) if n <= 170 else math.inf  # beyond, more than a float64
    x: Any = cast_to(input, kind)
    if x.device.type != "cpu" or n >= 32:
        scale = factor if n % 2 else -factor
        return emit("polygamma", x, s=n + 1.0, scale=scale)  # type: ignore[no-any-return]
    # By products, which take a fraction of the time; of great powers they are less exact.
    x = cast_to(x, float64)
    made = _polygamma_terms(n, x, kind is not float64)
    whole = emit("logical_and", emit("less_equal", x, 0.0), emit("equal", x, emit("floor", x)))
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
