"""A convolution with time in front."""

from __future__ import annotations

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

__all__ = ["conv_tbc"]


@function
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over input [T, N, C_in] with weight [K, C_in, C_out] and bias [C_out].

    >>> one = infinicore.ones(2, 1, 1)
    >>> F.conv_tbc(one, one, infinicore.zeros(1)).flatten()
    tensor([2.])
    """
    expect(input.ndim == 3, "conv_tbc", "input.ndim", input.ndim, "3")
    expect(weight.ndim == 3, "conv_tbc", "weight.ndim", weight.ndim, "3")
    made = infinicore.nn.functional.conv1d(
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    return made.permute(2, 0, 1)
