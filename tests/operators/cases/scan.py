"""Cases of scans."""

from __future__ import annotations

from kit.drawing import Draw, Rules, Shape

from .values import near_one, often_equal

_LARGE = {"*S": ((40, 403), (17, 9, 31), (300, 70), (3, 5000), (2, 300, 30))}


def diff_output(draw: Draw) -> Shape:
    sizes = list(draw["*X"])
    sizes[draw["dim"]] = max(sizes[draw["dim"]] - draw["n"], 0)
    return tuple(sizes)


CASES: dict[str, Rules] = {
    "logcumsumexp": Rules(attributes={"exclusive": (0, 1), "reverse": (0, 1)}, noise=8.0, large={}),
    "cumsum": Rules(large={}),
    "cumprod": Rules(values={"input": near_one}, large={}),
    "cummax": Rules(values={"input": often_equal}, large=_LARGE),
    "cummin": Rules(values={"input": often_equal}, large=_LARGE),
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
}
