"""Resizing and resampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape

# The operator's mode names, and the numbers of spatial dimensions.
_MODES = {
    "nearest": ("nearest", (1, 2, 3)),
    "nearest-exact": ("nearest-exact", (1, 2, 3)),
    "linear": ("linear", (1,)),
    "bilinear": ("linear", (2,)),
    "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)),
    "area": ("area", (1, 2, 3)),
}

_SMOOTH = ("linear", "bilinear", "trilinear", "bicubic")


def _per_dimension(name: str, argument: str, value: Any, rank: int) -> list[Any]:
    made = list(value) if isinstance(value, Sequence) else [value] * rank
    expect(len(made) == rank, name, argument, value, f"one number or {rank} of them")
    return made


@function
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize the images of input [N, C, ...] to `size`, or by `scale_factor`. Modes: nearest,
    nearest-exact, linear, bilinear, trilinear, bicubic, area.

    >>> F.interpolate(infinicore.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    name = "interpolate"
    expect(input.ndim in (3, 4, 5), name, "input.ndim", input.ndim, "3, 4 or 5")
    expect(mode in _MODES, name, "mode", repr(mode), f"one of {tuple(_MODES)}")
    rank = input.ndim - 2
    operator, ranks = _MODES[mode]
    expect(rank in ranks, name, "input.ndim", input.ndim, f"{ranks[0] + 2} with mode {mode!r}")
    if mode not in _SMOOTH and align_corners is not None:
        expect(not align_corners, name, "align_corners", align_corners, f"None with {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError(f"{name}: expected one of size and scale_factor")
    image = input.shape[2:]
    scales: list[float] = [0.0] * rank
    if size is not None:
        counts = [int(each) for each in _per_dimension(name, "size", size, rank)]
    else:
        factors = _per_dimension(name, "scale_factor", scale_factor, rank)
        expect(all(factor > 0 for factor in factors), name, "scale_factor", scale_factor, "above 0")
        counts = [int(each * factor) for each, factor in zip(image, factors, strict=True)]
        if not recompute_scale_factor:
            scales = [float(factor) for factor in factors]
    expect(all(count > 0 for count in counts), name, "the new size", counts, "positive numbers")
    if operator == "area":
        return emit("adaptive_avg_pool", input, output_size=counts)
    if antialias:
        expect(mode in ("bilinear", "bicubic"), name, "mode", mode, "bilinear or bicubic")
        operator += "-antialias"
    return emit(
        "resample",
        input,
        mode=operator,
        size=counts,
        scales=scales,
        align_corners=bool(align_corners),
    )


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """An alias of `interpolate`.

    >>> F.upsample(infinicore.ones(1, 1, 2), scale_factor=2).shape
    infinicore.Size([1, 1, 4])
    """
    return interpolate(input, size, scale_factor, mode, align_corners, out=out)  # type: ignore[call-arg]


def upsample_nearest(
    input: Tensor, size: Any = None, scale_factor: Any = None, *, out: Any = None
) -> Tensor:
    """`interpolate` with mode "nearest".

    >>> F.upsample_nearest(infinicore.ones(1, 1, 2), scale_factor=2).shape
    infinicore.Size([1, 1, 4])
    """
    return interpolate(input, size, scale_factor, "nearest", out=out)  # type: ignore[call-arg]


def upsample_bilinear(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    align_corners: bool = True,
    *,
    out: Any = None,
) -> Tensor:
    """`interpolate` with mode "bilinear" and aligned corners, for input [N, C, H, W].

    >>> F.upsample_bilinear(infinicore.ones(1, 1, 2, 2), scale_factor=2).shape
    infinicore.Size([1, 1, 4, 4])
    """
    return interpolate(  # type: ignore[call-arg]
        input, size, scale_factor, "bilinear", align_corners, out=out
    )


@function
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Samples of input [N, C, H, W] at the positions in grid [N, h, w, 2], (x, y) between -1 and 1;
    volumes are [N, C, D, H, W] with grid [N, d, h, w, 3].

    >>> F.grid_sample(infinicore.ones(1, 1, 2, 2), infinicore.zeros(1, 1, 1, 2))
    tensor([[[[1.]]]])
    """
    name = "grid_sample"
    expect(input.ndim in (4, 5), name, "input.ndim", input.ndim, "4 or 5")
    fits = mode in ("bilinear", "nearest", "bicubic")
    expect(fits, name, "mode", repr(mode), "'bilinear', 'nearest' or 'bicubic'")
    fits = padding_mode in ("zeros", "border", "reflection")
    expect(fits, name, "padding_mode", repr(padding_mode), "'zeros', 'border' or 'reflection'")
    expect(mode != "bicubic" or input.ndim == 4, name, "mode", mode, "another one for 5 dimensions")
    rank = input.ndim - 2
    fits = grid.ndim == input.ndim and grid.shape[-1] == rank and grid.shape[0] == input.shape[0]
    expect_shape(
        fits, name, "grid", grid, f"[{input.shape[0]}, ..., {rank}] of {input.ndim} dimensions"
    )
    kind = result_type(input, grid)
    return emit(
        "grid_sample",
        cast_to(input, kind),
        cast_to(grid, kind),
        mode=mode,
        padding_mode=padding_mode,
        align_corners=bool(align_corners),
    )


@function
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = False) -> Tensor:
    """The sampling grid for `grid_sample` of affine maps theta [N, 2, 3] and images of size (N, C,
    H, W): [N, H, W, 2]. With theta [N, 3, 4] and (N, C, D, H, W): [N, D, H, W, 3].

    >>> theta = infinicore.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> F.affine_grid(theta, (1, 1, 1, 2))
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    name = "affine_grid"
    shape = tuple(size)
    expect(len(shape) in (4, 5), name, "size", shape, "4 or 5 numbers")
    rank = len(shape) - 2
    fits = tuple(theta.shape) == (shape[0], rank, rank + 1)
    expect_shape(fits, name, "theta", theta, f"{[shape[0], rank, rank + 1]}")
    room = _core.empty((shape[0], *shape[2:], rank), theta.dtype, theta.device)
    operator = "affine_grid" if rank == 2 else "affine_grid3d"
    return emit(operator, theta.contiguous(), out=room, align_corners=bool(align_corners))
