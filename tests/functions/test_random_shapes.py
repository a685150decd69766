"""Shapes and layouts at random, against torch."""

from __future__ import annotations

import random
from typing import Any

import pytest

import infinicore
from kit.functions import to_torch
from kit.place import put
from kit.requirements import need

torch = need("torch")

ROUNDS = 60


def drawn(choose: random.Random, shape: list[int]) -> tuple[torch.Tensor, Any]:
    """A tensor in some layout: dimensions in another order, with gaps, or repeated."""
    order = list(range(len(shape)))
    choose.shuffle(order)
    steps = [choose.choice((1, 1, 2)) for _ in shape]
    whole = torch.randn([shape[d] * steps[d] for d in order], dtype=torch.float64)
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


def same(made: Any, expected: torch.Tensor, *what: Any) -> None:
    made = to_torch(made)
    assert made.shape == expected.shape, what
    torch.testing.assert_close(made, expected, equal_nan=True, msg=lambda text: f"{what}: {text}")


@pytest.mark.parametrize("seed", range(4))
def test_broadcasting(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        shape = shape_of(choose)
        (x, a), (y, b), (z, c) = (
            drawn(choose, each) for each in (shape, fitting(choose, shape), fitting(choose, shape))
        )
        same(infinicore.add(a, b), torch.add(x, y), shape)
        same(infinicore.sub(b, a), torch.sub(y, x), shape)
        same(infinicore.where(c > 0, a, b), torch.where(z > 0, x, y), shape)
        same(infinicore.lerp(a, b, c), torch.lerp(x, y, z), shape)
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
        same(infinicore.matmul(a, b), torch.matmul(x, y), left, right)


@pytest.mark.parametrize("seed", range(4))
def test_reductions(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(ROUNDS):
        shape = shape_of(choose, 1)
        x, a = drawn(choose, shape)
        dims = tuple(choose.sample(range(-len(shape), 0), choose.randint(1, len(shape))))
        keep = choose.random() < 0.5
        same(infinicore.sum(a, dims, keep), torch.sum(x, dims, keep), shape, dims)
        same(infinicore.mean(a, dims, keep), torch.mean(x, dims, keep), shape, dims)
        same(infinicore.any(a > 1, dims, keep), torch.any(x > 1, dims, keep), shape, dims)
        same(infinicore.cumsum(a, dims[0]), torch.cumsum(x, dims[0]), shape, dims)
        if all(shape):
            same(infinicore.amax(a, dims, keep), torch.amax(x, dims, keep), shape, dims)
            same(infinicore.logsumexp(a, dims, keep), torch.logsumexp(x, dims, keep), shape, dims)
            same(infinicore.sort(a, dims[0])[0], torch.sort(x, dims[0])[0], shape, dims)


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
        same(made, torch.cat(tensors, dim), shape, dim)
        same(infinicore.stack([a, a], dim), torch.stack([x, x], dim), shape, dim)
        same(infinicore.flip(a, [dim]), torch.flip(x, [dim]), shape, dim)
        same(infinicore.roll(a, 2, dim), torch.roll(x, 2, dim), shape, dim)
        times = [choose.choice((0, 1, 2)) for _ in range(choose.randint(1, 3))]
        same(infinicore.tile(a, times), torch.tile(x, times), shape, times)
        if len(shape) > 1:
            offset = choose.randint(-2, 2)
            same(infinicore.tril(a, offset), torch.tril(x, offset), shape, offset)
            same(infinicore.diagonal(a, offset), torch.diagonal(x, offset), shape, offset)
        if shape[dim]:
            count = choose.choice((0, 1, 3))
            index = torch.randint(0, shape[dim], (count,))
            ours = put(index)
            same(infinicore.index_select(a, dim, ours), torch.index_select(x, dim, index), shape)
            same(infinicore.movedim(a, dim, 0), torch.movedim(x, dim, 0), shape)
