"""The expected results of an operator, and their tolerances.

The reference is the definition in float64. A result was computed in F32 (F64 for F64) and rounded
once. The effect of rounding is measured: the definition is computed again with each input in turn
perturbed by an ulp of the arithmetic's type, and an output may be off by a multiple of the
resulting changes.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from spec.operators.language.numeric import FORMATS, epsilon, round_to

from .drawing import FLOATS, Draw

MARGIN = 16.0  # times the sum of the changes


def evaluate(draw: Draw, inputs: dict[str, Any]) -> list[Any]:
    """The definition's results, one for each written tensor; None for absent ones."""
    operator = draw.operator
    given: dict[str, Any] = {**draw.attributes, **draw.scalars}
    given.update({t.name: inputs.get(t.name) for t in operator.tensors if t.read})
    given.update({name: inputs.get(name) for name in draw.extra if name in inputs})
    shapes = {**draw.shapes, **{name: extra.shape for name, extra in draw.extra.items()}}
    given["shapes"] = {name: shape for name, shape in shapes.items() if shape is not None}
    extra_dtypes = {name: extra.dtype for name, extra in draw.extra.items()}
    given["dtypes"] = {**draw.dtypes, **extra_dtypes}
    parameters = inspect.signature(operator.definition).parameters
    chosen = {name: _copied(given[name]) for name in parameters if name in given}
    with np.errstate(all="ignore"):
        result = operator.definition(**chosen)
    return list(result) if isinstance(result, tuple | list) else [result]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def tolerances(
    draw: Draw,
    inputs: dict[str, Any],
    expected: list[Any],
    names: list[str],
    repeats: bool = False,
) -> Any:
    """The tolerance of every element of each result. `repeats`: inputs repeat elements."""
    moved = [np.zeros(np.shape(result)) for result in expected]
    rng = np.random.default_rng(0)
    for moving in inputs:
        changed = _moved(draw, rng, moving, inputs[moving])
        if changed is None:
            continue
        again = evaluate(draw, {**inputs, moving: changed})
        for result, other, sum_ in zip(expected, again, moved, strict=True):
            if result is None or np.size(result) == 0:
                continue
            with np.errstate(all="ignore"):
                change = np.abs(np.asarray(other, np.float64) - np.asarray(result, np.float64))
                sum_ += np.nan_to_num(change, posinf=0.0)
    if draw.operator.family != "elementwise":
        # Changes of many inputs of one sum may cancel, so the tolerance has a lower bound.
        with np.errstate(all="ignore"):
            moved = [np.maximum(m, np.sqrt(np.mean(m * m)) if m.size else 0.0) for m in moved]
    return [
        None if result is None else _tolerance(draw, name, result, most, repeats)
        for result, most, name in zip(expected, moved, names, strict=True)
    ]


def _arithmetic(dtype: str) -> float:
    return 2.0**-52 if dtype == "F64" else 2.0**-23


def _moved(draw: Draw, rng: Any, name: str, x: Any) -> Any:
    """Perturbs an input; None if that is impossible: integers and codes."""
    dtype = draw.dtypes.get(name, draw.extra[name].dtype if name in draw.extra else "")
    if x is None or dtype not in FLOATS or dtype == "F8":
        return None
    if isinstance(x, list):
        return [_moved(draw, rng, name, each) for each in x]
    signs = rng.integers(0, 2, np.shape(x)) * 2 - 1
    with np.errstate(all="ignore"):
        return x * (1 + signs * _arithmetic(dtype))


def _systematic(draw: Draw, dtype: str) -> float:
    """In ulps of the arithmetic. Sums of equal numbers are always rounded in the same direction, so
    errors accumulate instead of averaging out; in float64, so do those of the reference."""
    shapes = [
        each
        for shape in draw.shapes.values()
        if shape is not None
        for each in (shape if isinstance(shape, list) else [shape])
    ]
    most = max((math.prod(shape) for shape in shapes), default=1)
    return most / 8 if dtype == "F64" else math.sqrt(most)


def _tolerance(draw: Draw, name: str, result: Any, moved: Any, repeats: bool) -> Any:
    dtype = draw.extra[name].dtype if name in draw.extra else draw.dtypes[name]
    if dtype not in FLOATS:
        return np.zeros(np.shape(result))
    size = np.abs(np.nan_to_num(np.asarray(result, np.float64), posinf=0.0, neginf=0.0))
    relative = 8 * _arithmetic(dtype)
    least = 0.0
    if dtype in FORMATS:
        digits, lowest, _ = FORMATS[dtype]
        least = 2.0 ** (lowest - digits + 1)  # the smallest number
        relative += 0.5 * epsilon(dtype) if dtype not in ("F32", "F64") else 0.0
    with np.errstate(all="ignore"):
        allowed = size * relative + least + MARGIN * moved
    scale = float(size.max(initial=0.0))
    noise = draw.rules.tolerance * epsilon(dtype) + draw.rules.noise * _arithmetic(dtype)
    if repeats and draw.operator.family != "elementwise":
        noise += _systematic(draw, dtype) * _arithmetic(dtype)
    return allowed + noise * scale


def fitted(name: str, result: Any, shape: tuple[int, ...]) -> Any:
    """A result in the shape of the output: unchanged, without dimensions of size 1, or
    broadcast."""
    result = np.asarray(result)
    if result.size == np.prod(shape, dtype=np.int64):
        return result.reshape(shape)
    try:
        return np.broadcast_to(result, shape)
    except ValueError:
        raise AssertionError(f"{name}: the definition has shape {result.shape}") from None


def compare(name: str, dtype: str, got: Any, expected: Any, allowed: Any) -> None:
    """Raises an error with the worst element if a result is out of tolerance."""
    expected, allowed = fitted(name, expected, got.shape), fitted(name, allowed, got.shape)
    if dtype not in FLOATS:
        bad = got != expected.astype(got.dtype)
    else:
        wanted = round_to(expected.astype(np.float64), dtype)
        with np.errstate(all="ignore"):
            bad = ~(np.abs(got - expected) <= allowed)
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        # Near overflow, infinity and the largest number are considered adjacent.
        bad &= ~same
    if not bad.any():
        return
    with np.errstate(all="ignore"):
        off = np.where(bad, np.nan_to_num(np.abs(got - expected) / (allowed + 1e-300), nan=1e30), 0)
    worst = np.unravel_index(int(np.argmax(off)), off.shape)
    raise AssertionError(
        f"{name}: {int(bad.sum())} of {bad.size} are off; at {tuple(map(int, worst))} it is "
        f"{got[worst]!r}, expected {expected[worst]!r} within {allowed[worst]:.3g}"
    )
