"""Batch, instance and group normalisation. Half types are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import float32
from infinicore._emit import cast_to, copy, emit, result_type, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, need_tensor
from infinicore.functions._operands import wide_floats

# Types for which norms are a single operator. Its epsilon is a float32.
_NARROW = ("F16", "BF16", "F32")


def _is_narrow(*tensors: Tensor | None) -> bool:
    return all(each is None or each.dtype._code in _NARROW for each in tensors)


def _per_channel(x: Tensor, rank: int) -> Tensor:
    """[C] as [C, 1, ...], to broadcast along dimension 1."""
    return wide_floats(x).reshape(-1, *[1] * (rank - 2))


def _operand(x: Tensor | None, without: float, shape: Sequence[int]) -> Any:
    """A weight or a bias in this shape, or the default number if there is none."""
    return without if x is None else x.reshape(*shape)


def _channel_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    shape: Sequence[int],
    dims: Sequence[int],
    eps: float,
) -> Tensor:
    """Normalises over dimensions. The weight and the bias are viewed in a shape that broadcasts to
    x's."""
    given = [each for each in (weight, bias) if each is not None]
    kind = result_type(*given) if given else float32
    scale, shift = (
        tensor_for(_operand(each, without, shape), kind, x.device).expand(*x.shape)
        for each, without in ((weight, 1.0), (bias, 0.0))
    )
    return emit("channel_norm", x, scale, shift, dim=list(dims), eps=float(eps))  # type: ignore[no-any-return]


def _check_channels(name: str, channels: int, **tensors: Tensor | None) -> None:
    for argument, tensor in tensors.items():
        if tensor is not None:
            need_tensor(name, argument, tensor)
            expect_shape(
                tuple(tensor.shape) == (channels,), name, argument, tensor, f"[{channels}]"
            )


def _standard(x: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    return emit("mul", emit("sub", x, mean), emit("rsqrt", emit("add", var, float(eps))))


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, rank: int) -> Tensor:
    if weight is not None:
        x = emit("mul", x, _per_channel(weight, rank))
    return x if bias is None else emit("add", x, _per_channel(bias, rank))


