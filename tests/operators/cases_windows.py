"""Cases of windows, resampling, products and other operators whose sizes follow from attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .cases import spread

Listed = Callable[[Draw], Any]


def listed(count: int, *options: int, null: bool = False) -> Listed:
    """A list of options; with `null` now and then none at all."""

    def make(draw: Draw) -> list[int] | None:
        if null and draw.rng.integers(3) == 0:
            return None
        return [draw.choose(options) for _ in range(count)]

    return make


def windows(size: int, kernel: int, step: int, pad: int, gap: int = 1) -> int:
    return (size + 2 * pad - gap * (kernel - 1) - 1) // step + 1


# ---- Convolution and pooling --------------------------------------------------------------------


def spatial(*options: int) -> Listed:
    """A list with one option for each spatial dimension, or null."""
    return lambda draw: listed(len(draw["*X"]), *options, null=True)(draw)


def conv_output(draw: Draw) -> Shape:
    sizes = []
    for i, (size, kernel) in enumerate(zip(draw["*X"], draw["*K"], strict=True)):
        pad = draw["pads"][i] if draw["pads"] else 0
        step = draw["strides"][i] if draw["strides"] else 1
        gap = draw["dilations"][i] if draw["dilations"] else 1
        sizes.append(windows(size, kernel, step, pad, gap))
    return draw["N"], draw["M"], *sizes


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

WINDOWS = {
    "conv": Rules(
        symbols={
            "*X": ((9,), (7, 8), (5, 6, 7)),
            "*K": lambda draw: tuple(draw.choose((1, 2, 3)) for _ in draw["*X"]),
            "*Y": lambda draw: draw["*X"],
            "N": (1, 2),
            "C": (1, 3, 8),
            "M": (1, 4, 9),
        },
        attributes={
            "n": lambda draw: len(draw["*X"]),
            "pads": spatial(0, 1, 2),
            "strides": spatial(1, 2),
            "dilations": spatial(1, 2),
        },
        shapes={"y": conv_output},
        kinds=("usual", "large"),
        large={
            "*X": ((40, 37),),
            "*K": ((3, 3),),
            "*Y": lambda draw: draw["*X"],
            "N": (2,),
            "C": (16,),
            "M": (24,),
        },
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
}

# ---- Grids and resampling -----------------------------------------------------------------------

MODES = {1: ("nearest", "linear"), 2: ("nearest", "bilinear", "area"), 3: ("nearest", "trilinear")}


def scaled(draw: Draw) -> Shape:
    if draw["scale_factor"] is None:
        return draw["N"], draw["C"], *draw["*O"]
    return draw["N"], draw["C"], *(math.floor(n * draw["scale_factor"][0]) for n in draw["*I"])


IMAGE = {"H": (2, 5, 8), "W": (3, 7), "P": (1, 4, 11), "Q": (2, 9)}

RESAMPLING = {
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

# ---- Copies and linear algebra ------------------------------------------------------------------


def diff_output(draw: Draw) -> Shape:
    sizes = list(draw["*X"])
    sizes[draw["dim"]] = max(sizes[draw["dim"]] - draw["n"], 0)
    return tuple(sizes)


def padded(draw: Draw) -> Shape:
    sizes = list(draw["*X"])
    pairs = draw["pad"]
    for i in range(len(pairs) // 2):
        sizes[-1 - i] += pairs[2 * i] + pairs[2 * i + 1]
    return tuple(sizes)


def pads(draw: Draw) -> list[int]:
    count = 2 * int(draw.integers(1, len(draw["*X"]) + 1))
    return [int(n) for n in draw.integers(-1, 3, count)]


COPIES = {
    "diff": Rules(
        symbols={"*X": ((5,), (4, 6), (3, 5, 7)), "*Y": lambda draw: draw["*X"]},
        attributes={
            "dim": lambda draw: int(draw.integers(-len(draw["*X"]), len(draw["*X"]))),
            "n": (0, 1, 2),
        },
        shapes={"y": diff_output},
        kinds=("usual", "large"),
        large={"*X": ((300, 301),), "*Y": lambda draw: draw["*X"]},
    ),
    "flipud": Rules(symbols={"*S": ((), (3,), (2, 5))}, large={"R": (300,), "*S": ((301,),)}),
    "pad": Rules(
        symbols={"*X": ((5,), (4, 6), (3, 5, 7)), "*Y": lambda draw: draw["*X"]},
        attributes={
            "pad": pads,
            "pad_size": lambda draw: 4 * len(draw["pad"]),
            "mode": ("constant", "reflect", "replicate", "circular", "other"),
            "value": (0.0, 1.5),
        },
        shapes={"y": padded},
        kinds=("usual", "large"),
        large={"*X": ((300, 301),), "*Y": lambda draw: draw["*X"]},
    ),
    "pixel_shuffle": Rules(
        symbols={"N": (1, 2), "C": (1, 3), "H": (1, 4), "W": (1, 5)},
        attributes={"upscale_factor": (1, 2, 3)},
        large={"N": (2,), "C": (4,), "H": (30,), "W": (31,)},
    ),
    "take": Rules(
        values={"indices": lambda draw, shape: draw.integers(-1, math.prod(draw["*X"]) + 1, shape)},
        kinds=("usual", "one", "large"),
        large={},
    ),
    "kron": Rules(
        symbols={
            "*A": ((3,), (2, 4), (2, 3, 2)),
            "*B": lambda draw: tuple(draw.choose((1, 2, 5)) for _ in draw["*A"]),
            "*Y": lambda draw: tuple(a * b for a, b in zip(draw["*A"], draw["*B"], strict=True)),
        },
        kinds=("usual", "large"),
        large={"*A": ((20, 30),), "*B": ((17, 9),), "*Y": ((340, 270),)},
    ),
    "vander": Rules(
        attributes={"N": (0, 1, 4), "increasing": (0, 1)},
        values={"input": spread(0.8)},
        symbols={"R": (1, 3, 6)},
        kinds=("usual", "one"),
    ),
}


def codes(draw: Draw, shape: Shape) -> Any:
    return draw.integers(-127, 128, shape)


def scales(draw: Draw, shape: Shape) -> Any:
    return np.abs(draw.normal(shape, 0.01)) + 0.001


PRODUCTS = {
    "gemm": Rules(
        symbols={"*B": ((), (2,), (3,)), "M": (1, 5, 17), "N": (1, 6, 33), "K": (1, 7, 40)},
        scalars={"alpha": (1.0, 0.5), "beta": (0.0, 1.0, -0.5)},
        kinds=("usual", "one", "empty", "large"),
        large={"*B": ((2,),), "M": (130,), "N": (150,), "K": (200,)},
    ),
    "addbmm": Rules(large={"B": (3,), "N": (100,), "M": (70,), "P": (90,)}),
    "inner": Rules(
        symbols={
            "*A": ((), (3,), (2, 5)),
            "*C": ((), (4,), (3, 2)),
            "*O": lambda draw: (*draw["*A"], *draw["*C"]),
            "K": (1, 7, 40),
        },
        kinds=("usual", "large"),
        large={"*A": ((100,),), "*C": ((9, 10),), "*O": ((100, 9, 10),), "K": (200,)},
    ),
    "matrix_power": Rules(
        symbols={"N": (1, 3, 9)},
        attributes={"n": (0, 1, 2, 5)},
        values={"x": spread(0.4)},
        tolerance=1.0,
        kinds=("usual", "one", "empty", "large"),
        large={"N": (100,)},
    ),
    "int8_gemm": Rules(
        symbols={"M": (1, 5, 17), "N": (1, 6, 33), "K": (1, 7, 64)},
        values={"x": codes, "weights": codes, "x_scale": scales, "weights_scale": scales},
        large={"M": (130,), "N": (150,), "K": (200,)},
    ),
    "linear_mxfp4": Rules(
        symbols={"*B": ((1,), (3,), (2, 5)), "N": (1, 6, 33), "K": (32, 96)},
        values={"weight_scale": lambda draw, shape: draw.integers(122, 127, shape)},
        noise=64.0,
        kinds=("usual", "large"),
        large={"*B": ((40,),), "N": (150,), "K": (256,)},
    ),
}
