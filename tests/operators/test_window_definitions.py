"""The definitions of windows, convolutions and samples against torch, in float64."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from .second_opinion import F, call, np, same, tensors, torch, uncompared, values

SHAPES = [(9,), (7, 8), (5, 6, 7)]


def image(sizes: tuple[int, ...], channels: int = 3) -> Any:
    return values(2, channels, *sizes)


def of(name: str, rank: int, suffix: str = "") -> Any:
    return getattr(F, f"{name}{rank}d{suffix}")


# ---- Pooling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(2, None, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 1, 1), (3, 4, 0, 1)],
)
def test_max_pool(
    sizes: tuple[int, ...],
    kernel: int,
    stride: int | None,
    padding: int,
    dilation: int,
    ceil_mode: bool,
) -> None:
    n = len(sizes)
    x = image(sizes)
    x[0, 0] = np.round(x[0, 0])
    x[0, 1].flat[3] = np.nan
    x[0, 2] = -np.inf
    theirs, places = of("max_pool", n, "_with_indices")(
        *tensors([x]), kernel, stride, padding, dilation, ceil_mode=ceil_mode
    )
    given = {
        "kernel_size": [kernel] * n,
        "stride": stride and [stride] * n,
        "padding": [padding] * n,
        "dilation": [dilation] * n,
        "n": n,
        "ceil_mode": ceil_mode,
        "shapes": {"y": tuple(theirs.shape)},
    }
    ours, found = call("max_pool_with_indices", x, **given)
    same(ours, theirs)
    assert np.array_equal(found, places)
    same(call("max_pool", x, **given)[0], theirs)


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("divisor", [None, 5])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, None, 0), (3, 2, 1), (2, 3, 1)])
def test_avg_pool(
    sizes: tuple[int, ...],
    kernel: int,
    stride: int | None,
    padding: int,
    ceil_mode: bool,
    include: bool,
    divisor: int | None,
) -> None:
    n = len(sizes)
    x = image(sizes)
    more = {} if n == 1 else {"divisor_override": divisor}
    theirs = of("avg_pool", n)(*tensors([x]), kernel, stride, padding, ceil_mode, include, **more)
    (ours,) = call(
        "avg_pool",
        x,
        kernel_size=[kernel] * n,
        stride=stride and [stride] * n,
        padding=[padding] * n,
        n=n,
        ceil_mode=ceil_mode,
        count_include_pad=include,
        divisor_override=0 if n == 1 else divisor or 0,
        shapes={"y": tuple(theirs.shape)},
    )
    same(ours, theirs, atol=1e-14)


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("count", [1, 3, 5, 11])
def test_adaptive_pool(sizes: tuple[int, ...], count: int) -> None:
    n = len(sizes)
    x = image(sizes)
    target = [count + d for d in range(n)]
    given = {"output_size": target, "n": n, "shapes": {"y": (*x.shape[:2], *target)}}
    same(
        call("adaptive_avg_pool", x, **given)[0], of("adaptive_avg_pool", n)(*tensors([x]), target)
    )
    theirs, places = of("adaptive_max_pool", n, "_with_indices")(*tensors([x]), target)
    ours, found = call("adaptive_max_pool_with_indices", x, **given)
    same(ours, theirs)
    assert np.array_equal(found, places)
    same(call("adaptive_max_pool", x, **given)[0], theirs)


@pytest.mark.parametrize("sizes", SHAPES[1:])
def test_fractional_max_pool(sizes: tuple[int, ...]) -> None:
    n = len(sizes)
    x = image(sizes)
    samples = np.random.default_rng(1).random((2, 3, n))
    for target in ([3, 4, 5][:n], [1, 2, 1][:n], [size - 2 for size in sizes]):
        # For two dimensions torch takes the last one first.
        theirs, places = of("fractional_max_pool", n, "_with_indices")(
            *tensors([x]), 2, output_size=target, _random_samples=tensors([samples])[0]
        )
        ours, found = call(
            "fractional_max_pool",
            x,
            samples[..., ::-1] if n == 2 else samples,
            kernel_size=[2] * n,
            output_size=target,
            n=n,
            shapes={"y": (2, 3, *target)},
        )
        same(ours, theirs)
        assert np.array_equal(found, places)


# ---- Convolutions -------------------------------------------------------------------------------


CONVOLUTIONS = [(1, 0, 1, 1), (2, 1, 1, 2), (1, 1, 2, 3), (3, 2, 2, 6)]


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize(("stride", "pad", "dilation", "groups"), CONVOLUTIONS)
def test_convolutions(
    sizes: tuple[int, ...], stride: int, pad: int, dilation: int, groups: int
) -> None:
    n = len(sizes)
    x, kernel = image(sizes, 6), (3, 2, 1)[:n]
    given = {"n": n, "groups": groups, "pads": [pad] * n, "strides": [stride] * n}
    given["dilations"] = [dilation] * n
    w, b = values(12, 6 // groups, *kernel), values(12)
    theirs = getattr(F, f"conv{n}d")(*tensors([x, w, b]), stride, pad, dilation, groups)
    same(call("grouped_conv", x, w, b, **given)[0], theirs, atol=1e-12)

    w, b = values(6, 2, *kernel), values(2 * groups)
    extra = min(1, max(stride, dilation) - 1)
    theirs = getattr(F, f"conv_transpose{n}d")(
        *tensors([x, w, b]), stride, pad, extra, groups, dilation
    )
    more = {"output_pads": [extra] * n, "shapes": {"y": tuple(theirs.shape)}}
    same(call("conv_transpose", x, w, b, **given, **more)[0], theirs, atol=1e-12)


@pytest.mark.parametrize(("stride", "pad", "dilation"), [(1, 0, 1), (2, 1, 1), (3, 2, 2)])
def test_fold(stride: int, pad: int, dilation: int) -> None:
    size, kernel = (9, 10), (3, 2)
    patches = F.unfold(*tensors([image(size)]), kernel, dilation, pad, stride)
    x = values(*patches.shape)
    theirs = F.fold(*tensors([x]), size, kernel, dilation, pad, stride)
    (ours,) = call(
        "fold",
        x,
        output_size=list(size),
        kernel_sizes=list(kernel),
        strides=[stride] * 2,
        paddings=[pad] * 2,
        dilations=[dilation] * 2,
        shapes={"output": tuple(theirs.shape)},
    )
    same(ours, theirs, atol=1e-13)


# ---- Samples ------------------------------------------------------------------------------------

WORDS = {
    ("linear", 1): "linear",
    ("linear", 2): "bilinear",
    ("linear", 3): "trilinear",
    ("cubic", 2): "bicubic",
}


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_resample(sizes: tuple[int, ...], mode: str, align_corners: bool) -> None:
    n = len(sizes)
    word = WORDS.get((mode, n), mode)
    if word == "cubic" or (align_corners and "nearest" in mode):
        pytest.skip("torch has no such mode")
    x = image(sizes)
    corners = None if "nearest" in mode else align_corners
    for target, scale in [
        ([1, 4, 3], None),
        ([13, 20, 5], None),
        (None, [2.0, 1.7, 0.6]),
        (None, [0.4, 3.3, 1.0]),
    ]:
        size, factor = target and target[:n], scale and scale[:n]
        theirs = F.interpolate(*tensors([x]), size, factor, word, corners)
        (ours,) = call(
            "resample",
            x,
            mode=mode,
            size=list(theirs.shape[2:]),
            scales=factor,
            n=n,
            align_corners=align_corners,
            shapes={"y": tuple(theirs.shape)},
        )
        same(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_antialias(mode: str, align_corners: bool) -> None:
    x = image((17, 23))
    word = WORDS[mode, 2]
    for target, scale in [([5, 4], None), ([1, 30], None), (None, [0.3, 0.7])]:
        theirs = F.interpolate(*tensors([x]), target, scale, word, align_corners, antialias=True)
        (ours,) = call(
            "resample",
            x,
            mode=f"{mode}-antialias",
            size=list(theirs.shape[2:]),
            scales=scale,
            n=2,
            align_corners=align_corners,
            shapes={"y": tuple(theirs.shape)},
        )
        same(ours, theirs, rtol=1e-10, atol=1e-10)


PADDINGS = ("zeros", "border", "reflection")


@pytest.mark.parametrize("sizes", SHAPES[1:])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("align_corners", [False, True])
def test_grid_sample(sizes: tuple[int, ...], mode: str, padding: str, align_corners: bool) -> None:
    n = len(sizes)
    if mode == "bicubic" and n == 3:
        pytest.skip("torch has no such mode")
    x = image(sizes)
    grid = values(2, *(4, 5, 6)[:n], n, scale=1.2)
    grid[0, 0, 0] = [0, -1, 1][:n]
    theirs = F.grid_sample(*tensors([x, grid]), mode, padding, align_corners)
    (ours,) = call(
        "grid_sample",
        x,
        grid,
        mode=mode,
        padding_mode=PADDINGS.index(padding),
        align_corners=align_corners,
        shapes={"y": tuple(theirs.shape), "x": x.shape, "grid": grid.shape},
    )
    same(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("align_corners", [False, True])
def test_affine_grid(align_corners: bool) -> None:
    theta = values(2, 3, 4)
    theirs = F.affine_grid(*tensors([theta]), (2, 1, 3, 4, 5), align_corners)
    shapes = {"output": tuple(theirs.shape)}
    (ours,) = call("affine_grid3d", theta, align_corners=align_corners, shapes=shapes)
    same(ours, theirs, atol=1e-14)


# ---- Copies -------------------------------------------------------------------------------------


def test_flip_and_roll() -> None:
    x = values(3, 4, 5)
    for dims in itertools.chain.from_iterable(itertools.combinations(range(3), k) for k in (1, 2)):
        (ours,) = call("flip", x, dim=list(dims), n=len(dims))
        same(ours, torch.flip(*tensors([x]), dims))
        shifts = [2 - 3 * d for d in dims]
        (ours,) = call("roll", x, shifts=shifts, dim=list(dims), n=len(dims))
        same(ours, torch.roll(*tensors([x]), shifts, dims))


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_max_pool" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    assert not uncompared("pool", "conv_groups", "resample")
