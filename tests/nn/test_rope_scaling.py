"""Rotary embeddings for longer sequences against the formulas in float64."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest

from infinicore import nn
from kit.rope_tables import HALF, SCALINGS, expected_tables


def made(name: str, original: int, numbers: list[float], theta: float) -> Any:
    values = [float(np.float32(number)) for number in numbers]
    if name == "longrope":
        short, long = values[1 : 1 + HALF], values[1 + HALF :]
        return nn.LongRopeScalingConfig(short, long, original, values[0])
    if name == "llama3":
        return nn.Llama3RopeScalingConfig(*values, original)
    if name == "yarn":
        return nn.YarnRopeScalingConfig(values[0], original, 2 * HALF, theta, *values[1:])
    return None


@pytest.mark.parametrize("case", SCALINGS)
def test_tables(case: str) -> None:
    (name, original, numbers), theta, length = SCALINGS[case]
    scaling = made(name, original, numbers, theta)
    rope = nn.RoPE(length, theta, 2 * HALF, scaling=scaling)
    exact = expected_tables((name, original, numbers), theta, length)
    for table, expected in zip((rope.sin_table, rope.cos_table), exact, strict=True):
        assert np.abs(np.array(table.tolist()) - expected).max() < 1e-6


def test_refusals() -> None:
    with pytest.raises(ValueError, match="LongRopeScalingConfig: long_factor has 1 numbers"):
        nn.LongRopeScalingConfig([1.0, 2.0], [1.0], 8)
    with pytest.raises(ValueError, match="short_factor has 2 numbers: expected 4"):
        nn.RoPE(8, 100.0, 8, scaling=nn.LongRopeScalingConfig([1.0, 2.0], [1.0, 2.0], 4))
    with pytest.raises(ValueError, match=r"high_freq_factor is 1\.0: expected more than"):
        nn.Llama3RopeScalingConfig(8.0, 4.0, 1.0, 8192)
    with pytest.raises(ValueError, match="YarnRopeScalingConfig: factor is 0"):
        nn.YarnRopeScalingConfig(0, 128, 8, 10000.0)
    with pytest.raises(ValueError, match="YarnRopeScalingConfig: mscale_all_dim is -20"):
        nn.YarnRopeScalingConfig(4.0, 128, 8, 10000.0, mscale_all_dim=-20)
    assert nn.YarnRopeScalingConfig.max_seq_len(4.0, 4096) == 16384


STRANGE = [0, 1, -1, 0.5, math.nan, math.inf, None, "x", [], {}, True, 1e308, 1e-320, 10**400, 2]


class Refused(Exception):  # noqa: N818 - as it should be
    """A ValueError that names a setting."""


def make(kind: Any, given: list[Any]) -> None:
    try:
        kind(*given)
    except ValueError as error:
        names = inspect.signature(kind).parameters
        raise (Refused if any(name in str(error) for name in names) else AssertionError) from error


@pytest.mark.parametrize(
    ("kind", "usual"),
    [
        (nn.LongRopeScalingConfig, ([1.0, 2.0], [1.0, 2.0], 128, 2.0)),
        (nn.Llama3RopeScalingConfig, (8.0, 1.0, 4.0, 8192)),
        (nn.YarnRopeScalingConfig, (4.0, 128, 8, 10000.0, 32, 1, 1, 0)),
    ],
)
def test_strange_settings_are_named(kind: Any, usual: tuple[Any, ...]) -> None:
    names = inspect.signature(kind).parameters
    places = [i for i, name in enumerate(names) if name != "rotary_dim"]
    for pair in itertools.combinations(places, 2):
        for values in itertools.product([*STRANGE, [1.0, 0.0]], repeat=2):
            given = list(usual)
            for place, value in zip(pair, values, strict=True):
                given[place] = value
            with contextlib.suppress(Refused):
                make(kind, given)


def test_the_logarithm_of_one_is_no_divisor() -> None:
    with pytest.raises(ValueError, match="original_max_position_embeddings is 1: expected 2"):
        nn.LongRopeScalingConfig([1.0], [1.0], 1, 4.0)
    assert nn.LongRopeScalingConfig([1.0], [1.0], 1).magnitude == 1
