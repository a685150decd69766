"""Functions at the limits of their types."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import infinicore
from infinicore import tensor
from kit import ref
from kit.place import put


def repeated(values: list[int], counts: list[int]) -> list[int]:
    return infinicore.repeat_interleave(tensor(values), tensor(counts)).tolist()  # type: ignore[no-any-return]


def test_repeat_interleave_by_a_tensor() -> None:
    assert repeated([1, 2, 3], [2, 0, 1]) == [1, 1, 3]
    assert repeated([1], [0]) == []
    rows = infinicore.repeat_interleave(tensor([[1, 2], [3, 4]]), tensor([1, 2]), 1)
    assert rows.tolist() == [[1, 2, 2], [3, 4, 4]]
    assert infinicore.repeat_interleave(tensor([2, 0, 1])).tolist() == [0, 0, 2]
    empty = infinicore.zeros(0, dtype=infinicore.int64)
    assert infinicore.repeat_interleave(empty, empty).tolist() == []


@pytest.mark.parametrize("counts", [[2**40, 1], [2**62, 2**62], [2**63 - 1, 2**63 - 1]], ids=str)
def test_repeat_interleave_more_often_than_memory_has(counts: list[int]) -> None:
    """Raises immediately: a list of this many indices would exhaust the memory first."""
    with pytest.raises((MemoryError, RuntimeError), match=r"no memory|repeat_interleave"):
        repeated([1, 2], counts)


def test_repeat_interleave_refuses() -> None:
    for counts, text in (([1, -1], "0 or more"), ([1, 2, 3], "2 repeats")):
        with pytest.raises(RuntimeError, match=text):
            repeated([1, 2], counts)
    with pytest.raises(TypeError, match="repeats has type"):
        infinicore.repeat_interleave(tensor([1, 2]), tensor([1.5, 1.0]))
    with pytest.raises(RuntimeError, match="output_size is 5: expected 3"):
        infinicore.repeat_interleave(tensor([1, 2]), tensor([1, 2]), output_size=5)


EDGES = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_nextafter(kind: str) -> None:
    """By definition: no value of the type is between a number and the next one."""
    dtype = getattr(ref, kind)
    limits = [float(np.finfo(np.float16).max), 6e-8] if kind == "float16" else [1e-38]
    pairs = list(itertools.product(EDGES + limits, repeat=2))
    a, b = (np.array(each).astype(dtype) for each in zip(*pairs, strict=True))
    made = ref.of(infinicore.nextafter(put(ref.Tensor(a)), put(ref.Tensor(b)))).array
    assert made.dtype == a.dtype
    bits = np.dtype(f"i{a.dtype.itemsize}")
    for x, y, got in zip(a, b, made, strict=True):
        if math.isnan(x) or math.isnan(y):
            assert math.isnan(got)
        elif x == y:
            assert got == y
        else:
            assert (x < got <= y) if x < y else (y <= got < x), (x, y, got)
            steps = abs(int(got.view(bits)) - int(x.view(bits)))
            assert abs(float(got)) == abs(float(np.int64(1).astype(bits).view(a.dtype))) or (
                steps == 1
            ), (x, y, got)


def lerp(start: np.ndarray, end: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Computed from the nearer end, so that both ends are exact."""
    with np.errstate(all="ignore"):
        way = end - start
        return np.where(np.abs(weight) < 0.5, start + weight * way, end - way * (1 - weight))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_lerp_of_infinities(kind: str) -> None:
    dtype, weights = getattr(infinicore, kind), [0.0, 0.25, 0.5, 0.75, 1.0, 2.0, -1.0, math.nan]
    rows = list(itertools.product([0.0, 1.0, -2.0, math.inf, -math.inf, math.nan], repeat=2))
    start, end = (list(each) for each in zip(*rows, strict=True))
    for weight in weights:
        expected = lerp(np.array(start), np.array(end), np.full(len(rows), weight))
        a, b = tensor(start, dtype=dtype), tensor(end, dtype=dtype)
        for given in (weight, infinicore.full((len(rows),), weight, dtype=dtype)):
            np.testing.assert_array_equal(infinicore.lerp(a, b, given).tolist(), expected)


def test_lerp_is_exact_at_its_ends() -> None:
    a, b = tensor([1e8, 0.1, -7.3]), tensor([1.0, 3e7, 1e-9])
    assert infinicore.lerp(a, b, 0.0).tolist() == a.tolist()
    assert infinicore.lerp(a, b, 1.0).tolist() == b.tolist()


def doubles(values: list[float]) -> infinicore.Tensor:
    return tensor(values, dtype=infinicore.float64)


def pairs_of_doubles() -> list[tuple[float, float]]:
    """Quotients that are whole, nearly whole, tiny and huge; 13 of them do not fill vectors."""
    rng = np.random.default_rng(3)
    pairs = [(float(a), float(b)) for a, b in rng.uniform(-9, 9, (200, 2))]
    for b in rng.uniform(-3, 3, 100):
        whole = float(b) * int(rng.integers(-1000, 1000))
        pairs += [(math.nextafter(whole, to), float(b)) for to in (-math.inf, whole, math.inf)]
    pairs += [(float(a) * 5e-324, b * 5e-324) for a in range(-9, 10) for b in (-3, 2)]
    pairs += [(1e308, 3e-308), (-1e300, 7.0), (5e-324, -1e10), (2.0**53, 3.0), (0.0, -2.0)]
    pairs += [(1.0, math.inf), (-1.0, math.inf), (math.nan, 1.0), (1.0, math.nan)]
    return pairs * 3 + pairs[:13]


