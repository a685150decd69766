"""Data for tests of collectives, and the results that NumPy computes. It does not import a test
framework because ranks in other processes import it too."""

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
        result = np.minimum(result, 448)  # clamped to the range of e4m3
    return result.astype(kind)


# ---- Numbers that expose errors ------------------------------------------------------------------

INTEGERS = [name for name in NUMBERS if dtype_of(name).kind in "iu"]
# Largest exponents of base 2 with which a sum of eight elements cannot overflow the type of
# computation.
REACH = {"float8_e4m3fn": 8, "float16": 14, "bfloat16": 100, "float32": 100, "float64": 900}


def draw_hard(name: str, count: int, rank: int, ranks: int, op: str = "sum") -> Any:
    """The data of rank `rank` of `ranks`: columns of eight kinds in turn, each of which exposes
    some plausible mistake of a reduction."""
    kind = dtype_of(name)
    random = np.random.default_rng([rank, ranks, count])
    column = np.arange(count)
    sort, turn = column % 8, column // 8 % ranks
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        numbers = random.integers(limits.min, limits.max, count, kind, endpoint=True)
        # All below zero: a maximum that starts at 0 gives 0. All of one sign: sums wrap.
        below = random.integers(limits.min, min(0, limits.min // 2) or 9, count, kind)
        return np.where(sort == 0, below, np.where(sort == 1, limits.max, numbers)).astype(kind)
    step = float(ml_dtypes.finfo(kind).eps)
    reach = 2 if op == "prod" else REACH[name]  # products of eight stay in range
    fraction = random.uniform(0.1, 3, count)
    wide = random.choice([-1.0, 1.0], count) * 2 ** random.uniform(-reach, reach, count)
    # Each summand alone is rounded away when added to the first, but their sum is not.
    trap = np.full(count, 1.0 if rank == 0 or op == "prod" else step / 4)
    trap *= 1 + step if op == "prod" else 1
    chosen, next_one = turn == rank, (turn + 1) % ranks == rank
    opposite = np.where(chosen, np.inf, np.where(next_one, -np.inf, fraction))
    numbers = np.select(
        [sort == 0, sort == 1, sort == 2, sort == 3, sort == 4, sort == 5, sort == 6],
        [
            -fraction,
            fraction,
            wide,
            np.where(chosen, np.nan, fraction),
            np.where(chosen, -np.inf, fraction),
            opposite,
            trap,
        ],
        random.normal(0, 10, count) if op != "prod" else -fraction,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(kind)


def agrees(got: Any, parts: list[Any], op: str, rounds_once: bool = True) -> bool:
    """Whether a result can be that of `op` over the parts, computed in the type of computation and
    rounded once. Where it is not rounded once, each step may round to the parts' type."""
    kind = parts[0].dtype
    if kind.kind in "iu":
        return bool(np.array_equal(got, _combined_integers(parts, op)))
    wide: Any = np.longdouble if kind == np.float64 else np.float64
    stack = np.stack([part.astype(wide) for part in parts])
    if op in ("max", "min"):
        return _same((np.max if op == "max" else np.min)(stack, axis=0), got.astype(wide))
    step = float(ml_dtypes.finfo(kind if not rounds_once else np.float32).eps)
    unit = wide(ml_dtypes.finfo(np.float64).eps if kind == np.float64 else step) / 2
    with np.errstate(all="ignore"):
        exact = np.prod(stack, axis=0) if op == "prod" else stack.sum(axis=0)
        size = np.abs(exact) if op == "prod" else np.abs(stack).sum(axis=0)
        if op == "avg":
            exact, size = exact / len(parts), size / len(parts)
        # One rounding for each operation, of which there are as many as ranks with the division.
        slack = np.where(np.isfinite(size), 1.001 * len(parts) * unit * size, 0)
        low, high = (_rounded(exact + sign * slack, kind) for sign in (-1, 1))
    found = got.astype(wide)
    inside = (low.astype(wide) <= found) & (found <= high.astype(wide))
    return bool(np.all(inside | (np.isnan(exact) & np.isnan(found))))


def _same(a: Any, b: Any) -> bool:
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))


def _rounded(numbers: Any, kind: np.dtype[Any]) -> Any:
    if kind == dtype_of("float8_e4m3fn"):
        numbers = np.clip(numbers, -448, 448)  # clamped to the range of e4m3
    return numbers.astype(kind)


def _combined_integers(parts: list[Any], op: str) -> Any:
    """Sums and products wrap. Averages round towards 0; up to 32 bits their sums do not wrap."""
    kind, stack = parts[0].dtype, np.stack(parts)
    if op in ("max", "min"):
        return (np.max if op == "max" else np.min)(stack, axis=0)
    wide = np.dtype(np.int64 if kind.kind == "i" else np.uint64)
    if op == "avg":
        total = stack.astype(wide).sum(axis=0, dtype=wide)
        ranks = wide.type(len(parts))
        return ((total - np.fmod(total, ranks)) // ranks).astype(kind)
    fold = np.prod if op == "prod" else np.sum
    return fold(stack.astype(np.uint64), axis=0, dtype=np.uint64).astype(kind)
