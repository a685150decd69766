"""Pools, convolutions, images and resampling against ref."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.functions import Case, Run, T, runs
from kit.functions import case as plain_case
from kit.place import put


def case(name: str, *args: Any, **keywords: Any) -> Case:
    keywords.setdefault("reference", getattr(ref, name, None))
    return plain_case(f"nn.functional.{name}", *args, **keywords)


LINE, PLANE, SOLID = T(2, 3, 9), T(2, 3, 6, 7), T(2, 3, 5, 4, 6)
DIFFERENT = {
    1: T(2, 3, 9, distinct=True),
    2: T(2, 2, 6, 7, distinct=True),
    3: T(2, 2, 5, 4, 4, distinct=True),
}
INPUTS = {1: LINE, 2: PLANE, 3: SOLID}
WEIGHTS = {1: T(4, 3, 3), 2: T(4, 3, 3, 2), 3: T(4, 3, 2, 3, 2)}
BACK = {1: T(3, 4, 3), 2: T(3, 4, 3, 2), 3: T(3, 4, 2, 3, 2)}
RANKS = (1, 2, 3)
SOME = "f32 f16 f64"
TERMS = 3 * 3 * 3 * 2 + 1  # of a convolution's result, at most

POOLS = [
    *(case(f"max_pool{r}d", INPUTS[r], 2, kinds=SOME) for r in RANKS),
    *(case(f"max_pool{r}d", INPUTS[r], kernel_size=3, stride=2, padding=1) for r in RANKS),
    *(
        case(f"max_pool{r}d", INPUTS[r], 2, 1, dilation=2, ceil_mode=True, kinds=SOME)
        for r in RANKS
    ),
    *(
        case(f"max_pool{r}d", DIFFERENT[r], 3, 2, 1, ceil_mode=True, return_indices=True)
        for r in RANKS
    ),
    *(case(f"avg_pool{r}d", INPUTS[r], 2, kinds=SOME) for r in RANKS),
    *(case(f"avg_pool{r}d", INPUTS[r], kernel_size=3, stride=2, padding=1) for r in RANKS),
    *(
        case(f"avg_pool{r}d", INPUTS[r], 3, 2, 1, ceil_mode=True, count_include_pad=False)
        for r in RANKS
    ),
    case("avg_pool2d", PLANE, (3, 2), divisor_override=4, kinds="f32"),
    case("max_pool2d", T(3, 6, 7), (3, 2), kinds="f32"),
    case("avg_pool1d", T(3, 7), 2, kinds="f32"),
    *(
        case(f"lp_pool{r}d", T(*INPUTS[r].shape, low=0.1), 2.0, 3, 2, kinds=SOME, close=4)
        for r in RANKS
    ),
    case(
        "lp_pool2d", T(2, 3, 6, 7, low=0.1), norm_type=3, kernel_size=2, ceil_mode=True, kinds="f32"
    ),
    *(case(f"adaptive_avg_pool{r}d", INPUTS[r], output_size=3, kinds=SOME) for r in RANKS),
    *(case(f"adaptive_max_pool{r}d", INPUTS[r], output_size=3, kinds=SOME) for r in RANKS),
    case("adaptive_avg_pool2d", PLANE, (None, 2), kinds="f32"),
    case("adaptive_max_pool2d", DIFFERENT[2], (4, 3), return_indices=True, kinds="f32"),
]

CONVOLUTIONS = [
    *(case(f"conv{r}d", INPUTS[r], WEIGHTS[r], kinds=SOME, length=TERMS) for r in RANKS),
    *(
        case(
            f"conv{r}d", INPUTS[r], WEIGHTS[r], T(4), stride=2, padding=1, kinds=SOME, length=TERMS
        )
        for r in RANKS
    ),
    case("conv1d", LINE, WEIGHTS[1], T(4), dilation=2, padding="same", kinds="f32"),
    case("conv2d", PLANE, WEIGHTS[2], T(4), padding="same", kinds="f32"),
    case("conv2d", PLANE, WEIGHTS[2], padding="valid", kinds="f32"),
    case("conv2d", T(2, 4, 6, 7), T(6, 2, 3, 3), T(6), groups=2, kinds=SOME, length=TERMS),
    case("conv2d", T(4, 6, 7), T(4, 1, 3, 3), groups=4, padding=(1, 0), kinds="f32"),
    # Depthwise: rows that are whole vectors, and others.
    *(
        case("conv2d", T(2, 3, 9, width), T(features, 1, *taps), T(features), groups=3, **more)
        for width, features, taps, more in (
            (16, 3, (3, 3), {"padding": 1, "kinds": "f32 f16 bf16 f64", "length": TERMS}),
            (24, 6, (3, 2), {"padding": (2, 0), "dilation": (2, 3), "kinds": "f16"}),
            (13, 3, (5, 5), {"padding": 2, "stride": 2, "kinds": "f32 f16", "length": TERMS}),
            (16, 3, (1, 3), {"stride": (1, 4), "kinds": "f16"}),
            (3, 3, (3, 2), {"stride": 3, "kinds": "f32"}),
        )
    ),
    case("conv2d", T(2, 1, 8, 16), T(4, 1, 3, 3), padding=1, kinds="f16"),
    case("conv1d", T(2, 5, 19), T(5, 1, 4), groups=5, padding=3, kinds="f32 f16"),
    *(case(f"conv_transpose{r}d", INPUTS[r], BACK[r], kinds=SOME, length=TERMS) for r in RANKS),
    *(
        case(
            f"conv_transpose{r}d",
            INPUTS[r],
            BACK[r],
            T(4),
            stride=2,
            padding=1,
            output_padding=1,
            kinds="f32 f16",
            length=TERMS,
        )
        for r in RANKS
    ),
    case("conv_transpose2d", T(2, 4, 3, 3), T(4, 3, 2, 2), groups=2, dilation=2, kinds="f32"),
]

IMAGES = [
    case("pad", T(3, 4), (1, 2), kinds="f32 f16 bf16 f64 i64"),
    case("pad", T(2, 3, 4), (1, 2, 0, 1), value=2.5),
    case("pad", T(2, 3, 4), (-1, 2, 1, -1), value=-1.0),
    *(
        case("pad", T(2, 3, 4, 5), (1, 2, 2, 1), mode=mode)
        for mode in ("reflect", "replicate", "circular")
    ),
    case("unfold", T(2, 3, 5, 6), 2, kinds=SOME),
    case("unfold", T(2, 3, 5, 6), (2, 3), dilation=2, padding=(1, 2), stride=(2, 1), kinds="f32"),
    case("fold", T(2, 12, 20), (5, 6), 2, kinds=SOME),
    case("fold", T(12, 9), output_size=(5, 6), kernel_size=(2, 3), padding=1, stride=2),
    case("pixel_shuffle", T(2, 8, 3, 4), 2),
    case("pixel_unshuffle", T(2, 2, 6, 4), 2),
    case("pixel_shuffle", T(9, 2, 2), upscale_factor=3, kinds="f32"),
    case("channel_shuffle", T(2, 6, 3, 4), 3, kinds="f32"),
]

RESAMPLING = [
    *(case("interpolate", x, scale_factor=2) for x in (LINE, PLANE, SOLID)),
    case("interpolate", PLANE, size=(4, 9)),
    case("interpolate", PLANE, size=5, mode="nearest-exact"),
    case("interpolate", PLANE, scale_factor=(1.5, 0.7)),
    *(
        case("interpolate", x, scale_factor=1.6, mode=mode, align_corners=corners)
        for x, mode in ((LINE, "linear"), (PLANE, "bilinear"), (SOLID, "trilinear"))
        for corners in (False, True)
    ),
    case("interpolate", PLANE, size=(9, 4), mode="bicubic", close=4),
    case("interpolate", PLANE, size=(9, 4), mode="bicubic", align_corners=True, close=4),
    case("interpolate", PLANE, size=(3, 4), mode="area"),
    case("interpolate", PLANE, size=(3, 4), mode="bilinear", antialias=True, kinds="f32 f64"),
    case("upsample_nearest", PLANE, scale_factor=2),
    case(
        "upsample_bilinear",
        PLANE,
        scale_factor=2,
        reference=lambda x, scale_factor: ref.interpolate(
            x, scale_factor=scale_factor, mode="bilinear", align_corners=True
        ),
    ),
    *(
        case(
            "grid_sample",
            T(2, 3, 4, 5),
            T(2, 3, 2, 2, low=-1.3, high=1.3),
            mode=mode,
            padding_mode=padding,
            align_corners=corners,
            kinds="f32 f64",
            close=10,
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    ),
    case(
        "grid_sample",
        T(2, 3, 3, 4, 5),
        T(2, 3, 2, 2, 3, low=-1, high=1),
        align_corners=False,
        kinds="f32",
    ),
    case("affine_grid", T(2, 2, 3), (2, 3, 4, 5), align_corners=False),
    case("affine_grid", T(2, 2, 3), size=(2, 3, 4, 5), align_corners=True),
    case("affine_grid", T(2, 3, 4), (2, 1, 3, 4, 5), align_corners=True, kinds="f32"),
]


@pytest.mark.parametrize("run", runs(POOLS + CONVOLUTIONS + IMAGES + RESAMPLING), ids=str)
def test_functions(run: Run) -> None:
    run.check()


@pytest.mark.parametrize("sizes", [(2, 3, 700), (2, 2, 9, 40), (1, 2, 4, 5, 60)], ids=str)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_places_of_equal_maxima(sizes: tuple[int, ...], kind: str) -> None:
    name = f"max_pool{len(sizes) - 2}d"
    x = np.random.default_rng(3).integers(-2, 3, sizes).astype(kind)
    for size, step, edge in ((3, 1, 1), (2, 2, 0), (3, 2, 0), (4, 5, 2)):
        for holes in (False, True):
            if holes:
                x.reshape(-1)[::17] = np.nan
            values, places = getattr(F, name)(
                infinicore.tensor(x), size, step, edge, return_indices=True
            )
            line = x.reshape(*sizes[:2], -1)
            at = places.numpy(force=True).reshape(*sizes[:2], -1)
            found = values.numpy(force=True)
            chosen = np.take_along_axis(line, at, -1).reshape(found.shape)
            assert np.array_equal(found, chosen, equal_nan=True)
            wanted = getattr(F, name)(infinicore.tensor(x), size, step, edge).numpy(force=True)
            assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("rank", RANKS)
def test_unpools(rank: int) -> None:
    x = DIFFERENT[rank].values(ref.float32, 0)
    for size, step, edge in ((2, 2, 0), (3, 2, 1)):
        pool = getattr(ref, f"max_pool{rank}d")
        values, indices = pool(x, size, step, edge, return_indices=True)
        expected = getattr(ref, f"max_unpool{rank}d")(
            values, indices, size, step, edge, output_size=x.shape
        )
        ours = getattr(F, f"max_unpool{rank}d")(
            put(values),
            put(indices),
            size,
            step,
            edge,
            output_size=list(x.shape),
        )
        ref.assert_close(ref.of(ours), expected)


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pools(rank: int) -> None:
    x = DIFFERENT[rank].values(ref.float32, 1)
    samples = ref.rand(2, 2, rank)
    name = f"fractional_max_pool{rank}d"
    expected = getattr(ref, name)(x, 2, output_size=2, return_indices=True, _random_samples=samples)
    ours = getattr(F, name)(
        put(x),
        2,
        output_size=2,
        return_indices=True,
        _random_samples=put(samples),
    )
    for one, other in zip(ours, expected, strict=True):
        ref.assert_close(ref.of(one), other)
    drawn = getattr(F, name)(put(x), 2, output_ratio=(0.5,) * rank)
    assert tuple(drawn.shape) == (2, 2, *(size // 2 for size in x.shape[2:]))
    assert set(ref.of(drawn).flatten().tolist()) <= set(x.flatten().tolist())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.max_pool2d(x, 0), "max_pool2d: kernel_size is 0: expected 1 or more"),
        (lambda x: F.max_pool2d(x, 9), "max_pool2d: size 0 of input's image is 4"),
        (lambda x: F.avg_pool2d(x, 2, padding=2), "avg_pool2d: padding is 2"),
        (lambda x: F.max_pool3d(infinicore.ones(2, 2), 2), "max_pool3d: input.ndim is 2"),
        (lambda x: F.conv2d(x, infinicore.ones(2, 3, 1, 1)), "conv2d: the number of input's"),
        (lambda x: F.conv2d(x, infinicore.ones(2, 2, 9, 9)), "conv2d: padded size 0"),
        (lambda x: F.pad(x, (1,)), "pad: the length of pad is 1"),
        (lambda x: F.pad(x, (9, 0), mode="reflect"), "pad: pad is"),
        (lambda x: F.interpolate(x), "interpolate: expected one of size and scale_factor"),
        (lambda x: F.interpolate(x, 2, mode="trilinear"), "interpolate: input.ndim is 4"),
        (lambda x: F.pixel_shuffle(x, 2), "pixel_shuffle: channels of input is 2"),
        (lambda x: F.fold(x, 4, 2), "fold: input.ndim is 4"),
        (lambda x: F.grid_sample(x, x), "grid_sample: grid.shape is"),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(infinicore.ones(2, 2, 4, 5))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_of_rows_apart(mode: str) -> None:
    """Points of several rows are computed together, wherever the rows are."""
    grid = ref.rand(2, 7, 26, 2, seed=1) * 2 - 1
    x, apart, across = put(ref.randn(2, 3, 5, 6)), put(grid)[:, :, ::2], put(grid).transpose(1, 2)
    for points in (apart, across, apart[:, ::3, :5]):
        wanted = F.grid_sample(x, points.contiguous(), mode, "border", True)
        made = F.grid_sample(x, points, mode, "border", True)
        np.testing.assert_array_equal(ref.of(made), ref.of(wanted))
        out = infinicore.zeros(*wanted.shape[:2], *wanted.shape[:1:-1]).transpose(2, 3)
        F.grid_sample(x, points, mode, "border", True, out=out)
        np.testing.assert_array_equal(ref.of(out), ref.of(wanted))
