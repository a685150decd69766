"""Images: padding, their windows as columns, channels as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import batched, expect, need_tensor, sizes

__all__ = ["channel_shuffle", "fold", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]

_MODES = ("constant", "reflect", "replicate", "circular")


@function
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """More elements at the ends of dimensions: `pad` lists (before, after), beginning with the last
    dimension; negative numbers cut. "constant" adds `value` (0), "reflect" what lies inwards in
    reverse order, "replicate" the outermost element, "circular" what lies at the other end.

    >>> F.pad(infinicore.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    name = "pad"
    need_tensor(name, "input", input)
    expect(mode in _MODES, name, "mode", repr(mode), f"one of {_MODES}")
    ends = list(pad)
    expect(len(ends) % 2 == 0, name, "the length of pad", len(ends), "an even number")
    expect(
        len(ends) <= 2 * input.ndim,
        name,
        "the length of pad",
        len(ends),
        f"{2 * input.ndim} at most",
    )
    expect(
        mode == "constant" or value is None or value == 0,
        name,
        "value",
        value,
        f"None with mode {mode!r}",
    )
    shape = list(input.shape)
    for i in range(len(ends) // 2):
        before, after = ends[2 * i], ends[2 * i + 1]
        size = shape[-1 - i]
        if mode == "reflect":
            expect(max(before, after) < max(size, 1), name, "pad", pad, f"less than size {size}")
        elif mode == "circular":
            expect(max(before, after) <= size, name, "pad", pad, f"at most size {size}")
        elif mode == "replicate":
            expect(size > 0 or max(before, after) <= 0, name, "input", "empty", "some elements")
        shape[-1 - i] = size + before + after
        expect(shape[-1 - i] >= 0, name, "pad", pad, f"to leave something of size {size}")
    if not any(ends):
        return input.clone()
    room = _core.empty(tuple(shape), input.dtype, input.device)
    return emit("pad", input, out=room, pad=ends, mode=mode, value=float(value or 0))


@function
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of input [N, C, H, W] or [C, H, W] as columns: [N, C * kernel elements, windows].

    >>> F.unfold(infinicore.ones(1, 1, 2, 2), 2).shape
    infinicore.Size([1, 4, 1])
    """
    name = "unfold"
    x, alone = batched(name, input, 2)
    kernel, steps, pads, gaps = _four(name, kernel_size, stride, padding, dilation)
    counts = _counts(name, list(x.shape[2:]), kernel, steps, pads, gaps)
    rows = x.shape[1] * kernel[0] * kernel[1]
    room = _core.empty((x.shape[0], rows, counts[0] * counts[1]), x.dtype, x.device)
    made = emit(
        "unfold",
        x.contiguous(),
        out=room,
        kernel_sizes=kernel,
        strides=steps,
        paddings=pads,
        dilations=gaps,
    )
    return made.squeeze(0) if alone else made


def _four(
    name: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[list[int], list[int], list[int], list[int]]:
    return (
        sizes(name, "kernel_size", kernel_size, 2, 1),
        sizes(name, "stride", stride, 2, 1),
        sizes(name, "padding", padding, 2),
        sizes(name, "dilation", dilation, 2, 1),
    )


def _counts(
    name: str,
    image: list[int],
    kernel: list[int],
    steps: list[int],
    pads: list[int],
    gaps: list[int],
) -> list[int]:
    """How many windows there are in each direction."""
    found = []
    for size, width, step, edge, gap in zip(image, kernel, steps, pads, gaps, strict=True):
        reach = gap * (width - 1) + 1
        expect(size + 2 * edge >= reach, name, "the padded image", size + 2 * edge, f"{reach}")
        found.append((size + 2 * edge - reach) // step + 1)
    return found


@function
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """The columns that `unfold` makes, added up in an image of `output_size`: input [N, C * kernel
    elements, windows] or without N gives [N, C, H, W].

    >>> F.fold(infinicore.ones(1, 4, 1), (2, 2), 2).shape
    infinicore.Size([1, 1, 2, 2])
    """
    name = "fold"
    expect(input.ndim in (2, 3), name, "input.ndim", input.ndim, "2 or 3")
    x = input.unsqueeze(0) if input.ndim == 2 else input
    kernel, steps, pads, gaps = _four(name, kernel_size, stride, padding, dilation)
    image = sizes(name, "output_size", output_size, 2, 1)
    area = kernel[0] * kernel[1]
    expect(x.shape[1] % area == 0, name, "size 1 of input", x.shape[1], f"a multiple of {area}")
    counts = _counts(name, image, kernel, steps, pads, gaps)
    windows = counts[0] * counts[1]
    expect(x.shape[2] == windows, name, "size 2 of input", x.shape[2], f"{windows}")
    room = _core.empty((x.shape[0], x.shape[1] // area, *image), x.dtype, x.device)
    made = emit(
        "fold",
        x,
        out=room,
        output_size=image,
        kernel_sizes=kernel,
        strides=steps,
        paddings=pads,
        dilations=gaps,
    )
    return made.squeeze(0) if input.ndim == 2 else made


@function
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels as pixels: [..., C * r * r, H, W] gives [..., C, H * r, W * r].

    >>> F.pixel_shuffle(infinicore.ones(4, 1, 1), 2).shape
    infinicore.Size([1, 2, 2])
    """
    name, r = "pixel_shuffle", upscale_factor
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    expect(r > 0, name, "upscale_factor", r, "a positive number")
    *lead, channels, height, width = input.shape
    expect(channels % (r * r) == 0, name, "channels of input", channels, f"a multiple of {r * r}")
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    k = len(lead)
    order = [*range(k), k, k + 3, k + 1, k + 4, k + 2]
    return split.permute(*order).reshape(*lead, channels // (r * r), height * r, width * r)


@function
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels as channels: [..., C, H * r, W * r] gives [..., C * r * r, H, W].

    >>> F.pixel_unshuffle(infinicore.ones(1, 2, 2), 2).shape
    infinicore.Size([4, 1, 1])
    """
    name, r = "pixel_unshuffle", downscale_factor
    expect(input.ndim >= 3, name, "input.ndim", input.ndim, "3 or more")
    expect(r > 0, name, "downscale_factor", r, "a positive number")
    *lead, channels, height, width = input.shape
    for size in (height, width):
        expect(size % r == 0, name, "a size of the image", size, f"a multiple of {r}")
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    k = len(lead)
    order = [*range(k), k, k + 2, k + 4, k + 1, k + 3]
    return split.permute(*order).reshape(*lead, channels * r * r, height // r, width // r)


@function
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `groups` groups of input [N, C, ...], taken in turn.

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
