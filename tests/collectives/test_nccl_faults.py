"""Faults between ranks with a vendor's library: reported with a message, within the time-out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import library as lib

pytestmark = pytest.mark.requires("accelerator")

KIND = lib.DTYPES["float32"]
COUNT = 1000


class Ranks:
    """Two connected ranks of this process, each with a stream and memory full of ones."""

    def __init__(self, comms: list[ctypes.c_void_p]) -> None:
        self.comms = comms
        self.data = [np.ones(COUNT, np.float32) for _ in comms]
        self.streams, self.there = [], []
        for rank, data in enumerate(self.data):
            self.streams.append(lib.new_stream(rank))
            self.there.append(lib.address(data))
        self.together()
        for stream in self.streams:
            lib.wait(stream)

    def all_reduce(self, rank: int, count: int = COUNT) -> None:
        here = self.there[rank]
        comm, stream = self.comms[rank], self.streams[rank]
        lib.call("AllReduce", here, here, count, KIND, lib.SUM, comm, stream)

    def together(self) -> None:
        lib.call("GroupStart", None)
        for rank in range(len(self.comms)):
            self.all_reduce(rank)
        lib.call("GroupEnd", None)


@pytest.fixture
def ranks() -> Any:
    with lib.communicators(2) as comms:
        made = Ranks(comms)
        yield made
    for stream in made.streams:
        lib.wait(stream)
    lib.fetch()


def set_timeout(comms: list[ctypes.c_void_p], seconds: float) -> None:
    for comm in comms:
        lib.call("CommSetTimeout", comm, seconds)


def test_a_rank_that_does_not_come(ranks: Ranks) -> None:
    set_timeout(ranks.comms, 0.2)
    ranks.all_reduce(0)
    for comm in ranks.comms:
        said = lib.outcome(comm, ranks.streams[0])  # it is freed
        assert f"AllReduce of {COUNT} elements of rank 0 was not done within 0.2 s" in said
    with pytest.raises(lib.CclError, match=r"an earlier operation .* was not done within"):
        ranks.all_reduce(1)


def test_ranks_that_differ(ranks: Ranks) -> None:
    set_timeout(ranks.comms, 0.2)
    ranks.all_reduce(0, 7)
    ranks.all_reduce(1, 8)
    for comm, stream in zip(ranks.comms, ranks.streams, strict=True):
        assert "called something else" in lib.outcome(comm, stream)


def test_a_rank_that_does_not_come_the_first_time() -> None:
    with lib.communicators(2) as comms:
        set_timeout(comms, 0.2)
        stream = lib.new_stream()
        here = lib.address(np.ones(4, np.float32))
        with pytest.raises(lib.CclError, match=r"rank 0 could not connect .* within 0.2 s"):
            lib.call("AllReduce", here, here, 4, KIND, lib.SUM, comms[0], stream)
    lib.fetch()


def test_abort_frees_what_waits(ranks: Ranks) -> None:
    ranks.all_reduce(0)
    lib.call("CommAbort", ranks.comms[1])
    said = lib.outcome(ranks.comms[0], ranks.streams[0])
    assert "rank 1 aborted the communicator" in said
    ranks.comms.pop()


def test_a_rank_that_does_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINI_CCL_TIMEOUT", "0.2")
    lib.use(0)
    with pytest.raises(lib.CclError, match=r"not all of 2 ranks came to join rank 0 within 0.2 s"):
        lib.join(2, lib.unique_id(), 0)
    with pytest.raises(lib.CclError, match="none that was made"):
        lib.join(2, lib.UniqueId(), 0)


HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def test_time_begins_with_the_operation(ranks: Ranks) -> None:
    """Earlier work in the stream may take any time."""
    gate = threading.Event()
    hold = HOST_FUNCTION(lambda _: gate.wait(60) and None)
    set_timeout(ranks.comms, 0.2)
    for stream in ranks.streams:
        assert lib.rt.infinirtLaunchHostFunc(stream, hold, None) == lib.SUCCESS
    ranks.together()
    threading.Event().wait(0.6)
    told = [lib.failure(comm) for comm in ranks.comms]
    set_timeout(ranks.comms, 60)
    gate.set()
    for stream in ranks.streams:
        lib.wait(stream)
    assert told == ["", ""]
    assert [lib.failure(comm) for comm in ranks.comms] == ["", ""]


def test_ranks_in_threads_need_no_groups() -> None:
    lib.place(1)  # or it is skipped
    lib.use(0)
    made = lib.unique_id()
    results: dict[int, float] = {}

    def rank(number: int) -> None:
        lib.use(number)
        comm, stream = lib.join(2, made, number), lib.new_stream(number)
        data = np.full(COUNT, number + 1, np.float32)
        memory = ctypes.c_void_p()
        size = ctypes.c_size_t(data.nbytes)
        assert lib.rt.infinirtMalloc(ctypes.byref(memory), size) == lib.SUCCESS
        there, here = memory, ctypes.c_void_p(data.ctypes.data)
        assert lib.rt.infinirtMemcpy(there, here, size, 1) == lib.SUCCESS
        for _ in range(20):
            lib.call("AllReduce", there, there, COUNT, KIND, lib.MAX, comm, stream)
        lib.wait(stream)
        assert lib.rt.infinirtMemcpy(here, there, size, 2) == lib.SUCCESS
        results[number] = float(data.min())
        assert lib.failure(comm) == ""
        lib.call("CommDestroy", comm)

    run_in_threads(rank)
    assert results == {0: 2.0, 1: 2.0}


def run_in_threads(body: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=body, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_ranks_on_one_device() -> None:
    if lib.can_share_devices():
        pytest.skip("it is allowed")
    made = (ctypes.c_void_p * 2)()
    with pytest.raises(lib.CclError, match=r"Duplicate GPU|same GPU"):
        lib.call("CommInitAll", lib.kind(), made, 2, (ctypes.c_int * 2)(0, 0))
