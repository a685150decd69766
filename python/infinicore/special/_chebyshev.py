"""Chebyshev polynomials of four kinds: by recurrence up to degree 8, so that small integers stay
exact, and by trigonometric and hyperbolic functions beyond."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import float64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.elementwise.gamma import _device_of, _float_type

__all__ = [f"{prefix}chebyshev_polynomial_{k}" for prefix in ("", "shifted_") for k in "tuvw"]

_EXACT = 8
# Degree 1 is factor * x + term.
_FIRST = {"t": (1.0, 0.0), "u": (2.0, 0.0), "v": (2.0, -1.0), "w": (2.0, 1.0)}
# Degree n is f((n + shift) a) / f(shift a) with f = cos or sin and x = cos a, or cosh and sinh.
_CIRCLE = {"t": ("cos", 0.0), "u": ("sin", 1.0), "v": ("cos", 0.5), "w": ("sin", 0.5)}
_LIMITS = {"u": (1.0, 1.0), "w": (2.0, 1.0)}  # degree n at x = 1
_MIRROR = {"t": "t", "u": "u", "v": "w", "w": "v"}


def _by_recurrence(x: Tensor, n: Tensor, kind: str) -> Tensor:
    """Degrees 0 to 8; results for other degrees are not used."""
    scale, added = _FIRST[kind]
    before = tensor_for(1.0, float64, x.device)
    last = emit("add", emit("mul", x, scale), added)
    made = emit("where", emit("equal", n, 0.0), before, last)
    twice = emit("mul", x, 2.0)
    for k in range(2, _EXACT + 1):
        before, last = last, emit("sub", emit("mul", twice, last), before)
        made = emit("where", emit("equal", n, float(k)), last, made)
    return made  # type: ignore[no-any-return]


def _by_angle(y: Tensor, n: Tensor, kind: str) -> Tensor:
    """For y >= 0."""
    name, shift = _CIRCLE[kind]
    times = emit("add", n, shift)
    beyond = emit("maximum", emit("sub", y, 1.0), 0.0)
    root = emit("sqrt", emit("mul", beyond, emit("add", beyond, 2.0)))
    angles = {
        "": emit("acos", emit("minimum", y, 1.0)),
        "h": emit("log1p", emit("add", beyond, root)),
    }
    made = {}
    for form, angle in angles.items():
        made[form] = emit(f"{name}{form}", emit("mul", times, angle))
        if shift:
            divisor = emit(f"{name}{form}", emit("mul", angle, shift))
            made[form] = emit("div", made[form], divisor)
    result = emit("where", emit("less", y, 1.0), made[""], made["h"])
    if kind in _LIMITS:
        scale, added = _LIMITS[kind]
        limit = emit("add", emit("mul", n, scale), added)
        result = emit("where", emit("equal", y, 1.0), limit, result)
    return result  # type: ignore[no-any-return]


def _polynomial(input: Any, n: Any, kind: str, is_shifted: bool) -> Tensor:
    type_, where = _float_type(input, n), _device_of(input, n)
    x, degree = (cast_to(tensor_for(each, type_, where), float64) for each in (input, n))
    degree = emit("trunc", degree)
    if is_shifted:
        x = emit("sub", emit("mul", x, 2.0), 1.0)
    # For negative x it is, up to a sign, the polynomial at -x: the third and fourth kinds are
    # exchanged.
    y, below = emit("abs", x), emit("less", x, 0.0)
    made = mirrored = _by_angle(y, degree, kind)
    if _MIRROR[kind] != kind:
        mirrored = _by_angle(y, degree, _MIRROR[kind])
    is_odd = emit("not_equal", emit("remainder", degree, 2.0), 0.0)
    mirrored = emit("where", is_odd, emit("neg", mirrored), mirrored)
    made = emit("where", below, mirrored, made)
    is_small = emit("less_equal", degree, float(_EXACT))
    made = emit("where", is_small, _by_recurrence(x, degree, kind), made)
    return cast_to(emit("where", emit("less", degree, 0.0), 0.0, made), type_)


def _made(kind: str, is_shifted: bool) -> Any:
    def body(input: Operand, n: Operand) -> Tensor:
        return _polynomial(input, n, kind, is_shifted)

    name = f"{'shifted_' if is_shifted else ''}chebyshev_polynomial_{kind}"
    which = {"t": "first", "u": "second", "v": "third", "w": "fourth"}[kind]
    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""Chebyshev's polynomials of the {which} kind, of degree n{
        ", at 2 x - 1" if is_shifted else ""
    }; 0 where n is negative.

    >>> infinicore.special.{name}(infinicore.ones(1), 0)
    tensor([1.])
    """
    return function(body)


for _kind in "tuvw":
    globals()[f"chebyshev_polynomial_{_kind}"] = _made(_kind, False)
    globals()[f"shifted_chebyshev_polynomial_{_kind}"] = _made(_kind, True)