def _moments(x: Tensor, dims: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean and (biased) variance along dimensions, which are kept."""
    var, mean = emit("var_mean", x, dim=list(dims), unbiased=False, keepdim=True)
    return mean, var


def _follow(running: Tensor | None, now: Tensor, momentum: float, name: str) -> None:
    """running <- (1 - momentum) * running + momentum * now."""
    if running is not None:
        kept = emit("mul", wide_floats(running), 1.0 - momentum)
        value = emit("add", kept, emit("mul", now.reshape(*running.shape), float(momentum)))
        copy(name, running, cast_to(value, running.dtype))


@function
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias for each channel of input [N, C, ...].
    The statistics are the running ones; with `training`, those of the input, with which the running
    ones are updated.

    >>> zero, one = infinicore.zeros(1), infinicore.ones(1)
    >>> F.batch_norm(infinicore.tensor([[2.0]]), zero, one)
    tensor([[2.0000]])
    """
    name = "batch_norm"
    if not input.numel():
        return input.clone()
    expect(input.ndim >= 2, name, "input.ndim", input.ndim, "2 or more")
    channels = input.shape[1]
    _check_channels(
        name,
        channels,
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    rank = input.ndim
    shape = (channels, *[1] * (rank - 2))
    narrow = _is_narrow(input, running_mean, running_var, weight, bias)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError(
                f"{name}: running_mean or running_var is None: expected tensors unless training"
            )
        if narrow:
            given = (running_mean.reshape(*shape), running_var.reshape(*shape))
            scale, shift = _operand(weight, 1.0, shape), _operand(bias, 0.0, shape)
            return emit("batch_norm", input, *given, scale, shift, eps=float(eps))  # type: ignore[no-any-return]
        mean, var = _per_channel(running_mean, rank), _per_channel(running_var, rank)
    else:
        count = input.numel() // max(channels, 1)
        fits = count > 1
        expect(fits, name, "the number of values per channel", count, "2 or more while training")
        dims = [0, *range(2, rank)]
        if narrow and running_mean is None and running_var is None:
            return _channel_norm(input, weight, bias, shape, dims, eps)
        mean, var = _moments(wide_floats(input), dims)
        _follow(running_mean, mean, momentum, name)
        _follow(running_var, emit("mul", var, count / (count - 1)), momentum, name)
    x = wide_floats(input)
    return cast_to(_scaled(_standard(x, mean, var, eps), weight, bias, rank), input.dtype)


@function
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Like `batch_norm`, with separate statistics for each channel of each sample of input [N, C,
    ...].

    >>> F.instance_norm(infinicore.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    name = "instance_norm"
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    rows, channels = input.shape[:2]
    _check_channels(
        name,
        channels,
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    rank = input.ndim
    count = input.numel() // max(rows * channels, 1)
    expect(count > 1, name, "the number of values per channel", count, "2 or more")
    if running_mean is None and running_var is None and _is_narrow(input, weight, bias):
        shape = (channels, *[1] * (rank - 2))
        return _channel_norm(input, weight, bias, shape, range(2, rank), eps)
    x = wide_floats(input)
    mean, var = _moments(x, range(2, rank))
    if running_mean is not None:
        _follow(running_mean, emit("mean", mean, dim=[0], keepdim=False), momentum, name)
    if running_var is not None:
        whole = emit("mul", emit("mean", var, dim=[0], keepdim=False), count / (count - 1))
        _follow(running_var, whole, momentum, name)
    return cast_to(_scaled(_standard(x, mean, var, eps), weight, bias, rank), input.dtype)


@function
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias over groups of the channels of input
    [N, C, ...]; weight and bias are [C].

    >>> F.group_norm(infinicore.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    name = "group_norm"
    expect(input.ndim >= 2, name, "input.ndim", input.ndim, "2 or more")
    rows, channels = input.shape[:2]
    expect(num_groups > 0, name, "num_groups", num_groups, "a positive number")
    expect(channels % num_groups == 0, name, "num_groups", num_groups, f"a divisor of {channels}")
    _check_channels(name, channels, weight=weight, bias=bias)
    rank = input.ndim + 1
    split = (num_groups, channels // num_groups, *[1] * (rank - 3))
    parts = (rows, num_groups, channels // num_groups, *input.shape[2:])
    if _is_narrow(input, weight, bias):
        made = _channel_norm(input.reshape(*parts), weight, bias, split, range(2, rank), eps)
        return made.reshape(*input.shape)
    x = wide_floats(input).reshape(*parts)
    mean, var = _moments(x, range(2, rank))
    standard = _standard(x, mean, var, eps)
    if weight is not None:
        standard = emit("mul", standard, wide_floats(weight).reshape(*split))
    if bias is not None:
        standard = emit("add", standard, wide_floats(bias).reshape(*split))
    return cast_to(standard, input.dtype).view(*input.shape)


@function
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """input / (k + alpha * mean of the squares of `size` neighbouring channels) ** beta, for input
    [N, C, ...].

    >>> F.local_response_norm(infinicore.ones(1, 1, 1), 1, alpha=1.0, beta=1.0)
    tensor([[[0.5000]]])
    """
    name = "local_response_norm"
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    expect(size > 0, name, "size", size, "a positive number")
    if input.numel() == 0:
        return input.clone()
    x = wide_floats(input)
    rows, channels = input.shape[:2]
    squares = emit("mul", x, x).reshape(rows, 1, channels, -1)
    rest = squares.shape[3]
    room = _core.empty((rows, 1, channels + size - 1, rest), x.dtype, x.device)
    ends = [0, 0, size // 2, (size - 1) // 2]
    padded = emit("pad", squares, out=room, pad=ends, mode="constant", value=0.0)
    if size <= 5:  # sums of few neighbours fuse with what follows
        total = padded.narrow(2, 0, channels)
        for at in range(1, size):
            total = emit("add", total, padded.narrow(2, at, channels))
        means = emit("div", total, float(size))
    else:
        means = emit("avg_pool", padded, kernel_size=[size, 1], stride=[1, 1], padding=[0, 0])
    if not input.dtype.is_floating_point:
        means = cast_to(means, input.dtype)  # the mean of integers is an integer, truncated
    scale = emit("add", emit("mul", means.view(*input.shape), float(alpha)), float(k))
    kind = input.dtype if input.dtype.is_floating_point else x.dtype
    return cast_to(emit("div", x, emit("pow", scale, float(beta))), kind)
