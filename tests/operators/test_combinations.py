"""Coverage of the default selection of combinations."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kit import combinations as module
from kit import seed
from kit.combinations import pairwise
from spec.operators.language.model import Operator

from .test_operators import LAYOUTS, SIZES, SUPPORTED, applies, dtypes_of


@pytest.mark.parametrize("counts", [(1,), (5,), (2, 3), (13, 6, 5), (3, 1, 4, 2)], ids=str)
def test_all_pairs_occur(counts: tuple[int, ...]) -> None:
    rows = tuple(itertools.product(*map(range, counts)))
    chosen = pairwise(rows)
    assert set(chosen) <= set(rows) and len(set(chosen)) == len(chosen)
    for i, j in itertools.combinations(range(len(counts)), 2):
        assert {(row[i], row[j]) for row in chosen} == {(row[i], row[j]) for row in rows}
    two = sorted(counts)[-2:]
    assert len(chosen) <= two[0] * two[-1] + 4 if len(counts) > 1 else len(rows)


def test_pairs_that_are_not_allowed_are_no_hindrance() -> None:
    rows = tuple(row for row in itertools.product("abc", "xy", (1, 2)) if row != ("a", "x", 1))
    chosen = pairwise(rows)
    assert ("a", "x", 1) not in chosen and ("a", "x", 2) in chosen
    assert pairwise(()) == ()


@pytest.mark.parametrize("operator", SUPPORTED, ids=lambda operator: operator.name)
def test_every_operator(operator: Operator) -> None:
    """With every supported element type, layout and size, and all pairs of these."""
    fits = [each for each in itertools.product(LAYOUTS, SIZES) if applies(operator, *each)]
    product = itertools.product(dtypes_of(operator), fits)
    rows = tuple((dtype, layout, size) for dtype, (layout, size) in product)
    chosen = pairwise(rows)
    for pair in itertools.combinations(range(3), 2):
        assert {tuple(row[i] for i in pair) for row in chosen} == {
            tuple(row[i] for i in pair) for row in rows
        }


class Config:
    """A pytest configuration with the options of a run, and those that pytest-xdist passes to its
    workers."""

    def __init__(self, given: int | None = None, worker: dict[str, int] | None = None) -> None:
        self.given, self.workerinput = given, worker or {}

    def getoption(self, name: str) -> object:
        return {"--sample": 3, "--seed": self.given, "--exhaustive": False}[name]


@pytest.fixture
def selection(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "exhaustive", module.exhaustive)
    monkeypatch.setenv(seed.VARIABLE, "")
    return module.Selection


@pytest.mark.parametrize("config", [Config(), Config(5), Config(worker={"seed": 7})])
def test_the_seed_is_printed(selection: Any, config: Config) -> None:
    made = selection(config)
    assert module.exhaustive
    assert made.seed == config.workerinput.get("seed", config.given or made.seed)
    assert seed.run_seed() == made.seed  # the processes of tests inherit it
    header = made.pytest_report_header()
    assert any(f"INFINI_TEST_SEED={made.seed} and --sample 3" in line for line in header)


def test_a_seed_is_new_unless_it_is_given(selection: Any, monkeypatch: Any) -> None:
    first = selection(Config()).seed
    monkeypatch.setenv(seed.VARIABLE, "")
    assert selection(Config()).seed != first
    monkeypatch.setenv(seed.VARIABLE, "11")
    assert selection(Config()).seed == 11
    assert seed.chance("a", 1).random() == seed.chance("a", 1).random()
    assert seed.chance("a", 1).random() != seed.chance("a", 2).random()
