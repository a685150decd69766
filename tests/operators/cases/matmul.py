"""Cases of matrix products."""

from __future__ import annotations

from kit.drawing import Rules

from .values import normal

CASES: dict[str, Rules] = {
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
        values={"x": normal(0.4)},
        tolerance=1.0,
        kinds=("usual", "one", "empty", "large"),
        large={"N": (100,)},
    ),
}
