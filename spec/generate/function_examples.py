"""Examples for help texts: the definition of an elementwise operator, evaluated for a few numbers.

In plain Python, because the build has no NumPy.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..operators.language.expression import Node, lift
from ..operators.language.model import Operator

Numbers = tuple[float, ...]

NAN, INF = math.nan, math.inf
# Arguments to try; the first ones with results that are finite and not all the same are shown.
ONE_FLOAT: tuple[Numbers, ...] = ((-1.5, 0.25, 2.0), (0.0, 0.5), (0.25, 4.0), (1.0, 2.0))
ONE_TEST: tuple[Numbers, ...] = ((1.0, -INF, NAN), (0.0, 2.0))
ONE_INTEGER: tuple[Numbers, ...] = ((1, -2),)
TWO_INTEGERS: tuple[tuple[Numbers, Numbers], ...] = (
    ((-7, 2, 5), (2,)),
    ((0, 1, 2), (0, 0, 1)),
)
TWO_FLOATS: tuple[tuple[Numbers, Numbers], ...] = (((3.0, -1.0), (4.0, 2.0)),)


def example(
    operator: Operator, call: str, takes_numbers: bool, values: dict[str, float]
) -> list[str]:
    """The lines of an example that calls a function, or none if it cannot be evaluated here."""
    inputs = operator.inputs
    kinds = _dtypes(operator, inputs[0].name)
    is_test = operator.outputs[0].dtypes == ("BOOL",)
    candidates: Sequence[Any]
    if len(inputs) == 1:
        candidates = [(each,) for each in (ONE_TEST if is_test else ONE_FLOAT)]
        if "F32" not in kinds:
            candidates = [(each,) for each in ONE_INTEGER]
    elif len(inputs) == 2:
        candidates = TWO_INTEGERS if "I64" in kinds and takes_numbers else TWO_FLOATS
    else:
        return []
    for arguments in candidates:
        try:
            results = _results(operator, arguments, values)
        except (NotImplementedError, ValueError, ZeroDivisionError, OverflowError):
            continue
        if not all(math.isfinite(each) for each in results) or len(set(results)) < 2:
            continue
        words = [_argument(each, i > 0 and takes_numbers) for i, each in enumerate(arguments)]
        return [f">>> {call}({', '.join(words)})", _printed(results)]
    return []


def _dtypes(operator: Operator, name: str) -> tuple[str, ...]:
    tensor = next(each for each in operator.tensors if each.name == name)
    return _dtypes(operator, tensor.same_as) if tensor.same_as else tensor.dtypes


def _argument(numbers: Numbers, may_be_number: bool) -> str:
    if len(numbers) == 1 and may_be_number:
        return repr(numbers[0])
    words = [repr(each) if math.isfinite(each) else f'float("{each}")' for each in numbers]
    return f"infinicore.tensor([{', '.join(words)}])"


def _printed(results: list[float]) -> str:
    """Formats a number as in printed tensors."""
    words = [str(each) for each in results]
    if isinstance(results[0], float):
        whole = all(each == int(each) for each in results)
        words = [f"{each:.0f}." if whole else f"{each:.4f}" for each in results]
    width = max(map(len, words))
    return f"tensor([{', '.join(word.rjust(width) for word in words)}])"


# ---- Evaluation ---------------------------------------------------------------------------------


def _results(
    operator: Operator, arguments: Sequence[Numbers], values: dict[str, float]
) -> list[float]:
    nodes = {tensor.name: Node("leaf", data=i) for i, tensor in enumerate(operator.inputs)}
    keywords: dict[str, Any] = dict(values)
    wanted = inspect.signature(operator.definition).parameters
    if "dtypes" in wanted:
        keywords["dtypes"] = {tensor.name: "F32" for tensor in operator.tensors}
    elif "shapes" in wanted:
        raise NotImplementedError
    tree = operator.definition(**nodes, **keywords)
    if not isinstance(tree, Node):
        raise NotImplementedError
    count = max(map(len, arguments))
    rows = [[each[i % len(each)] for each in arguments] for i in range(count)]
    kind = bool if operator.outputs[0].dtypes == ("BOOL",) else type(arguments[0][0])
    return [kind(_value(tree, row)) for row in rows]


def _value(node: Node, leaves: list[float]) -> Any:
    if node.op == "leaf":
        return leaves[node.data]
    if node.op == "constant":
        return node.data
    if node.op not in OPERATIONS:
        raise NotImplementedError(node.op)
    return OPERATIONS[node.op](*(_value(lift(each), leaves) for each in node.args))


def _erfinv(y: float) -> float:
    x = 0.0
    for _ in range(60):  # Newton's method
        x -= (math.erf(x) - y) * math.sqrt(math.pi) / 2 * math.exp(x * x)
    return x


def _digamma(x: float) -> float:
    if x < 6:
        return _digamma(x + 1) - 1 / x
    square = 1 / (x * x)
    return math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square / 252))


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("exp", "expm1", "log", "log2", "log10", "log1p")},
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(math, name) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    **{name: getattr(math, name) for name in ("sqrt", "erf", "erfc", "lgamma", "atan2", "hypot")},
    **{name: getattr(math, name) for name in ("copysign", "fmod", "gcd", "isnan", "isinf")},
    "nextafter": math.nextafter,
    "erfinv": _erfinv,
    "digamma": _digamma,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "exp2": lambda x: 2.0**x,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "neg": lambda a: -a,
    "power": lambda a, b: a**b,
    "rshift": lambda a, b: a >> b,
    "lshift": lambda a, b: a << b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "bitnot": lambda a: ~a,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "both": lambda a, b: bool(a) and bool(b),
    "either": lambda a, b: bool(a) or bool(b),
    "differ": lambda a, b: bool(a) != bool(b),
    "negate": lambda a: not a,
    "signbit": lambda a: math.copysign(1, a) < 0,
    "absolute": abs,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "nearest": lambda x: float(round(x)),
    "maximum": max,
    "minimum": min,
    "fmax": max,
    "fmin": min,
    "lcm": lambda a, b: abs(a * b) // math.gcd(a, b),
    "where": lambda condition, a, b: a if condition else b,
}
