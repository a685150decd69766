"""Expressions: the same Python code computes with numbers and is traced into programs.

Functions of this module map NumPy arrays to arrays, and nodes to nodes. So a definition called with
arrays is the reference; called with nodes it yields the tree that the build turns into C++ for
every back end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Array = Any  # NumPy arrays when a definition is the reference, nodes when it is traced

BOOL, INT, FLOAT = "bool", "int", "float"
_RANK = {BOOL: 0, INT: 1, FLOAT: 2}


class Node:
    """One step of a traced expression. `kind` is "bool", "int", "float", or "value": the type that
    the operator computes in."""

    __slots__ = ("args", "data", "kind", "op")
    __array_ufunc__ = None  # NumPy defers mixed arithmetic to this class
    __hash__ = object.__hash__

    def __init__(self, op: str, args: tuple[Node, ...] = (), kind: str = "value", data: Any = None):
        self.op, self.args, self.kind, self.data = op, args, kind, data

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.args))
        return f"{self.op}({inside})" if self.data is None else f"{self.op}<{self.data}>({inside})"

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth value: use where(condition, a, b)")

    def __add__(self, other: Any) -> Any:
        return _add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _add(other, self)

    def __sub__(self, other: Any) -> Any:
        return _sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return _mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return _div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _div(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _floordiv(other, self)

    def __mod__(self, other: Any) -> Any:
        return _mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _mod(other, self)

    def __lshift__(self, other: Any) -> Any:
        return _lshift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _lshift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return _rshift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _rshift(other, self)

    def __and__(self, other: Any) -> Any:
        return _bitand(self, other)

    def __rand__(self, other: Any) -> Any:
        return _bitand(other, self)

    def __or__(self, other: Any) -> Any:
        return _bitor(self, other)

    def __ror__(self, other: Any) -> Any:
        return _bitor(other, self)

    def __xor__(self, other: Any) -> Any:
        return _bitxor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return _bitxor(other, self)

    def __invert__(self) -> Any:
        return _bitnot(self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __lt__(self, other: Any) -> Any:
        return less(self, other)

    def __le__(self, other: Any) -> Any:
        return less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return less(other, self)

    def __ge__(self, other: Any) -> Any:
        return less_equal(other, self)

    def __neg__(self) -> Any:
        return _neg(self)

    def __abs__(self) -> Any:
        return absolute(self)


def constant(value: float | int | bool) -> Node:
    kind = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT
    return Node("constant", (), kind, value)


def lift(value: Any) -> Node:
    return value if isinstance(value, Node) else constant(value)


def traced(*values: Any) -> bool:
    return any(isinstance(value, Node) for value in values)


def ordered(nodes: list[Node]) -> Iterator[Node]:
    """All nodes of the tree, arguments first, each once."""
    seen: set[Node] = set()

    def visit(node: Node) -> Iterator[Node]:
        if node not in seen:
            seen.add(node)
            for arg in node.args:
                yield from visit(arg)
            yield node

    for node in nodes:
        yield from visit(node)


def _join(*nodes: Node) -> str:
    kinds = [node.kind for node in nodes if node.op != "constant"] or [n.kind for n in nodes]
    if "value" in kinds:
        return "value"
    return max(kinds, key=lambda kind: _RANK[kind])


@dataclass(frozen=True)
class Function:
    name: str
    arity: int
    compute: Callable[..., Any]  # with NumPy arrays
    kind: str  # of the result: "" the joined kind of the arguments


FUNCTIONS: dict[str, Function] = {}


def _function(name: str, arity: int, compute: Callable[..., Any], kind: str = "") -> Any:
    FUNCTIONS[name] = Function(name, arity, compute, kind)

    def call(*args: Any) -> Any:
        if len(args) != arity:
            raise TypeError(f"{name} takes {arity} arguments, not {len(args)}")
        if any(isinstance(arg, Complex) for arg in args):
            return apply(name, *args)
        if traced(*args):
            nodes = tuple(map(lift, args))
            return Node(name, nodes, kind or _join(*nodes))
        return compute(*args)

    call.__name__ = call.__qualname__ = name
    return call


def _np(name: str) -> Callable[..., Any]:
    """NumPy's function of that name. NumPy is imported only when a reference is computed, so that
    the build does not need it."""

    def compute(*args: Any) -> Any:
        import numpy

        with numpy.errstate(all="ignore"):
            return getattr(numpy, name)(*args)

    return compute


def _special(name: str) -> Callable[..., Any]:
    def compute(*args: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*args)

    return compute


def _lgamma(x: Any) -> Any:
    import numpy
    import scipy.special

    with numpy.errstate(all="ignore"):
        near = -numpy.log(numpy.abs(x))  # SciPy returns infinity for denormal numbers
        y = numpy.where(numpy.abs(x) < 1e-30, near, scipy.special.gammaln(x))
        return numpy.where((x <= 0) & (x == numpy.floor(x)), numpy.inf, y)


def _power(a: Any, b: Any) -> Any:
    """Negative powers of integers are rounded to 0."""
    import numpy

    if numpy.result_type(a, b).kind != "i":
        return _np("power")(a, b)
    small = numpy.where(a == 1, 1, numpy.where(a == -1, 1 - 2 * (b & 1), 0))
    return numpy.where(b < 0, small, numpy.power(a, numpy.maximum(b, 0)))


def _parts(index: int) -> Callable[..., Any]:
    def compute(x: Any) -> Any:
        import numpy

        part = numpy.frexp(x)[index]
        return numpy.where(numpy.isfinite(x), part, 0) if index else part

    return compute


_add = _function("add", 2, _np("add"))
_sub = _function("sub", 2, _np("subtract"))
_mul = _function("mul", 2, _np("multiply"))
_div = _function("div", 2, _np("true_divide"))
_floordiv = _function("floordiv", 2, _np("floor_divide"))
_mod = _function("mod", 2, _np("mod"))  # the sign of the divisor, as in Python
_neg = _function("neg", 1, _np("negative"))
_rshift = _function("rshift", 2, _np("right_shift"))
_lshift = _function("lshift", 2, _np("left_shift"))
_bitand = _function("bitand", 2, _np("bitwise_and"))
_bitor = _function("bitor", 2, _np("bitwise_or"))
_bitxor = _function("bitxor", 2, _np("bitwise_xor"))
_bitnot = _function("bitnot", 1, _np("invert"))

less = _function("less", 2, _np("less"), BOOL)
less_equal = _function("less_equal", 2, _np("less_equal"), BOOL)
equal = _function("equal", 2, _np("equal"), BOOL)
both = _function("both", 2, _np("logical_and"), BOOL)
either = _function("either", 2, _np("logical_or"), BOOL)
differ = _function("differ", 2, _np("logical_xor"), BOOL)
negate = _function("negate", 1, _np("logical_not"), BOOL)

absolute = _function("absolute", 1, _np("abs"))
sqrt = _function("sqrt", 1, _np("sqrt"))
exp = _function("exp", 1, _np("exp"))
exp2 = _function("exp2", 1, _np("exp2"))
expm1 = _function("expm1", 1, _np("expm1"))
log = _function("log", 1, _np("log"))
log2 = _function("log2", 1, _np("log2"))
log10 = _function("log10", 1, _np("log10"))
log1p = _function("log1p", 1, _np("log1p"))
sin = _function("sin", 1, _np("sin"))
cos = _function("cos", 1, _np("cos"))
tan = _function("tan", 1, _np("tan"))
asin = _function("asin", 1, _np("arcsin"))
acos = _function("acos", 1, _np("arccos"))
atan = _function("atan", 1, _np("arctan"))
atan2 = _function("atan2", 2, _np("arctan2"))
sinh = _function("sinh", 1, _np("sinh"))
cosh = _function("cosh", 1, _np("cosh"))
tanh = _function("tanh", 1, _np("tanh"))
asinh = _function("asinh", 1, _np("arcsinh"))
acosh = _function("acosh", 1, _np("arccosh"))
atanh = _function("atanh", 1, _np("arctanh"))
erf = _function("erf", 1, _special("erf"))
erfc = _function("erfc", 1, _special("erfc"))
erfinv = _function("erfinv", 1, _special("erfinv"))
digamma = _function("digamma", 1, _special("digamma"))
lgamma = _function("lgamma", 1, _lgamma)
floor = _function("floor", 1, _np("floor"))
ceil = _function("ceil", 1, _np("ceil"))
trunc = _function("trunc", 1, _np("trunc"))
nearest = _function("nearest", 1, _np("round"))  # ties to even
mantissa = _function("mantissa", 1, _parts(0))  # x = mantissa * 2^exponent, 0.5 <= |mantissa| < 1
exponent = _function("exponent", 1, _parts(1))
power = _function("power", 2, _power)
fmod = _function("fmod", 2, _np("fmod"))  # the sign of the dividend, as in C
maximum = _function("maximum", 2, _np("maximum"))  # a NaN wins
minimum = _function("minimum", 2, _np("minimum"))
fmax = _function("fmax", 2, _np("fmax"))  # a NaN loses
fmin = _function("fmin", 2, _np("fmin"))
hypot = _function("hypot", 2, _np("hypot"))
copysign = _function("copysign", 2, _np("copysign"))
gcd = _function("gcd", 2, _np("gcd"))
lcm = _function("lcm", 2, _np("lcm"))
isnan = _function("isnan", 1, _np("isnan"), BOOL)
isinf = _function("isinf", 1, _np("isinf"), BOOL)
signbit = _function("signbit", 1, _np("signbit"), BOOL)
rsqrt = _function("rsqrt", 1, lambda x: 1.0 / sqrt(x))
one_plus_erf = _function("one_plus_erf", 1, lambda x: 1.0 + erf(x))
# New functions are appended: the position is the function's number for back ends.


def where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Complex) or isinstance(b, Complex):
        return choose(condition, lift_complex(a), lift_complex(b))
    if traced(condition, a, b):
        nodes = (lift(condition), lift(a), lift(b))
        return Node("where", nodes, _join(*nodes[1:]))
    return _np("where")(condition, a, b)


def nextafter(a: Any, b: Any, dtype: str) -> Any:
    """The next representable number of the dtype after a towards b."""
    if traced(a, b):
        return Node("nextafter", (lift(a), lift(b)))
    import numpy

    with numpy.errstate(all="ignore"):
        kind = numpy.float32 if dtype == "F32" else numpy.float64
        return numpy.nextafter(numpy.asarray(a, kind), numpy.asarray(b, kind))


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + exp(-x))


def filled(x: Any, value: float | int) -> Any:
    """The value broadcast to the shape of x."""
    return constant(value) if traced(x) else _np("full_like")(x, value)


def full(shape: Any, value: Any) -> Any:
    """The value broadcast to a shape of the definition's `shapes`."""
    return lift(value) if traced(shape) else _np("full")(shape, value)


