"""The exponential of large matrices on devices, by products of matrices.

The operator computes each matrix with one block, which is slow for large ones. Products use all of
the device, but the number of squarings has to be known on the host.
"""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore import _core
from infinicore._dtype import float32, float64
from infinicore._function import function
from infinicore._tensor import Tensor

__all__: list[str] = []

_LEAST = 48  # rows from which this is faster
_DEGREE, _GROUP = 16, 4  # of the Taylor polynomial, which is evaluated by groups of powers
# The largest norms for which that degree suffices, by the precision of the result.
_LARGEST = {float64: 0.78, float32: 2.0}


@function
def _halvings(x: Tensor, largest: float) -> Tensor:
    """How often to halve each matrix until its 1-norm, the largest sum of absolute values of a
    column, is small."""
    norms = infinicore.amax(infinicore.sum(infinicore.abs(x), -2), -1)
    return infinicore.ceil(infinicore.log2(infinicore.clamp(norms / largest, 1.0)))


@function
def _halved(x: Tensor, counts: Tensor) -> Tensor:
    return x * infinicore.exp2(-counts).unsqueeze(-1).unsqueeze(-1)


@function
def _combined(one: Tensor, x: Tensor, x2: Tensor, x3: Tensor, first: int) -> Tensor:
    """A group of terms of the series."""
    c = [1 / math.factorial(first + k) for k in range(_GROUP)]
    return one * c[0] + x * c[1] + x2 * c[2] + x3 * c[3]


@function
def _where_more(made: Tensor, squared: Tensor, counts: Tensor, step: int) -> Tensor:
    return infinicore.where((counts > step).unsqueeze(-1).unsqueeze(-1), squared, made)


def _series(x: Tensor) -> Tensor:
    n = x.shape[-1]
    one = infinicore.eye(n, dtype=x.dtype, device=x.device)
    x2 = infinicore.matmul(x, x)
    x3, x4 = infinicore.matmul(x2, x), infinicore.matmul(x2, x2)
    made = x4 * (1 / math.factorial(_DEGREE))
    for first in range(_DEGREE - _GROUP, -1, -_GROUP):
        made = made + _combined(one, x, x2, x3, first)
        made = infinicore.matmul(made, x4) if first else made
    return made


def by_products(input: Any) -> Tensor | None:
    """None if the operator is faster, or needed: while a graph is recorded, for complex matrices,
    and for those that are not finite."""
    if not isinstance(input, Tensor) or input.device.type == "cpu" or _core.is_recording():
        return None
    square = input.ndim >= 2 and input.shape[-1] == input.shape[-2]
    if not (square and input.shape[-1] >= _LEAST and input.numel()):
        return None
    if input.dtype.is_complex or not input.dtype.is_floating_point:
        return None
    wide = input.dtype in (float32, float64)
    x = input.to(float64 if wide else float32)  # errors grow with each squaring
    largest = _LARGEST[float64 if input.dtype is float64 else float32]
    counts = _halvings(x, largest)
    most = (counts if counts.numel() == 1 else counts.max()).item()
    if not most < math.inf:
        return None
    made = _series(_halved(x, counts) if most else x)
    for step in range(int(most)):
        squared = infinicore.matmul(made, made)
        made = squared if counts.numel() == 1 else _where_more(made, squared, counts, step)
    return made.to(input.dtype)
