"""Exchange of the id over TCP: rank 0 listens, and the others connect.

Rank 0 answers when all have connected, so each rank can report who is missing, and the port is free
again when the first rank continues: the program may use it for something else. torchrun's own
store, or another program, may hold MASTER_PORT. Then rank 0 takes one of the following ports, where
the others look too: only rank 0 of the same job answers correctly.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import selectors
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PORTS = 8  # that are tried
LOOK = 1.0  # seconds for a connection, or for an unknown peer to identify itself
PAUSE = 0.02  # seconds between two rounds
MAGIC = b"infiCCL1"
HELLO = struct.Struct("!8s16sII")  # magic, job, rank, number of ranks
ANSWER = struct.Struct("!8scI")  # magic, kind, bytes that follow
# Kinds: wait, with the missing ranks; the payload; a reason to give up; wrong job.
WAIT, GIVE, REFUSE, STRANGE = b"w", b"g", b"r", b"s"
LONGEST = 1 << 16
# Distinguishes jobs that use the same port.
JOB = ("INFINI_CCL_JOB", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


class RefusedError(Exception):
    """Rank 0 reported why it failed."""


@dataclass(frozen=True)
class Meeting:
    """The meeting point of ranks, and how they identify each other."""

    host: str
    ports: tuple[int, ...]
    job: bytes

    @classmethod
    def of(cls, host: str, port: str, environment: Mapping[str, str]) -> Meeting:
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(
                f"ccl.init: MASTER_PORT is {port!r}: expected a number from 1 to 65535"
            )
        # torchrun's own store listens at its port: do not connect there.
        first = 1 if environment.get("TORCHELASTIC_USE_AGENT_STORE", "").lower() == "true" else 0
        number = int(port)
        step = 1 if number + first + PORTS <= 65536 else -1
        words = "\0".join([port, *(environment.get(name, "") for name in JOB)])
        return cls(
            host,
            tuple(number + step * i for i in range(first, first + PORTS)),
            hashlib.sha256(words.encode()).digest()[:16],
        )

    def __str__(self) -> str:
        return f"{self.host}, ports {min(self.ports)} to {max(self.ports)}"


def exchange(
    where: Meeting, rank: int, ranks: int, payload: bytes | None, timeout: float | None
) -> bytes:
    """Returns rank 0's `payload` on all ranks."""
    end = None if timeout is None else time.monotonic() + timeout
    if payload is not None:
        with contextlib.closing(_Host(where, ranks)) as host:
            host.wait(timeout, end)
            host.give(payload)
        return payload
    return _Guest(where, rank, ranks).take(timeout, end)


def some_ranks(numbers: Iterable[int]) -> str:
    """`rank 3`, or `ranks 1, 2 and 40 more`."""
    named = sorted(numbers)
    shown = ", ".join(map(str, named[:16]))
    more = f" and {len(named) - 16} more" if len(named) > 16 else ""
    return f"rank {shown}" if len(named) == 1 else f"ranks {shown}{more}"


def _left(end: float | None, most: float) -> float:
    """Seconds to wait, limited to this maximum, and never below 0."""
    return most if end is None else max(0.0, min(most, end - time.monotonic()))


# ---- Rank 0 --------------------------------------------------------------------------------------


@dataclass
class _Visitor:
    connection: socket.socket
    since: float
    said: bytes = b""
    rank: int | None = None
    told: str = field(default="")


