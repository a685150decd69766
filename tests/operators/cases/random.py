"""Cases of random numbers and samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules

from .values import separated


def check_sample(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """Any index with the same logit as the reference's is valid."""
    logits = np.atleast_2d(inputs["probs"])
    for row, ours, theirs in zip(
        logits, np.ravel(got["result"]), np.ravel(expected["result"]), strict=True
    ):
        assert row[int(ours)] == row[int(theirs)], (int(ours), int(theirs))


PLACES: dict[str, Any] = {
    "seed": (0, 1, 2**40 + 12345, 2**63 - 1),
    "offset": (0, 7, 2**32 - 1, 2**63 - 2),
}


CASES: dict[str, Rules] = {
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
    "random_uniform": Rules(scalars={**PLACES, "low": (0.0, -2.5), "high": (1.0, 3.25)}, large={}),
    "random_normal": Rules(
        scalars={**PLACES, "mean": (0.0, 10.0), "std": (1.0, 0.0, 2.5)}, noise=8.0, large={}
    ),
    "random_integers": Rules(
        scalars={**PLACES, "low": (0, -100, -(2**62)), "high": (2, 100, 2**62)}, large={}
    ),
}
