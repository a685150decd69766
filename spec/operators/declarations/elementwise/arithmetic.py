"""Elementwise arithmetic: signs, quotients and remainders, the greater and the smaller. Integers
wrap around."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .elementwise import BINARY, BINARY_ALL, BINARY_WITH_INTEGERS

UNARY_NUMBERS = """
    out y F+|I* [*S]
    x     =y    [*S]
"""
BINARY_INTEGERS = """
    out c I* [*S]
    a     =c [*S]
    b     =c [*S]
"""


# ---- One operand --------------------------------------------------------------------------------


@operator("Abs(!y, x)", UNARY_NUMBERS, complex_as="form")
def abs(x: Array) -> Array:
    """The absolute value of x. The smallest integer is unchanged."""
    return fn.absolute(x)


@operator("Neg(!y, x)", UNARY_NUMBERS, complex_as="linear")
def neg(x: Array) -> Array:
    """-x."""
    return -x


@operator(
    "Sign(!y, x)",
    """
    out y F+|I*|BOOL [*S]
    x     =y         [*S]
    """,
    public="""
    sign(input)
    sgn(input)
    """,
)
def sign(x: Array) -> Array:
    """1 above 0, -1 below, else 0, including for NaN."""
    return fn.where(x > 0, 1, fn.where(x < 0, -1, 0))


# ---- Two operands -------------------------------------------------------------------------------


@operator("Div(!c, a, b)", BINARY, complex_as="form")
def div(a: Array, b: Array) -> Array:
    """a / b."""
    return a / b


@operator("Remainder(!c, a, b)", BINARY_WITH_INTEGERS, public="remainder(input, other)")
def remainder(a: Array, b: Array) -> Array:
    """The remainder with the sign of the divisor, as in Python; exact. An integer divided by 0
    leaves 0."""
    return a % b


@operator("TruncDivide(!c, a, b)", BINARY)
def trunc_divide(a: Array, b: Array) -> Array:
    """The quotient without its fraction."""
    return fn.trunc(a / b)


@operator("Pow(!c, a, b)", BINARY_WITH_INTEGERS, complex_as="form")
def pow(a: Array, b: Array) -> Array:
    """a to the power of b. Negative powers of integers are rounded to 0."""
    return fn.power(a, b)


@operator(
    "Maximum(!c, a, b)",
    BINARY_ALL,
    public="""
    maximum(input, other)
    clamp_min(input: Tensor, min)
        No element below a bound: a number or a tensor, broadcast.

        >>> infinicore.clamp_min(infinicore.tensor([-2., 7.]), 0)
        tensor([0., 7.])
    """,
)
def maximum(a: Array, b: Array) -> Array:
    """The greater of the two; NaN if one is NaN."""
    return fn.maximum(a, b)


@operator(
    "Minimum(!c, a, b)",
    BINARY_ALL,
    public="""
    minimum(input, other)
    clamp_max(input: Tensor, max)
        No element above a bound: a number or a tensor, broadcast.

        >>> infinicore.clamp_max(infinicore.tensor([-2., 7.]), 0)
        tensor([-2.,  0.])
    """,
)
def minimum(a: Array, b: Array) -> Array:
    """The smaller of the two; NaN if one is NaN."""
    return fn.minimum(a, b)


@operator("Fmax(!c, a, b)", BINARY_ALL, public="fmax(input, other)")
def fmax(a: Array, b: Array) -> Array:
    """The greater of the two; NaN loses against any number."""
    return fn.fmax(a, b)


@operator("Copysign(!c, a, b)", BINARY, public="copysign(input, other)")
def copysign(a: Array, b: Array) -> Array:
    """The size of a with the sign of b, also of zeros and NaN."""
    return fn.copysign(a, b)


@operator(
    "Nextafter(!c, a, b)",
    """
    out c F32|F64 [*S]
    a     =c      [*S]
    b     =c      [*S]
    """,
)
def nextafter(a: Array, b: Array, *, dtypes: dict[str, str]) -> Array:
    """The number next to a on the way to b; b if they are equal."""
    return fn.nextafter(a, b, dtypes["c"])


@operator(
    "NextafterBits(!c, a, b, int infinity)",
    """
    out c I16 [*S]
    a     =c  [*S]
    b     =c  [*S]
    """,
)
def nextafter_bits(a: Array, b: Array, *, infinity: int) -> Array:
    """nextafter of 16-bit floats, given as the bits of a sign, an exponent and a fraction.
    `infinity`: the bits of infinity; NaN are above them."""
    size_a, size_b = a & 0x7FFF, b & 0x7FFF
    from_, to = fn.where(a < 0, -size_a, size_a), fn.where(b < 0, -size_b, size_b)
    shrinks = fn.differ(from_ < to, a > 0)
    beside = fn.where(fn.equal(size_a, 0), (b & -0x8000) | 1, a + fn.where(shrinks, -1, 1))
    result = fn.where(fn.equal(from_, to), b, beside)
    return fn.where(size_a > infinity, a, fn.where(size_b > infinity, b, result))


@operator("Gcd(!c, a, b)", BINARY_INTEGERS, public="gcd(input, other)")
def gcd(a: Array, b: Array) -> Array:
    """The greatest common divisor, not negative; gcd(0, 0) is 0."""
    return fn.gcd(a, b)


@operator("Lcm(!c, a, b)", BINARY_INTEGERS, public="lcm(input, other)")
def lcm(a: Array, b: Array) -> Array:
    """The least common multiple, not negative unless it wraps; 0 if one is 0."""
    return fn.lcm(a, b)
