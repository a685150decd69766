"""Cases of Fourier transforms, compared at the scale of the largest element."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules

from .linalg import near


def check(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    largest = max(np.abs(each).max(initial=0.0) for each in expected.values())
    for name, wanted in expected.items():
        near(draw, name, got[name], wanted, largest)


def lines(**more: Any) -> Rules:
    return Rules(
        symbols={
            "*B": ((), (2,), (3, 4), (19,), (2, 17)),
            "N": (1, 2, 3, 8, 12, 30, 37, 64, 77, 100, 128, 130, 167),
            **more.pop("symbols", {}),
        },
        attributes={
            "inverse": (0, 1),
            "scale": (1.0, 0.25),
            "ndim": lambda draw: int(draw.integers(1, len(draw["*B"]) + 2)),
            **more.pop("attributes", {}),
        },
        compare=check,
        kinds=("usual", "one", "empty", "scalar", "large"),
        large={"*B": ((40,),), "N": (1000,)},
    )


CASES: dict[str, Rules] = {
    "fft": lines(),
    "rfft": lines(),
    "irfft": lines(
        symbols={"H": lambda draw: draw["N"] // 2 + 1}, attributes={"size": lambda draw: draw["N"]}
    ),
}
