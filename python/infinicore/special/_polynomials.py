"""Orthogonal polynomials: Chebyshev, Hermite, Laguerre and Legendre."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.elementwise.gamma import _device_of, _float_type

# The operator's `kind` of each function; shifted ones are 8 more.
_NAMES = {f"chebyshev_polynomial_{letter}": kind for kind, letter in enumerate("tuvw")}
_NAMES |= {"hermite_polynomial_h": 4, "hermite_polynomial_he": 5}
_NAMES |= {"laguerre_polynomial_l": 6, "legendre_polynomial_p": 7}
_SHIFTED = [name for name in _NAMES if name.startswith("chebyshev")]
_TITLES = [
    f"Chebyshev polynomials of the {kind} kind" for kind in ("first", "second", "third", "fourth")
]
_TITLES += ["Physicists' Hermite polynomials", "Probabilists' Hermite polynomials"]
_TITLES += ["Laguerre polynomials", "Legendre polynomials"]

__all__ = [*_NAMES, *(f"shifted_{name}" for name in _SHIFTED)]


def _make(name: str, kind: int) -> Any:
    def body(input: Operand, n: Operand) -> Tensor:
        if input._role == "number" and n._role == "number":
            raise TypeError(f"{name}: input and n are numbers: expected a tensor")
        type_, where = _float_type(input, n), _device_of(input, n)
        x, degree = (tensor_for(each, type_, where) for each in (input, n))
        return emit("orthogonal_polynomial", x, degree, kind=kind)  # type: ignore[no-any-return]

    point = ", at 2 x - 1" if name.startswith("shifted_") else ""
    limit = " A degree of more than 32768 gives NaN." if kind in (6, 7) else ""
    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""{_TITLES[kind % 8]} of degree n{point}; 0 where n is negative.{limit}

    >>> infinicore.special.{name}(infinicore.ones(1), 0)
    tensor([1.])
    """
    return function(body)


for _name, _kind in _NAMES.items():
    globals()[_name] = _make(_name, _kind)
for _name in _SHIFTED:
    globals()[f"shifted_{_name}"] = _make(f"shifted_{_name}", _NAMES[_name] + 8)
