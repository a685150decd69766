"""Cases of reductions."""

from __future__ import annotations

import math

from kit.drawing import Rules

from .values import near_one, often_equal, one_of

CASES: dict[str, Rules] = {
    "dist": Rules(attributes={"p": (0.0, 1.0, 2.0, 3.0, math.inf)}, large={}),
    "cdist": Rules(
        attributes={"p": (0.5, 1.0, 2.0, 3.0, math.inf)},
        symbols={"*B": ((), (2,), (3,))},
        large={"*B": ((2,),), "P": (130,), "R": (70,), "D": (64,)},
    ),
    "prod": Rules(values={"input": near_one}),
    "any": Rules(values={"input": one_of(0, 0, 0, 0, 0, 0, 0, 2)}),
    "all": Rules(values={"input": one_of(0, 1, 1, 1, 1, 1, 1, 1, 2)}),
    "argmax": Rules(values={"input": often_equal}, large={}),
    "argmin": Rules(values={"input": often_equal}, large={}),
}
