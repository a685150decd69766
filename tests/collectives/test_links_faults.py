"""Errors of ranks without shared memory when one misbehaves, or a foreign process connects."""

from __future__ import annotations

import os
import signal
import socket
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import library as lib
from . import links
from .links import CONTEXT, Meeting, in_ranks, on_hosts, tcp

KIND = lib.DTYPES["float32"]
PLACES = {"tcp": tcp(3), "hosts": on_hosts("aab"), "one-each": on_hosts("-ab")}
places = pytest.mark.parametrize("where", ["tcp", "hosts"])


def all_reduce(comm: Any, count: int = 8, begun: Callable[[], Any] = lambda: None) -> str:
    return links.all_reduce(comm, np.ones(count, np.float32), begun)


def dies(comm: Any, rank: int, ranks: int, who: int, count: int) -> str:
    if rank == who:
        os.kill(os.getpid(), signal.SIGKILL)
    return all_reduce(comm, count)


@pytest.mark.parametrize(
    ("where", "who"), [("tcp", 2), ("hosts", 0), ("hosts", 1), ("hosts", 2), ("one-each", 0)]
)
def test_a_rank_that_dies_is_named(where: str, who: int) -> None:
    told = in_ranks(dies, PLACES[where], who, 100001)
    assert sorted(told) == [rank for rank in range(3) if rank != who]
    for answer in told.values():
        assert f"rank {who} (process" in answer and "has died" in answer


def another_count(comm: Any, rank: int, ranks: int) -> str:
    return all_reduce(comm, 100000 if rank == 2 else 4)


@places
def test_ranks_that_differ_are_told_so(where: str) -> None:
    told = in_ranks(another_count, PLACES[where])
    for answer in told.values():
        assert "rank 2 called AllReduce of 100000 elements" in answer
        assert "called AllReduce of 4 elements" in answer


def another_kind(comm: Any, rank: int, ranks: int) -> str:
    if rank == 2:
        data = np.ones(8, np.float32)
        lib.call("Send", data.ctypes.data, 8, KIND, 0, comm, None)
        lib.outcome(comm, None)
    # The first may succeed where both others are as expected, but not on rank 0.
    return lib.failure(comm) or all_reduce(comm) or all_reduce(comm)


def test_an_operation_of_another_kind_is_named() -> None:
    told = in_ranks(another_kind, PLACES["tcp"])
    for answer in told.values():
        assert "rank 2 called Send of 8 elements" in answer and "called AllReduce" in answer


def broadcast(comm: Any, data: Any, root: int = 0) -> str:
    here = data.ctypes.data
    try:
        lib.call("Broadcast", here, here, data.size, KIND, root, comm, None)
    except lib.CclError as error:
        return str(error)
    return lib.outcome(comm, None)


def takes_another_count(comm: Any, rank: int, ranks: int) -> str:
    data = np.full(8, rank, np.float32)
    said = broadcast(comm, data[: 4 if rank == 2 else 8])
    if not said:  # a root runs ahead, and the others have its data
        assert rank != 2
        assert (data == 0).all()
        said = all_reduce(comm)
    return said


@places
def test_all_hear_of_one_that_takes_another_count(where: str) -> None:
    told = in_ranks(takes_another_count, PLACES[where])
    for answer in told.values():
        assert "rank 2 called Broadcast of 4 elements" in answer
        assert "rank 0 called Broadcast of 8 elements" in answer


def believes_in_another_root(comm: Any, rank: int, ranks: int) -> str:
    lib.call("CommSetTimeout", comm, 2.0)
    return broadcast(comm, np.ones(8, np.float32), root=(rank + 1) % 2) or all_reduce(comm)


def test_two_that_wait_for_each_other_as_roots() -> None:
    told = in_ranks(believes_in_another_root, tcp(2))
    for answer in told.values():
        assert "did not come within 2 s" in answer
        assert "waited in Broadcast of 8 elements of dtype " in answer


def gives_to_nobody(comm: Any, rank: int, ranks: int, end: Meeting) -> str:
    lib.call("CommSetTimeout", comm, 1.0)
    said = ""
    if rank == 0:
        for _ in range(1000):
            if said := broadcast(comm, np.ones(8, np.float32)):
                break
    end.wait()  # until then rank 1 receives nothing
    if rank == 0:
        return said or "never ends"
    return lib.failure(comm) or all_reduce(comm)


def test_a_root_does_not_run_ahead_for_ever() -> None:
    told = in_ranks(gives_to_nobody, tcp(2), Meeting(2))
    assert "rank 1 did not come within 1 s: rank 0 waited in Broadcast" in told[0]
    assert "rank 1 did not come within 1 s" in told[1] or "rank 0" in told[1]


def another_size(comm: Any, rank: int, ranks: int) -> str:
    data = np.ones(8, np.float32)
    lib.call("Send" if rank else "Recv", data.ctypes.data, 8 - rank, KIND, 1 - rank, comm, None)
    return lib.outcome(comm, None) or all_reduce(comm)


