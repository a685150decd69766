"""The modified Bessel function that torch has beside those of `special`."""

from __future__ import annotations

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import floats

__all__ = ["i0"]


@function
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    >>> infinicore.i0(infinicore.zeros(1))
    tensor([1.])
    """
    return emit("bessel_i0", floats(input))
