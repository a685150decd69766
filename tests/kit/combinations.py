"""The combinations of element type, layout, size and other factors that a test runs over.

    @pytest.mark.parametrize(
        ("dtype", "layout", "size"), combinations(DTYPES, LAYOUTS, SIZES, allowed=fits)
    )

By default each pair of values of two factors occurs in at least one combination (pairwise), which
keeps the number small. `--exhaustive` runs all; `--sample N` a random N of all, and no other tests,
drawn with the run's seed (kit/seed.py).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from . import seed
from .pairwise import pairwise

MARK = "combination"
# Set by conftest.py before files of tests are imported.
exhaustive = False


def combinations(
    *factors: Sequence[Any], allowed: Callable[..., bool] = lambda *_: True, first: Any = ()
) -> list[Any]:
    """Rows of one value of each factor that are `allowed`, with `first` before each."""
    rows = tuple(row for row in itertools.product(*factors) if allowed(*row))
    chosen: Iterable[Any] = rows if exhaustive else pairwise(rows)
    return [pytest.param(*first, *row, marks=getattr(pytest.mark, MARK)) for row in chosen]


class Selection:
    """The options, as a plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        global exhaustive
        self.sample: int | None = config.getoption("--sample")
        exhaustive = bool(config.getoption("--exhaustive") or self.sample)
        # Workers of pytest-xdist use the controller's seed.
        given = getattr(config, "workerinput", {}).get("seed", config.getoption("--seed"))
        self.seed = seed.choose(given)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["seed"] = self.seed

    @property
    def said(self) -> str:
        variable = f"{seed.VARIABLE}={self.seed}"
        return f"{variable} and --sample {self.sample}" if self.sample else variable

    def pytest_report_header(self) -> list[str]:
        chosen = "all" if exhaustive else "pairwise (--exhaustive: all)"
        return [
            f"combinations: {'a sample' if self.sample else chosen}",
            f"random programs: seed {self.seed}; to repeat them: {self.said}",
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if not self.sample:
            return
        able = [item for item in items if item.get_closest_marker(MARK)]
        drawn = random.Random(self.seed).sample(able, min(self.sample, len(able)))
        kept = {id(item) for item in drawn}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.sample or terminalreporter.stats.keys() & {"failed", "error"}:
            terminalreporter.section("random programs")
            terminalreporter.line(f"to repeat them: {self.said}")
