"""Ranks under mpirun that misbehave: the others get an error with the rank and the expected call,
in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from .mpi_launch import ALL, Mpi, run

pytestmark = pytest.mark.parametrize("mpi", ALL, ids=[mpi.name for mpi in ALL])


def test_ranks_that_differ_leave_or_do_not_come(mpi: Mpi, tmp_path: Path) -> None:
    told = run(mpi, 3, "faults", tmp_path)
    assert sorted(told) == [0, 1, 2]
    for rank, answer in told.items():
        for scene in ("other count", "after that"):
            assert "rank 2 called AllReduce of 5 elements" in answer[scene], scene
        assert "rank 2 called AllReduce of 100001 elements" in answer["other size"]
        assert "rank 2 called Broadcast" in answer["other operation"]
        assert answer["well"] == ""
        if rank != 2:
            assert "rank 2 aborted" in answer["abort"]
            assert "rank 2 has left the communicator" in answer["leave"]
            assert "rank 2 did not come within 1.5 s" in answer["late"]
            assert "rank 2 did not come within 2 s" in answer["absent"]
            assert "CommInitRank" in answer["absent"]
            assert "rank 2 has left the communicator" in answer["end"]


def test_a_rank_that_dies_is_named(mpi: Mpi, tmp_path: Path) -> None:
    told = run(mpi, 3, "dies", tmp_path, survive=True)
    assert sorted(told) == [0, 1]
    for answer in told.values():
        assert "rank 2" in answer and ("died" in answer or "cannot be reached" in answer)
