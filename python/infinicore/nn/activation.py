"""Activations with weights, input checks or randomness."""

from __future__ import annotations

from typing import Any

from infinicore._creation import full
from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module
from infinicore.nn.parameter import Parameter

__all__ = ["PReLU", "RReLU", "Softmax2d"]


class PReLU(Module):
    """x where it is positive, weight * x elsewhere: one weight, or one for each channel.

    >>> infinicore.nn.PReLU(4)
    PReLU(num_parameters=4)
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """x where it is positive, slope * x elsewhere: the slope is the mean of `lower` and `upper`, or
    while training a random number between them.

    >>> infinicore.nn.RReLU(0.25, 0.5)
    RReLU(lower=0.25, upper=0.5)
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        text = f"lower={self.lower}, upper={self.upper}"
        return f"{text}, inplace=True" if self.inplace else text


class Softmax2d(Module):
    """`softmax` over the channels of [N, C, H, W] or [C, H, W].

    >>> infinicore.nn.Softmax2d()(infinicore.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: input has {input.ndim} dimensions: expected 3 or 4")
        return F.softmax(input, -3)
