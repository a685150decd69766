"""Shapes and layouts at random, against ref."""

from __future__ import annotations

import random
from typing import Any

import pytest

import infinicore
from kit import ref
from kit.place import put

ROUNDS = 60


def drawn(choose: random.Random, shape: list[int]) -> tuple[ref.Tensor, Any]:
    """A tensor in some layout: permuted, strided, or broadcast."""
    order = list(range(len(shape)))
    choose.shuffle(order)
    steps = [choose.choice((1, 1, 2)) for _ in shape]
    whole = ref.randn([shape[d] * steps[d] for d in order], dtype=ref.float64)
    back = [order.index(d) for d in range(len(shape))]
    ours = put(whole)
    key = tuple(slice(None, None, steps[d]) for d in range(len(shape)))
    if not shape:
        return whole, ours
    return whole.permute(back)[key], ours.permute(*back)[key]


def shape_of(choose: random.Random, least: int = 0, most: int = 4) -> list[int]:
    return [choose.choice((0, 1, 1, 2, 3, 5)) for _ in range(choose.randint(least, most))]


def fitting(choose: random.Random, shape: list[int]) -> list[int]:
    """A shape that broadcasts to another."""
    kept = shape[choose.randint(0, len(shape)) :]
    return [1 if choose.random() < 0.3 else size for size in kept]


def same(made: Any, expected: ref.Tensor, *what: Any) -> None:
    made = ref.of(made)
    assert made.shape == expected.shape, what
    ref.assert_close(made, expected, equal_nan=True, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("seed", range(4))
def test_broadcasting(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        shape = shape_of(choose)
        (x, a), (y, b), (z, c) = (
            drawn(choose, each) for each in (shape, fitting(choose, shape), fitting(choose, shape))
        )
        same(infinicore.add(a, b), ref.add(x, y), shape)
        same(infinicore.sub(b, a), ref.sub(y, x), shape)
        same(infinicore.where(c > 0, a, b), ref.where(z > 0, x, y), shape)
        same(infinicore.lerp(a, b, c), ref.lerp(x, y, z), shape)
        same(a * b + c.exp(), x * y + z.exp(), shape)


@pytest.mark.parametrize("seed", range(4))
def test_matmul(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        batch = shape_of(choose, 0, 3)
        m, k, n = (choose.choice((0, 1, 2, 5)) for _ in range(3))
        left = [k] if choose.random() < 0.2 else [*fitting(choose, batch), m, k]
        right = [k] if choose.random() < 0.2 else [*fitting(choose, batch), k, n]
        (x, a), (y, b) = drawn(choose, left), drawn(choose, right)
        same(infinicore.matmul(a, b), ref.matmul(x, y), left, right)


@pytest.mark.parametrize("seed", range(4))
def test_reductions(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        shape = shape_of(choose, 1)
        x, a = drawn(choose, shape)
        dims = tuple(choose.sample(range(-len(shape), 0), choose.randint(1, len(shape))))
        keep = choose.random() < 0.5
        same(infinicore.sum(a, dims, keep), ref.sum(x, dims, keep), shape, dims)
        same(infinicore.mean(a, dims, keep), ref.mean(x, dims, keep), shape, dims)
        same(infinicore.any(a > 1, dims, keep), ref.any(x > 1, dims, keep), shape, dims)
        same(infinicore.cumsum(a, dims[0]), ref.cumsum(x, dims[0]), shape, dims)
        if all(shape):
            same(infinicore.amax(a, dims, keep), ref.amax(x, dims, keep), shape, dims)
            same(infinicore.logsumexp(a, dims, keep), ref.logsumexp(x, dims, keep), shape, dims)
            same(infinicore.sort(a, dims[0])[0], ref.sort(x, dims[0])[0], shape, dims)


@pytest.mark.parametrize("seed", range(4))
def test_shapes(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        shape = shape_of(choose, 1)
        dim = choose.randrange(-len(shape), len(shape))
        parts = []
        for _ in range(choose.randint(1, 3)):
            size = list(shape)
            size[dim] = choose.choice((0, 1, 4))
            parts.append(drawn(choose, size))
        x, a = drawn(choose, shape)
        tensors = [*(p[0] for p in parts), x]
        made = infinicore.cat([*(p[1] for p in parts), a], dim)
        same(made, ref.cat(tensors, dim), shape, dim)
        same(infinicore.stack([a, a], dim), ref.stack([x, x], dim), shape, dim)
        same(infinicore.flip(a, [dim]), ref.flip(x, [dim]), shape, dim)
        same(infinicore.roll(a, 2, dim), ref.roll(x, 2, dim), shape, dim)
        times = [choose.choice((0, 1, 2)) for _ in range(choose.randint(1, 3))]
        same(infinicore.tile(a, times), ref.tile(x, times), shape, times)
        if len(shape) > 1:
            offset = choose.randint(-2, 2)
            same(infinicore.tril(a, offset), ref.tril(x, offset), shape, offset)
            same(infinicore.diagonal(a, offset), ref.diagonal(x, offset), shape, offset)
        if shape[dim]:
            count = choose.choice((0, 1, 3))
            index = ref.randint(0, shape[dim], (count,))
            ours = put(index)
            same(infinicore.index_select(a, dim, ours), ref.index_select(x, dim, index), shape)
            same(infinicore.movedim(a, dim, 0), ref.movedim(x, dim, 0), shape)
