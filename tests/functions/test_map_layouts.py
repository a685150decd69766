"""Elementwise functions of operands in random layouts: short rows, transposed, sliced, every second
element, broadcast. The results equal those of contiguous copies."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import infinicore as ic
from infinicore.nn import functional as F  # noqa: N812
from kit import seed

KINDS = ["float32", "float16", "bfloat16", "float64", "int32", "int64", "int8", "uint8", "bool"]
LAYOUTS = ("transposed", "sliced", "every second", "broadcast", "plain")


def values(rng: random.Random, kind: str, shape: tuple[int, ...]) -> ic.Tensor:
    numbers = np.random.default_rng(rng.randrange(1 << 30)).integers(-90, 90, shape)
    return ic.tensor(abs(numbers) if kind == "uint8" else numbers).to(getattr(ic, kind))


def operand(rng: random.Random, kind: str, shape: tuple[int, ...]) -> ic.Tensor:
    layout, axis = rng.choice(LAYOUTS), rng.randrange(len(shape))
    if layout == "transposed":
        order = rng.sample(range(len(shape)), len(shape))
        made = values(rng, kind, tuple(shape[i] for i in order))
        return made.permute(*(order.index(i) for i in range(len(shape))))
    larger = list(shape)
    if layout == "sliced":
        larger[axis] += 3
        return values(rng, kind, tuple(larger)).narrow(axis, 2, shape[axis])
    if layout == "every second":
        larger[axis] *= 2
        return values(rng, kind, tuple(larger))[(slice(None),) * axis + (slice(1, None, 2),)]
    if layout == "broadcast":
        larger[axis] = 1
        return values(rng, kind, tuple(larger)).expand(*shape)
    return values(rng, kind, shape)


def shape_of(rng: random.Random) -> tuple[int, ...]:
    sizes = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33, 61, 64, 70, 130, 260)
    while True:
        shape = tuple(rng.choice(sizes) for _ in range(rng.randint(1, 4)))
        if np.prod(shape) <= 40000:
            return shape


def same(found: Any, expected: Any) -> bool:
    a, b = (x.to(ic.float64).numpy(force=True) for x in (found, expected))
    return np.array_equal(a, b, equal_nan=True)


FUNCTIONS = {
    "neg": (1, ic.neg),
    "abs": (1, ic.abs),
    "exp": (1, lambda x: ic.exp(x * 0.01)),
    "to int8": (1, lambda x: x.to(ic.int8)),
    "to float32": (1, lambda x: x.to(ic.float32)),
    "maximum": (2, ic.maximum),
    "less": (2, ic.less),
    "mixed": (2, lambda a, b: ic.where(a > b, a, b)),
    "addcmul": (3, ic.addcmul),
    "triu": (1, lambda x: ic.triu(x, 1) if x.ndim > 1 else x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_layouts(name: str, kind: str) -> None:
    count, function = FUNCTIONS[name]
    if kind == "bool" and name in ("neg", "abs", "exp", "addcmul"):
        pytest.skip("not a function of bool")
    rng = seed.chance("layouts", name, kind)
    for _ in range(12):
        shape = shape_of(rng)
        given = [operand(rng, kind, shape) for _ in range(count)]
        expected = function(*(x.contiguous() for x in given))
        layouts = [(x.shape, x.stride()) for x in given]
        assert same(function(*given), expected), layouts
        if name in ("neg", "maximum"):
            room = ic.zeros(*shape[:-1], 2 * shape[-1], dtype=given[0].dtype)
            getattr(ic, name)(*given, out=room[..., ::2])
            assert same(room[..., ::2], expected), layouts
            assert not room[..., 1::2].to(ic.bool).any().item()


def test_one_value_for_all() -> None:
    for kind in ("float32", "bfloat16", "int8"):
        x = ic.tensor([-3.0]).to(getattr(ic, kind))
        for size in (1, 15, 1024, 1025, 40001):
            made = ic.neg(x.expand(size))
            assert made.shape == (size,) and (made == 3).all().item()


def pairs(kind: str) -> tuple[np.ndarray, np.ndarray]:
    limits = np.iinfo(kind)
    some = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 100, limits.max - 1, limits.max, limits.min]
    some += [] if limits.min == 0 else [-1, -2, -7, -100, limits.min + 1]
    a, b = np.meshgrid(np.array(some, kind), np.array(some, kind))
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64"])
def test_division_and_shifts_of_integers(kind: str) -> None:
    a, b = pairs(kind)
    x, y = ic.tensor(a), ic.tensor(b)
    p, q = a.astype(object), b.astype(object)  # exact

    def wrapped(numbers: list[int]) -> np.ndarray:
        return np.array([n & (2**64 - 1) for n in numbers], np.uint64).astype(np.int64).astype(kind)

    def checked(found: Any, numbers: list[int]) -> None:
        assert np.array_equal(found.numpy(force=True), wrapped(numbers))

    checked(ic.floor_divide(x, y), [m // n if n else 0 for m, n in zip(p, q, strict=True)])
    checked(ic.remainder(x, y), [m % n if n else 0 for m, n in zip(p, q, strict=True)])
    checked(
        ic.fmod(x, y),
        [(abs(m) % abs(n)) * (-1 if m < 0 else 1) if n else 0 for m, n in zip(p, q, strict=True)],
    )
    bits = np.iinfo(kind).bits
    counts = [n if 0 <= n < bits else bits for n in q]
    checked(ic.bitwise_left_shift(x, y), [m << n for m, n in zip(p, counts, strict=True)])
    checked(ic.bitwise_right_shift(x, y), [m >> n for m, n in zip(p, counts, strict=True)])


def test_bfloat16_functions_that_select_keep_nan() -> None:
    x = ic.tensor([float("nan"), -0.0, -float("inf"), 1e-40, -2.5]).to(ic.bfloat16)
    assert ic.abs(x).isnan().tolist() == [True, False, False, False, False]
    assert ic.maximum(x, x[4]).isnan()[0].item()
    assert ic.neg(x)[1:].tolist() == [-v for v in x[1:].tolist()]
    assert ic.floor(x)[4].item() == -3.0


def test_softshrink() -> None:
    x = ic.tensor([float("nan"), float("inf"), -float("inf"), 0.5, -0.5, 0.75, -2.0])
    found = F.softshrink(x, 0.5).tolist()
    assert np.isnan(found[0])
    assert found[1:] == [float("inf"), -float("inf"), 0.0, 0.0, 0.25, -1.5]
