"""Numbers for tests of collectives, and what NumPy makes of them. It brings no test framework:
ranks in processes of their own import it too."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from . import library as lib

NUMBERS = [name for name in lib.DTYPES if name not in ("bool", "complex64")]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


def draw(name: str, count: int, rank: int) -> Any:
    numbers = np.random.default_rng([rank, count]).integers(0, 5, count)
    return numbers.astype(np.float64).astype(dtype_of(name))


def combined(parts: list[Any], op: str) -> Any:
    """In float64, or exactly for integers."""
    kind = parts[0].dtype
    wide = np.float64 if kind.kind not in "iu" else np.int64
    stack = np.stack([part.astype(wide) for part in parts])
    if op == "avg":
        total = stack.sum(axis=0)
        return (total // len(parts) if wide is np.int64 else total / len(parts)).astype(kind)
    fold = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[op]
    result = fold(stack, axis=0)
    if kind == dtype_of("float8_e4m3fn"):
        result = np.minimum(result, 448)  # what is beyond its range becomes its end
    return result.astype(kind)
