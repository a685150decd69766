"""Result types of operations on tensors of different types and on scalars, as in ref."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import infinicore
from kit import ref
from kit.functions import KINDS
from kit.place import put

NAMES = ["add", "mul", "div", "eq", "lt", "maximum", "pow", "floor_divide", "atan2", "logical_and"]
VALUES = {name: ref.ones(2, 3).to(kind) for name, kind in KINDS.items()}
NUMBERS: list[Any] = [True, 2, 2.5]


def both(name: str, one: Any, other: Any) -> tuple[Any, Any]:
    """The results of the reference and of infinicore, or the reference's error."""
    ours = [put(e) if isinstance(e, ref.Tensor) else e for e in (one, other)]
    try:
        expected: Any = getattr(ref, name)(one, other)
    except (RuntimeError, TypeError) as error:
        return error, None
    return expected, getattr(infinicore, name)(*ours)


def same(name: str, one: Any, other: Any) -> None:
    expected, made = both(name, one, other)
    if isinstance(expected, Exception):  # A rejected case tests nothing here.
        return
    assert ref.of(made).dtype == expected.dtype, (name, one, other)
    ref.assert_close(ref.of(made), expected)


@pytest.mark.parametrize("name", NAMES)
def test_tensors(name: str) -> None:
    for one, other in itertools.product(VALUES.values(), VALUES.values()):
        same(name, one, other)


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_no_dimensions(name: str) -> None:
    for one, other in itertools.product(VALUES.values(), VALUES.values()):
        same(name, one, other[0, 0].clone())


@pytest.mark.parametrize("name", NAMES)
def test_numbers(name: str) -> None:
    for one, other in itertools.product(VALUES.values(), NUMBERS):
        same(name, one, other)


def test_where_and_cat() -> None:
    mask = ref.tensor([[True, False, True], [False, True, False]])
    held = put(mask)
    for one, other in itertools.product(VALUES.values(), VALUES.values()):
        a, b = put(one), put(other)
        for made, expected in (
            (infinicore.where(held, a, b), ref.where(mask, one, other)),
            (infinicore.cat([a, b]), ref.cat([one, other])),
            (infinicore.stack([a, b]), ref.stack([one, other]))
            if one.dtype == other.dtype
            else (infinicore.cat([b, a]), ref.cat([other, one])),
        ):
            assert ref.of(made).dtype == expected.dtype
            ref.assert_close(ref.of(made), expected)


def test_types_of_out() -> None:
    x = infinicore.tensor([1.5, -2.5])
    for kind in (infinicore.float16, infinicore.float64):
        out = infinicore.empty(2, dtype=kind)
        assert infinicore.add(x, x, out=out) is out
        assert out.tolist() == [3.0, -5.0]
    for kind in (infinicore.int32, infinicore.bool):
        for name in ("exp", "square", "cumulative_trapezoid"):
            with pytest.raises(TypeError, match="out has type"):
                getattr(infinicore, name)(x, out=infinicore.empty(2, dtype=kind))
    assert infinicore.lt(x, 0, out=infinicore.empty(2)).tolist() == [0.0, 1.0]


def test_numbers_change() -> None:
    """A scalar is not part of the cached recipe: another value gives another result."""
    x = infinicore.zeros(3)
    for number in (1, 2, 3.5, True):
        assert (x + number).tolist() == [number] * 3
        assert infinicore.clamp(x, min=number).tolist() == [number] * 3
        assert infinicore.where(x == 0, number, x).tolist() == [number] * 3


def test_limits() -> None:
    for name in ("float32", "float16", "bfloat16", "float64"):
        ours, theirs = (
            infinicore.finfo(getattr(infinicore, name)),
            ml_dtypes.finfo(getattr(ref, name)),
        )
        for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            right = pytest.approx(float(getattr(theirs, field)), rel=2e-3)  # in its own type
            assert getattr(ours, field) == right, (name, field)
    for name in ("int8", "uint8", "int16", "int32", "int64"):
        whole, other = (
            infinicore.iinfo(getattr(infinicore, name)),
            np.iinfo(getattr(ref, name)),
        )
        assert (whole.bits, whole.min, whole.max) == (other.bits, other.min, other.max)
    with pytest.raises(TypeError, match="finfo"):
        infinicore.finfo(infinicore.int32)
    with pytest.raises(TypeError, match="iinfo"):
        infinicore.iinfo(infinicore.float32)


def test_questions() -> None:
    x = infinicore.ones(2, 3)
    assert infinicore.is_tensor(x) and not infinicore.is_tensor(3)
    assert infinicore.is_floating_point(x) and not infinicore.is_complex(x)
    assert infinicore.numel(x) == 6
    assert infinicore.is_nonzero(infinicore.tensor([2])) is True
    assert infinicore.can_cast(infinicore.int32, infinicore.float16) is True
    assert infinicore.can_cast(infinicore.float16, infinicore.int32) is False
