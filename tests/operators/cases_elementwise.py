"""What the declarations of elementwise primitives cannot say, for drawing cases."""

from __future__ import annotations

from typing import Any

from kit.drawing import FLOATS, Draw, Rules, Shape

from .cases import Values, between, nonzero, spread


def either(floats: Values, integers: Values) -> Values:
    """Values for floats, and others for integers."""

    def make(draw: Draw, shape: Shape) -> Any:
        return (floats if draw.main in FLOATS else integers)(draw, shape)

    return make


def close(*names: str) -> Rules:
    """Few different numbers, so that some are equal."""
    return Rules(values={name: between(-2, 3) for name in names})


_COMPARISONS = """
    not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
"""

PRIMITIVES = {
    **{name: close("a", "b") for name in _COMPARISONS.split()},
    "logical_not": close("x"),
    "acosh": Rules(values={"x": spread(1.5, 1.0)}),
    "arange": Rules(attributes={"start": (0.0, -5.0, 2.5), "step": (1.0, -2.0, 0.75, 3.0)}),
    "bitwise_left_shift": Rules(values={"a": between(-120, 120), "b": between(-3, 70)}),
    "fill": Rules(attributes={"value": (0.0, 1.0, -3.0, 2.5, 100.0)}),
    "gcd": Rules(values={"a": between(-60, 60), "b": between(-60, 60)}),
    "lcm": Rules(values={"a": between(-60, 60), "b": between(-60, 60)}),
    "lgamma": Rules(noise=2.0),  # the reference loses digits next to the zeros at 1 and 2
    "pow": Rules(
        values={
            "a": either(spread(2.0, 0.1), between(-4, 5)),
            "b": either(spread(1.5), between(-2, 7)),
        }
    ),
    "remainder": Rules(values={"b": nonzero}),
}
