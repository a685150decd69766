"""Cases of indexing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .values import below, distinct


def rows_of(draw: Draw) -> int:
    return int(draw["*S"][draw["dim"]])


def like_input(draw: Draw) -> Shape:
    """The input's sizes, except along `dim`, where it is the number of indices."""
    sizes = list(draw["*S"])
    sizes[draw["dim"]] = draw["N"]
    return tuple(sizes)


def index_rules(**more: Any) -> Rules:
    return Rules(
        symbols={
            "*S": ((5,), (4, 6), (3, 5, 7), (2, 3, 4, 5)),
            "N": (1, 3, 4),
            "*U": lambda draw: draw["*S"],  # its shape follows below
        },
        attributes={"dim": lambda draw: int(draw.integers(0, len(draw["*S"])))},
        shapes={"source": like_input},
        values={"index": distinct(rows_of)},
        kinds=("usual", "one", "large"),
        large={"*S": ((300, 70),), "N": (200,), "*U": lambda draw: draw["*S"]},
        **more,
    )


def scatter_updates(draw: Draw) -> Shape:
    return tuple(int(draw.integers(1, size + 1)) if size else 0 for size in draw["*S"])


def scatter_indices(draw: Draw, shape: Shape) -> Any:
    """Distinct ones along the axis if updates are assigned; arbitrary ones otherwise."""
    size = draw["*S"][draw["axis"]]
    if draw["reduction"]:
        return draw.integers(-1, size + 1, shape)
    places = np.moveaxis(np.empty(shape, np.int64), draw["axis"], -1)
    for place in np.ndindex(places.shape[:-1]):
        places[place] = draw.rng.permutation(size)[: shape[draw["axis"]]]
    return np.moveaxis(places, -1, draw["axis"])


SIZES = ((5,), (4, 6), (3, 5, 7), (2, 3, 4, 5))


def any_dim(draw: Draw) -> int:
    rank = len(draw["*S"])
    return int(draw.integers(-rank, rank))


def along_dim(draw: Draw) -> Shape:
    """Not longer than the input, except along `dim`."""
    sizes = [int(draw.integers(1, size + 1)) if size else 0 for size in draw["*S"]]
    sizes[draw["dim"]] = int(draw.integers(1, 9))
    return tuple(sizes)


def some_rows(draw: Draw, shape: Shape) -> Any:
    """Rows along `dim`, occasionally one that does not exist."""
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
        kinds=("usual", "one", "large"),
        large={"*S": ((150, 40), (60, 5, 17)), "*U": lambda draw: draw["*S"]},
    )


MASK_CHUNK = 4096


def some_true(draw: Draw, shape: Shape) -> Any:
    """A mask that follows from its shape, as its counts do."""
    return np.arange(math.prod(shape)).reshape(shape) * 7919 % 11 < 4


def mask_counts(draw: Draw, shape: Shape) -> Any:
    before = np.cumsum(np.append(0, some_true(draw, draw["*S"])))
    return before[np.minimum(np.arange(shape[0]) * MASK_CHUNK, len(before) - 1)]


def masked(**symbols: Any) -> Rules:
    return Rules(
        symbols={
            "*S": ((), (5,), (4, 6), (3, 5, 7)),
            "K": lambda draw: -(-math.prod(draw["*S"]) // MASK_CHUNK) + 1,
            "R": lambda draw: len(draw["*S"]),
            "M": (0, 1, 3, 40),
        },
        values={
            "mask": some_true,
            **({} if symbols.get("counts") is None else {"counts": symbols["counts"]}),
        },
        full=("K", "R"),
        kinds=("usual", "large"),
        large={"*S": ((9000,), (90, 131)), "M": (2000, 5000)},
    )


REDUCTIONS: dict[str, Any] = {"reduce": (0, 1, 2, 3, 4), "include_self": (0, 1)}


CASES: dict[str, Rules] = {
    "embedding": Rules(
        symbols={"V": (1, 7, 40)},
        values={"input": below("V")},
        full=("V",),
        large={"*I": ((999,),), "D": (640,)},
    ),
    "select_last_token_hidden": Rules(
        symbols={"A": (1, 2), "R": (1, 2, 5), "T": (1, 4, 9)},
        values={
            "input_offsets": lambda draw, shape: np.concatenate(
                [[0], draw.integers(1, draw["A"] * draw["T"] + 1, shape[0] - 1)]
            )
        },
        kinds=("usual", "one"),
    ),
    "index_add": index_rules(scalars={}),
    "index_copy": index_rules(),
    "scatter": Rules(
        symbols={"*S": ((5,), (4, 6), (3, 5, 7)), "*U": scatter_updates},
        attributes={"reduction": (0, 1, 2)},
        values={"indices": scatter_indices},
        kinds=("usual", "one", "large"),
        large={"*S": ((150, 40),), "*U": scatter_updates},
    ),
    "argwhere": Rules(kinds=()),  # results in host memory: test_host_results.py,
    "masked_select": Rules(kinds=()),
    "mask_counts": masked(),
    "mask_rows": masked(counts=mask_counts),
    "mask_take": masked(counts=mask_counts),
    "mask_put": masked(counts=mask_counts),
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
        kinds=("usual", "one", "large"),
        large={"*S": ((60, 70),), "N": (200,), "*U": lambda draw: draw["*S"]},
    ),
    "take": Rules(
        values={"indices": lambda draw, shape: draw.integers(-1, math.prod(draw["*X"]) + 1, shape)},
        kinds=("usual", "one", "large"),
        large={},
    ),
}
