"""Ranks in separate processes: results, and the errors of the others when one misbehaves."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import library as lib
from .launching import LAUNCH
from .links import Meeting, all_reduce, in_ranks

KIND = lib.DTYPES["float32"]


def in_processes(body: Callable[..., Any], ranks: int, *arguments: Any) -> dict[int, Any]:
    """The result of `body(comm, rank, ranks, *arguments)` on each surviving rank."""
    return in_ranks(body, [{}] * ranks, *arguments)


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


def never_calls(comm: Any, rank: int, ranks: int, end: Meeting) -> str:
    lib.call("CommSetTimeout", comm, 0.5)
    said = "" if rank == 1 else all_reduce(comm, np.ones(4, np.float32))
    end.wait()
    return said


def test_a_rank_that_does_not_come_is_named() -> None:
    told = in_processes(never_calls, 2, Meeting(2))
    assert "rank 1 did not come within 0.5 s" in told[0]


def aborts(comm: Any, rank: int, ranks: int, begun: Meeting) -> str:
    if rank == 0:
        return all_reduce(comm, np.ones(4, np.float32), begun.wait)
    begun.wait()
    lib.call("CommAbort", comm)
    os._exit(0)


def test_abort_frees_the_others() -> None:
    told = in_processes(aborts, 2, Meeting(2))
    assert "rank 1 aborted" in told[0]


def other_counts(comm: Any, rank: int, ranks: int) -> tuple[str, int]:
    """Rank 0 has more for rank 1 than rank 1 expects."""
    sent = lib.counts([1, 5000 if rank == 0 else 1])
    wanted = lib.counts([1, 1])
    data, out = np.ones(5001, np.float32), np.zeros(10000, np.float32)
    to, stream = out.ctypes.data, lib.new_stream()
    lib.call("AllToAllV", data.ctypes.data, to, sent, wanted, 2, KIND, comm, stream)
    return lib.outcome(comm, stream), int(out[2:].sum())


def check_other_counts(told: dict[int, Any]) -> None:
    assert sorted(told) == [0, 1]
    for words, beyond in told.values():
        assert "rank 0 has 5000 elements for rank 1" in words
        assert "which expects 1" in words
        assert beyond == 0


def test_counts_that_do_not_fit_each_other_are_told() -> None:
    check_other_counts(in_processes(other_counts, 2))


def test_counts_that_do_not_fit_each_other_are_told_in_one_process() -> None:
    told: dict[int, Any] = {}
    with lib.communicators(2) as comms:

        def work(rank: int) -> None:
            told[rank] = other_counts(comms[rank], rank, 2)

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check_other_counts(told)


# Stops a process five times for half a second each. In between it waits until that process has used
# the processor. It ends early when its input is closed.
HALTER = """
import os, select, signal, sys, time

pid = int(sys.argv[1])

def work():
    with open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))

for _ in range(5):
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.5)
    before = work()
    os.kill(pid, signal.SIGCONT)
    while work() == before:
        if select.select([sys.stdin], [], [], 0.01)[0]:
            sys.exit()
"""


def halts(comm: Any, rank: int, ranks: int) -> str:
    """Rank 1 is stopped repeatedly, each time for less than the time-out, but longer in total."""
    data = np.ones(100 << 20, np.float32)
    assert all_reduce(comm, np.ones(1, np.float32)) == ""
    lib.call("CommSetTimeout", comm, 2.0)
    if rank == 0:
        return all_reduce(comm, data)
    halter = [sys.executable, "-c", HALTER, str(os.getpid())]
    with subprocess.Popen(halter, stdin=subprocess.PIPE):
        return all_reduce(comm, data)


def test_the_time_runs_only_while_nothing_moves() -> None:
    assert in_processes(halts, 2) == {0: "", 1: ""}


FULL = """
import infinicore
from infinicore import ccl

try:
    comm = ccl.init()
    comm.all_reduce(infinicore.ones(100000, device=comm.device))
    comm.close()
except ccl.CclError as error:
    print(error)
"""


@pytest.mark.requires("mount")
@pytest.mark.parametrize("room", ["16k", "256k"])
def test_shared_memory_that_is_full(tmp_path: Path, room: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(FULL)
    mount = f"mount -t tmpfs -o size={room} none /dev/shm"
    launch = shlex.join([*LAUNCH, "-n", "2", str(program)])
    told = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && {{ {launch}; ls /dev/shm; }}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.splitlines()
    assert len(told) == 2
    assert all("/dev/shm" in line and "full" in line for line in told)
