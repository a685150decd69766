"""Between two hosts, over TCP and over each MPI: results, a slow link, and one that is cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .hosts import Hosts, job, two_hosts
from .mpi_launch import ALL, Mpi, answers

WAYS = [None, *ALL]
pytestmark = pytest.mark.parametrize("mpi", WAYS, ids=["tcp", *(mpi.name for mpi in ALL)])


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as made:
        yield made


def test_every_operation(hosts: Hosts, mpi: Mpi | None, tmp_path: Path) -> None:
    with job(hosts, mpi, "everything", tmp_path) as ranks:
        told = ranks.answers()
    for answer in told.values():
        assert answer["wrong"] == []
        assert answer["checks"] > 500
        assert answer["libraries"] == ([mpi.library] if mpi else [])


def test_a_slow_link(hosts: Hosts, mpi: Mpi | None, tmp_path: Path) -> None:
    with hosts.slowed("40mbit"), job(hosts, mpi, "large", tmp_path) as ranks:
        assert all(answer == [] for answer in ranks.answers().values())


def test_a_link_that_is_cut(hosts: Hosts, mpi: Mpi | None, tmp_path: Path) -> None:
    """Each rank gets an error about one on the other host, after the configured time-out."""
    with job(hosts, mpi, "until_cut", tmp_path) as ranks:
        ranks.wait_for("ready-*")
        hosts.set_link("down")
        try:
            told = ranks.answers()
        finally:
            hosts.set_link("up")  # or the launcher would wait for its remote part
    for rank, answer in told.items():
        others = (2, 3) if rank < 2 else (0, 1)
        assert any(f"rank {other} did not come within 2 s" in answer for other in others), answer


def test_a_rank_that_dies(hosts: Hosts, mpi: Mpi | None, tmp_path: Path) -> None:
    with job(hosts, mpi, "dies", tmp_path) as ranks:
        ranks.wait_for("answer-*.json", 3)
        told = answers(tmp_path)
    assert sorted(told) == [0, 1, 2]
    for answer in told.values():
        assert "rank 3" in answer and "died" in answer
