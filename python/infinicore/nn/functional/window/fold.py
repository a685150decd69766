"""Windows as columns, and the inverse."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import bool_
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import batched, expect, sizes
from infinicore.functions._operands import floats


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
    kind, x = x.dtype, floats(x) if x.dtype is bool_ else x
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
    made = cast_to(made, kind)
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
    """The number of windows in each dimension."""
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
    """Adds up the columns of `unfold` into an image of `output_size`: input [N, C * kernel
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
