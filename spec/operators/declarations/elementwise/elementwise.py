"""Elementwise mathematics: arithmetic, powers and logarithms, comparison, constants.

These must be accurate for every number, also in F32: formulas with intermediate overflow or
cancellation are avoided.
"""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from ...language.views import expand

UNARY = """
    out y F+ [*S]
    x     =y [*S]
"""
BINARY = """
    out c F+ [*S]
    a     =c [*S]
    b     =c [*S]
"""
BINARY_WITH_INTEGERS = """
    out c F+|I* [*S]
    a     =c    [*S]
    b     =c    [*S]
"""
BINARY_ALL = """
    out c F+|I*|BOOL [*S]
    a     =c         [*S]
    b     =c         [*S]
"""
COMPARE = """
    out c BOOL       [*S]
    a     F+|I*|BOOL [*S]
    b     =a         [*S]
"""
CONSTANT = """
    out y PLAIN [*S]
    x     =y    [*S]
"""


# ---- One operand --------------------------------------------------------------------------------


@operator("Acos(!y, x)", UNARY, public="acos arccos(input)", complex_as="form")
def acos(x: Array) -> Array:
    """The inverse cosine; NaN outside [-1, 1]."""
    return fn.acos(x)


@operator("Angle(!y, x)", UNARY, umbrella=False)
def angle(x: Array) -> Array:
    """The angle of a real number: pi where it is negative, else 0; NaN stays NaN."""
    return fn.where(x < 0.0, 3.141592653589793, fn.where(fn.isnan(x), x, 0.0))


@operator("Asin(!output, input)", UNARY, public="asin arcsin(input)", complex_as="form")
def asin(x: Array) -> Array:
    """The inverse sine; NaN outside [-1, 1]."""
    return fn.asin(x)


@operator("Asinh(!y, x)", UNARY, public="asinh arcsinh(input)", complex_as="form")
def asinh(x: Array) -> Array:
    """The inverse hyperbolic sine."""
    return fn.asinh(x)