def test_a_message_of_another_size_is_named() -> None:
    for answer in in_ranks(another_size, tcp(2)).values():
        assert "rank 1 sends 7 elements" in answer and "expects 8" in answer


def never_calls(comm: Any, rank: int, ranks: int, end: Meeting) -> str:
    lib.call("CommSetTimeout", comm, 1.0)
    said = "" if rank == 2 else all_reduce(comm)
    end.wait()
    return said


@places
def test_a_rank_that_does_not_come_is_named(where: str) -> None:
    told = in_ranks(never_calls, PLACES[where], Meeting(3))
    for rank in (0, 1):
        assert "rank 2 did not come within 1 s" in told[rank]


def aborts(comm: Any, rank: int, ranks: int, begun: Meeting) -> str:
    if rank != 1:
        return all_reduce(comm, 100001, begun.wait)
    begun.wait()
    lib.call("CommAbort", comm)
    os._exit(0)


@places
def test_abort_frees_the_others(where: str) -> None:
    told = in_ranks(aborts, PLACES[where], Meeting(3))
    for rank in (0, 2):
        assert "rank 1 aborted" in told[rank]


def leaves(comm: Any, rank: int, ranks: int) -> str:
    return "left" if rank == 2 else all_reduce(comm)


@places
def test_a_rank_that_left_is_named(where: str) -> None:
    told = in_ranks(leaves, PLACES[where])
    for rank in (0, 1):
        assert "rank 2 has left the communicator" in told[rank]


# ---- Joining ------------------------------------------------------------------------------------


def joined(comm: Any, rank: int, ranks: int) -> str:
    return all_reduce(comm)


@pytest.mark.parametrize("where", PLACES)
def test_a_rank_that_never_joins_is_named(where: str) -> None:
    hurried = [{**place, "INFINI_CCL_TIMEOUT": "1.5"} for place in PLACES[where]]
    told = in_ranks(joined, hurried, absent=[1])
    for rank in (0, 2):
        assert "rank 1 did not come within 1.5 s" in told[rank]


def test_an_id_can_be_tried_again() -> None:
    made = lib.unique_id()
    hurried = [{**place, "INFINI_CCL_TIMEOUT": "1"} for place in tcp(2)]
    assert "rank 1 did not come" in in_ranks(joined, hurried, made=made, absent=[1])[0]
    assert in_ranks(joined, tcp(2), made=made) == {0: "", 1: ""}
    told = in_ranks(joined, hurried, made=made)
    assert all("the id has been used before" in answer for answer in told.values())


def test_transports_that_are_not_possible_say_why() -> None:
    told = in_ranks(joined, [{"INFINI_CCL_TRANSPORT": "pigeon"}] * 2)
    assert "INFINI_CCL_TRANSPORT is pigeon: expected shm, tcp or mpi" in told[0]
    told = in_ranks(joined, [{**place, "INFINI_CCL_TRANSPORT": "shm"} for place in on_hosts("ab")])
    assert "INFINI_CCL_TRANSPORT is shm, but not all ranks are on one host" in told[0]
    assert in_ranks(joined, [{"INFINI_CCL_TRANSPORT": "shm"}] * 2) == {0: "", 1: ""}


def _make_and_end(answers: Any) -> None:
    answers.put(bytes(lib.unique_id()))


def test_an_id_whose_maker_has_ended() -> None:
    answers = CONTEXT.Queue()
    maker = CONTEXT.Process(target=_make_and_end, args=(answers,))
    maker.start()
    made = lib.UniqueId.from_buffer_copy(answers.get(timeout=60))
    maker.join()
    told = in_ranks(joined, tcp(2), made=made)
    assert all("cannot be reached" in answer for answer in told.values())
    assert in_ranks(joined, [{}, {}], made=made) == {0: "", 1: ""}  # one host needs no listener


def place_of(made: lib.UniqueId) -> tuple[str, int]:
    """The address where the maker of an id listens: a sockaddr_in after five numbers and a few
    flags."""
    family, port, host = struct.unpack_from("=H2s4s", bytes(made), 44)
    assert family == socket.AF_INET
    return socket.inet_ntoa(host), int.from_bytes(port, "big")


def test_strangers_at_the_door_disturb_nobody() -> None:
    made = lib.unique_id()
    door = place_of(made)
    magic = bytes.fromhex("63634865") + bytes.fromhex("6c6c6f31")
    visitors = []
    for words in (
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(4096),
        magic,  # half a greeting
        magic + bytes(200),  # a wrong secret
        bytes(made)[:100],
    ):
        visitor = socket.create_connection(door)
        visitor.sendall(words)
        visitors.append(visitor)
    for _ in range(50):
        visitors.append(socket.create_connection(door))
    socket.create_connection(door).close()
    assert in_ranks(joined, tcp(2), made=made) == {0: "", 1: ""}
    for visitor in visitors:
        visitor.close()


def test_an_address_of_another_host_is_named() -> None:
    elsewhere = [{**place, "INFINI_CCL_ADDRESS": "203.0.113.7"} for place in tcp(1)]
    assert "cannot listen at 203.0.113.7" in in_ranks(joined, elsewhere)[0]
