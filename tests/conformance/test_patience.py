"""The time of a case does not include the time that its process waited for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinicore.conformance import patience


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(patience, "PROC", tmp_path)
    return tmp_path


def task(proc: Path, pid: int, tid: int, waited: float, *children: int) -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"5 {int(waited * 1e9)} 3\n", encoding="utf-8")
    (folder / "children").write_text(" ".join(map(str, children)), encoding="utf-8")


def test_waiting_for_a_processor_is_not_counted(proc: Path, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    task(proc, 7, 7, 1.0)
    task(proc, 7, 8, 50.0)
    clock = patience.Clock(7)
    assert clock.spent() == 0
    now[0] += 10
    task(proc, 7, 7, 4.0)  # 3 s more
    task(proc, 7, 8, 56.0)  # 6 s more: the stream's thread was the slowest
    assert clock.spent() == pytest.approx(4)
    now[0] += 10
    task(proc, 7, 8, 56.0, 9)
    task(proc, 9, 9, 8.0)  # a compiler
    assert clock.spent() == pytest.approx(6)


def test_a_wait_without_end_is_a_hang(proc: Path, monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    task(proc, 7, 7, 0.0)
    clock = patience.Clock(7)
    now[0] = 1000.0
    task(proc, 7, 7, 2000.0)
    assert clock.spent() == 1000.0 / patience.MOST


def test_without_the_kernels_counts_all_time_counts(proc: Path, monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: now[0])
    clock = patience.Clock(7)
    now[0] = 3.0
    assert clock.spent() == 3.0


def test_the_threads_of_this_process():
    import os

    assert all(wait >= 0 for wait in patience.waits(os.getpid()).values())
