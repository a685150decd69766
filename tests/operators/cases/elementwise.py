"""Cases of elementwise operators."""

from __future__ import annotations

from typing import Any

from kit.drawing import FLOATS, Draw, Rules, Shape

from .values import Values, between, normal, one_of


def nonzero(draw: Draw, shape: Shape) -> Any:
    if draw.main.startswith("F") or draw.main == "BF16":
        return draw.normal(shape, 1.5)
    return one_of(-7, -3, -2, -1, 1, 2, 3, 50)(draw, shape)


def either(floats: Values, integers: Values) -> Values:
    """Separate values for floats and for integers."""

    def make(draw: Draw, shape: Shape) -> Any:
        return (floats if draw.main in FLOATS else integers)(draw, shape)

    return make


def close(*names: str) -> Rules:
    """Few different values, so that some are equal."""
    return Rules(values={name: between(-2, 3) for name in names})


_COMPARISONS = """
    not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
"""


# Parts of products may cancel, and these have poles: the difference is less precise.
_PAIRS = dict.fromkeys(("a_real", "a_imag", "b_real", "b_imag"), normal(1.0))

CASES: dict[str, Rules] = {
    "complex_mul": Rules(values=_PAIRS),
    "complex_pow": Rules(values=_PAIRS, noise=256.0),
    "complex_sigmoid": Rules(noise=256.0),
    "complex_silu": Rules(noise=256.0),
    "bitwise_right_shift": Rules(values={"x1": between(-120, 120), "x2": between(-3, 70)}),
    "floor_divide": Rules(values={"b": nonzero}),
    "ldexp": Rules(
        dtypes={"exp": lambda draw: draw.choose((draw.main, "I32", "I64"))},
        values={"exp": between(-6, 7)},
    ),
    "float_power": Rules(values={"x": normal(2.0, 0.1)}),
    "hardtanh": Rules(attributes={"min_val": (-1.0, -0.5), "max_val": (0.5, 2.0)}),
    "equal": Rules(values={"a": between(-3, 3), "b": between(-3, 3)}),
    # Differences of nearly equal numbers, computed in the usual way.
    **{
        name: Rules(noise=2.0)
        for name in (
            "gelu",
            "gelutanh",
            "tanhshrink",
            "lerp",
            "logaddexp",
            "logaddexp2",
        )
    },
    "mul_scalar": Rules(scalars={"alpha": (0.5, -1.75, 3.1415926)}),
    **{name: close("a", "b") for name in _COMPARISONS.split()},
    "logical_not": close("x"),
    "acosh": Rules(values={"x": normal(1.5, 1.0)}),
    "arange": Rules(attributes={"start": (0.0, -5.0, 2.5), "step": (1.0, -2.0, 0.75, 3.0)}),
    "bitwise_left_shift": Rules(values={"a": between(-120, 120), "b": between(-3, 70)}),
    "fill": Rules(attributes={"value": (0.0, 1.0, -3.0, 2.5, 100.0)}),
    "gcd": Rules(values={"a": between(-60, 60), "b": between(-60, 60)}),
    "lcm": Rules(values={"a": between(-60, 60), "b": between(-60, 60)}),
    # They oscillate around 0, where digits cancel.
    **dict.fromkeys(
        ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"), Rules(noise=8.0)
    ),
    "lgamma": Rules(noise=2.0),  # the reference loses digits next to the zeros at 1 and 2,
    "pow": Rules(
        values={
            "a": either(normal(2.0, 0.1), between(-4, 5)),
            "b": either(normal(1.5), between(-2, 7)),
        }
    ),
    "remainder": Rules(values={"b": nonzero}),
    # At greater degrees they are cosines of large angles.
    "orthogonal_polynomial": Rules(
        values={"x": normal(1.0), "n": between(-2, 8)},
        attributes={"kind": tuple(range(12))},
        noise=4096.0,
    ),
    "zeta": Rules(values={"a": normal(2.0, 1.1), "b": normal(2.0, 0.1)}, noise=64.0),
    "incomplete_gamma": Rules(
        values={"a": normal(3.0, 0.1), "b": normal(3.0)}, attributes={"upper": (0, 1)}, noise=512.0
    ),
}
