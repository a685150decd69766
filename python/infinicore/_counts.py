"""Poisson and binomial random numbers, in float64: by inversion of the distribution for small
means, else by transformed rejection (W. Hörmann, 1993)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from infinicore import _core
from infinicore._dtype import float64
from infinicore._generator import Generator, draw
from infinicore._random import rand_like
from infinicore._tensor import Tensor
from infinicore.functions._index_checks import check_range
from infinicore.functions.elementwise.comparison import where

_SMALL = 10.0  # below this mean, inversion takes a few steps


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random numbers from Poisson distributions whose rates are the elements of the input.

    >>> infinicore.poisson(infinicore.zeros(2))
    tensor([0., 0.])
    """
    _check("poisson", "input", input, "rates")
    check_range("poisson", "input", input, 0, math.inf)
    return draw("poisson", generator, _poisson, input.to(float64)).to(input.dtype)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Random numbers from binomial distributions: successes in `count` trials, each with
    probability `prob`; broadcast.

    >>> infinicore.binomial(infinicore.tensor([3.0, 3.0]), infinicore.tensor([0.0, 1.0]))
    tensor([0., 3.])
    """
    _check("binomial", "count", count, "numbers of trials")
    _check("binomial", "prob", prob, "probabilities")
    if count.dtype is not prob.dtype:
        raise ValueError(
            f"binomial: prob has type {prob.dtype!r}: expected that of count, {count.dtype!r}"
        )
    check_range("binomial", "count", count, 0, math.inf)
    check_range("binomial", "prob", prob, 0, 1)
    trials, chance = (count.to(float64) + 0 * prob), (prob.to(float64) + 0 * count)
    # Counts the rarer outcome, whose distribution is narrower.
    rare = chance.minimum(1 - chance)
    made = draw("binomial", generator, _binomial, trials, rare)
    return _chosen(chance > 0.5, trials - made, made).to(count.dtype)


def _check(function: str, argument: str, value: Any, meaning: str) -> None:
    _core.refuse_while_recording(function)
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {argument} is {type(value).__name__}: expected a tensor")
    if not value.dtype.is_floating_point:
        raise TypeError(
            f"{function}: {argument} has type {value.dtype!r}: expected floats, which are {meaning}"
        )


def _chosen(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    made: Tensor = where(condition, one, other)
    return made


def _inverted(chance: Tensor, ratio: Callable[[int], Tensor], like: Tensor) -> Tensor:
    """The first k at which the cumulative probability exceeds a random number: `chance` is P(0),
    `ratio(k)` is P(k) / P(k - 1)."""
    wanted, total = rand_like(like), chance
    count = like.new_zeros(like.shape)
    for k in range(1, 1000):
        beyond = wanted >= total
        if not bool(beyond.any()):
            break
        count = count + beyond
        chance = chance * ratio(k)
        total = total + chance
    return count


def _accepted(like: Tensor, propose: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """The first accepted proposal for each element."""
    made, open_ = like.new_zeros(like.shape), like == like
    while bool(open_.any()):
        count, holds = propose(rand_like(like) - 0.5, rand_like(like))
        made = _chosen(open_ & holds, count, made)
        open_ = open_ & ~holds
    return made


def _poisson(rate: Tensor) -> Tensor:
    small = rate.minimum(_SMALL + 0 * rate)
    made = _inverted((-small).exp(), lambda k: small / k, small)
    if not bool((rate >= _SMALL).any()):
        return made
    large = rate.maximum(_SMALL + 0 * rate)
    b = 0.931 + 2.53 * large.sqrt()
    a = -0.059 + 0.02483 * b
    likely, scale = 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)

    def propose(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + large + 0.43).floor()
        known = k.maximum(0 * k)
        log = (v * scale / (a / (us * us) + b)).log()
        exact = log <= known * large.log() - large - (known + 1).lgamma()
        possible = (k >= 0) & ((us >= 0.013) | (v <= us))
        return k, ((us >= 0.07) & (v <= likely)) | (possible & exact)

    return _chosen(rate >= _SMALL, _accepted(large, propose), made)


def _binomial(trials: Tensor, chance: Tensor) -> Tensor:
    is_large = trials * chance >= _SMALL
    few, rare = _chosen(is_large, 0 * trials, trials), _chosen(is_large, 0 * chance, chance)
    odds = rare / (1 - rare)
    made = _inverted((1 - rare) ** few, lambda k: (few - (k - 1)) / k * odds, few)
    if not bool(is_large.any()):
        return made
    n, p = _chosen(is_large, trials, 40 + 0 * trials), _chosen(is_large, chance, 0.5 + 0 * chance)
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    likely, scale = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    mode = ((n + 1) * p).floor()
    at_mode = (mode + 1).lgamma() + (n - mode + 1).lgamma()

    def propose(u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        us = 0.5 - u.abs()
        k = ((2 * a / us + b) * u + n * p + 0.5).floor()
        known = k.maximum(0 * k).minimum(n)
        log = (v * scale / (a / (us * us) + b)).log()
        rest = (known + 1).lgamma() + (n - known + 1).lgamma()
        exact = log <= at_mode - rest + (known - mode) * (p / (1 - p)).log()
        possible = (k >= 0) & (k <= n)
        return k, possible & (((us >= 0.07) & (v <= likely)) | exact)

    return _chosen(is_large, _accepted(n, propose), made)
