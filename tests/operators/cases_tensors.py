"""Cases of what tensor libraries need: indices, random numbers, linear algebra."""

from __future__ import annotations

from typing import Any

from kit.drawing import Draw, Rules, Shape

from .cases import like_input

# ---- Indices ------------------------------------------------------------------------------------

SIZES = ((5,), (4, 6), (3, 5, 7), (2, 3, 4, 5))


def any_dim(draw: Draw) -> int:
    rank = len(draw["*S"])
    return int(draw.integers(-rank, rank))


def along_dim(draw: Draw) -> Shape:
    """Not longer than the input, but along `dim`."""
    sizes = [int(draw.integers(1, size + 1)) if size else 0 for size in draw["*S"]]
    sizes[draw["dim"]] = int(draw.integers(1, 9))
    return tuple(sizes)


def some_rows(draw: Draw, shape: Shape) -> Any:
    """Rows along `dim`, now and then one that does not exist."""
    return draw.integers(-1, draw["*S"][draw["dim"]] + 1, shape)


def updates(**more: Any) -> Rules:
    return Rules(
        symbols={"*S": SIZES, "*U": lambda draw: draw["*S"]},  # its shape follows below
        attributes={"dim": any_dim, **more},
        shapes={
            "index": along_dim,
            "src": lambda draw: draw.shapes["index"],
        },
        values={"index": some_rows},
        in_place=(("output", "input"),),
        kinds=("usual", "one", "large"),
        large={"*S": ((150, 40), (60, 5, 17)), "*U": lambda draw: draw["*S"]},
    )


REDUCTIONS: dict[str, Any] = {"reduce": (0, 1, 2, 3, 4), "include_self": (0, 1)}

PICKING = {
    "gather": Rules(
        symbols={"*S": SIZES, "*I": lambda draw: draw["*S"]},
        attributes={"dim": any_dim},
        shapes={
            "output": along_dim,
            "index": lambda draw: draw.shapes["output"],
        },
        values={"index": some_rows},
        kinds=("usual", "one", "large"),
        large={"*S": ((300, 70), (7, 30000)), "*I": lambda draw: draw["*S"]},
    ),
    "index_select": Rules(
        symbols={"*S": SIZES, "N": (1, 3, 9), "*O": lambda draw: draw["*S"]},
        attributes={"dim": any_dim},
        shapes={"output": like_input},
        values={"index": some_rows},
        kinds=("usual", "one", "empty", "large"),
        large={"*S": ((300, 70), (70, 5, 31)), "N": (200,), "*O": lambda draw: draw["*S"]},
    ),
    "scatter_add": updates(),
    "scatter_reduce": updates(**REDUCTIONS),
    "index_reduce": Rules(
        symbols={"*S": SIZES, "N": (1, 3, 9), "*U": lambda draw: draw["*S"]},
        attributes={"dim": any_dim, **REDUCTIONS},
        shapes={"source": like_input},
        values={
            "index": lambda draw, shape: draw.integers(
                -draw["*S"][draw["dim"]] - 1, draw["*S"][draw["dim"]] + 1, shape
            )
        },
        in_place=(("output", "input"),),
        kinds=("usual", "one", "large"),
        large={"*S": ((60, 70),), "N": (200,), "*U": lambda draw: draw["*S"]},
    ),
}