class _Host:
    """Listens, and keeps the connections of the ranks that have arrived."""

    def __init__(self, where: Meeting, ranks: int) -> None:
        self.where, self.ranks = where, ranks
        self.listener = _listen(where)
        self.come: dict[int, _Visitor] = {}
        self.visitors: dict[int, _Visitor] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def close(self) -> None:
        for visitor in list(self.visitors.values()):
            self._drop(visitor)
        self.selector.close()
        self.listener.close()

    def missing(self) -> str:
        return some_ranks(set(range(1, self.ranks)) - set(self.come))

    def wait(self, timeout: float | None, end: float | None) -> None:
        """Waits until all have arrived."""
        while len(self.come) < self.ranks - 1:
            if end is not None and time.monotonic() >= end:
                reason = f"{self.missing()} did not come to {self.where} within {timeout:g} s"
                self._refuse_all(reason)
                raise TimeoutError(reason)
            for key, _ in self.selector.select(_left(end, LOOK / 4)):
                if key.fileobj is self.listener:
                    self._admit()
                else:
                    self._hear(self.visitors[key.fd])
            self._tick()

    def give(self, payload: bytes) -> None:
        # No more connections: ranks that continue find the port free.
        self.selector.unregister(self.listener)
        self.listener.close()
        for visitor in self.come.values():
            _say(visitor.connection, GIVE, payload)
        # The side that closes first keeps the port in TIME_WAIT: let it be the others.
        end = time.monotonic() + LOOK
        for visitor in self.come.values():
            with contextlib.suppress(OSError):
                visitor.connection.settimeout(max(0.001, end - time.monotonic()))
                visitor.connection.recv(1)

    def _admit(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:  # it has disconnected
            return
        connection.setblocking(False)
        visitor = _Visitor(connection, time.monotonic())
        self.visitors[connection.fileno()] = visitor
        self.selector.register(connection, selectors.EVENT_READ)

    def _drop(self, visitor: _Visitor) -> None:
        if visitor.rank is not None and self.come.get(visitor.rank) is visitor:
            del self.come[visitor.rank]
        del self.visitors[visitor.connection.fileno()]
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(visitor.connection)
        visitor.connection.close()

    def _hear(self, visitor: _Visitor) -> None:
        try:
            said = visitor.connection.recv(HELLO.size)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        # Ranks that have identified themselves send nothing more, but may disconnect.
        if not said or visitor.rank is not None:
            self._drop(visitor)
            return
        visitor.said += said
        if len(visitor.said) >= HELLO.size:
            self._greet(visitor)
        elif not MAGIC.startswith(visitor.said[: len(MAGIC)]):
            self._drop(visitor)

    def _greet(self, visitor: _Visitor) -> None:
        magic, job, rank, ranks = HELLO.unpack(visitor.said[: HELLO.size])
        if magic != MAGIC:
            self._drop(visitor)
        elif job != self.where.job:
            _say(visitor.connection, STRANGE, b"")
            self._drop(visitor)
        elif ranks != self.ranks or not 0 < rank < ranks:
            reason = f"rank {rank} expects {ranks} ranks, rank 0 expects {self.ranks}"
            _say(visitor.connection, REFUSE, reason.encode())
            self._refuse_all(reason)
            raise RefusedError(reason)
        elif rank in self.come:
            reason = f"rank {rank} has come already: another process has the same rank"
            _say(visitor.connection, REFUSE, reason.encode())
            self._drop(visitor)
        else:
            visitor.rank = rank
            self.come[rank] = visitor

    def _refuse_all(self, reason: str) -> None:
        for visitor in self.come.values():
            _say(visitor.connection, REFUSE, reason.encode())

    def _tick(self) -> None:
        """Drops unknown peers that stay silent; tells the others which ranks are missing."""
        now, missing = time.monotonic(), self.missing()
        for visitor in list(self.visitors.values()):
            if visitor.rank is None:
                if now - visitor.since > LOOK:
                    self._drop(visitor)
            elif not visitor.told or (visitor.told != missing and now - visitor.since > LOOK):
                visitor.told, visitor.since = missing, now
                _say(visitor.connection, WAIT, missing.encode())


def _listen(where: Meeting) -> socket.socket:
    """Listens at the first free port; on all interfaces, unless the name is a loopback one."""
    if where.host in ("localhost", "127.0.0.1"):
        ways = [(socket.AF_INET, "127.0.0.1")]
    elif where.host == "::1":
        ways = [(socket.AF_INET6, "::1")]
    else:
        ways = [(socket.AF_INET6, "")] if socket.has_dualstack_ipv6() else []
        ways.append((socket.AF_INET, ""))
    problem = ""
    for port in where.ports:
        for family, address in ways:
            try:
                return socket.create_server(
                    (address, port),
                    family=family,
                    backlog=1024,
                    dualstack_ipv6=family == socket.AF_INET6 and not address,
                )
            except OSError as error:
                problem = error.strerror or str(error)
                if error.errno == errno.EADDRINUSE:
                    break  # the other address family must not share the port with another program
    raise RuntimeError(
        f"ccl.init: rank 0 cannot listen at {where}: {problem}: expected a free one of these: set "
        "MASTER_PORT"
    )


def _say(connection: socket.socket, kind: bytes, words: bytes) -> None:
    # Short, so it is sent without blocking; ranks that have disconnected are ignored.
    with contextlib.suppress(OSError):
        connection.sendall(ANSWER.pack(MAGIC, kind, len(words)) + words)


# ---- The others ----------------------------------------------------------------------------------


class _Guest:
    """Tries the ports in turn until rank 0 answers, then waits there."""

    def __init__(self, where: Meeting, rank: int, ranks: int) -> None:
        self.where = where
        self.hello = HELLO.pack(MAGIC, where.job, rank, ranks)
        self.problem = ""  # the last failure
        self.missing = ""  # the ranks that rank 0 reported missing

    def take(self, timeout: float | None, end: float | None) -> bytes:
        first, *rest = self.where.ports
        while True:
            for port in rest:
                # The first is nearly always right. At the others a firewall may delay the
                # connection.
                for each in (first, port):
                    payload = self._visit(each, end)
                    if payload is not None:
                        return payload
                    if end is not None and time.monotonic() >= end:
                        raise TimeoutError(self._story(timeout))
            time.sleep(_left(end, PAUSE))

    def _story(self, timeout: float | None) -> str:
        if self.missing:
            return f"{self.missing} did not come to {self.where} within {timeout:g} s"
        return (
            f"rank 0 was not found at {self.where} within {timeout:g} s ({self.problem}): "
            "expected it to run, and MASTER_ADDR to be its address"
        )

    def _visit(self, port: int, end: float | None) -> bytes | None:
        try:
            with socket.create_connection(
                (self.where.host, port), timeout=max(0.01, _left(end, LOOK))
            ) as connection:
                # A local port may connect to itself while nobody listens at it.
                if connection.getsockname() == connection.getpeername():
                    return None
                connection.sendall(self.hello)
                return self._wait(connection, end)
        except OSError as error:
            if not isinstance(error, TimeoutError):
                self.missing = ""  # rank 0 has left
            self.problem = error.strerror or str(error) or type(error).__name__
            return None

    def _wait(self, connection: socket.socket, end: float | None) -> bytes | None:
        self.missing = ""
        while True:
            # A program other than our rank 0 may stay silent; ours answers immediately.
            most = _left(end, 3600.0 if self.missing else LOOK)
            connection.settimeout(max(0.01, most))
            magic, kind, size = ANSWER.unpack(_read(connection, ANSWER.size))
            if magic != MAGIC or size > LONGEST:
                self.problem = "something else answers there"
                return None
            words = _read(connection, size)
            if kind == GIVE:
                return words
            if kind == STRANGE:
                self.problem = "another job's rank 0 answers there"
                return None
            if kind == REFUSE:
                raise RefusedError(words.decode(errors="replace"))
            self.missing = words.decode(errors="replace")


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the program that listens there closed the connection")
        data += more
    return data
