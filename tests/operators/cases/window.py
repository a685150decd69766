"""Cases of windows, pooling and resampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kit.drawing import Draw, Rules, Shape

from .values import SPATIAL, each, listed, normal, rank_of, same_as, windows


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


def folded(draw: Draw) -> Shape:
    """The patches of an image."""
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


def pool1d_output(draw: Draw) -> Shape:
    taken = windows(draw["L"], draw["kernel_size"], draw["stride"], draw["padding"])
    return draw["N"], draw["C"], taken


def pool3d_output(draw: Draw) -> Shape:
    kernel = draw["kernel_size"]
    step, pad = draw["stride"] or kernel, draw["padding"] or [0, 0, 0]
    sizes = (draw["D"], draw["H"], draw["W"])
    return (
        draw["N"],
        draw["C"],
        *(windows(*each) for each in zip(sizes, kernel, step, pad, strict=True)),
    )


def unfold_output(draw: Draw) -> Shape:
    kernel = draw["kernel_sizes"]
    sizes = zip(
        (draw["H"], draw["W"]),
        kernel,
        draw["strides"],
        draw["paddings"],
        draw["dilations"],
        strict=True,
    )
    columns = math.prod(windows(*each) for each in sizes)
    return draw["N"], draw["C"] * kernel[0] * kernel[1], columns


BOX = {"N": (1, 2), "C": (1, 3), "D": (4, 5), "H": (5, 6), "W": (6, 7)}

LARGE_BOX = {"N": (2,), "C": (4,), "D": (9,), "H": (20,), "W": (31,)}

MODES = {1: ("nearest", "linear"), 2: ("nearest", "bilinear", "area"), 3: ("nearest", "trilinear")}


def scaled(draw: Draw) -> Shape:
    if draw["scale_factor"] is None:
        return draw["N"], draw["C"], *draw["*O"]
    return draw["N"], draw["C"], *(math.floor(n * draw["scale_factor"][0]) for n in draw["*I"])


IMAGE = {"H": (2, 5, 8), "W": (3, 7), "P": (1, 4, 11), "Q": (2, 9)}


CASES: dict[str, Rules] = {
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
        large={"N": (2,), "C": (4,), "*I": ((30, 41),), "*O": ((70, 150),)},
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
        values={"grid": normal(0.9)},
        kinds=("usual", "large"),
        noise=64.0,
        large={"N": (2,), "C": (5,), "*I": ((30, 41),), "*O": ((50, 60),), "R": (2,)},
    ),
    "affine_grid3d": Rules(
        attributes={"align_corners": (0, 1)},
        large={"N": (3,), "D": (20,), "H": (30,), "W": (41,)},
    ),
    "adaptive_avg_pool1d": Rules(
        symbols={"*B": ((2,), (2, 3)), "L": (1, 7, 20), "O": (1, 3, 9, 25)},
        kinds=("usual", "one", "large"),
        large={"*B": ((30, 10),), "L": (500,), "O": (33,)},
    ),
    "adaptive_max_pool1d": Rules(
        symbols={"*B": ((2,), (2, 3)), "L": (1, 7, 20)},
        attributes={"output_size": (1, 3, 9, 25)},
        kinds=("usual", "one", "large"),
        large={"*B": ((30, 10),), "L": (500,)},
    ),
    "adaptive_avg_pool3d": Rules(
        symbols=BOX,
        attributes={"output_size": listed(3, 1, 2, 5)},
        kinds=("usual", "large"),
        large=LARGE_BOX,
    ),
    "avg_pool1d": Rules(
        symbols={"L": (5, 9, 20), "O": (1,)},
        attributes={"kernel_size": (1, 2, 3), "stride": (1, 2), "padding": (0, 1)},
        shapes={"output": pool1d_output},
        kinds=("usual", "large"),
        large={"N": (3,), "C": (40,), "L": (900,), "O": (1,)},
    ),
    "avg_pool3d": Rules(
        symbols={**BOX, "P": (1,), "Q": (1,), "R": (1,)},
        attributes={
            "kernel_size": listed(3, 1, 2, 3),
            "stride": listed(3, 1, 2, null=True),
            "padding": listed(3, 0, 1, null=True),
        },
        shapes={"y": pool3d_output},
        kinds=("usual", "large"),
        large={**LARGE_BOX, "P": (1,), "Q": (1,), "R": (1,)},
    ),
    "unfold": Rules(
        symbols={"N": (1, 2), "C": (1, 3), "H": (7, 9), "W": (6, 8), "R": (1,), "L": (1,)},
        attributes={
            "kernel_sizes": listed(2, 1, 2, 3),
            "strides": listed(2, 1, 2),
            "paddings": listed(2, 0, 1),
            "dilations": listed(2, 1, 2),
        },
        shapes={"output": unfold_output},
        kinds=("usual", "large"),
        large={"N": (2,), "C": (8,), "H": (30,), "W": (40,), "R": (1,), "L": (1,)},
    ),
    "affine_grid": Rules(
        attributes={"align_corners": (0, 1)}, large={"N": (3,), "H": (90,), "W": (80,)}
    ),
    "interpolate": Rules(
        symbols={
            "N": (1, 2),
            "C": (1, 3),
            "*I": ((7,), (5, 6), (3, 4, 5)),
            "*O": lambda draw: tuple(draw.choose((1, 4, 9)) for _ in draw["*I"]),
        },
        attributes={
            "mode": lambda draw: draw.choose(MODES[len(draw["*I"])]),
            "scale_factor": lambda draw: draw.choose((None, [2.0], [1.5])),
            "size": lambda draw: [] if draw["scale_factor"] is None else None,
            "align_corners": (0, 1),
        },
        shapes={"y": scaled},
        kinds=("usual", "large"),
        large={
            "N": (2,),
            "C": (4,),
            "*I": ((30, 41),),
            "*O": ((50, 60),),
        },
    ),
    "upsample_bilinear": Rules(
        symbols={**IMAGE, "*B": ((), (2,), (2, 3))},
        attributes={"align_corners": (0, 1)},
        kinds=("usual", "one", "large"),
        large={"*B": ((2, 3),), "H": (40,), "W": (50,), "P": (80,), "Q": (75,)},
    ),
    "upsample_nearest": Rules(
        symbols=IMAGE,
        kinds=("usual", "one", "large"),
        large={"N": (2,), "C": (3,), "H": (40,), "W": (50,), "P": (80,), "Q": (75,)},
    ),
}
