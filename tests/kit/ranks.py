"""Ranks of one process, a thread for each: on the first CPU, or on devices of the
kind of `--device`, one each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore import ccl, context
from kit.place import KIND, ON_HOST

TIMEOUT = 20.0
# Kept: memory of many former streams would be freed at some point, which waits for all others.
_streams: list[Any] = []


def communicators(ranks: int) -> list[ccl.Communicator]:
    if not ON_HOST and infinicore.get_device_count(KIND) < ranks:
        pytest.skip(f"needs {ranks} devices of this kind")
    made = ccl.init_all(["cpu"] * ranks if ON_HOST else [f"{KIND}:{i}" for i in range(ranks)])
    for comm in made:
        comm.set_timeout(TIMEOUT)
    return made


def stream_of(rank: int) -> Any:
    """A separate stream for the rank, if it shares its device."""
    if not ON_HOST:
        return context.get_stream()
    while len(_streams) <= rank:
        _streams.append(infinicore.rt.Stream())
    return _streams[rank]


def each_rank(
    comms: list[ccl.Communicator] | int, body: Callable[[ccl.Communicator], Any]
) -> list[Any]:
    """The results of body(comm) on each rank; raises the first error."""
    made = communicators(comms) if isinstance(comms, int) else comms
    for rank in range(len(made)):
        stream_of(rank)
    results: list[Any] = [None] * len(made)
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        comm = made[rank]
        try:
            with context.device(comm.device), infinicore.stream(stream_of(rank)):
                results[rank] = body(comm)
                infinicore.sync_stream()
            comm.check()
        except BaseException as error:
            errors.append(error)
            comm.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(made))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if isinstance(comms, int):
        for comm in made:
            comm.close()
    if errors:
        raise errors[0]
    return results
