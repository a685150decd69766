"""Cases of convolutions."""

from __future__ import annotations

from typing import Any

from kit.drawing import Draw, Rules, Shape

from .values import SPATIAL, Listed, each, listed, rank_of, same_as, windows


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
    """`names`: the symbols of the free channel count, of one group's channels on the other side,
    and of all channels there. The groups are drawn like a symbol."""
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


CASES: dict[str, Rules] = {
    "grouped_conv": convolution(("M", "G", "C"), convolved),
    "conv_transpose": convolution(("C", "G", "M"), transposed, output_pads=output_pads),
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
}
