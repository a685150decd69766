"""A collective that failed is never silent: every read raises its error, and the process ends with
a status that shows it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import infinicore
from infinicore import ccl, context, rt

from .launching import environment, launch


@pytest.fixture(autouse=True)
def on_the_cpu() -> Iterator[None]:
    """The ranks of this file are CPUs, whichever device is under test."""
    with context.device("cpu"):
        yield


# The sizes differ, so that the operation fails on both ranks, in its stream.
UNEQUAL = """
import infinicore
from infinicore import ccl, rt

comm = ccl.init(timeout=60)
x = infinicore.ones(3 + comm.rank, device=comm.device)
comm.all_reduce(x)
"""
READS = """
def attempt(name, read):
    try:
        read()
    except ccl.CclError as error:
        assert "AllReduce of 3 elements" in str(error) and "of 4 elements" in str(error), error
        print(name, "raised")
    else:
        print(name, "is silent")

import numpy as np

there = infinicore.empty(3 + comm.rank, device=infinicore.device("cpu", 1 - comm.device.index))
attempt("tolist", x.tolist)
attempt("item", x[0].item)
attempt("numpy", x.numpy)
attempt("array", lambda: np.asarray(x))
attempt("dlpack", lambda: np.from_dlpack(x))
attempt("bytes", lambda: bytes(memoryview(x)))
attempt("repr", lambda: repr(x))
attempt("result", lambda: (x + 1).sum().item())
attempt("copy_", lambda: there.copy_(x))
attempt("to", lambda: x.to(there.device))
attempt("sync_stream", infinicore.sync_stream)
attempt("sync_device", infinicore.sync_device)
attempt("Stream", rt.Stream.from_handle(0).synchronize)
attempt("Event", lambda: rt.Event().record().synchronize())
"""
NAMES = (
    *("tolist", "item", "numpy", "array", "dlpack", "bytes", "repr", "result", "copy_", "to"),
    *("sync_stream", "sync_device", "Stream", "Event"),
)
# A rank that failed ends with status 1, at which the launcher stops the other: they end together.
MEET = """
import pathlib, time

own, other = (pathlib.Path(f"{__file__}.{rank}") for rank in (comm.rank, 1 - comm.rank))
own.touch()
end = time.monotonic() + 60
while not other.exists() and time.monotonic() < end:
    time.sleep(0.01)
"""
DIES = """
import os, signal
import infinicore
from infinicore import ccl

