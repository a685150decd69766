"""Choosing tokens, against a definition in NumPy over the whole row."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm.sampling import Chooser, Chosen, SamplingParams, choose

VOCAB = 1000


def logits(spread: float = 2.0, rows: int = 1, seed: int = 5) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return (draw.standard_normal((rows, VOCAB)) * spread).astype(np.float32)


def probabilities(row: np.ndarray, params: SamplingParams) -> tuple[np.ndarray, np.ndarray]:
    """Tokens from the most to the least probable, and their probabilities: top-k, then top-p of the
    rest, then min-p, at the temperature."""
    order = np.argsort(-row, kind="stable")
    p = np.exp((row[order].astype(np.float64) - row.max()) / params.temperature)
    if params.top_k:
        p[params.top_k :] = 0
    if params.top_p < 1:
        before = np.concatenate([[0.0], np.cumsum(p)[:-1]])
        p[before >= params.top_p * p.sum()] = 0
    p[p < params.min_p * p[0]] = 0
    return order, p / p.sum()


def drawn(row: np.ndarray, params: SamplingParams, uniform: float) -> int:
    order, p = probabilities(row, params)
    place = int(np.searchsorted(np.cumsum(p), uniform, side="right"))
    return int(order[min(place, np.count_nonzero(p) - 1)])


class Fixed:
    """Replaces the random numbers of a request."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def ours(rows: np.ndarray, params: list[SamplingParams], uniforms: list[float]) -> list[Chosen]:
    choosers = [Chooser(each) for each in params]
    for chooser, uniform in zip(choosers, uniforms, strict=True):
        chooser._random = Fixed(uniform)  # type: ignore[assignment]
    texts: list[tuple[list[int], list[int]]] = [([], []) for _ in params]
    return choose(infinicore.from_numpy(rows), choosers, texts)


SETTINGS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 1.0},
    "hot": {"temperature": 3.0},  # most of the mass is outside the candidates
    "cold": {"temperature": 0.2},
    "top-k": {"temperature": 1.5, "top_k": 7},
    "top-k 1": {"temperature": 1.5, "top_k": 1},
    "top-k of 256": {"temperature": 3.0, "top_k": 256},
    "top-k beyond the candidates": {"temperature": 3.0, "top_k": 400},
    "top-k of all": {"temperature": 3.0, "top_k": VOCAB},
    "top-k of more than all": {"temperature": 3.0, "top_k": 5 * VOCAB},
    "top-p": {"temperature": 1.0, "top_p": 0.6},
    "small top-p": {"temperature": 1.0, "top_p": 1e-6},
    "top-p beyond the candidates": {"temperature": 4.0, "top_p": 0.95},
    "min-p": {"temperature": 1.0, "min_p": 0.2},
    "min-p of 1": {"temperature": 1.0, "min_p": 1.0},
    "min-p beyond the candidates": {"temperature": 5.0, "min_p": 0.1},
    "all three": {"temperature": 2.0, "top_k": 50, "top_p": 0.8, "min_p": 0.05},
    "all three, wide": {"temperature": 6.0, "top_k": 700, "top_p": 0.9, "min_p": 0.05},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_draws(name: str) -> None:
    params = SamplingParams(**SETTINGS[name])
    uniforms = [*np.linspace(0, 0.9999, 60), 0.0, math.nextafter(1.0, 0.0)]
    row = logits()
    rows = np.repeat(row, len(uniforms), 0)
    made = ours(rows, [params] * len(uniforms), uniforms)
    wanted = [drawn(row[0], params, each) for each in uniforms]
    assert [each.token for each in made[:-2]] == wanted[:-2]
    # The extremes: the first token, and one of the remaining ones.
    assert made[-2].token == wanted[-2]
    order, p = probabilities(row[0], params)
    assert p[list(order).index(made[-1].token)] > 0


def test_frequencies() -> None:
    params = SamplingParams(temperature=0.7, top_p=0.5, seed=3)
    row = logits(3.0)
    chooser = Chooser(params)
    tokens = []
    for _ in range(40):
        made = choose(infinicore.from_numpy(np.repeat(row, 50, 0)), [chooser] * 50, [([], [])] * 50)
        tokens += [each.token for each in made]
    order, p = probabilities(row[0], params)
    counts = np.array([tokens.count(token) for token in order])
    assert counts.sum() == 2000 and counts[p == 0].sum() == 0
    np.testing.assert_allclose(counts / 2000, p, atol=0.05)


