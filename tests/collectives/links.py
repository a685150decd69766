"""Ranks as processes that find each other without sharing memory, or as if on several hosts."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from typing import Any

from . import library as lib

CONTEXT = multiprocessing.get_context("forkserver")


def _start_server() -> None:
    """Ranks are forked off a process that has imported everything and started nothing."""
    names = ("library", "test_links", "test_links_faults")
    CONTEXT.set_forkserver_preload([f"{__package__}.{name}" for name in names])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # it imports before it knows the paths
    forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


TIMEOUT = 30.0


def _rank(
    body: Callable[..., Any],
    places: Sequence[dict[str, str]],
    made: bytes,
    rank: int,
    start: Any,
    answers: Any,
    arguments: tuple[Any, ...],
) -> None:
    os.environ.pop("INFINI_CCL_HOST", None)
    os.environ.update(places[rank])
    os.environ.setdefault("INFINI_CCL_TIMEOUT", str(TIMEOUT))
    start.wait()  # a rank that is late is absent, not slow to start
    try:
        comm = lib.join(len(places), lib.UniqueId.from_buffer_copy(made), rank)
    except lib.CclError as error:
        answers.put((rank, f"join: {error}"))
        return
    try:
        answers.put((rank, body(comm, rank, len(places), *arguments)))
    except BaseException as error:
        answers.put((rank, f"raised {error!r}"))
        lib.call("CommAbort", comm)
        return
    lib.call("CommDestroy", comm)


def in_ranks(
    body: Callable[..., Any],
    places: Sequence[dict[str, str]],
    *arguments: Any,
    made: Any = None,
    absent: Sequence[int] = (),
) -> dict[int, Any]:
    """The result of `body(comm, rank, ranks, *arguments)` on each surviving rank. A place is a set
    of environment variables."""
    _start_server()
    answers, start = CONTEXT.Queue(), CONTEXT.Barrier(len(places) - len(absent))
    made = made or lib.unique_id()
    started = [
        CONTEXT.Process(
            target=_rank,
            args=(body, places, bytes(made), rank, start, answers, arguments),
            daemon=True,
        )
        for rank in range(len(places))
        if rank not in absent
    ]
    for process in started:
        process.start()
    told: dict[int, Any] = {}
    end = time.monotonic() + 120
    while any(process.is_alive() for process in started) or not answers.empty():
        while not answers.empty():
            rank, answer = answers.get()
            told[rank] = answer
        assert time.monotonic() < end, f"the ranks hang; told so far: {told}"
        time.sleep(0.01)
    return told


def tcp(ranks: int) -> list[dict[str, str]]:
    return [{"INFINI_CCL_TRANSPORT": "tcp"}] * ranks


def on_hosts(names: str) -> list[dict[str, str]]:
    """A rank on the host of each letter; `-` is the host that makes the id."""
    return [{} if name == "-" else {"INFINI_CCL_HOST": name} for name in names]


def all_reduce(comm: Any, data: Any, begun: Callable[[], Any] = lambda: None) -> str:
    """Sums float32 arrays of all ranks in place, and returns the error; empty: none. Calls `begun`
    between the start of the operation and the wait for its end."""
    here = data.ctypes.data
    try:
        lib.call("AllReduce", here, here, data.size, lib.DTYPES["float32"], lib.SUM, comm, None)
    except lib.CclError as error:
        return str(error)
    begun()
    return lib.outcome(comm, None)


class Meeting:
    """A barrier for all ranks of `in_ranks`: an argument of its body."""

    def __init__(self, ranks: int) -> None:
        self._barrier = CONTEXT.Barrier(ranks)

    def wait(self) -> None:
        self._barrier.wait(60)
