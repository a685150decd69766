"""What the declarations cannot say, for drawing cases: one entry for an operator that needs it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

Values = Callable[[Draw, Shape], Any]

# ---- Values -------------------------------------------------------------------------------------


def between(low: int, high: int) -> Values:
    """Integers from low to high - 1."""
    return lambda draw, shape: draw.integers(low, high, shape)


def below(name: str, low: int = 0, beyond: int = 0) -> Values:
    """Integers that index a dimension of that size; up to `beyond` too large."""
    return lambda draw, shape: draw.integers(low, draw[name] + beyond, shape)


def spread(by: float, least: float | None = None) -> Values:
    """Normal numbers; with `least` their sizes above it."""

    def make(draw: Draw, shape: Shape) -> Any:
        drawn = draw.normal(shape, by)
        return drawn if least is None else np.abs(drawn) + least

    return make


def one_of(*options: float) -> Values:
    return lambda draw, shape: np.asarray(options)[draw.integers(0, len(options), shape)]


def distinct(limit: Callable[[Draw], int], low: int = 0) -> Values:
    """Different integers below the limit, as far as there are enough; -1 for the others."""

    def make(draw: Draw, shape: Shape) -> Any:
        count = math.prod(shape)
        found = draw.rng.permutation(np.arange(low, limit(draw)))[:count]
        return np.concatenate([found, np.full(count - found.size, -1)]).reshape(shape)

    return make


def separated(draw: Draw, shape: Shape) -> Any:
    """Numbers that stay apart in every dtype, so that their order is beyond doubt."""
    row = shape[-1] if shape else 1
    steps = draw.rng.permuted(np.broadcast_to(np.arange(row), shape), axis=-1)
    return (steps - row // 2) / 8.0


def prefix_sums(total: Callable[[Draw], int]) -> Values:
    """Offsets from 0 to the total, ascending."""

    def make(draw: Draw, shape: Shape) -> Any:
        inner = np.sort(draw.integers(0, total(draw) + 1, shape[0] - 2)) if shape[0] > 2 else []
        return np.concatenate([[0], inner, [total(draw)]])[: shape[0]]

    return make


# ---- Elementwise, norms, losses -----------------------------------------------------------------


def same_or_f32(draw: Draw) -> str:
    """The dtype of a norm's weight: that of the activations; for 16-bit ones also the others."""
    if draw.main in ("F16", "BF16"):
        return str(draw.choose(("F16", "BF16", "F32")))
    return draw.main


def nonzero(draw: Draw, shape: Shape) -> Any:
    if draw.main.startswith("F") or draw.main == "BF16":
        return draw.normal(shape, 1.5)
    return one_of(-7, -3, -2, -1, 1, 2, 3, 50)(draw, shape)


def labels(name: str) -> Values:
    return below(name, -1, 1)


ELEMENTWISE = {
    "bitwise_right_shift": Rules(values={"x1": between(-120, 120), "x2": between(-3, 70)}),
    "floor_divide": Rules(values={"b": nonzero}),
    "ldexp": Rules(
        dtypes={"exp": lambda draw: draw.choose((draw.main, "I32", "I64"))},
        values={"exp": between(-6, 7)},
    ),
    "float_power": Rules(values={"x": spread(2.0, 0.1)}),
    "hardtanh": Rules(attributes={"min_val": (-1.0, -0.5), "max_val": (0.5, 2.0)}),
    "equal": Rules(values={"a": between(-3, 3), "b": between(-3, 3)}),
    # Differences of nearly equal numbers, as everybody computes them.
    **{
        name: Rules(noise=2.0)
        for name in (
            "gelu",
            "gelutanh",
            "tanhshrink",
            "lerp",
            "logaddexp",
            "logaddexp2",
        )
    },
    "mul_scalar": Rules(scalars={"alpha": (0.5, -1.75, 3.1415926)}),
    "histc": Rules(
        attributes={"bins": (1, 10, 32), "min_val": (-2.0, -1.0), "max_val": (2.0, 1.5)},
        values={"x": lambda draw, shape: draw.integers(-40, 41, shape) / 16 + 1 / 64},
        large={"N": (300001,)},
    ),
}

NORMS = {
    "rms_norm": Rules(dtypes={"w": same_or_f32}),
    "add_rms_norm": Rules(
        dtypes={"weight": same_or_f32},
        tolerance=0.6,
    ),
    "causal_softmax": Rules(large={"*B": ((3,),), "L": (200,), "T": (517,)}),
    "lp_norm": Rules(attributes={"p": (1, 2, 3)}),
    "logcumsumexp": Rules(attributes={"exclusive": (0, 1), "reverse": (0, 1)}, noise=8.0, large={}),
}

LOSSES = {
    "cross_entropy": Rules(values={"target": labels("V")}, symbols={"V": (1, 5, 33)}),
    "multi_margin_loss": Rules(values={"target": labels("C")}, symbols={"C": (1, 3, 17)}),
    "gaussian_nll_loss": Rules(values={"var": spread(1.0, 0.1)}, attributes={"full": (0, 1)}),
    "hinge_embedding_loss": Rules(values={"target": one_of(-1, 1)}),
    "triplet_margin_loss": Rules(
        attributes={"p": (1, 2, 3), "swap": (0, 1), "eps": (1e-6,)}, noise=64.0
    ),
    "triplet_margin_with_distance_loss": Rules(attributes={"swap": (0, 1)}, noise=64.0),
}


