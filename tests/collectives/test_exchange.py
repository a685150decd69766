"""How the id gets from rank 0 to the others: real sockets and files; the ranks are threads."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infinicore.ccl import _by_file, _by_tcp

from .ports import free_port

PAYLOAD = bytes(range(256)) * 2
ALL = "all"  # in place of what each rank got: the payload


def meet(*ranks: tuple[int, Callable[..., bytes], Any, int, float]) -> list[str]:
    """Each rank's arguments: (rank, way, where, number of ranks, time-out)."""
    told = [""] * len(ranks)

    def run(
        index: int, rank: int, way: Callable[..., bytes], where: Any, count: int, time: float
    ) -> None:
        try:
            got = way(where, rank, count, None if rank else PAYLOAD, time)
            told[index] = ALL if got == PAYLOAD else repr(got)
        except Exception as error:
            told[index] = f"{type(error).__name__}: {error}"

    threads = [
        threading.Thread(target=run, args=(index, *words)) for index, words in enumerate(ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "the ranks hang"
    return told


def meeting(port: int = 0, **variables: str) -> _by_tcp.Meeting:
    return _by_tcp.Meeting.of("127.0.0.1", str(port or free_port()), variables)


# ---- Over TCP ------------------------------------------------------------------------------------


def test_many_ranks() -> None:
    where = meeting()
    assert set(meet(*((r, _by_tcp.exchange, where, 60, 30.0) for r in range(60)))) == {ALL}
    # The port is free immediately.
    socket.create_server(("127.0.0.1", where.ports[0])).close()


@contextlib.contextmanager
def a_stranger_listens(port: int, answer: bytes) -> Iterator[None]:
    """Accepts connections at a port, and sends its own answers, or closes the connection."""
    with socket.create_server(("127.0.0.1", port)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_port_that_is_taken() -> None:
    where = meeting()
    first, second = where.ports[:2]
    lie = _by_tcp.ANSWER.pack(_by_tcp.MAGIC, _by_tcp.GIVE, 1 << 31)
    words = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with a_stranger_listens(first, words), a_stranger_listens(second, lie):
        told = meet(*((rank, _by_tcp.exchange, where, 3, 30.0) for rank in range(3)))
    assert told == [ALL] * 3


def test_torchrun_s_port_is_left_alone() -> None:
    where = meeting(29500, TORCHELASTIC_USE_AGENT_STORE="True")
    assert where.ports == tuple(range(29501, 29509))
    assert min(meeting(65535).ports) == 65528


def test_two_jobs_at_one_port() -> None:
    one = meeting(INFINI_CCL_JOB="one")
    two = meeting(one.ports[0], INFINI_CCL_JOB="two")
    told = meet(
        *((rank, _by_tcp.exchange, job, 2, 30.0) for rank in range(2) for job in (one, two))
    )
    assert told == [ALL] * 4


def test_callers_that_are_no_ranks_do_not_disturb() -> None:
    where = meeting()
    told: list[str] = []
    host = threading.Thread(target=lambda: told.extend(meet((0, _by_tcp.exchange, where, 3, 30.0))))
    host.start()
    callers: list[socket.socket] = []
    hello = _by_tcp.HELLO.pack(_by_tcp.MAGIC, where.job, 1, 3)
    for said in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(100), hello[:20], hello[:-1], hello):
        connected = False
        while not connected:
            with contextlib.suppress(ConnectionError):
                callers.append(socket.create_connection(("127.0.0.1", where.ports[0]), 10))
                callers[-1].sendall(said)
                connected = True
    # The last one has announced itself as rank 1. It is told that rank 2 is missing, and leaves.
    assert b"rank 2" in callers[-1].recv(100)
    callers[-1].close()
    assert meet(*((rank, _by_tcp.exchange, where, 3, 30.0) for rank in (1, 2))) == [ALL] * 2
    host.join(60)
    assert told == [ALL]
    for caller in callers:
        caller.close()


def test_who_is_missing_is_told_to_all() -> None:
    where = meeting()
    told = meet((0, _by_tcp.exchange, where, 4, 1.0), (2, _by_tcp.exchange, where, 4, 30.0))
    words = f"ranks 1, 3 did not come to {where} within 1 s"
    assert told == [f"TimeoutError: {words}", f"RefusedError: {words}"]
    # Also to a rank whose own time-out expires first. It may try again.
    host = threading.Thread(target=lambda: meet((0, _by_tcp.exchange, where, 4, 30.0)))
    host.start()
    (words,) = meet((2, _by_tcp.exchange, where, 4, 2.0))
    assert words == f"TimeoutError: ranks 1, 3 did not come to {where} within 2 s"
    assert meet(*((rank, _by_tcp.exchange, where, 4, 30.0) for rank in (1, 2, 3))) == [ALL] * 3
    host.join(60)


def test_rank_0_is_not_there() -> None:
    where = meeting()
    (words,) = meet((1, _by_tcp.exchange, where, 2, 0.5))
    assert f"rank 0 was not found at {where} within 0.5 s (Connection refused)" in words


def test_ranks_that_expect_other_numbers() -> None:
    where = meeting()
    told = meet((0, _by_tcp.exchange, where, 2, 30.0), (1, _by_tcp.exchange, where, 3, 30.0))
    assert told == ["RefusedError: rank 1 expects 3 ranks, rank 0 expects 2"] * 2


def test_two_with_one_rank() -> None:
    where = meeting()
    told = meet(*((rank, _by_tcp.exchange, where, 3, 29.0 * rank + 1) for rank in (0, 1, 1)))
    assert sorted(told[1:]) == [
        "RefusedError: rank 1 has come already: another process has the same rank",
        f"RefusedError: rank 2 did not come to {where} within 1 s",
    ]


# ---- Through a file ------------------------------------------------------------------------------


def test_files_of_an_earlier_run_are_not_believed(tmp_path: Path) -> None:
    """Neither rank 0's file, nor those of the others, nor unrelated files."""
    path = tmp_path / "id"
    old = '{"mine": "00", "ranks": 3, "told": {"1": "11", "2": "22"}, "id": "%s"}'
    path.write_text(old % ("01" + "ab" * 511))
    (tmp_path / "id.1").write_text('{"mine": "11", "seen": "00"}')
    (tmp_path / "id.2").write_text("what is this")
    told = meet(*((rank, _by_file.exchange, str(path), 3, 30.0) for rank in range(3)))
    assert told == [ALL] * 3
    assert list(tmp_path.iterdir()) == []


def test_a_run_after_a_run(tmp_path: Path) -> None:
    for _ in range(10):
        told = meet(*((r, _by_file.exchange, str(tmp_path / "id"), 4, 30.0) for r in range(4)))
        assert told == [ALL] * 4


def test_a_rank_0_that_gave_up_has_tidied(tmp_path: Path) -> None:
    """Another rank still finds those that wait."""
    path, told = tmp_path / "id", list[str]()
    other = threading.Thread(
        target=lambda: told.extend(meet((1, _by_file.exchange, str(path), 2, 30.0)))
    )
    other.start()
    while not (tmp_path / "id.1").exists():
        assert other.is_alive()
    (tmp_path / "id.1").unlink()
    assert meet((0, _by_file.exchange, str(path), 2, 30.0)) == [ALL]
    other.join(60)
    assert told == [ALL]


def test_who_does_not_come_to_the_file(tmp_path: Path) -> None:
    path, other = tmp_path / "id", tmp_path / "other"
    told = meet(
        (0, _by_file.exchange, str(path), 3, 0.5),
        (1, _by_file.exchange, str(other), 2, 0.5),
        (1, _by_file.exchange, str(tmp_path / "none" / "id"), 2, 0.5),
    )
    assert told[0] == f"TimeoutError: ranks 1, 2 did not come to {path} within 0.5 s"
    assert told[1] == f"TimeoutError: rank 0 did not come to {other} within 0.5 s"
    assert "the folder of" in told[2] and "does not exist" in told[2]
    assert list(tmp_path.iterdir()) == []


def test_ranks_that_expect_other_numbers_at_the_file(tmp_path: Path) -> None:
    told = meet(*((r, _by_file.exchange, str(tmp_path / "id"), 2 + r, 30.0) for r in (0, 1)))
    assert told == ["RefusedError: rank 1 expects 3 ranks, rank 0 expects 2"] * 2
    assert list(tmp_path.iterdir()) == []


def test_names_of_ranks() -> None:
    assert _by_tcp.some_ranks([3]) == "rank 3"
    assert _by_tcp.some_ranks([4, 1]) == "ranks 1, 4"
    assert _by_tcp.some_ranks(range(20)).endswith("14, 15 and 4 more")
