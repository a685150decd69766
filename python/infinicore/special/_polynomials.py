"""Hermite, Laguerre and Legendre polynomials, by recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import _core
from infinicore._dtype import float32, float64
from infinicore._emit import cast_to, tensor_for
from infinicore._function import write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions.elementwise.gamma import _device_of, _float_type

__all__ = [
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]

_MOST = 1 << 15  # largest degree; they are computed one by one
Step = Callable[[Tensor, int, Tensor, Tensor], Tensor]  # x, k, degree k and k - 1 -> degree k + 1


def _evaluated(name: str, first: Tensor, step: Step, x: Tensor, n: Any) -> Tensor:
    """Degree n at x, both float64, from degree 1 on."""
    if not isinstance(n, Tensor):
        most = int(n)
    else:
        # The number of steps is read from the tensor.
        _core.refuse_while_recording(name)
        n = infinicore.trunc(n)
        most = int(n.max().item()) if n.numel() else 0
    expect(most <= _MOST, name, "n", most, f"{_MOST} at most, one step for each degree")
    last, before = first, infinicore.ones_like(first)
    if not isinstance(n, Tensor):
        for k in range(1, most):
            last, before = step(x, k, last, before), last
        made = last if most > 0 else before
        return made if most >= 0 else infinicore.zeros_like(made)
    made = infinicore.where(n >= 1, last, before)
    for k in range(1, most):
        last, before = step(x, k, last, before), last
        made = infinicore.where(n > k, last, made)
    return infinicore.where(n < 0, 0.0, made)  # type: ignore[no-any-return]


def _polynomial(
    name: str, input: Any, n: Any, first: Callable[[Tensor], Tensor], step: Step, out: Any
) -> Tensor:
    for argument, value in (("input", input), ("n", n)):
        if not isinstance(value, (Tensor, int, float)):
            kind = type(value).__name__
            raise TypeError(f"{name}: {argument} is {kind}: expected a tensor or a number")
    if not isinstance(input, Tensor) and not isinstance(n, Tensor):
        raise TypeError(f"{name}: input and n are numbers: expected a tensor")
    kind, where = _float_type(input, n), _device_of(input, n)
    x = cast_to(tensor_for(input, kind, where), float64)
    degree = cast_to(tensor_for(n, kind, where), float64) if isinstance(n, Tensor) else n
    if not name.startswith("hermite"):
        made = _evaluated(name, first(x), step, x, degree)
    else:
        # As in torch: beyond this degree the coefficients leave the type's range.
        high = 128 if kind is float32 else 512
        if isinstance(degree, Tensor):
            beyond = degree >= high + 1
            made = _evaluated(name, first(x), step, x, infinicore.where(beyond, 0.0, degree))
            made = infinicore.where(beyond, math.nan, made)
        elif int(degree) > high:
            made = infinicore.full_like(x, math.nan)
        else:
            made = _evaluated(name, first(x), step, x, degree)
    made = cast_to(made, kind)
    return made if out is None else write(name, out, made)


def hermite_polynomial_h(input: Any, n: Any, *, out: Any = None) -> Tensor:
    """Physicists' Hermite polynomials of degree n; 0 where n is negative. A tensor n is read by the
    host, so it cannot be recorded.

    >>> infinicore.special.hermite_polynomial_h(infinicore.tensor([2.]), 2)
    tensor([14.])
    """

    def step(x: Tensor, k: int, last: Tensor, before: Tensor) -> Tensor:
        return (x * last - before * k) * 2

    return _polynomial("hermite_polynomial_h", input, n, lambda x: x * 2, step, out)


def hermite_polynomial_he(input: Any, n: Any, *, out: Any = None) -> Tensor:
    """Probabilists' Hermite polynomials of degree n; 0 where n is negative. A tensor n is read by
    the host, so it cannot be recorded.

    >>> infinicore.special.hermite_polynomial_he(infinicore.tensor([2.]), 2)
    tensor([3.])
    """

    def step(x: Tensor, k: int, last: Tensor, before: Tensor) -> Tensor:
        return x * last - before * k

    return _polynomial("hermite_polynomial_he", input, n, lambda x: x, step, out)


def laguerre_polynomial_l(input: Any, n: Any, *, out: Any = None) -> Tensor:
    """Laguerre polynomials of degree n; 0 where n is negative. A tensor n is read by the host, so
    it cannot be recorded.

    >>> infinicore.special.laguerre_polynomial_l(infinicore.tensor([2.]), 2)
    tensor([-1.])
    """

    def step(x: Tensor, k: int, last: Tensor, before: Tensor) -> Tensor:
        return ((2 * k + 1 - x) * last - before * k) / (k + 1)

    return _polynomial("laguerre_polynomial_l", input, n, lambda x: 1 - x, step, out)


def legendre_polynomial_p(input: Any, n: Any, *, out: Any = None) -> Tensor:
    """Legendre polynomials of degree n; 0 where n is negative. A tensor n is read by the host, so
    it cannot be recorded.

    >>> infinicore.special.legendre_polynomial_p(infinicore.tensor([2.]), 2)
    tensor([5.5000])
    """

    def step(x: Tensor, k: int, last: Tensor, before: Tensor) -> Tensor:
        return (x * last * (2 * k + 1) - before * k) / (k + 1)

    return _polynomial("legendre_polynomial_p", input, n, lambda x: x, step, out)
