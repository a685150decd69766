"""infinicore's functions against torch's operator database: values, dtypes, shapes, strides of
views, and errors. All differences are in the table of differences, which has no obsolete entries.

A few samples of each operator and dtype run, drawn with the run's seed; --exhaustive runs all of
them (some minutes), as `python -m tests.opdb --all` does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.requirements import need
from kit.seed import run_seed

from .differences import DIFFERENCES, Difference, explain
from .rows import SAMPLES, TORCH, Row, Worker

PARTS = 48  # so that none takes long

torch = need("torch", "expecttest")
if not torch.__version__.startswith(f"{TORCH}."):
    pytest.skip(f"needs torch {TORCH}: the table is about its database", allow_module_level=True)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_like_torch(worker: Worker, part: int, pytestconfig: pytest.Config) -> None:
    most = None if pytestconfig.getoption("--exhaustive") else SAMPLES
    rows = [
        row
        for name in sorted(worker.dtypes)[part::PARTS]
        for dtype in worker.dtypes[name]
        for row in worker.ask(name, dtype, most, run_seed())
    ]
    assert rows
    assert [str(row) for row in rows if not (is_right(row) or explain(row))] == []


def is_right(row: Row) -> bool:
    return row.kind in ("right", "skipped")


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.reason[:40])
def test_differences_still_differ(worker: Worker, difference: Difference) -> None:
    for name in difference.operators or (difference.example,):
        dtypes = [each for each in worker.dtypes[name] if each in (difference.dtypes or (each,))]
        rows = [row for dtype in dtypes for row in worker.ask(name, dtype, None, 0)]
        assert any(map(difference.explains, rows)), f"{name} no longer differs"


def test_a_crash_is_a_row(worker: Worker) -> None:
    rows = list(worker.ask("no such operator", "float32", None, 0))
    assert [row.kind for row in rows] == ["crash"]
    assert any(row.kind == "right" for row in worker.ask("add", "float32", 1, 0))
