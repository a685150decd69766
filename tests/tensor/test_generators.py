"""Random number generators: their state, and the functions that draw from them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

import infinicore as ic

LIKE = ic.zeros(64)
HALVES = LIKE + 0.5
DRAWS: dict[str, Callable[..., Any]] = {
    "rand": lambda **g: ic.rand(64, **g),
    "rand out": lambda **g: ic.rand(64, out=ic.empty(64), **g),
    "randn": lambda **g: ic.randn(64, **g),
    "randint": lambda **g: ic.randint(0, 1000, (64,), **g),
    "randperm": lambda **g: ic.randperm(64, **g),
    "rand_like": lambda **g: ic.rand_like(LIKE, **g),
    "randn_like": lambda **g: ic.randn_like(LIKE, **g),
    "randint_like": lambda **g: ic.randint_like(LIKE, 1000, **g),
    "normal": lambda **g: ic.normal(0.0, 1.0, (64,), **g),
    "normal of tensors": lambda **g: ic.normal(LIKE, HALVES, **g),
    "bernoulli": lambda **g: ic.bernoulli(HALVES, **g),
    "bernoulli p": lambda **g: ic.bernoulli(LIKE, 0.5, **g),
    "multinomial": lambda **g: ic.multinomial(HALVES, 32, **g),
    "multinomial again": lambda **g: ic.multinomial(HALVES, 64, True, **g),
    "poisson": lambda **g: ic.poisson(40 * HALVES, **g),
    "binomial": lambda **g: ic.binomial(100 * HALVES, HALVES, **g),
    "uniform_": lambda **g: ic.empty(64).uniform_(1, 2, **g),
    "normal_": lambda **g: ic.empty(64).normal_(**g),
    "random_": lambda **g: ic.empty(64).random_(1000, **g),
    "bernoulli_": lambda **g: ic.empty(64).bernoulli_(**g),
    "exponential_": lambda **g: ic.empty(64).exponential_(**g),
    "cauchy_": lambda **g: ic.empty(64).cauchy_(**g),
    "log_normal_": lambda **g: ic.empty(64).log_normal_(**g),
    "geometric_": lambda **g: ic.empty(64).geometric_(0.1, **g),
    "uniform_ as a function": lambda **g: ic.uniform_(ic.empty(64), **g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_has_a_sequence_of_its_own(name: str) -> None:
    draw, generator = DRAWS[name], ic.Generator()
    first = draw(generator=generator.manual_seed(3)).tolist()
    second = draw(generator=generator).tolist()
    before = ic.get_rng_state().tolist()
    assert draw(generator=generator.manual_seed(3)).tolist() == first != second
    assert draw(generator=generator).tolist() == second
    assert ic.get_rng_state().tolist() == before
    # The default one gives the same numbers for the same seed.
    state = ic.get_rng_state()
    assert draw(generator=ic.manual_seed(3)).tolist() == first
    assert draw().tolist() == second
    ic.set_rng_state(state)


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_no_generator(name: str) -> None:
    with pytest.raises(TypeError, match=r"generator is int: expected an infinicore\.Generator"):
        DRAWS[name](generator=7)


def test_state() -> None:
    generator = ic.Generator("cpu")
    assert generator.device == ic.device("cpu")
    ic.rand(5, generator=generator.manual_seed(-1))
    assert generator.initial_seed() == 2**64 - 1
    state, twin = generator.get_state(), generator.clone_state()
    drawn = ic.rand(5, generator=generator).tolist()
    copied = pickle.loads(pickle.dumps(twin))
    generator.set_state(state)
    for each in (generator, twin, copied):
        assert ic.rand(5, generator=each).tolist() == drawn
    assert generator.seed() == generator.initial_seed()
    assert "seed" in repr(generator)
    with pytest.raises(TypeError, match="set_state: new_state is a tensor of shape"):
        generator.set_state(ic.ones(3))
    with pytest.raises(TypeError, match="set_state: new_state is int"):
        generator.set_state(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="manual_seed: seed is"):
        generator.manual_seed(2**64)


def test_default_generator() -> None:
    state = ic.get_rng_state()
    assert ic.manual_seed(5) is ic.default_generator
    assert ic.default_generator.initial_seed() == ic.initial_seed() == 5
    drawn = ic.rand(3).tolist()
    assert ic.rand(3, generator=ic.default_generator.manual_seed(5)).tolist() == drawn
    ic.set_rng_state(state)


def test_threads_draw_from_their_own() -> None:
    found: dict[int, Any] = {}

    def draw(seed: int) -> list[Any]:
        generator = ic.Generator().manual_seed(seed)
        return [ic.rand(4, generator=generator).tolist() for _ in range(50)]

    def work(seed: int) -> None:
        found[seed] = draw(seed)

    alone = {seed: draw(seed) for seed in range(4)}
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone


def test_graphs_draw_from_the_default_one() -> None:
    ic.start_graph_recording()
    try:
        with pytest.raises(RuntimeError, match="rand: generator is given while a graph"):
            ic.rand(3, generator=ic.Generator())
    finally:
        ic.stop_graph_recording()


def test_distributions() -> None:
    """Means and variances within five standard errors."""
    generator, n = ic.Generator().manual_seed(11), 40_000
    for rate in (0.1, 3.0, 9.9, 10.1, 60.0, 1000.0):
        x = ic.poisson(ic.full((n,), rate, dtype=ic.float64), generator)
        assert abs(x.mean().item() - rate) < 5 * (rate / n) ** 0.5
        assert abs(x.var().item() / rate - 1) < 5 * ((2 + 1 / rate) / n) ** 0.5
    for count, chance in ((5, 0.3), (10, 0.9), (100, 0.02), (100, 0.5), (1000, 0.7)):
        trials = ic.full((n,), float(count), dtype=ic.float64)
        x = ic.binomial(trials, ic.full((n,), chance, dtype=ic.float64), generator)
        variance = count * chance * (1 - chance)
        assert abs(x.mean().item() - count * chance) < 5 * (variance / n) ** 0.5
        assert abs(x.var().item() / variance - 1) < 5 * ((2 + 1 / variance) / n) ** 0.5
        assert 0 <= x.min().item() <= x.max().item() <= count
    x = ic.empty(n, dtype=ic.float64)
    assert abs(x.geometric_(0.25, generator=generator).mean().item() - 4) < 5 * (12 / n) ** 0.5
    assert x.min().item() == 1
    assert abs(x.log_normal_(0, 0.5, generator=generator).log().mean().item()) < 0.02
    assert abs(x.cauchy_(3, 2, generator=generator).median().item() - 3) < 0.1


@pytest.mark.host  # parameters on a device are not read
def test_bad_parameters() -> None:
    x = ic.ones(2)
    for call, words in (
        (lambda: x.cauchy_(0, 0), "cauchy_: sigma is 0: expected more than 0"),
        (lambda: x.log_normal_(0, -1), "log_normal_: std is -1: expected more than 0"),
        (lambda: x.geometric_(1), "geometric_: p is 1: expected more than 0 and less than 1"),
        (lambda: x.long().cauchy_(), "cauchy_: the tensor has type infinicore.int64"),
        (lambda: ic.poisson(-x), "poisson: input has an element -1"),
        (lambda: ic.poisson(x.long()), "poisson: input has type infinicore.int64"),
        (lambda: ic.binomial(x, 2 * x), "binomial: prob has an element 2"),
        (lambda: ic.binomial(x, x.double()), "binomial: prob has type infinicore.float64"),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=words):
            call()
