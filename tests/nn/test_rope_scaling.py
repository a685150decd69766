"""Rotary embeddings for longer sequences against the formulas in float64."""

from __future__ import annotations

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
    assert nn.YarnRopeScalingConfig.max_seq_len(4.0, 4096) == 16384