@operator("Atanh(!y, a)", UNARY, public="atanh arctanh(input)", complex_as="form")
def atanh(x: Array) -> Array:
    """The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    return fn.atanh(x)


@operator("Digamma(!y, x)", UNARY, public="digamma(input)")
def digamma(x: Array) -> Array:
    """The logarithmic derivative of the gamma function: -inf at 0, inf at -0, NaN at negative
    integers."""
    return fn.digamma(x)


@operator("Erf(!y, x)", UNARY, public="erf(input)")
def erf(x: Array) -> Array:
    """The error function."""
    return fn.erf(x)


@operator("Erfc(!y, x)", UNARY, public="erfc(input)")
def erfc(x: Array) -> Array:
    """The complement of the error function, 1 - erf(x), without the cancellation."""
    return fn.erfc(x)


@operator("Erfinv(!y, x)", UNARY, public="erfinv(input)")
def erfinv(x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    return fn.erfinv(x)


@operator(
    "Floor(!output, intput)",
    """
    out y F+|I* [*S]
    x     =y    [*S]
    """,
    public="floor(input)",
)
def floor(x: Array) -> Array:
    """The greatest whole number that is not above x; integers are left as they are."""
    return fn.floor(x)


@operator("Log10(!y, x)", UNARY, public="log10(input)", complex_as="form")
def log10(x: Array) -> Array:
    """The logarithm to base 10."""
    return fn.log10(x)


@operator("Log1p(!y, x)", UNARY, public="log1p(input)", complex_as="form")
def log1p(x: Array) -> Array:
    """log(1 + x), accurate near 0."""
    return fn.log1p(x)


@operator("Reciprocal(!y, x)", UNARY, public="reciprocal(input)", complex_as="form")
def reciprocal(x: Array) -> Array:
    """1 / x."""
    return 1.0 / x


@operator("Sinh(!y, x)", UNARY, public="sinh(input)", complex_as="form")
def sinh(x: Array) -> Array:
    """The hyperbolic sine."""
    return fn.sinh(x)


@operator(
    # The output comes first; the header that programs know has the two names exchanged.
    "Tan(input_desc, out_desc) -> (!output=y, input=x)",
    UNARY,
    public="tan(input)",
    complex_as="form",
)
def tan(x: Array) -> Array:
    """The tangent."""
    return fn.tan(x)


@operator(
    "Tanh(!output, input)",
    UNARY,
    public="""
    tanh(input)
    nn.functional.tanh(input)
    """,
    complex_as="form",
)
def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return fn.tanh(x)


@operator("Ones(!y, x)", CONSTANT)
def ones(x: Array) -> Array:
    """1 everywhere; x gives the shape."""
    return fn.filled(x, 1)


@operator("Zeros(!y, x)", CONSTANT)
def zeros(x: Array) -> Array:
    """0 everywhere; x gives the shape."""
    return fn.filled(x, 0)


@operator("MulScalar(output, input) -> (!output, input, double alpha)", UNARY)
def mul_scalar(x: Array, *, alpha: float) -> Array:
    """x times a number that is given when the operator runs."""
    return x * alpha


# ---- Two operands -------------------------------------------------------------------------------


@operator("Add(!c, a, b)", BINARY_ALL, complex_as="linear")
def add(a: Array, b: Array) -> Array:
    """a + b. Integers wrap around; with BOOL, whether one is true."""
    return a + b


@operator("Sub(!c, a, b)", BINARY_WITH_INTEGERS, complex_as="linear")
def sub(a: Array, b: Array) -> Array:
    """a - b. Integers wrap around."""
    return a - b


@operator("Mul(!c, a, b)", BINARY_ALL, public="mul multiply(input, other)", complex_as="form")
def mul(a: Array, b: Array) -> Array:
    """a * b. Integers wrap around; with BOOL, whether both are true."""
    return a * b


@operator("FloorDivide(!c, a, b)", BINARY_WITH_INTEGERS, public="floor_divide(input, other)")
def floor_divide(a: Array, b: Array) -> Array:
    """The quotient, rounded down (from its exact value, so that 1 // 0.1 is 9). An integer divided
    by 0 gives 0."""
    return a // b


@operator("Fmod(!c, a, b)", BINARY_WITH_INTEGERS, public="fmod(input, other)")
def fmod(a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend, as in C; exact. An integer divided by 0 leaves
    0."""
    return fn.fmod(a, b)


@operator("Fmin(!c, a, b)", BINARY_ALL, public="fmin(input, other)")
def fmin(a: Array, b: Array) -> Array:
    """The smaller of the two; NaN loses against any number."""
    return fn.fmin(a, b)


@operator("Hypot(!output, input_a, input_b)", BINARY, public="hypot(input, other)")
def hypot(a: Array, b: Array) -> Array:
    """sqrt(a * a + b * b) without intermediate overflow."""
    return fn.hypot(a, b)


def _distance(a: Array, b: Array) -> Array:
    """-|a - b|, and 0 for equal infinities."""
    return fn.where(fn.equal(a, b), 0.0, -fn.absolute(a - b))


@operator("LogAddExp(!c, a, b)", BINARY, public="logaddexp(input, other)")
def logaddexp(a: Array, b: Array) -> Array:
    """log(e^a + e^b)."""
    return fn.maximum(a, b) + fn.log1p(fn.exp(_distance(a, b)))


@operator("LogAddExp2(!c, a, b)", BINARY, public="logaddexp2(input, other)")
def logaddexp2(a: Array, b: Array) -> Array:
    """log2(2^a + 2^b)."""
    return fn.maximum(a, b) + fn.log1p(fn.exp2(_distance(a, b))) * fn.LOG2_E


@operator(
    "Equal(!c, a, b)",
    COMPARE,
    public="""
    equal(input, other)
    eq(input, other)
    """,
    complex_as="form",
)
def equal(a: Array, b: Array) -> Array:
    """Whether a equals b. A NaN equals nothing."""
    return fn.equal(a, b)


@operator(
    "BitwiseRightShift(!y, x1, x2)",
    """
    out y I* [*S]
    x1    =y [*S]
    x2    =y [*S]
    """,
    umbrella=False,
    public="bitwise_right_shift(input, other)",
)
def bitwise_right_shift(x1: Array, x2: Array) -> Array:
    """x1 shifted right by x2 bits, its sign kept. A count that is negative, or as large as the
    number of bits, shifts everything out: 0, or -1 for negative x1."""
    return x1 >> x2


@operator(
    "FloatPower(!y, x, exponent, float scalar_exponent)",
    """
    out y     F+ [*S]
    x         F+ [*S]
    exponent? =x [*S]
    """,
)
def float_power(x: Array, exponent: Array | None, *, scalar_exponent: float) -> Array:
    """x to the power of a tensor, or of a number when there is none."""
    return fn.power(x, scalar_exponent if exponent is None else exponent)


@operator(
    "Ldexp(!y, x, exp)",
    """
    out y F+         [*S]
    x     =y         [~S]
    exp   F+|I32|I64 [~S]
    """,
)
def ldexp(x: Array, exp: Array) -> Array:
    """x * 2^exp, the exponent without its fraction. x and exp are broadcast."""
    # In three steps, since x may be as small as 2^exp is large; with 0 or inf it stays what it is.
    steps = fn.trunc(fn.minimum(fn.maximum(exp, -6000.0), 6000.0))
    third = fn.trunc(steps / 3.0)
    scaled = x * fn.exp2(third) * fn.exp2(third) * fn.exp2(steps - third - third)
    return fn.where(fn.either(fn.equal(x, 0.0), fn.isinf(x)), x, scaled)


# ---- Three operands -----------------------------------------------------------------------------


@operator(
    "Clip(!y, x, min_val, max_val)",
    """
    out y   F+|I* [*S]
    x       =y    [*S]
    min_val =y    [*S]
    max_val =y    [*S]
    """,
)
def clip(x: Array, min_val: Array, max_val: Array) -> Array:
    """x clamped to [min_val, max_val]; min_val if that is empty."""
    return fn.maximum(fn.minimum(x, max_val), min_val)


@operator(
    "Clamp(!y, x, min_val, max_val)",
    """
    out y   F+|I* [*S]
    x       =y    [*S]
    min_val =y    [*S]
    max_val =y    [*S]
    """,
    umbrella=False,
)
def clamp(x: Array, min_val: Array, max_val: Array) -> Array:
    """x clamped to [min_val, max_val]; max_val if that is empty."""
    return fn.minimum(fn.maximum(x, min_val), max_val)


@operator("NanToNum(!y, x, double nan, double posinf, double neginf)", UNARY, umbrella=False)
def nan_to_num(x: Array, *, nan: float, posinf: float, neginf: float) -> Array:
    """x with NaN and the two infinities replaced."""
    infinite = fn.where(x > 0.0, posinf, neginf)
    return fn.where(fn.isnan(x), nan, fn.where(fn.isinf(x), infinite, x))


@operator(
    "Addcmul(!out, input, tensor1, tensor2, float value)",
    """
    out out F+   [*S]
    input   =out [*S]
    tensor1 =out [*S]
    tensor2 =out [*S]
    """,
)
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: float) -> Array:
    """input + value * tensor1 * tensor2."""
    return input + value * tensor1 * tensor2


