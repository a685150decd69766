"""Pixel and channel shuffles."""

from __future__ import annotations

from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect


@function
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange channels into pixels: [..., C * r * r, H, W] gives [..., C, H * r, W * r].

    >>> F.pixel_shuffle(infinicore.ones(4, 1, 1), 2).shape
    infinicore.Size([1, 2, 2])
    """
    name, r = "pixel_shuffle", upscale_factor
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    expect(r > 0, name, "upscale_factor", r, "a positive number")
    if r == 1:
        return input.clone()
    *lead, channels, height, width = input.shape
    expect(channels % (r * r) == 0, name, "channels of input", channels, f"a multiple of {r * r}")
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    k = len(lead)
    order = [*range(k), k, k + 3, k + 1, k + 4, k + 2]
    return split.permute(*order).reshape(*lead, channels // (r * r), height * r, width * r)


@function
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange pixels into channels: [..., C, H * r, W * r] gives [..., C * r * r, H, W].

    >>> F.pixel_unshuffle(infinicore.ones(1, 2, 2), 2).shape
    infinicore.Size([4, 1, 1])
    """
    name, r = "pixel_unshuffle", downscale_factor
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    expect(r > 0, name, "downscale_factor", r, "a positive number")
    if r == 1:
        return input.clone()
    *lead, channels, height, width = input.shape
    for size in (height, width):
        expect(size % r == 0, name, "a size of the image", size, f"a multiple of {r}")
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    k = len(lead)
    order = [*range(k), k, k + 2, k + 4, k + 1, k + 3]
    return split.permute(*order).reshape(*lead, channels * r * r, height // r, width // r)


@function
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of `groups` groups of input [N, C, ...].

    >>> F.channel_shuffle(infinicore.tensor([[[1], [2], [3], [4]]]), 2).flatten()
    tensor([1, 3, 2, 4])
    """
    name = "channel_shuffle"
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    rows, channels = input.shape[:2]
    expect(
        groups > 0 and channels % groups == 0, name, "groups", groups, f"a divisor of {channels}"
    )
    split = input.reshape(rows, groups, channels // groups, *input.shape[2:])
    return split.transpose(1, 2).reshape(*input.shape)


native_channel_shuffle = channel_shuffle
