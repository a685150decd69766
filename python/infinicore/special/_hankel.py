"""Bessel functions of the second kind, and Airy's function."""

from __future__ import annotations

from infinicore.special._bessel import declared

__all__ = ["airy_ai", "bessel_y0", "bessel_y1"]

_Y = "The Bessel function of the second kind, order"
_CALL = "infinicore.tensor([1., 0.]))"

bessel_y0 = declared(
    "bessel_y0", "bessel_y0", f"{_Y} 0; NaN below 0.", _CALL, "tensor([0.0883, -inf])"
)
bessel_y1 = declared(
    "bessel_y1", "bessel_y1", f"{_Y} 1; NaN below 0.", _CALL, "tensor([-0.7812, -inf])"
)
airy_ai = declared(
    "airy_ai",
    "airy_ai",
    "Airy's function Ai: the solution of y'' = x y that vanishes for large x.",
    "infinicore.tensor([0., 1.]))",
    "tensor([0.3550, 0.1353])",
)
