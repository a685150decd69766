"""Cross entropy from the features before the last linear layer."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect


@function
def _logits(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[N, C, ...] from input [N, D] and weight [C, ..., D]."""
    outer = tuple(weight.shape[:-1])
    flat = None if bias is None else bias.reshape(-1)
    made = infinicore.nn.functional.linear(
        input, weight.reshape(math.prod(outer), weight.shape[-1]), flat
    )
    return made.reshape(*input.shape[:-1], *outer)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target): input [N, D] or [D],
    linear_weight [C, ..., D]. `options` are hints for training that change no result.

    >>> x, weight = infinicore.zeros(1, 3), infinicore.zeros(2, 3)
    >>> F.linear_cross_entropy(x, weight, infinicore.tensor([1]))
    tensor(0.6931)
    """
    name = "linear_cross_entropy"
    expect(input.ndim in (1, 2), name, "input.ndim", input.ndim, "1 or 2")
    expect(linear_weight.ndim >= 2, name, "linear_weight.ndim", linear_weight.ndim, "2 or more")
    size = linear_weight.shape[-1]
    expect(input.shape[-1] == size, name, "the last size of input", input.shape[-1], f"{size}")
    if input.ndim == 1:
        rank = linear_weight.ndim
        expect(rank == 2, name, "linear_weight.ndim", rank, "2 for input without N")
    if ignore_index is not None and target.dtype.is_floating_point:
        raise ValueError(
            f"{name}: ignore_index is {ignore_index}: expected None with probabilities"
        )
    if linear_bias is not None:
        wanted = tuple(linear_weight.shape[:-1])
        shape = tuple(linear_bias.shape)
        expect(shape == wanted, name, "linear_bias.shape", shape, f"{wanted}")
    return infinicore.nn.functional.cross_entropy(
        _logits(input, linear_weight, linear_bias),
        target,
        weight,
        -100 if ignore_index is None else ignore_index,
        reduction,
        label_smoothing,
    )
