"""`grid_sample` and `affine_grid` with the arguments of torch's native operators."""

from __future__ import annotations

from collections.abc import Sequence

import infinicore
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _sampled(
    name: str,
    rank: int | None,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    expect(rank in (None, input.ndim), name, "input.ndim", input.ndim, f"{rank}")
    for argument, value in (
        ("interpolation_mode", interpolation_mode),
        ("padding_mode", padding_mode),
    ):
        expect(value in (0, 1, 2), name, argument, value, "0, 1 or 2")
    return infinicore.nn.functional.grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], bool(align_corners)
    )


@traced
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample`, with numbers for the interpolation (bilinear, nearest, bicubic)
    and the padding (zeros, border, reflection).

    >>> image, grid = infinicore.ones(1, 1, 2, 2), infinicore.zeros(1, 1, 1, 2)
    >>> infinicore.grid_sampler(image, grid, 0, 0, False)
    tensor([[[[1.]]]])
    """
    given = (interpolation_mode, padding_mode, align_corners)
    return _sampled("grid_sampler", None, input, grid, *given)


@traced
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images [N, C, H, W]."""
    given = (interpolation_mode, padding_mode, align_corners)
    return _sampled("grid_sampler_2d", 4, input, grid, *given)


@traced
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of volumes [N, C, D, H, W]."""
    given = (interpolation_mode, padding_mode, align_corners)
    return _sampled("grid_sampler_3d", 5, input, grid, *given)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`.

    >>> theta = infinicore.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> infinicore.affine_grid_generator(theta, (1, 1, 1, 1), False)
    tensor([[[[0., 0.]]]])
    """
    return infinicore.nn.functional.affine_grid(theta, size, bool(align_corners))
