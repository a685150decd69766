"""Ranks in processes of their own: results, and what the others are told when one misbehaves."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import library as lib

KIND = lib.DTYPES["float32"]


def _rank(body: Callable[..., Any], ranks: int, made: bytes, rank: int, answers: Any) -> None:
    comm = lib.join(ranks, lib.UniqueId.from_buffer_copy(made), rank)
    lib.call("CommSetTimeout", comm, 20.0)
    answers.put((rank, body(comm, rank, ranks)))
    lib.call("CommDestroy", comm)


def in_processes(body: Callable[..., Any], ranks: int) -> dict[int, Any]:
    """What `body(comm, rank, ranks)` gives on each rank that lives to tell."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    made = bytes(lib.unique_id())
    started = [
        context.Process(target=_rank, args=(body, ranks, made, rank, answers))
        for rank in range(ranks)
    ]
    for process in started:
        process.start()
    told: dict[int, Any] = {}
    end = time.monotonic() + 120
    while any(process.is_alive() for process in started) or not answers.empty():
        while not answers.empty():
            rank, answer = answers.get()
            told[rank] = answer
        assert time.monotonic() < end, "the ranks hang"
        time.sleep(0.01)
    return told


def all_reduce(comm: Any, data: Any) -> str:
    here = data.ctypes.data
    try:
        lib.call("AllReduce", here, here, data.size, KIND, lib.SUM, comm, None)
    except lib.CclError as error:
        return str(error)
    lib.wait(None)  # type: ignore[arg-type]
    return lib.failure(comm)


def sum_and_gather(comm: Any, rank: int, ranks: int) -> Any:
    results = []
    for count in (1, 1000, 300001):
        data = np.full(count, rank + 1, np.float32)
        assert all_reduce(comm, data) == ""
        out = np.zeros(count * ranks, np.float32)
        lib.call("AllGather", data.ctypes.data, out.ctypes.data, count, KIND, comm, None)
        lib.wait(None)  # type: ignore[arg-type]
        results.append((float(data[0]), float(data[-1]), float(out.min()), float(out.max())))
    return results


@pytest.mark.parametrize("ranks", [2, 3])
def test_results(ranks: int) -> None:
    total = ranks * (ranks + 1) / 2
    told = in_processes(sum_and_gather, ranks)
    assert told == {rank: [(total,) * 4] * 3 for rank in range(ranks)}


def die(comm: Any, rank: int, ranks: int) -> str:
    if rank == ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return all_reduce(comm, np.ones(8, np.float32))


def test_a_rank_that_dies_is_named() -> None:
    told = in_processes(die, 3)
    assert sorted(told) == [0, 1]
    for answer in told.values():
        assert "rank 2" in answer and "died" in answer


def another_count(comm: Any, rank: int, ranks: int) -> str:
    return all_reduce(comm, np.ones(4 + rank, np.float32))


def test_ranks_that_differ_are_told_so() -> None:
    told = in_processes(another_count, 2)
    for answer in told.values():
        assert "rank 1 called AllReduce of 5 elements" in answer
        assert "rank 0 called AllReduce of 4 elements" in answer


def never_calls(comm: Any, rank: int, ranks: int) -> str:
    lib.call("CommSetTimeout", comm, 0.5)
    if rank == 1:
        time.sleep(3)
        return "slept"
    return all_reduce(comm, np.ones(4, np.float32))


def test_a_rank_that_does_not_come_is_named() -> None:
    told = in_processes(never_calls, 2)
    assert "rank 1 did not come within 0.5 s" in told[0]


def aborts(comm: Any, rank: int, ranks: int) -> str:
    if rank == 0:
        return all_reduce(comm, np.ones(4, np.float32))
    time.sleep(0.2)
    lib.call("CommAbort", comm)
    os._exit(0)


def test_abort_frees_the_others() -> None:
    told = in_processes(aborts, 2)
    assert "rank 1 aborted" in told[0]
