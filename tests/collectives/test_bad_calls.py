"""Errors of bad calls contain the function's name and the expected value."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from . import library as lib

F32 = lib.DTYPES["float32"]
BAD_PARAM, NULL_POINTER, BAD_DTYPE = 3, 4, 10


@pytest.fixture
def comm() -> Iterator[Any]:
    with lib.communicators(1) as comms:
        yield comms[0]


def refused(status: int, words: str, name: str, *arguments: Any) -> None:
    with pytest.raises(lib.CclError, match=words) as caught:
        lib.call(name, *arguments)
    assert caught.value.status == status
    assert f"infiniccl{name}" in str(caught.value)


def test_arguments(comm: Any) -> None:
    data = np.zeros(16, np.float32)
    here = data.ctypes.data
    refused(BAD_DTYPE, "datatype is 99", "AllReduce", here, here, 4, 99, 0, comm, None)
    refused(BAD_PARAM, "op is 7", "AllReduce", here, here, 4, F32, 7, comm, None)
    refused(BAD_PARAM, "root is 1: expected 0 to 0", "Broadcast", here, here, 4, F32, 1, comm, None)
    refused(NULL_POINTER, "sendbuf is null", "AllReduce", None, here, 4, F32, 0, comm, None)
    refused(NULL_POINTER, "recvbuf is null", "AllReduce", here, None, 4, F32, 0, comm, None)
    refused(BAD_PARAM, "no live communicator", "AllReduce", here, here, 4, F32, 0, None, None)
    wild = ctypes.c_void_p(0x1234)
    refused(BAD_PARAM, "no live communicator", "AllReduce", here, here, 4, F32, 0, wild, None)
    refused(BAD_PARAM, "no live stream", "AllReduce", here, here, 4, F32, 0, comm, wild)
    refused(BAD_PARAM, "no memory of", "AllReduce", 0x1000, here, 4, F32, 0, comm, None)
    refused(BAD_PARAM, "more than any memory", "AllReduce", here, here, 2**63, F32, 0, comm, None)
    refused(BAD_PARAM, "overlap", "AllReduce", here, here + 4, 4, F32, 0, comm, None)
    one, nowhere = lib.counts([4]), ctypes.cast(8, ctypes.POINTER(ctypes.c_size_t))
    refused(
        BAD_PARAM, "nranks is 2", "AllGatherV", here, here, lib.counts([4, 4]), 2, F32, comm, None
    )
    refused(NULL_POINTER, "recv_counts is null", "AllGatherV", here, here, None, 1, F32, comm, None)
    refused(
        BAD_PARAM, "recv_counts is no memory", "AllGatherV", here, here, nowhere, 1, F32, comm, None
    )
    lib.call("AllGatherV", here, here, one, 1, F32, comm, None)


def test_communicators() -> None:
    made = (ctypes.c_void_p * 1)()
    refused(BAD_PARAM, "ndevice is 0", "CommInitAll", lib.CPU, made, 0, None)
    refused(NULL_POINTER, "comms is null", "CommInitAll", lib.CPU, None, 1, None)
    refused(6, "no device 7", "CommInitAll", lib.CPU, made, 1, (ctypes.c_int * 1)(7))
    comm, nowhere = ctypes.c_void_p(), lib.UniqueId()
    refused(BAD_PARAM, "rank 3 of 2", "CommInitRank", ctypes.byref(comm), 2, nowhere, 3)
    refused(BAD_PARAM, "none that was made", "CommInitRank", ctypes.byref(comm), 2, nowhere, 0)
    refused(BAD_PARAM, "no live communicator", "CommDestroy", None)
    refused(BAD_PARAM, "no group was begun", "GroupEnd", None)


def test_descriptions() -> None:
    text = ctypes.create_string_buffer(100)
    lib.call("Describe", lib.CPU, text, 100)
    assert b"shared memory" in text.value
    refused(NULL_POINTER, "text is null", "Describe", lib.CPU, None, 100)
    refused(BAD_PARAM, "bytes is 0", "Describe", lib.CPU, text, 0)
    refused(6, "no device 0 of that kind", "Describe", 99, text, 100)


def test_a_failed_call_fails_its_group(comm: Any) -> None:
    data = np.ones(4, np.float32)
    here = data.ctypes.data
    lib.call("GroupStart", None)
    lib.call("AllReduce", here, here, 4, F32, lib.SUM, comm, None)
    refused(BAD_PARAM, "op is 9", "AllReduce", here, here, 4, F32, 9, comm, None)
    refused(BAD_PARAM, "nothing of it was enqueued", "GroupEnd", None)
    # Also one that has no communicator, or no counts.
    two = (ctypes.c_void_p * 2)()
    lib.call("CommInitAll", lib.CPU, two, 2, (ctypes.c_int * 2)(0, 0))
    for status, words, name, arguments in (
        (BAD_PARAM, "no live", "AllReduce", (here, here, 4, F32, lib.SUM, None, None)),
        (NULL_POINTER, "is null", "AllGatherV", (here, here, None, 2, F32, two[0], None)),
    ):
        lib.call("GroupStart", None)
        lib.call("AllReduce", here, here, 4, F32, lib.SUM, two[0], None)
        refused(status, words, name, *arguments)
        refused(status, "nothing of it was enqueued", "GroupEnd", None)
    for handle in two:
        lib.call("CommDestroy", handle)  # immediate: nothing waits


def test_destroyed_twice() -> None:
    made = (ctypes.c_void_p * 1)()
    lib.call("CommInitAll", lib.CPU, made, 1, None)
    handle = ctypes.c_void_p(made[0])
    lib.call("CommDestroy", handle)
    refused(BAD_PARAM, "no live communicator", "CommDestroy", handle)


def pair(timeout: float) -> tuple[Any, Any]:
    made = (ctypes.c_void_p * 2)()
    lib.call("CommInitAll", lib.CPU, made, 2, (ctypes.c_int * 2)(0, 0))
    for handle in made:
        lib.call("CommSetTimeout", handle, timeout)
    return ctypes.c_void_p(made[0]), ctypes.c_void_p(made[1])


@pytest.mark.requires("host")
def test_what_failed_is_told_at_the_latest_when_it_is_destroyed() -> None:
    data = np.ones(4, np.float32)
    here = data.ctypes.data
    alone, absent = pair(0.2)
    lib.call("AllReduce", here, here, 4, F32, lib.SUM, alone, None)
    refused(1, "rank 1 did not come", "CommDestroy", alone)
    lib.call("CommDestroy", absent)  # none of its own has failed
    alone, absent = pair(0.2)
    lib.call("AllReduce", here, here, 4, F32, lib.SUM, alone, None)
    assert "rank 1 did not come" in lib.outcome(alone, None)
    lib.call("CommDestroy", alone)  # the error was reported
    lib.call("CommDestroy", absent)


@pytest.mark.requires("host")
def test_abort_ends_a_destruction_that_waits() -> None:
    data = np.ones(4, np.float32)
    here = data.ctypes.data
    alone, absent = pair(0)  # for ever
    lib.call("AllReduce", here, here, 4, F32, lib.SUM, alone, None)
    thread = threading.Thread(target=refused, args=(1, "aborted", "CommDestroy", alone))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    lib.call("CommAbort", alone)
    thread.join(10)
    assert not thread.is_alive()
    lib.call("CommAbort", absent)
