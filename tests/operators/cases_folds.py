"""Cases of reductions, running values, sorting and counting; see cases.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .cases import between, one_of


def near_one(draw: Draw, shape: Shape) -> Any:
    """Numbers of which many have a product that no dtype finds too large."""
    if draw.main.startswith("F") or draw.main == "BF16":
        return np.exp(draw.normal(shape, 0.1)) * one_of(-1, 1)(draw, shape)
    return draw.integers(0, 2 if draw.main == "BOOL" else 100, shape)


def often_equal(draw: Draw, shape: Shape) -> Any:
    return draw.integers(0, 2 if draw.main == "BOOL" else 40, shape)


FOLDS = {
    "prod": Rules(values={"input": near_one}),
    "any": Rules(values={"input": one_of(0, 0, 0, 0, 0, 0, 0, 2)}),
    "all": Rules(values={"input": one_of(0, 1, 1, 1, 1, 1, 1, 1, 2)}),
    "argmax": Rules(values={"input": often_equal}, large={}),
    "argmin": Rules(values={"input": often_equal}, large={}),
}

_LARGE = {"*S": ((40, 403), (17, 9, 31), (300, 70), (3, 5000), (2, 300, 30))}
_LONG = {"*S": ((9, 3203), (3000, 40), (200_003,), (2, 70_001), (4, 900, 3))}

SCANS = {
    "cumsum": Rules(large={}),
    "cumprod": Rules(values={"input": near_one}, large={}),
    "cummax": Rules(values={"input": often_equal}, large=_LARGE),
    "cummin": Rules(values={"input": often_equal}, large=_LARGE),
}


def sequences(draw: Draw) -> Shape:
    """One for all rows of values, or one for each."""
    return (*(() if draw.seed % 4 == 1 else draw["*B"]), draw["N"])


def rows(draw: Draw) -> Shape:
    return (*draw["*B"], draw["V"]) if draw.seed % 2 or draw["*B"] else ()


def ascending(draw: Draw, shape: Shape) -> Any:
    return np.sort(draw.integers(0, 20, shape), axis=-1)


ORDER = {
    "sort": Rules(values={"input": often_equal}, large=_LONG),
    "searchsorted": Rules(
        shapes={"output": rows, "sorted_sequence": sequences, "values": rows},
        values={"sorted_sequence": ascending, "values": between(0, 22)},
        large={"*B": ((), (7,)), "N": (300, 5), "V": (1000,)},
    ),
    "bincount": Rules(
        attributes={"length": (0, 1, 7, 40)},
        values={"input": between(-3, 43)},
        large={"N": (200_003,)},
    ),
}