def equal_bits(made: list[float], wanted: list[float]) -> bool:
    return all(
        (math.isnan(x) and math.isnan(y)) or (x == y and math.copysign(1, x) == math.copysign(1, y))
        for x, y in zip(made, wanted, strict=True)
    )


def test_quotients_of_doubles_are_exact() -> None:
    pairs = pairs_of_doubles()
    a, b = (doubles(list(each)) for each in zip(*pairs, strict=True))
    assert equal_bits(infinicore.fmod(a, b).tolist(), [math.fmod(x, y) for x, y in pairs])
    finite = [i for i, (_, y) in enumerate(pairs) if math.isfinite(y)]
    a, b = (doubles([pairs[i][side] for i in finite]) for side in (0, 1))
    assert equal_bits(
        infinicore.remainder(a, b).tolist(), [pairs[i][0] % pairs[i][1] for i in finite]
    )
    wanted = [pairs[i][0] // pairs[i][1] for i in finite]
    assert equal_bits(infinicore.floor_divide(a, b).tolist(), wanted)


def power(x: float, y: float) -> float:
    """math.pow, with results where that raises errors."""
    is_odd = math.fmod(y, 2) in (1, -1) if math.isfinite(y) else False
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.copysign(math.inf, x) if is_odd else math.inf
    except ValueError:
        if x:
            return math.nan
        return math.copysign(math.inf, x) if is_odd else math.inf


def test_powers_of_doubles() -> None:
    """At most 2 units in the last place from the C library; its special cases."""
    rng = np.random.default_rng(4)
    bases = [
        *np.exp(rng.uniform(-700, 700, 500)).tolist(),
        *(1 + rng.normal(0, 1e-9, 500)).tolist(),
    ]
    bases += [5e-324 * k for k in (1, 3, 1000)]
    pairs = [(x, rng.uniform(-700, 700) / (math.log(x) or 1)) for x in bases]
    pairs += [(x, y) for x in bases[:50] for y in (2.0, 0.5, -1.0, 3.0)]
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, 1e-310, 5e-324, -5e-324, 1e300]
    special += [math.inf, -math.inf, math.nan, 2.0**53, -(2.0**52) - 1]
    pairs += itertools.product(special, repeat=2)
    wanted = [power(x, y) for x, y in pairs]
    a, b = (doubles(list(each)) for each in zip(*pairs, strict=True))
    for pair, x, y in zip(pairs, infinicore.pow(a, b).tolist(), wanted, strict=True):
        if math.isfinite(y) and y != 0:
            assert abs(x - y) <= 2 * math.ulp(y), (*pair, x, y)
        else:
            assert equal_bits([x], [y]), (*pair, x, y)


@pytest.mark.parametrize("kind", ["float64", "float32", "bfloat16"])
def test_sums_overflow_where_running_sums_do(kind: str) -> None:
    """Neighbours add up to infinity, but not after the elements before them."""
    huge = 1.7e308 if kind == "float64" else 3e38
    x = tensor([-huge, huge, huge, -huge] * 25 + [1.0], dtype=getattr(infinicore, kind))
    values = x.double().tolist()
    running = list(itertools.accumulate(values))
    assert infinicore.cumsum(x, 0).double().tolist() == running
    x[50] = math.inf
    made = infinicore.cumsum(x, 0).double().tolist()
    assert made[:50] == running[:50] and all(math.isinf(each) for each in made[50:])


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def test_quotients_of_large_integers() -> None:
    """Below 2^51 they are divided as doubles, eight at a time."""
    edges = [0, 1, 2, 3, 7, 100, 2**31, 2**50 - 1, 2**51 - 1, 2**51, 2**51 + 1, 2**53 + 1, 2**62]
    edges += [-x for x in edges] + [2**63 - 1, -(2**63)]
    pairs = list(itertools.product(edges, repeat=2))
    pairs.sort(key=lambda pair: max(map(abs, pair)))  # vectors of small numbers, then of large ones
    for kept in (pairs, [(a, b) for a, b in pairs for _ in range(16)]):
        a, b = (np.array(each, np.int64) for each in zip(*kept, strict=True))
        x, y = put(ref.Tensor(a)), put(ref.Tensor(b))
        made = {
            "floor": infinicore.floor_divide(x, y),
            "trunc": infinicore.div(x, y, rounding_mode="trunc"),
            "remainder": infinicore.remainder(x, y),
            "fmod": infinicore.fmod(x, y),
            "gcd": infinicore.gcd(x, y),
            "lcm": infinicore.lcm(x, y),
        }
        got = {name: ref.of(each).array.tolist() for name, each in made.items()}
        for i, (p, q) in enumerate(kept):
            sign = -1 if (p < 0) != (q < 0) else 1
            trunc = sign * (abs(p) // abs(q)) if q else 0
            wanted = {
                "floor": p // q if q else 0,
                "trunc": trunc,
                "remainder": p % q if q else 0,
                "fmod": p - trunc * q if q else 0,
                "gcd": math.gcd(p, q),
                "lcm": math.lcm(p, q),
            }
            for name, value in wanted.items():
                assert got[name][i] == _wrapped(value), (name, p, q)
