"""Random programs against a model: 2,000 of them, others in every run.

INFINI_TEST_PROGRAMS=5000 makes each test run this many; INFINI_TEST_SEED=N repeats those of a run
that printed N. A failing one is shrunk and printed; kit/programs.py has `replay([...])` for it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from kit.programs import Machine, execute

WISH = os.environ.get("INFINI_TEST_PROGRAMS")


def programs(count: int) -> Any:
    """How often and how a test runs. Explicit phases: no example is looked up from earlier runs."""
    return settings(
        max_examples=int(WISH) if WISH else count,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


number = st.integers(0, 11)
byte = st.integers(0, 255)
offset = st.integers(0, 31)
stream = st.integers(0, 4)

fill = st.tuples(st.just("fill"), stream, number, byte, offset, offset)
copy = st.tuples(st.just("copy"), stream, number, number, offset)
bump = st.tuples(st.just("bump"), stream, number)
work = st.one_of(fill, copy, copy, bump)

record = st.tuples(st.just("record"), number, stream)
wait = st.tuples(st.just("wait"), stream, number)
hold = st.tuples(st.just("hold"), stream)
release = st.tuples(st.just("open"))
sync = st.one_of(st.tuples(st.just("sync"), stream), st.tuples(st.just("event_sync"), number))
order = st.one_of(record, wait, record, wait, hold, hold, release, sync)

alloc = st.tuples(st.just("alloc"), stream, byte)
free = st.tuples(st.just("free"), stream, number)
scratch = st.tuples(st.just("scratch"), stream, number, byte)
pool = st.one_of(alloc, free, scratch)

body = st.lists(st.one_of(work, work, work, scratch), max_size=8)
graph = st.tuples(st.just("graph"), stream, st.integers(0, 5), st.integers(0, 2), body)
again = st.tuples(st.just("again"), stream, number)
launch = st.one_of(graph, again, again)


@pytest.fixture(scope="module")
def machine(_runtime: Any) -> Any:
    if "asynchronous" not in _runtime.tags:
        pytest.skip("needs asynchronous")
    machine = Machine(_runtime)
    yield machine
    machine.close()


def check(machine: Machine, program: list[tuple[Any, ...]]) -> None:
    note(f"replay({program!r})")
    execute(machine, program)


@programs(600)
@given(st.lists(st.one_of(work, work, order), max_size=40))
def test_streams_and_events(machine, program):
    check(machine, program)


@programs(500)
@given(st.lists(st.one_of(work, order, pool, pool), max_size=40))
def test_allocations(machine, program):
    check(machine, program)


@programs(500)
@given(st.lists(st.one_of(work, order, launch), max_size=20))
def test_captures(machine, program):
    check(machine, program)


@programs(400)
@given(st.lists(st.one_of(work, work, order, order, pool, launch), max_size=60))
def test_everything(machine, program):
    check(machine, program)