REDUCTIONS = {
    "dist": Rules(attributes={"p": (0.0, 1.0, 2.0, 3.0, math.inf)}, large={}),
    "cdist": Rules(
        attributes={"p": (0.5, 1.0, 2.0, 3.0, math.inf)},
        symbols={"*B": ((), (2,), (3,))},
        large={"*B": ((2,),), "P": (130,), "R": (70,), "D": (64,)},
    ),
    "logdet": Rules(symbols={"N": (1, 2, 3, 5, 8, 33)}, tolerance=64.0, kinds=("usual", "one")),
}


# ---- Copies, indices, order ---------------------------------------------------------------------


def rows_of(draw: Draw) -> int:
    return int(draw["*S"][draw["dim"]])


def like_input(draw: Draw) -> Shape:
    """The input's sizes, but along `dim` as many as there are indices."""
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
    """Different ones along the axis, where updates are assigned; any otherwise."""
    size = draw["*S"][draw["axis"]]
    if draw["reduction"]:
        return draw.integers(-1, size + 1, shape)
    places = np.moveaxis(np.empty(shape, np.int64), draw["axis"], -1)
    for place in np.ndindex(places.shape[:-1]):
        places[place] = draw.rng.permutation(size)[: shape[draw["axis"]]]
    return np.moveaxis(places, -1, draw["axis"])


def blocks_of(draw: Draw) -> list[Shape]:
    return [(int(draw.integers(1, 5)), int(draw.integers(1, 6))) for _ in range(draw["num_inputs"])]


def around_blocks(draw: Draw) -> Shape:
    found = blocks_of(draw)
    draw.shapes["x"] = found
    return sum(s[0] for s in found), sum(s[1] for s in found)


def one_less(draw: Draw) -> Any:
    """[*S] without `dim`, or with 1 there; [1] for what would be []."""
    sizes, dim = list(draw["*S"]), draw["dim"]
    if not sizes:
        return ()
    if draw["keepdim"]:
        sizes[dim] = 1
    else:
        del sizes[dim]
    return tuple(sizes) or (1,)


def check_order(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """The k-th or the best: the values are the reference's, and stand where the indices say."""
    names = list(expected)
    values, places = got[names[0]], got[names[1]].astype(np.int64)
    data = inputs["input"]
    dim = draw["dim"] % max(data.ndim, 1)
    wanted = np.asarray(expected[names[0]]).reshape(values.shape)
    if data.ndim == 0:
        assert values == data
        return
    if draw.operator.name == "kthvalue":
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


INDEXING = {
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
    "block_diag": Rules(
        attributes={"num_inputs": (1, 2, 5)},
        shapes={"y": around_blocks, "x": lambda draw: draw.shapes["x"]},
        kinds=("usual",),
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
    "argwhere": Rules(kinds=()),  # results in host memory: test_host_results.py
    "masked_select": Rules(kinds=()),
}


def check_sample(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """Any index will do whose logit is that of the reference's."""
    logits = np.atleast_2d(inputs["probs"])
    for row, ours, theirs in zip(
        logits, np.ravel(got["result"]), np.ravel(expected["result"]), strict=True
    ):
        assert row[int(ours)] == row[int(theirs)], (int(ours), int(theirs))


SAMPLING = {
    "random_sample": Rules(
        dtypes={"probs": ("F16", "BF16", "F32", "F64")},
        symbols={"V": (1, 5, 100), "B": (1,)},
        shapes={"result": lambda draw: (), "probs": lambda draw: (draw["V"],)},
        scalars={
            "random_val": (0.0, 0.25, 0.8125),
            "topp": (0.0, 0.7, 1.0),
            "topk": (1, 3, 20),
            "temperature": (0.0, 0.5, 2.0),
            "batch_size": (1,),
        },
        values={"probs": separated},
        compare=check_sample,
        kinds=("usual", "one", "large"),
        large={"V": (127,)},
    ),
}


def all_cases() -> dict[str, Rules]:
    from .cases_elementwise import PRIMITIVES
    from .cases_experts import MOE, QUANTISED
    from .cases_folds import FOLDS, ORDER, SCANS
    from .cases_images import IMAGE_CASES
    from .cases_models import ATTENTION, FP8, RECURRENCES, ROTARY
    from .cases_tensors import FACTORS, PICKING, RANDOM
    from .cases_windows import COPIES, PRODUCTS, RESAMPLING, WINDOWS

    tables = (
        *(
            ELEMENTWISE,
            PRIMITIVES,
            NORMS,
            LOSSES,
            REDUCTIONS,
            INDEXING,
            PICKING,
            SAMPLING,
            RANDOM,
            FACTORS,
        ),
        *(WINDOWS, RESAMPLING, COPIES, PRODUCTS, IMAGE_CASES),
        *(FOLDS, SCANS, ORDER),
        *(ROTARY, ATTENTION, FP8, MOE, QUANTISED, RECURRENCES),
    )
    return {name: rules for table in tables for name, rules in table.items()}
