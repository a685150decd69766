"""The Hurwitz zeta function, and aliases of incomplete gamma functions."""

from __future__ import annotations

import math

from infinicore._dtype import float64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.elementwise.gamma import _device_of, _float_type, _zeta_sum, polygamma
from infinicore.functions.elementwise.gamma import igamma as gammainc
from infinicore.functions.elementwise.gamma import igammac as gammaincc
from infinicore.functions.elementwise.gamma import mvlgamma as multigammaln

__all__ = ["gammainc", "gammaincc", "multigammaln", "polygamma", "zeta"]


@function
def zeta(input: Operand, other: Operand) -> Tensor:
    """The Hurwitz zeta function: the sum of (q + k)^-s over k = 0, 1, ...

    >>> infinicore.special.zeta(infinicore.tensor([2.]), 1)
    tensor([1.6449])
    """
    kind, where = _float_type(input, other), _device_of(input, other)
    s, q = (cast_to(tensor_for(each, kind, where), float64) for each in (input, other))
    made = _zeta_sum(s, q)
    below = emit("less_equal", q, 0.0)
    broken = emit("not_equal", s, emit("floor", s))
    made = emit("where", emit("logical_and", below, broken), math.nan, made)
    whole = emit("equal", q, emit("floor", q))
    made = emit("where", emit("logical_and", below, whole), math.inf, made)
    made = emit("where", emit("less", s, 1.0), math.nan, made)
    return cast_to(emit("where", emit("equal", s, 1.0), math.inf, made), kind)