comm = ccl.init(timeout=60)
x = infinicore.ones(3, device=comm.device)
comm.barrier()
if comm.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
comm.all_reduce(x)
"""


def run_alone(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


# ---- Reads ---------------------------------------------------------------------------------------


def test_every_read_raises_the_error(script: Callable[[str], Path]) -> None:
    after = "comm.close()\nprint('closed', len(x.tolist()), flush=True)\n" + MEET
    done = launch("-n", "2", script(UNEQUAL + READS + after), INFINI_CPU_DEVICES="2")
    expected = [f"[{rank}] {name} raised" for rank in range(2) for name in NAMES]
    expected += [f"[{rank}] closed {3 + rank}" for rank in range(2)]
    assert sorted(done.stdout.splitlines()) == sorted(expected), done.stderr


def unequal_pair() -> list[ccl.Communicator]:
    comms = ccl.init_all(["cpu", "cpu"])
    with ccl.group():
        for comm in comms:
            comm.all_reduce(infinicore.ones(3 + comm.rank, device="cpu"))
    return comms


def test_reads_work_again_when_the_communicator_is_closed() -> None:
    comms = unequal_pair()
    with pytest.raises(ccl.CclError, match=r"a collective failed.*of 3 elements"):
        infinicore.sync_stream()
    for comm in comms:
        comm.close()
    a, b = ccl.init_all(["cpu", "cpu"])
    x, y = infinicore.ones(3, device="cpu"), infinicore.ones(3, device="cpu")
    with ccl.group():
        a.all_reduce(x)
        b.all_reduce(y)
    assert x.tolist() == y.tolist() == [2, 2, 2]
    a.close()
    b.close()


def test_close_reports_what_no_read_has() -> None:
    comms = unequal_pair()
    for comm in comms:
        with pytest.raises(ccl.CclError, match="of 3 elements"):
            comm.close()
    infinicore.sync_stream()


def test_the_runtime_returns_an_error() -> None:
    comms = unequal_pair()
    with pytest.raises(ccl.CclError):
        rt.Stream.from_handle(0).synchronize()
    assert rt.PeekAtLastError() == rt.Error.ErrorExternalDevice
    for comm in comms:
        comm.close()


def test_a_reader_learns_of_an_abort_elsewhere() -> None:
    """Rank 1 never joins; another thread aborts the communicator of the waiting thread."""
    first, second = ccl.init_all(["cpu", "cpu"])
    x = infinicore.ones(3, device="cpu")
    first.all_reduce(x)
    said: list[str] = []

    def read() -> None:
        try:
            said.append(f"read {x.tolist()}")
        except ccl.CclError as error:
            said.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    first.abort()
    reader.join(60)
    assert len(said) == 1 and "rank 0 aborted the communicator" in said[0]
    second.abort()
    infinicore.sync_stream()


# ---- Exit status ---------------------------------------------------------------------------------


def test_launch_fails_when_a_rank_is_killed(script: Callable[[str], Path]) -> None:
    done = launch("-n", "2", script(DIES + "print('read', x.tolist())\n"))
    assert done.returncode == 128 + 9
    assert done.stdout == ""
    assert "[0] infinicore.ccl._library.CclError" in done.stderr
    assert "has died while rank 0 waited in AllReduce" in done.stderr
    assert "infini launch: rank 1 was killed by SIGKILL" in done.stderr


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("", id="nothing is read"),
        pytest.param("try:\n    x.tolist()\nexcept ccl.CclError:\n    pass\n", id="caught"),
        pytest.param(
            "try:\n    comm.close()\nexcept ccl.CclError:\n    pass\nprint('goes on')\n",
            id="closed",
        ),
    ],
)
def test_launch_fails_when_a_failure_is_ignored(script: Callable[[str], Path], end: str) -> None:
    done = launch("-n", "2", script(UNEQUAL + end))
    assert done.returncode == 1
    assert "a communicator failed: rank" in done.stderr
    assert "infini launch: rank" in done.stderr and "exited with code 1" in done.stderr


def test_the_others_of_a_killed_rank_fail_too(script: Callable[[str], Path]) -> None:
    """The launcher of another host does not see the signal, only how its own ranks end."""
    ignored = "try:\n    x.tolist()\nexcept ccl.CclError:\n    pass\nprint('ends')\n"
    done = launch(
        "-n",
        "2",
        script(DIES.replace("os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)") + ignored),
    )
    assert done.stdout == "[0] ends\n"
    assert done.returncode == 1, done.stderr


PAIR = """
import infinicore
from infinicore import ccl
comms = ccl.init_all(["cpu", "cpu"])
with ccl.group():
    for comm in comms:
        comm.all_reduce(infinicore.ones(3 + comm.rank, device="cpu"))
"""


def test_a_process_that_never_looked_fails() -> None:
    done = run_alone(PAIR + "print('the end', end='')\n")
    assert done.returncode == 1
    assert done.stdout == "the end"
    assert "infiniccl: the process ends with status 1: a communicator failed: rank" in done.stderr


def test_the_status_of_the_program_stays() -> None:
    done = run_alone(PAIR + "raise SystemExit(7)\n")
    assert done.returncode == 7
    assert "infiniccl" not in done.stderr


def test_a_process_that_handled_the_failure_succeeds() -> None:
    done = run_alone(PAIR + "try:\n    infinicore.sync_stream()\nexcept ccl.CclError:\n    pass\n")
    assert (done.returncode, done.stderr) == (0, "")
