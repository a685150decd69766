"""The C++ text of expressions: functors, templated on the value type.

The text uses the functions of `expression` by their names, `constant<V>` for constants and
`number<V>` for truth values as 0 and 1; the including code provides these, for vectors
(backends/cpu/kernels) or for single numbers. The text is for compilers only: to analyse what an
operator computes, use the nodes.
"""

from __future__ import annotations

import math
import textwrap

from .nodes import CONSTANT, INPUT, TRUTHS, Expression

LOGIC = frozenset({"both", "either", "differ", "negate"})  # of conditions, not of values
NAMES = {  # in C++, where they differ
    "bitand": "bit_and",
    "bitor": "bit_or",
    "bitxor": "bit_xor",
    "bitnot": "bit_not",
    "lshift": "shift_left",
    "rshift": "shift_right",
    "div": "quotient",  # of integers too, towards zero
}


def source(name: str, expression: Expression) -> str:
    """The functor that evaluates an expression."""
    body = textwrap.indent("\n".join(_Writer(expression).body()), " " * 8)
    return f"""\
template <class V>
struct {name} {{
    static constexpr int kInputs = {expression.inputs}, kOutputs = {expression.outputs};
    static constexpr int kShared = {expression.shared}, kCost = {expression.cost};
    static constexpr bool kSelects = {str(expression.selects).lower()};
    INFINI_SIMD static void eval([[maybe_unused]] const V *x, V *y) {{
{body}
    }}
}};"""


class _Writer:
    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.lines: list[str] = []
        self.values: dict[int, str] = {}
        self.truths: dict[int, str] = {}

    def body(self) -> list[str]:
        results = list(map(self.value, self.expression.results))
        return [*self.lines, *(f"y[{i}] = {result};" for i, result in enumerate(results))]

    def value(self, number: int) -> str:
        """The name of a node as a value."""
        if number not in self.values:
            self.values[number] = self.new_value(number)
        return self.values[number]

    def truth(self, number: int) -> str:
        """The name of a node as a condition."""
        if number not in self.truths:
            if self.expression.nodes[number].op in TRUTHS:
                text = self.condition(number)
            else:
                text = f"{self.value(number)} != {_constant(0)}"
            self.truths[number] = self.line("auto", "m", text)
        return self.truths[number]

    def new_value(self, number: int) -> str:
        op, args, value = self.expression.nodes[number]
        if op == CONSTANT:
            return self.line("V", "c", _constant(value))
        if op == INPUT:
            return f"x[{args[0]}]"
        if op in TRUTHS:
            text = f"number<V>({self.truth(number)})"
        elif op == "where":
            text = _call(op, [self.truth(args[0]), *map(self.value, args[1:])])
        else:
            text = _call(op, list(map(self.value, args)))
        return self.line("V", "t", text)

    def condition(self, number: int) -> str:
        op, args, _ = self.expression.nodes[number]
        return _call(op, list(map(self.truth if op in LOGIC else self.value, args)))

    def line(self, kind: str, letter: str, text: str) -> str:
        name = f"{letter}{len(self.lines)}"
        self.lines.append(f"const {kind} {name} = {text};")
        return name


def _call(op: str, arguments: list[str]) -> str:
    return f"{NAMES.get(op, op)}({', '.join(arguments)})"


def _constant(value: float | int | bool) -> str:
    return f"constant<V>({number(value)})"


def number(value: float | int | bool) -> str:
    """A number in C++."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}INFINITY"
    return str(int(value)) if isinstance(value, int) else repr(value)