def given(value: Any, dtype: str) -> Any:
    """An attribute in the arithmetic of a dtype: truncated for integers."""
    return value if traced(value) or not _is_integer(dtype) else int(value)


def converted(x: Any, dtype: str) -> Any:
    """Numbers converted to the range of a dtype. Floats become integers by truncation and
    saturation; NaN becomes 0. Storing does the same implicitly, and rounds."""
    if traced(x) or not _is_integer(dtype):
        return x
    import numpy

    x = numpy.asarray(x)
    if dtype == "BOOL":
        return x != 0
    if x.dtype.kind != "f":
        return x
    kind = numpy.dtype(
        "uint8" if dtype == "BYTE" else {"I": "int", "U": "uint"}[dtype[0]] + dtype[1:]
    )
    low, high = int(numpy.iinfo(kind).min), int(numpy.iinfo(kind).max)
    inside = (x > low) & (x < high)
    ends = numpy.where(x >= high, numpy.array(high, kind), numpy.array(low, kind))
    whole = numpy.where(inside, x, 0).astype(kind)
    return numpy.where(numpy.isnan(x) | inside, whole, ends)


def _is_integer(dtype: str) -> bool:
    return dtype[0] in "IUB" and dtype != "BF16"


SQRT1_2 = math.sqrt(0.5)
LOG2_E = 1.0 / math.log(2.0)

# Imported last, since its rules use these functions.
from .complex_numbers import Complex, apply, choose  # noqa: E402
from .complex_numbers import lift as lift_complex  # noqa: E402
