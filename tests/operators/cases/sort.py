"""Cases of sorting, searching and counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .values import between, often_equal


def one_less(draw: Draw) -> Any:
    """[*S] without `dim`, or with size 1 there; [1] instead of []."""
    sizes, dim = list(draw["*S"]), draw["dim"]
    if not sizes:
        return ()
    if draw["keepdim"]:
        sizes[dim] = 1
    else:
        del sizes[dim]
    return tuple(sizes) or (1,)


def check_order(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """k-th values or top-k: the values equal the reference's, and are found at the indices."""
    names = list(expected)
    values, places = got[names[0]], got[names[1]].astype(np.int64)
    data = inputs["input"]
    dim = draw["dim"] % max(data.ndim, 1)
    wanted = np.asarray(expected[names[0]]).reshape(values.shape)
    if data.ndim == 0:
        assert values == data
        return
    if draw.operator.name in ("kthvalue", "lower_median"):
        shape = [1 if i == dim else size for i, size in enumerate(data.shape)]
        values, places, wanted = (x.reshape(shape) for x in (values, places, wanted))
    elif not draw["sorted"]:
        wanted = np.sort(wanted, axis=dim)
        assert np.array_equal(np.sort(values, axis=dim), wanted)
        wanted = values
        chosen = np.sort(places, axis=dim)
        assert not (np.diff(chosen, axis=dim) == 0).any(), "an index comes twice"
    assert np.array_equal(values, wanted), "other values than the reference's"
    assert np.array_equal(np.take_along_axis(data, places, dim), values), "not where it is said"


_LONG = {"*S": ((9, 3203), (3000, 40), (200_003,), (2, 70_001), (4, 900, 3))}


def sequences(draw: Draw) -> Shape:
    """One for all rows of values, or one for each."""
    return (*(() if draw.seed % 4 == 1 else draw["*B"]), draw["N"])


def rows(draw: Draw) -> Shape:
    return (*draw["*B"], draw["V"]) if draw.seed % 2 or draw["*B"] else ()


def ascending(draw: Draw, shape: Shape) -> Any:
    return np.sort(draw.integers(0, 20, shape), axis=-1)


CASES: dict[str, Rules] = {
    "histc": Rules(
        attributes={"bins": (1, 10, 32), "min_val": (-2.0, -1.0), "max_val": (2.0, 1.5)},
        values={"x": lambda draw, shape: draw.integers(-40, 41, shape) / 16 + 1 / 64},
        large={"N": (300001,)},
    ),
    "topk": Rules(
        symbols={
            "*S": ((1,), (7,), (4, 33), (3, 5, 7)),
            "*V": lambda draw: draw["*S"],
        },
        attributes={
            "dim": lambda draw: int(draw.integers(0, len(draw["*S"]))),
            "k": lambda draw: int(draw.integers(1, draw["*S"][draw["dim"]] + 1)),
        },
        shapes={
            name: lambda draw: tuple(
                draw["k"] if i == draw["dim"] else size for i, size in enumerate(draw["*S"])
            )
            for name in ("values_output", "indices_output")
        },
        compare=check_order,
        kinds=("usual", "large"),
        large={"*S": ((9, 32003), (3000, 40)), "*V": lambda draw: draw["*S"]},
    ),
    "kthvalue": Rules(
        symbols={"*S": ((1,), (7,), (4, 33), (3, 5, 7))},
        attributes={
            "dim": lambda draw: int(draw.integers(-len(draw["*S"]), len(draw["*S"]))),
            "k": lambda draw: int(draw.integers(1, draw["*S"][draw["dim"]] + 1)),
            "keepdim": (0, 1),
        },
        shapes={"values": one_less, "indices": one_less},
        compare=check_order,
        kinds=("usual", "large"),
        large={"*S": ((9, 32003), (3000, 40))},
    ),
    "lower_median": Rules(
        symbols={"*S": ((1,), (7,), (4, 33), (3, 5, 7))},
        attributes={
            "dim": lambda draw: int(draw.integers(-len(draw["*S"]), len(draw["*S"]))),
            "skips": (0, 1),
            "keepdim": (0, 1),
        },
        shapes={"values": one_less, "indices": one_less},
        compare=check_order,
        kinds=("usual", "large"),
        large={"*S": ((9, 32003), (3000, 40))},
    ),
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
