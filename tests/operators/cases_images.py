"""Cases of pooling, convolutions and samples over one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.drawing import Draw, Rules, Shape

from .cases import spread
from .cases_windows import windows

SPATIAL = ((9,), (7, 8), (5, 6, 7))


def rank_of(draw: Draw) -> int:
    return len(draw["*I"] if "*I" in draw.symbols else draw["*X"])


def each(*options: int, null: bool = False) -> Callable[[Draw], Any]:
    """A list with an option for each dimension of the image; with `null` now and then none."""

    def make(draw: Draw) -> list[int] | None:
        if null and draw.rng.integers(3) == 0:
            return None
        return [draw.choose(options) for _ in range(rank_of(draw))]

    return make


def same_as(name: str) -> Callable[[Draw], Any]:
    return lambda draw: draw[name]


# ---- Pooling ------------------------------------------------------------------------------------


def pooled(draw: Draw) -> Shape:
    sizes = []
    for i, (size, kernel) in enumerate(zip(draw["*I"], draw["kernel_size"], strict=True)):
        step = draw["stride"][i] if draw["stride"] else kernel
        pad = draw["padding"][i] if draw["padding"] else 0
        gaps = draw.attributes.get("dilation")
        gap = gaps[i] if gaps else 1
        if draw["ceil_mode"]:
            room = size + 2 * pad - gap * (kernel - 1) - 1
            sizes.append(min(-(-room // step), (size + pad - 1) // step) + 1)
        else:
            sizes.append(windows(size, kernel, step, pad, gap))
    return draw["N"], draw["C"], *sizes


def padding(draw: Draw) -> list[int]:
    """At most half a window."""
    return [int(draw.integers(0, k // 2 + 1)) for k in draw["kernel_size"]]


IMAGES = {
    "N": (1, 2),
    "C": (1, 3),
    "*I": SPATIAL,
    "*O": same_as("*I"),
}
LARGE_IMAGES = {
    "N": (2,),
    "C": (3,),
    "*I": ((12, 1300), (5000,), (9, 20, 41)),
    "*O": same_as("*I"),
}


def pool_rules(**attributes: Any) -> Rules:
    return Rules(
        symbols=IMAGES,
        attributes={
            "n": rank_of,
            "kernel_size": each(1, 2, 3),
            "stride": each(1, 2, 4, null=True),
            "padding": padding,
            "ceil_mode": (0, 1),
            **attributes,
        },
        shapes={"y": pooled, "indices": pooled},
        kinds=("usual", "large"),
        large=LARGE_IMAGES,
    )


def adaptive_rules() -> Rules:
    return Rules(
        symbols=IMAGES,
        attributes={
            "n": rank_of,
            "output_size": each(1, 2, 5, 11),
        },
        shapes={
            name: lambda draw: (draw["N"], draw["C"], *draw["output_size"])
            for name in ("y", "indices")
        },
        kinds=("usual", "large"),
        large=LARGE_IMAGES,
    )


def fractional(draw: Draw) -> list[int]:
    return [
        int(draw.integers(1, size - k + 2))
        for size, k in zip(draw["*I"], draw["kernel_size"], strict=True)
    ]


POOLING = {
    "max_pool": pool_rules(dilation=each(1, 2, null=True)),
    "max_pool_with_indices": pool_rules(dilation=each(1, 2, null=True)),
    "avg_pool": pool_rules(count_include_pad=(0, 1), divisor_override=(0, 0, 7)),
    "adaptive_avg_pool": adaptive_rules(),
    "adaptive_max_pool": adaptive_rules(),
    "adaptive_max_pool_with_indices": adaptive_rules(),
    "fractional_max_pool": Rules(
        symbols=IMAGES,
        attributes={"n": rank_of, "kernel_size": each(1, 2, 3), "output_size": fractional},
        shapes={
            name: lambda draw: (draw["N"], draw["C"], *draw["output_size"])
            for name in ("y", "indices")
        },
        values={"samples": lambda draw, shape: draw.rng.random(shape)},
        kinds=("usual", "large"),
        large={**LARGE_IMAGES, "*I": ((40, 60),)},
    ),
}


# ---- Convolutions -------------------------------------------------------------------------------


def convolved(draw: Draw) -> Shape:
    lists = [draw[name] or [1] * draw["n"] for name in ("strides", "dilations")]
    pads = draw["pads"] or [0] * draw["n"]
    spans = zip(draw["*X"], draw["*K"], lists[0], pads, lists[1], strict=True)
    return draw["N"], draw["M"], *(windows(*one) for one in spans)


def transposed(draw: Draw) -> Shape:
    n = draw["n"]
    lists = zip(
        draw["*X"],
        draw["*K"],
        draw["strides"] or [1] * n,
        draw["pads"] or [0] * n,
        draw["dilations"] or [1] * n,
        draw["output_pads"] or [0] * n,
        strict=True,
    )
    sizes = [(x - 1) * s - 2 * p + d * (k - 1) + o + 1 for x, k, s, p, d, o in lists]
    return draw["N"], draw["M"], *sizes


def output_pads(draw: Draw) -> list[int]:
    """Less than the stride or the dilation."""
    n = draw["n"]
    steps = zip(draw["strides"] or [1] * n, draw["dilations"] or [1] * n, strict=True)
    return [int(draw.integers(0, max(pair))) for pair in steps]


def convolution(names: tuple[str, str, str], shape: Any, **attributes: Any) -> Rules:
    """`names`: the channels whose number is free, those of one group on the other side, all of
    that side. The groups are drawn as if they were a symbol."""
    free, group, total = names

    def channels(*each_group: int) -> dict[str, Any]:
        return {
            free: lambda draw: draw["_groups"] * draw.choose(each_group),
            total: lambda draw: draw["_groups"] * draw[group],
        }

    return Rules(
        symbols={
            "N": (1, 2),
            "*X": SPATIAL,
            "*K": lambda draw: tuple(draw.choose((1, 2, 3)) for _ in draw["*X"]),
            "*Y": same_as("*X"),
            "_groups": (1, 2, 3),
            group: (1, 2, 3),
            **channels(1, 2, 5),
        },
        attributes={
            "n": rank_of,
            "pads": each(0, 1, null=True),
            "strides": each(1, 2, null=True),
            "dilations": each(1, 2, null=True),
            "groups": same_as("_groups"),
            **attributes,
        },
        shapes={"y": shape},
        kinds=("usual", "large"),
        large={
            "N": (2,),
            "*X": ((40, 37), (31, 70)),
            "*K": ((3, 3), (5, 2)),
            "*Y": same_as("*X"),
            "_groups": (1, 4, 32),
            group: lambda draw: {1: 24, 4: 12, 32: 1}[draw["_groups"]],
            free: lambda draw: draw["_groups"] * {1: 16, 4: 8, 32: 1}[draw["_groups"]],
            total: lambda draw: draw["_groups"] * draw[group],
        },
    )


CONVOLUTIONS = {
    "grouped_conv": convolution(("M", "G", "C"), convolved),
    "conv_transpose": convolution(("C", "G", "M"), transposed, output_pads=output_pads),
}


# ---- Samples ------------------------------------------------------------------------------------


def folded(draw: Draw) -> Shape:
    """What the windows of an image make."""
    lists = zip(
        draw["output_size"],
        draw["kernel_sizes"],
        draw["strides"] or [1, 1],
        draw["paddings"] or [0, 0],
        draw["dilations"] or [1, 1],
        strict=True,
    )
    columns = 1
    for one in lists:
        columns *= max(windows(*one), 0)
    return draw["N"], draw["R"], columns


def pair(*options: int, null: bool = False) -> Callable[[Draw], Any]:
    def make(draw: Draw) -> list[int] | None:
        if null and draw.rng.integers(3) == 0:
            return None
        return [draw.choose(options) for _ in range(2)]

    return make


def image_symbols(*images: Shape) -> dict[str, Any]:
    return {
        "N": (1, 2),
        "C": (1, 3),
        "*I": images,
        "*O": lambda draw: tuple(draw.choose((1, 4, 9)) for _ in draw["*I"]),
    }


def modes(draw: Draw) -> str:
    known = ("nearest", "nearest-exact", "linear", "cubic", "linear-antialias", "cubic-antialias")
    return str(draw.choose(known[: 3 if len(draw["*I"]) == 3 else 6]))


SAMPLES = {
    "fold": Rules(
        symbols={"N": (1, 2), "C": (1, 3), "L": (1,), "R": (1,)},
        attributes={
            "output_size": pair(7, 9),
            "kernel_sizes": pair(1, 2, 3),
            "strides": pair(1, 2, 3, null=True),
            "paddings": pair(0, 1, null=True),
            "dilations": pair(1, 2, null=True),
        },
        shapes={"input": folded},
        kinds=("usual", "large"),
        large={"N": (3,), "C": (20,), "L": (1,), "R": (1,)},
    ),
    "resample": Rules(
        symbols=image_symbols(*SPATIAL),
        attributes={
            "n": rank_of,
            "mode": modes,
            "size": lambda draw: list(draw["*O"]),
            "scales": lambda draw: draw.choose((None, [0.7, 2.0, 0.0][: draw["n"]])),
            "align_corners": (0, 1),
        },
        kinds=("usual", "large"),
        large={"N": (2,), "C": (4,), "*I": ((30, 41),), "*O": ((50, 60),)},
    ),
    "grid_sample": Rules(
        symbols={**image_symbols(*SPATIAL[1:]), "R": lambda draw: len(draw["*I"])},
        attributes={
            "mode": lambda draw: draw.choose(
                ("bilinear", "nearest", "bicubic")[: 5 - len(draw["*I"])]
            ),
            "padding_mode": (0, 1, 2),
            "align_corners": (0, 1),
        },
        values={"grid": spread(0.9)},
        kinds=("usual", "large"),
        noise=64.0,
        large={"N": (2,), "C": (5,), "*I": ((30, 41),), "*O": ((50, 60),), "R": (2,)},
    ),
    "affine_grid3d": Rules(
        attributes={"align_corners": (0, 1)},
        large={"N": (3,), "D": (20,), "H": (30,), "W": (41,)},
    ),
}


# ---- Copies -------------------------------------------------------------------------------------


def some_dims(draw: Draw) -> list[int]:
    rank = len(draw["*S"])
    if not rank:
        return []
    chosen = draw.rng.permutation(rank)[: int(draw.integers(0, rank + 1))]
    return [int(d) - rank * int(draw.integers(0, 2)) for d in chosen]


TURNS = {
    "flip": Rules(attributes={"dim": some_dims, "n": lambda draw: len(draw["dim"])}, large={}),
    "roll": Rules(
        attributes={
            "dim": some_dims,
            "n": lambda draw: len(draw["dim"]),
            "shifts": lambda draw: [int(s) for s in draw.integers(-9, 9, len(draw["dim"]))],
        },
        large={},
    ),
}

IMAGE_CASES = {**POOLING, **CONVOLUTIONS, **SAMPLES, **TURNS}
