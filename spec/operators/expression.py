"""Expressions: the same Python code computes with numbers and is traced into programs.

Functions of this module take NumPy arrays and give arrays, or take nodes and give nodes. So a
definition called with arrays is the reference, and called with nodes it becomes the tree that the
build turns into C++ for every back end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Array = Any  # NumPy arrays when a definition is the reference, nodes when it is traced

BOOL, INT, FLOAT = "bool", "int", "float"
_RANK = {BOOL: 0, INT: 1, FLOAT: 2}


class Node:
    """One step of a traced expression. `kind` is "bool", "int", "float", or "value": of the type
    that the operator computes in, whichever that is."""

    __slots__ = ("args", "data", "kind", "op")
    __array_ufunc__ = None  # NumPy leaves mixed arithmetic to us
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

    def __rshift__(self, other: Any) -> Any:
        return _rshift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _rshift(other, self)

    def __and__(self, other: Any) -> Any:
        return _bitand(self, other)

    def __rand__(self, other: Any) -> Any:
        return _bitand(other, self)

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
        if traced(*args):
            nodes = tuple(map(lift, args))
            return Node(name, nodes, kind or _join(*nodes))
        return compute(*args)

    call.__name__ = call.__qualname__ = name
    return call


def _np(name: str) -> Callable[..., Any]:
    """NumPy's function of that name; NumPy is imported when a reference is computed, not before, so
    that the build does not need it."""

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


_add = _function("add", 2, _np("add"))
_sub = _function("sub", 2, _np("subtract"))
_mul = _function("mul", 2, _np("multiply"))
_div = _function("div", 2, _np("true_divide"))
_floordiv = _function("floordiv", 2, _np("floor_divide"))
_mod = _function("mod", 2, _np("mod"))  # the sign of the divisor, as in Python
_neg = _function("neg", 1, _np("negative"))
_rshift = _function("rshift", 2, _np("right_shift"))
_bitand = _function("bitand", 2, _np("bitwise_and"))

less = _function("less", 2, _np("less"), BOOL)
less_equal = _function("less_equal", 2, _np("less_equal"), BOOL)
equal = _function("equal", 2, _np("equal"), BOOL)
both = _function("both", 2, _np("logical_and"), BOOL)
either = _function("either", 2, _np("logical_or"), BOOL)
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
floor = _function("floor", 1, _np("floor"))
ceil = _function("ceil", 1, _np("ceil"))
trunc = _function("trunc", 1, _np("trunc"))
nearest = _function("nearest", 1, _np("rint"))  # ties to even
power = _function("power", 2, _np("power"))
fmod = _function("fmod", 2, _np("fmod"))  # the sign of the dividend, as in C
maximum = _function("maximum", 2, _np("maximum"))  # a NaN wins
minimum = _function("minimum", 2, _np("minimum"))
fmax = _function("fmax", 2, _np("fmax"))  # a NaN loses
fmin = _function("fmin", 2, _np("fmin"))
hypot = _function("hypot", 2, _np("hypot"))
copysign = _function("copysign", 2, _np("copysign"))
isnan = _function("isnan", 1, _np("isnan"), BOOL)
isinf = _function("isinf", 1, _np("isinf"), BOOL)


def where(condition: Any, a: Any, b: Any) -> Any:
    if traced(condition, a, b):
        nodes = (lift(condition), lift(a), lift(b))
        return Node("where", nodes, _join(*nodes[1:]))
    return _np("where")(condition, a, b)


def rsqrt(x: Any) -> Any:
    return 1.0 / sqrt(x)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + exp(-x))


def filled(x: Any, value: float | int) -> Any:
    """The value everywhere, in the shape of x."""
    return constant(value) if traced(x) else _np("full_like")(x, value)


SQRT1_2 = math.sqrt(0.5)
LOG2_E = 1.0 / math.log(2.0)