@operator(
    "Addcdiv(!out, input, tensor1, tensor2, double value)",
    """
    out out F+   [*S]
    input   =out [*S]
    tensor1 =out [*S]
    tensor2 =out [*S]
    """,
)
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: float) -> Array:
    """input + value * tensor1 / tensor2."""
    return input + value * tensor1 / tensor2


@operator(
    "Lerp(!output, start, end, weight, float weight_scalar)",
    """
    out output F+      [*S]
    start      =output [~S]
    end        =output [~S]
    weight?    =output [~S]
    """,
)
def lerp(start: Array, end: Array, weight: Array | None, *, weight_scalar: float) -> Array:
    """Linear interpolation from start (weight 0) to end (weight 1), exact at both ends. The weight
    is a tensor, or a number when there is none. All are broadcast."""
    w = weight_scalar if weight is None else weight
    way = end - start
    return fn.where(fn.absolute(w) < 0.5, start + w * way, end - way * (1.0 - w))


@operator(
    "Addr(!out, input, vec1, vec2, float beta, float alpha)",
    """
    out out F+   [M, N]
    input   =out [M, N]
    vec1    =out [M]
    vec2    =out [N]
    """,
)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: float, alpha: float) -> Array:
    """beta * input + alpha * the outer product of two vectors."""
    return beta * input + alpha * expand(vec1) * vec2
