"""Norms under the names of torch's native operators, which also return the statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions._operands import wide


def _kind(input: Tensor, weight: Tensor | None) -> Any:
    """The type of the statistics: that of the input, or float32 for half types with float32
    weights."""
    return input.dtype if weight is None or weight.dtype is input.dtype else wide(input).dtype


def _moments(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """Means, and 1 / sqrt(variance + eps)."""
    mean = x.mean(dims, True)
    gap = x - mean
    return mean, ((gap * gap).mean(dims, True) + eps).rsqrt()


@function
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.layer_norm`, with the means and the inverse deviations.

    >>> infinicore.native_layer_norm(infinicore.tensor([1., 3.]), [2], None, None, 0.0)[0]
    tensor([-1.,  1.])
    """
    sizes = tuple(normalized_shape)
    made = infinicore.nn.functional.layer_norm(input, sizes, weight, bias, eps)
    dims = tuple(range(input.ndim - len(sizes), input.ndim))
    mean, inverse = _moments(wide(input), dims, eps)
    kind = _kind(input, weight)
    return made, mean.to(kind), inverse.to(kind)


@function
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.group_norm`, with the means and the inverse deviations [N, group].

    >>> x = infinicore.tensor([[1., 3.]])
    >>> infinicore.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)[0]
    tensor([[-1.,  1.]])
    """
    fits = input.numel() == N * C * HxW
    expect(fits, "native_group_norm", "input.numel()", input.numel(), f"{N} * {C} * {HxW}")
    made = infinicore.nn.functional.group_norm(input, group, weight, bias, eps)
    rows = wide(input).reshape(N, group, C // group * HxW)
    mean, inverse = _moments(rows, (2,), eps)
    kind = _kind(input, weight)
    return made, mean.squeeze(2).to(kind), inverse.squeeze(2).to(kind)


@function
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.batch_norm`, with the means and the inverse deviations of the input if it is
    normalised by them; else empty tensors on the CPU and those that were given elsewhere, as in
    torch.

    >>> x, zero, one = infinicore.tensor([[2.]]), infinicore.zeros(1), infinicore.ones(1)
    >>> infinicore.native_batch_norm(x, None, None, zero, one, False, 0.1, 0.0)[0]
    tensor([[2.]])
    """
    made = infinicore.nn.functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    x, on_cpu = wide(input), input.device.type == "cpu"
    kind = _kind(input, weight) if on_cpu else x.dtype
    if not training and on_cpu:
        nothing = infinicore.zeros(0, dtype=kind, device=x.device)
        return made, nothing, nothing.clone()
    if not training and running_mean is not None and running_var is not None:
        return made, running_mean.to(kind), (running_var.to(kind) + eps).rsqrt()
    mean, inverse = _moments(x, (0, *range(2, x.ndim)), eps)
    size = math.prod(mean.shape)
    return made, mean.reshape(size).to(kind), inverse.reshape(size).to(kind)
