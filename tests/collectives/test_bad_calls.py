"""What is wrong with a call is said with the function's name and what was expected."""

from __future__ import annotations

import ctypes
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
    one = lib.counts([4])
    refused(
        BAD_PARAM, "nranks is 2", "AllGatherV", here, here, lib.counts([4, 4]), 2, F32, comm, None
    )
    refused(NULL_POINTER, "recv_counts is null", "AllGatherV", here, here, None, 1, F32, comm, None)
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


def test_destroyed_twice() -> None:
    made = (ctypes.c_void_p * 1)()
    lib.call("CommInitAll", lib.CPU, made, 1, None)
    handle = ctypes.c_void_p(made[0])
    lib.call("CommDestroy", handle)
    refused(BAD_PARAM, "no live communicator", "CommDestroy", handle)
