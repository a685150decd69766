"""Scaling of rotary embeddings for sequences longer than those of the training.

The parameters are those of a checkpoint's `rope_scaling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from infinicore.functions._checks import expect

__all__ = [
    "Llama3RopeScalingConfig",
    "LongRopeScalingConfig",
    "RopeScalingConfig",
    "YarnRopeScalingConfig",
]

_MOST = 1e12  # of a number in a configuration, so that results stay finite


class RopeScalingConfig:
    """No scaling; the base of the others."""

    #: The factor of sines and cosines.
    magnitude = 1.0

    def freq_scales(self, inv_freq: Sequence[float]) -> list[tuple[int, list[float]]]:
        """(first position, factor of each frequency) for each range of positions, in order."""
        return [(0, [1.0] * len(inv_freq))]


class LongRopeScalingConfig(RopeScalingConfig):
    """LongRoPE: frequencies are divided by a factor for each pair, the short ones at positions
    within the training length, the long ones beyond. `factor` is the ratio of the context
    lengths."""

    def __init__(
        self,
        short_factor: Sequence[float],
        long_factor: Sequence[float],
        original_max_position_embeddings: int,
        factor: float = 1.0,
    ) -> None:
        name = type(self).__name__
        _need_original(name, original_max_position_embeddings)
        _need_positive(name, "factor", factor)
        for argument, factors in (("short_factor", short_factor), ("long_factor", long_factor)):
            expect(hasattr(factors, "__len__"), name, argument, factors, "a list of numbers")
            for i, each in enumerate(factors):
                _need_positive(name, f"{argument}[{i}]", each)
        if len(short_factor) != len(long_factor):
            raise ValueError(
                f"{name}: long_factor has {len(long_factor)} numbers: expected"
                f" {len(short_factor)}, as many as short_factor"
            )
        self.short_factor, self.long_factor = list(short_factor), list(long_factor)
        self.original_max_position_embeddings = original_max_position_embeddings
        self.factor = factor
        if factor > 1:
            original = original_max_position_embeddings
            field = "original_max_position_embeddings"  # the logarithm is a divisor
            expect(original > 1, name, field, original, "2 or more, with a factor above 1")
            self.magnitude = math.sqrt(1 + math.log(factor) / math.log(original))

    def freq_scales(self, inv_freq: Sequence[float]) -> list[tuple[int, list[float]]]:
        if len(inv_freq) != len(self.short_factor):
            raise ValueError(
                f"LongRopeScalingConfig: short_factor has {len(self.short_factor)} numbers:"
                f" expected {len(inv_freq)}, one for each pair"
            )
        return [
            (0, [1 / each for each in self.short_factor]),
            (self.original_max_position_embeddings, [1 / each for each in self.long_factor]),
        ]


class Llama3RopeScalingConfig(RopeScalingConfig):
    """Llama 3: low frequencies are divided by the factor, high ones unchanged, with a linear
    transition in between."""

    def __init__(
        self,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> None:
        name = type(self).__name__
        _need_positive(name, "factor", factor)
        _need_positive(name, "low_freq_factor", low_freq_factor)
        _need_positive(name, "high_freq_factor", high_freq_factor)
        _need_original(name, original_max_position_embeddings)
        if high_freq_factor <= low_freq_factor:
            raise ValueError(
                f"{name}: high_freq_factor is {high_freq_factor}: expected more than"
                f" low_freq_factor, which is {low_freq_factor}"
            )
        self.factor = factor
        self.low_freq_factor, self.high_freq_factor = low_freq_factor, high_freq_factor
        self.original_max_position_embeddings = original_max_position_embeddings

    def freq_scales(self, inv_freq: Sequence[float]) -> list[tuple[int, list[float]]]:
        def scale(frequency: float) -> float:
            turns = self.original_max_position_embeddings * frequency / (2 * math.pi)
            kept = _ramp(turns, self.low_freq_factor, self.high_freq_factor)
            return kept + (1 - kept) / self.factor

        return [(0, [scale(each) for each in inv_freq])]


class YarnRopeScalingConfig(RopeScalingConfig):
    """YaRN: like Llama 3, with the transition between the pairs that rotate `beta_fast` and
    `beta_slow` times within the original context, and scaled sines and cosines."""

    def __init__(
        self,
        factor: float,
        original_max_position_embeddings: int,
        rotary_dim: int,
        rope_theta: float,
        beta_fast: float = 32,
        beta_slow: float = 1,
        mscale: float = 1,
        mscale_all_dim: float = 0,
    ) -> None:
        name = type(self).__name__
        given = {"factor": factor, "beta_fast": beta_fast, "beta_slow": beta_slow}
        for argument, value in {**given, "rope_theta": rope_theta}.items():
            _need_positive(name, argument, value)
        _need_original(name, original_max_position_embeddings)
        expect(rope_theta > 1, name, "rope_theta", rope_theta, "more than 1")
        self.factor = factor
        self.original_max_position_embeddings = original_max_position_embeddings

        def pair(turns: float) -> float:
            wide = math.log(original_max_position_embeddings / (turns * 2 * math.pi))
            return rotary_dim * wide / (2 * math.log(rope_theta))

        self._low = float(max(math.floor(pair(beta_fast)), 0))
        self._high = float(min(math.ceil(pair(beta_slow)), rotary_dim - 1))

        def magnitude(weight: float) -> float:
            return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

        for argument, value in {"mscale": mscale, "mscale_all_dim": mscale_all_dim}.items():
            ok = _is_number(value) and 0 <= value <= _MOST
            expect(ok, name, argument, value, "0 or a number above")
        self.magnitude = magnitude(mscale) / magnitude(mscale_all_dim)

    @staticmethod
    def max_seq_len(factor: float, original_max_position_embeddings: int) -> int:
        return int(factor * original_max_position_embeddings)

    def freq_scales(self, inv_freq: Sequence[float]) -> list[tuple[int, list[float]]]:
        def scale(pair: int) -> float:
            stretched = _ramp(pair, self._low, self._high)
            return stretched / self.factor + 1 - stretched

        return [(0, [scale(pair) for pair in range(len(inv_freq))])]


def _ramp(value: float, low: float, high: float) -> float:
    """0 up to `low`, 1 from `high` on, and linear in between."""
    return min(max((value - low) / ((high - low) or 0.001), 0.0), 1.0)


def _need_positive(name: str, argument: str, value: float) -> None:
    ok = _is_number(value) and 1 / _MOST <= value <= _MOST
    expect(ok, name, argument, value, f"a number greater than 0, up to {_MOST:g}")


def _need_original(name: str, value: Any) -> None:
    ok = _is_number(value) and 1 <= value <= _MOST and isinstance(value, Integral)
    expect(ok, name, "original_max_position_embeddings", value, "a whole number from 1 on")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
