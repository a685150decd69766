"""Bessel functions, and Airy's function."""

from __future__ import annotations

from typing import Any

from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import floats
from infinicore.functions.elementwise.elementwise import i0
from infinicore.special._normal import computed, where

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]


def declared(name: str, operator: str, text: str, *example: str) -> Any:
    def body(input: Tensor) -> Tensor:
        return emit(operator, floats(input))  # type: ignore[no-any-return]

    call, result = example or ("infinicore.ones(1)).shape", "infinicore.Size([1])")
    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""{text}

    >>> infinicore.special.{name}({call}
    {result}
    """
    return function(body)


_J = "The Bessel function of the first kind, order"
_K = "The modified Bessel function of the second kind, order"

i1 = declared("i1", "bessel_i1", "The modified Bessel function of order 1.")
i0e = declared("i0e", "scaled_bessel_i0", "`i0` times e^-|x|.")
i1e = declared("i1e", "scaled_bessel_i1", "`i1` times e^-|x|.")
modified_bessel_i0, modified_bessel_i1 = i0, i1
modified_bessel_k0 = declared("modified_bessel_k0", "bessel_k0", f"{_K} 0.")
modified_bessel_k1 = declared("modified_bessel_k1", "bessel_k1", f"{_K} 1.")
scaled_modified_bessel_k0 = declared(
    "scaled_modified_bessel_k0", "scaled_bessel_k0", "`modified_bessel_k0` times e^x."
)
scaled_modified_bessel_k1 = declared(
    "scaled_modified_bessel_k1", "scaled_bessel_k1", "`modified_bessel_k1` times e^x."
)
bessel_j0 = declared("bessel_j0", "bessel_j0", f"{_J} 0.")
bessel_j1 = declared("bessel_j1", "bessel_j1", f"{_J} 1.")


@function
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(x) / x.

    >>> infinicore.special.spherical_bessel_j0(infinicore.zeros(1))
    tensor([1.])
    """
    x = computed(input)
    zero = emit("equal", x, 0.0)
    made = emit("div", emit("sin", x), where(zero, 1.0, x, x))
    made = where(emit("isinf", x), 0.0, made, x)
    return cast_to(where(zero, 1.0, made, x), floats(input).dtype)


# ---- Of the second kind, and Airy's function ----------------------------------------------------


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
