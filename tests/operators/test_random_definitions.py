"""Random numbers: the words of other implementations, and the distribution of the numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spec.operators import REGISTRY
from spec.operators.declarations.random.random import philox

COUNT = 300_000


def numbers(name: str, dtype: str, count: int = COUNT, offset: int = 0, **more: Any) -> Any:
    definition = REGISTRY[f"random_{name}"].definition
    shapes = {"y": (count,)}
    return definition(seed=2026, offset=offset, dtypes={"y": dtype}, shapes=shapes, **more)


def test_words_are_those_that_the_authors_published() -> None:
    assert philox(0, 0, 4).tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_a_block_depends_on_its_number_alone() -> None:
    words = philox(3, 2**64 - 1, 40)
    assert np.array_equal(words[4:], philox(3, 0, 36))
    assert len(set(words.tolist())) == 40
    assert not np.array_equal(philox(3 + 2**32, 0, 36), words[4:])
    for dtype, blocks in (("F32", 25), ("F64", 50)):
        for name, more in (("uniform", {"low": 0, "high": 1}), ("normal", {"mean": 0, "std": 1})):
            whole = numbers(name, dtype, 200, **more)
            assert np.array_equal(whole[100:], numbers(name, dtype, 100, blocks, **more))


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32", "F64"])
def test_uniform(dtype: str) -> None:
    u = numbers("uniform", dtype, low=0.0, high=1.0)
    digits = {"F16": 11, "BF16": 8, "F32": 24, "F64": 53}[dtype]
    assert u.min() >= 0
    assert u.max() < 1
    assert (np.modf(u * 2.0**digits)[0] == 0).all()
    counts = np.histogram(u, 64, (0, 1))[0]
    expected = COUNT / 64
    assert ((counts - expected) ** 2 / expected).sum() < 63 + 5 * math.sqrt(2 * 63)
    scaled = numbers("uniform", dtype, low=-3.0, high=5.0)
    np.testing.assert_allclose(scaled, 8 * u - 3, atol=1e-12)


@pytest.mark.parametrize("dtype", ["F32", "F64"])
def test_normal(dtype: str) -> None:
    from scipy import special

    z = numbers("normal", dtype, mean=0.0, std=1.0)
    places = np.sort(special.ndtr(z))
    distance = np.abs(places - (np.arange(COUNT) + 0.5) / COUNT).max()
    assert distance < 1.95 / math.sqrt(COUNT)  # Kolmogorov and Smirnov, 0.1 %
    assert abs((z[::2] * z[1::2]).mean()) < 4 / math.sqrt(COUNT / 2)
    np.testing.assert_allclose(numbers("normal", dtype, mean=4.0, std=0.5), 4 + z / 2, atol=1e-12)


def test_integers() -> None:
    drawn = numbers("integers", "I32", low=-5, high=12)
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == list(range(-5, 12))
    expected = COUNT / 17
    assert ((counts - expected) ** 2 / expected).sum() < 16 + 5 * math.sqrt(32)
    wide = numbers("integers", "I64", 1000, low=-(2**63), high=2**63 - 1)
    assert abs(wide.astype(float).mean()) < 2**63 / math.sqrt(3000) * 4
    assert np.array_equal(
        numbers("integers", "I8", low=0, high=300),
        numbers("integers", "I64", low=0, high=300).astype(np.int8),
    )
