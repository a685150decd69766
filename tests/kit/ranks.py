"""Ranks of one process, on its first CPU: a thread and a stream for each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import ccl

TIMEOUT = 20.0
# Kept: what many streams of the past left is given back some day, and that waits for all others.
_streams: list[Any] = []


def each_rank(
    comms: list[ccl.Communicator] | int, body: Callable[[ccl.Communicator], Any]
) -> list[Any]:
    """What body(comm) gives on each rank; the first error of any is raised."""
    made = ccl.init_all(["cpu"] * comms) if isinstance(comms, int) else comms
    while len(_streams) < len(made):
        _streams.append(infinicore.rt.Stream())
    results: list[Any] = [None] * len(made)
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        comm = made[rank]
        try:
            comm.set_timeout(TIMEOUT)
            with infinicore.stream(_streams[rank]):
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
