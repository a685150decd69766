"""Fused steps must do what the operators would have done one after the other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import infinicore
from kit import seed

N = 33


def square(draw: int, dtype: Any = np.float32) -> Any:
    values = np.random.default_rng(draw).integers(-9, 9, (N, N))
    return infinicore.from_numpy(values.astype(dtype))


def both_ways(body: Any, *inputs: Any) -> None:
    """Eagerly, and in a graph: results and inputs are the same."""
    mine = [tensor.clone() for tensor in inputs]
    at_once = body(*mine)
    with infinicore.record() as made:
        result = body(*inputs)
    made.graph.run()
    np.testing.assert_allclose(
        result.numpy(force=True), at_once.numpy(force=True), rtol=1e-4, atol=1e-4
    )
    for tensor, other in zip(inputs, mine, strict=True):
        np.testing.assert_allclose(
            tensor.numpy(force=True), other.numpy(force=True), rtol=1e-4, atol=1e-4
        )


def test_written_transposed_after_it_was_read() -> None:
    def body(x: Any, y: Any) -> Any:
        infinicore.add(x.T, x.T, out=x)
        greatest = infinicore.maximum(y, x)
        y.mul_(x.T)  # writes y in another order than the previous operator, which reads y
        return greatest

    both_ways(body, square(0, np.int64), square(1, np.int64))


def test_factor_of_a_product_is_written_behind_it() -> None:
    def body(x: Any, y: Any) -> Any:
        result = (y @ x) * 0.5
        x.sub_(x)
        return result - x

    both_ways(body, square(0), square(1))


@pytest.mark.parametrize("copied", [False, True])
def test_casts_round_wherever_they_stand(copied: bool) -> None:
    def body(x: Any) -> Any:
        x.add_(x)
        half = x.to(infinicore.float16)
        if copied:
            half = half.clone()
        rest = -x.floor()
        return infinicore.where(x < half, rest, x)

    values = np.random.default_rng(0).standard_normal((N, N))
    both_ways(body, infinicore.from_numpy(values))


@pytest.mark.parametrize("step", [1, -1])
def test_views_that_lie_over_each_other_in_a_body(step: int) -> None:
    @infinicore.function
    def body(x: Any) -> Any:
        front, back = x[:-1], x[1:]
        (back if step > 0 else front).add_(front if step > 0 else back)
        return x * 1

    values = np.arange(5000, dtype=np.int64)
    wanted = values.copy()
    if step > 0:
        wanted[1:] += values[:-1]
    else:
        wanted[:-1] += values[1:]
    for _ in range(2):
        assert (body(infinicore.from_numpy(values.copy())).numpy(force=True) == wanted).all()


def test_arguments_that_lie_over_each_other() -> None:
    @infinicore.function
    def body(x: Any, y: Any) -> Any:
        y.add_(x * 2 + 1)
        return y

    values = np.arange(5000, dtype=np.float32)
    tensor = infinicore.from_numpy(values.copy())
    apart = infinicore.zeros(4999)
    body(infinicore.ones(4999), apart)  # a recipe for disjoint tensors exists
    assert (apart == 3).all().item()
    body(tensor[:-1], tensor[1:])
    np.testing.assert_array_equal(tensor[1:].numpy(force=True), values[1:] + values[:-1] * 2 + 1)


# ---- Random programs ----------------------------------------------------------------------------

KINDS = {
    "float32": np.float32,
    "float64": np.float64,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "bool": np.bool_,
}


def program(chance: random.Random) -> list[tuple[str, list[float]]]:
    names = [
        "binary",
        "unary",
        "cast",
        "compare",
        "view",
        "inplace",
        "shift",
        "row",
        "number",
        "out",
    ]
    return [
        (chance.choice(names), [chance.random() for _ in range(4)])
        for _ in range(chance.randint(3, 12))
    ]


def one_of(items: list[Any], number: float) -> Any:
    return items[int(number * len(items))]


def perform(steps: list[tuple[str, list[float]]], inputs: list[Any]) -> list[Any]:
    pool = list(inputs)
    for name, numbers in steps:
        a = one_of(pool, numbers[0])
        b = one_of([t for t in pool if t.shape == a.shape], numbers[1])
        made = apply(name, a, b, numbers[2], pool)
        if made is not None:
            pool.append(made)
    return pool


def apply(name: str, a: Any, b: Any, number: float, pool: list[Any]) -> Any:
    is_truth, is_float = a.dtype is infinicore.bool, a.dtype.is_floating_point
    fits = infinicore.result_type(a, b)
    if name == "cast":
        kinds = [k for k in KINDS if k != "uint8" or not is_float]
        return a.to(getattr(infinicore, one_of(kinds, number)))
    if name == "compare":
        return one_of([infinicore.lt, infinicore.ge, infinicore.eq], number)(a, b)
    if name == "view":
        return one_of([a.transpose(0, -1), a.flip(0), a[1:], a[..., ::2], a.reshape(-1)], number)
    if is_truth:
        return infinicore.logical_not(a) if name == "unary" else None
    if name == "binary":
        functions = [infinicore.add, infinicore.mul, infinicore.sub, infinicore.maximum]
        return one_of(functions, number)(a, b)
    if name == "unary":
        floats = [infinicore.tanh, infinicore.abs, infinicore.floor, infinicore.neg]
        return one_of(floats, number)(a) if is_float else ~a
    if name == "number":
        return one_of([a * 2, 3 - a, a + 1], number)
    if name == "row" and a.shape[-1] > 0:
        return infinicore.amax(a, dim=-1, keepdim=True).expand(*a.shape)
    if name == "out":
        target = one_of([t for t in pool if t.shape == a.shape], number)
        if fits is target.dtype and (0 not in target.stride() or target.numel() < 2):
            infinicore.add(a, b, out=target)
    elif fits is a.dtype and (0 not in a.stride() or a.numel() < 2) and a.shape[-1] > 1:
        if name == "inplace":
            one_of([a.add_, a.mul_, a.sub_], number)(b)
        elif name == "shift":
            a[..., 1:] += a[..., :-1]
    return None


def values_of(chance: random.Random, shape: tuple[int, ...], kind: str) -> Any:
    count = int(np.prod(shape))
    if kind == "bool":
        return np.array([chance.random() < 0.5 for _ in range(count)]).reshape(shape)
    if kind.startswith("float"):
        numbers = [round(chance.uniform(-2, 2), 2) for _ in range(count)]
    else:
        numbers = [float(chance.randint(0, 9)) for _ in range(count)]
    return np.array(numbers).astype(KINDS[kind]).reshape(shape)


@pytest.mark.parametrize("number", range(60))
def test_random_programs(number: int) -> None:
    chance = seed.chance("fusion", number)
    shape = chance.choice([(3, 4), (4, 4), (2, 3, 4), (8,), (1, 5), (16, 16)])
    arrays = [values_of(chance, shape, chance.choice(list(KINDS))) for _ in range(3)]
    steps = program(chance)

    def inputs() -> list[Any]:
        tensors = [infinicore.from_numpy(array.copy()) for array in arrays]
        return [*tensors, tensors[0].transpose(0, -1), tensors[0][1:]]

    def check(results: list[Any], wanted: list[Any]) -> None:
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(force=True), other, rtol=1e-4, atol=1e-4)

    wanted = [tensor.numpy(force=True).copy() for tensor in perform(steps, inputs())]

    given = inputs()
    with infinicore.record() as made:
        results = perform(steps, given)
    made.graph.run()
    check(results, wanted)
    for tensor, array in zip(given, arrays, strict=False):
        tensor.copy_(infinicore.from_numpy(array.copy()))
    made.graph.run()
    check(results, wanted)

    @infinicore.function
    def body(x: Any, y: Any, z: Any) -> Any:
        return tuple(perform(steps, [x, y, z, x.transpose(0, -1), x[1:]])[5:])

    for _ in range(2):
        given = [infinicore.from_numpy(array.copy()) for array in arrays]
        check([*given, *body(*given)], [*wanted[:3], *wanted[5:]])
