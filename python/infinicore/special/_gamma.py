"""The Hurwitz zeta function, and aliases of incomplete gamma functions."""

from __future__ import annotations

from infinicore._emit import emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.elementwise.gamma import _device_of, _float_type, polygamma
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
    s, q = (tensor_for(each, kind, where) for each in (input, other))
    return emit("zeta", s, q)  # type: ignore[no-any-return]