def test_rows_of_one_batch_have_their_own_settings() -> None:
    rows = logits(rows=4)
    params = [
        SamplingParams(),
        SamplingParams(temperature=2.0),
        SamplingParams(temperature=1.0, top_k=3),
        SamplingParams(logprobs=2),
    ]
    made = ours(rows, params, [0.5] * 4)
    assert made[0].token == rows[0].argmax() and made[3].token == rows[3].argmax()
    assert [made[i].token for i in (1, 2)] == [drawn(rows[i], params[i], 0.5) for i in (1, 2)]


def test_logprobs_are_those_of_the_whole_row() -> None:
    row = logits()
    exact = row[0].astype(np.float64)
    exact = exact - np.log(np.exp(exact).sum())
    order = np.argsort(-exact, kind="stable")
    for uniform, temperature in ((0.0, 0.0), (0.5, 1.0), (0.999, 6.0)):
        params = SamplingParams(temperature=temperature, logprobs=5)
        (made,) = ours(row, [params], [uniform])
        assert made.logprob == pytest.approx(exact[made.token], abs=1e-4)
        assert [token for token, _ in made.top] == order[:5].tolist()
        for token, value in made.top:
            assert value == pytest.approx(exact[token], abs=1e-4)
    (made,) = ours(row, [SamplingParams(logprobs=0)], [0.0])
    assert made.top == [] and made.logprob == pytest.approx(exact.max(), abs=1e-4)


def test_penalties() -> None:
    row = np.array([[2.0, -1.0, 1.9, 1.8, 0.0]], np.float32)

    def best(prompt: list[int], output: list[int], **changes: float) -> int:
        chooser = Chooser(SamplingParams(**changes))  # type: ignore[arg-type]
        return choose(infinicore.from_numpy(row), [chooser], [(prompt, output)])[0].token

    assert best([0], [], repetition_penalty=1.5) == 2  # the prompt counts
    assert best([0], [2], repetition_penalty=1.5) == 3
    assert best([0], [], presence_penalty=2.0) == 0  # the prompt does not
    assert best([], [0], presence_penalty=0.15) == 2
    assert best([], [0, 2, 2], presence_penalty=0.15) == 0
    assert best([], [0, 2, 2], frequency_penalty=0.15) == 0
    assert best([], [0, 0, 2, 2], frequency_penalty=0.15) == 3
    assert best([], [], frequency_penalty=-2.0) == 0
    assert best([], [1], frequency_penalty=-2.0) == 0
    assert best([], [1, 1], frequency_penalty=-2.0) == 1
    assert np.array_equal(row, np.array([[2.0, -1.0, 1.9, 1.8, 0.0]], np.float32))
    # Dividing a negative logit would make the token more probable.
    chooser = Chooser(SamplingParams(repetition_penalty=2.0))
    changed = row[0].copy()
    chooser.adjust(changed, [1, 1], [0])
    np.testing.assert_array_equal(changed, np.array([1.0, -2.0, 1.9, 1.8, 0.0], np.float32))


def test_a_small_vocabulary() -> None:
    row = np.array([[1.0, 0.0, -np.inf]], np.float32)
    for name, settings in SETTINGS.items():
        params = SamplingParams(**settings)
        for uniform in (0.0, 0.3, 0.6, 0.99):
            (made,) = ours(row, [params], [uniform])
            assert made.token == drawn(row[0], params, uniform), name
    (one,) = ours(np.zeros((1, 1), np.float32), [SamplingParams(temperature=1.0)], [0.7])
    assert one.token == 0


def test_seeds_are_those_of_the_request() -> None:
    row = logits()
    params = SamplingParams(temperature=1.0, seed=11)
    wanted = drawn(row[0], params, random.Random(11).random())
    made = choose(infinicore.from_numpy(row), [Chooser(params)], [([], [])])
    assert made[0].token == wanted


@pytest.mark.parametrize(
    "changes",
    [
        {"max_tokens": 0},
        {"max_tokens": 1.5},
        {"temperature": -1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": "1"},
        {"top_k": -1},
        {"top_k": 2.5},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"min_p": -0.1},
        {"min_p": 2},
        {"repetition_penalty": 0},
        {"repetition_penalty": math.nan},
        {"presence_penalty": 3},
        {"presence_penalty": math.nan},
        {"frequency_penalty": -3},
        {"frequency_penalty": "x"},
        {"logprobs": 21},
        {"logprobs": -1},
        {"logprobs": 1.5},
        {"stop": [""]},
        {"stop": [1]},
        {"stop": 7},
        {"stop_token_ids": ["a"]},
        {"stop_token_ids": 3},
        {"seed": "x"},
        {"seed": 0.5},
    ],
    ids=str,
)
def test_bad_settings_are_named(changes: dict[str, Any]) -> None:
    (name,) = changes
    with pytest.raises(ValueError, match=f"SamplingParams: {name} is"):
        SamplingParams(**changes)
