"""`infini conformance --hours`: rounds with new seeds, progress, and memory that must not grow."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infinicore.conformance import cases
from infinicore.conformance.cases import day

from .kit_runs import conformance


def test_a_short_day(tmp_path: Path) -> None:
    """Ten seconds of `--hours`: other seeds in each round, and a line for each."""
    given = ("--device", "cpu", "--level", "7", "--only", "engine/day", "--hours", "0.001")
    done = conformance(tmp_path, *given, INFINI_TEST_SEED="5")
    assert done.status == 0, done.out
    data = done.of("engine/day")["data"]
    assert data["rounds"] >= day.FEWEST and data["answers"] >= 64 * data["rounds"]
    assert data["seed"] == 5
    lines = re.findall(r"^engine/day: round (\d+), .* answers, \d+ MiB of host", done.out, re.M)
    assert [int(number) for number in lines] == list(range(1, data["rounds"] + 1))


def test_without_hours_there_is_no_day(tmp_path: Path) -> None:
    done = conformance(tmp_path, "--level", "7", "--list")
    assert "engine/threads" in done.out and "engine/day" not in done.out


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A day with empty rounds; its output."""
    monkeypatch.setenv(day.HOURS, "0.000001")
    monkeypatch.setenv("INFINI_DEVICE", "cpu")
    for name in ("make_model", "expect_scores_of_the_cpu"):
        monkeypatch.setattr(day, name, lambda *_: None)
    monkeypatch.setattr(day, "ask_from_all_threads", lambda *_: 64)
    said: list[str] = []
    monkeypatch.setattr(cases, "listener", said.append)
    return said


def device(used: list[int], integrated: int = 0) -> Any:
    """A runtime whose device reports the next of these amounts of used memory at each query."""
    total = 1 << 40
    rt = SimpleNamespace(
        GetDeviceProperties=lambda _: SimpleNamespace(integrated=integrated),
        MemGetInfo=lambda: (total - used.pop(0), total),
        Malloc=lambda _: 1,
        Free=lambda _: None,
    )
    return SimpleNamespace(rt=rt)


def test_device_memory_that_grows(quick: list[str]) -> None:
    step = 5 << 20
    used = [0, 64 << 20, *(step * i for i in range(1, 7))]
    with pytest.raises(AssertionError, match=r"device memory grows: 15 MiB .* of 6 rounds"):
        day.day(device(used))
    assert len(quick) == 6


def test_host_memory_that_grows(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = iter(range(0, 1 << 30, 20 << 20))
    monkeypatch.setattr(day.Memory, "_host", staticmethod(lambda: next(sizes)))
    with pytest.raises(AssertionError, match="host memory grows: 60 MiB"):
        day.day(device([], integrated=1))


def test_a_wrong_round_says_its_seed(quick: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: Any) -> int:
        raise AssertionError("another answer")

    monkeypatch.setattr(day, "ask_from_all_threads", wrong)
    monkeypatch.setenv(day.SEED, "40")
    with pytest.raises(AssertionError, match="round 0, INFINI_TEST_SEED=40: another answer"):
        day.day(device([], integrated=1))


def test_what_goes_up_and_down_does_not_grow() -> None:
    assert day.growth([5, 9, 6, 8, 7, 9, 8, 9]) <= 0
    assert day.growth([1, 2, 3, 3, 3, 3, 3, 3]) == 0
    assert day.growth([1, 2, 3, 4, 5, 6, 7, 8]) == 3
