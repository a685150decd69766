"""Functions by the names and arguments of torch's lower level: numbers for modes, sizes spelt out,
intermediate results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, int64
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions.index.nonzero import nonzero
from infinicore.nn import functional as F  # noqa: N812

__all__ = [
    "affine_grid_generator",
    "constant_pad_nd",
    "feature_dropout",
    "frobenius_norm",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "native_batch_norm",
    "native_channel_shuffle",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "nonzero_static",
    "nuclear_norm",
]

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
native_channel_shuffle = F.channel_shuffle


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """As `nn.functional.pad` with a constant.

    >>> infinicore.constant_pad_nd(infinicore.tensor([1, 2]), (1, 0), 5)
    tensor([5, 1, 2])
    """
    return F.pad(input, pad, "constant", value)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """As `nn.functional.affine_grid`.

    >>> infinicore.affine_grid_generator(infinicore.ones(1, 2, 3), (1, 1, 1, 2), False).shape
    infinicore.Size([1, 1, 2, 2])
    """
    return F.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """As `nn.functional.grid_sample`, with the number of a mode (bilinear, nearest, bicubic) and of
    a padding (zeros, border, reflection).

    >>> x, grid = infinicore.ones(1, 1, 1, 1), infinicore.zeros(1, 1, 1, 2)
    >>> infinicore.grid_sampler(x, grid, 0, 0, False)
    tensor([[[[1.]]]])
    """
    name = "grid_sampler"
    expect(interpolation_mode in range(3), name, "interpolation_mode", interpolation_mode, "0 to 2")
    expect(padding_mode in range(3), name, "padding_mode", padding_mode, "0 to 2")
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return F.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """While training, 0 in place of each channel of input [N, C, ...] with probability p.

    >>> infinicore.feature_dropout(infinicore.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    need_tensor("feature_dropout", "input", input)
    expect(input.ndim >= 2, "feature_dropout", "input.ndim", input.ndim, "2 or more")
    if not train:
        return input
    channels = _core.empty(input.shape[:2], input.dtype, input.device).fill_(1)
    kept: Tensor = F.dropout(channels, p, True)
    return input * kept.view(*input.shape[:2], *(1,) * (input.ndim - 2))


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`nn.functional.dropout`, and which elements it keeps.

    >>> infinicore.native_dropout(infinicore.ones(2), 0.5, False)[1]
    tensor([True, True])
    """
    need_tensor("native_dropout", "input", input)
    ones = _core.empty(input.shape, input.dtype, input.device).fill_(1)
    scale: Tensor = F.dropout(ones, p, train is not False)
    return input * scale, scale.to(bool_)


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The square root of the sum of squares over dimensions.

    >>> infinicore.frobenius_norm(infinicore.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    from infinicore.linalg import vector_norm  # not loaded before somebody asks for it

    made: Tensor = vector_norm(input, 2, dim, keepdim, out=out)
    return made


def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The sum of the singular values of matrices.

    >>> infinicore.nuclear_norm(infinicore.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    from infinicore.linalg import matrix_norm  # not loaded before somebody asks for it

    made: Tensor = matrix_norm(input, "nuc", dim, keepdim, out=out)
    return made


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The first `size` rows of `nonzero`, with rows of `fill_value` if there are fewer.

    >>> infinicore.nonzero_static(infinicore.tensor([0, 7]), size=2)
    tensor([[ 1],
            [-1]])
    """
    need_tensor("nonzero_static", "input", input)
    expect(size >= 0, "nonzero_static", "size", size, "0 or more")
    made = _core.empty((size, input.ndim), int64, input.device).fill_(fill_value)
    found: Tensor = nonzero(input)
    count = min(size, found.shape[0])
    made.narrow(0, 0, count).copy_(found.narrow(0, 0, count))
    return made if out is None else out.copy_(made)


# ---- Norms with the means and deviations that they divide by -------------------------------------


def _moments(rows: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and 1 / deviation over the last dimension."""
    variance, mean = rows.var(-1, correction=0), rows.mean(-1)
    return mean, (variance + eps).rsqrt()


def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.layer_norm`, with the mean and 1 / deviation of each row.

    >>> infinicore.native_layer_norm(infinicore.ones(1, 2), (2,), None, None, 0.0)[1]
    tensor([[1.]])
    """
    made: Tensor = F.layer_norm(input, normalized_shape, weight, bias, eps)
    kept = input.ndim - len(normalized_shape)
    sizes = tuple(input.shape)
    mean, scale = _moments(input.reshape(*sizes[:kept], math.prod(sizes[kept:])), eps)
    shape = (*sizes[:kept], *(1,) * (input.ndim - kept))
    return made, mean.view(*shape), scale.view(*shape)


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
    """`nn.functional.group_norm` of input [N, C, ...] with HxW places, with the mean and
    1 / deviation of each group.

    >>> infinicore.native_group_norm(infinicore.ones(1, 2, 1), None, None, 1, 2, 1, 1, 1.0)[1]
    tensor([[1.]])
    """
    made: Tensor = F.group_norm(input, group, weight, bias, eps)
    mean, scale = _moments(input.reshape(N, group, C // group * HxW), eps)
    return made, mean, scale


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
    """`nn.functional.batch_norm`, while training with the mean and 1 / deviation of each channel.

    >>> x = infinicore.ones(2, 1)
    >>> infinicore.native_batch_norm(x, None, None, None, None, True, 0.1, 1.0)[1]
    tensor([1.])
    """
    made: Tensor = F.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return made, input.new_empty(0), input.new_empty(0)
    rows = input.transpose(0, 1).reshape(input.shape[1], -1)
    return made, *_moments(rows, eps)
