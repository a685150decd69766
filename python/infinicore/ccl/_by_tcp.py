"""The id goes over TCP: rank 0 listens, the others come to it.

Rank 0 answers when all have come, so each rank can tell who is missing, and the port is free again
when the first rank goes on: the program may want it for something else. torchrun's own store, or
another program, may hold MASTER_PORT. Then rank 0 takes one of the ports behind it, and the others
look there: only rank 0 of the same job answers in the right way.
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
LOOK = 1.0  # seconds for a connection, or for a stranger to say who it is
PAUSE = 0.02  # seconds between two rounds
MAGIC = b"infiCCL1"
HELLO = struct.Struct("!8s16sII")  # magic, job, rank, number of ranks
ANSWER = struct.Struct("!8scI")  # magic, kind, bytes that follow
# Kinds: wait, for the ranks that are told; the payload; a reason to give up; another job's.
WAIT, GIVE, REFUSE, STRANGE = b"w", b"g", b"r", b"s"
LONGEST = 1 << 16
# What tells one job from another that uses the same port.
JOB = ("INFINI_CCL_JOB", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


class RefusedError(Exception):
    """Rank 0 told why it can't work."""


@dataclass(frozen=True)
class Meeting:
    """Where ranks meet, and how they know each other."""

    host: str
    ports: tuple[int, ...]
    job: bytes

    @classmethod
    def of(cls, host: str, port: str, environment: Mapping[str, str]) -> Meeting:
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError(
                f"ccl.init: MASTER_PORT is {port!r}: expected a number from 1 to 65535"
            )
        # torchrun keeps its own store at the port that it names: do not knock there.
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
    """What rank 0 gives as `payload`, on all ranks."""
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
    """Seconds to wait: at most so many, and none below 0, which would be for ever."""
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
    """Listens, and keeps the connections of those who have come."""

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
        """Until all have come."""
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
        # Nobody can come now; whoever goes on finds the port free.
        self.selector.unregister(self.listener)
        self.listener.close()
        for visitor in self.come.values():
            _say(visitor.connection, GIVE, payload)
        # The side that closes first keeps the port busy for a while: let it be the others.
        end = time.monotonic() + LOOK
        for visitor in self.come.values():
            with contextlib.suppress(OSError):
                visitor.connection.settimeout(max(0.001, end - time.monotonic()))
                visitor.connection.recv(1)

    def _admit(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:  # it has gone again
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
        # Those who have said who they are have nothing to add, but may leave.
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
        """Strangers who say nothing are sent away; the others hear who is missing."""
        now, missing = time.monotonic(), self.missing()
        for visitor in list(self.visitors.values()):
            if visitor.rank is None:
                if now - visitor.since > LOOK:
                    self._drop(visitor)
            elif not visitor.told or (visitor.told != missing and now - visitor.since > LOOK):
                visitor.told, visitor.since = missing, now
                _say(visitor.connection, WAIT, missing.encode())


def _listen(where: Meeting) -> socket.socket:
    """At the first port that is free; for other machines too, unless the name is this one's own."""
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
                    break  # the other family must not share a port with a stranger
    raise RuntimeError(
        f"ccl.init: rank 0 cannot listen at {where}: {problem}: expected a free one of these: set "
        "MASTER_PORT"
    )


def _say(connection: socket.socket, kind: bytes, words: bytes) -> None:
    # Short, so the connection takes it at once; whoever has left hears nothing.
    with contextlib.suppress(OSError):
        connection.sendall(ANSWER.pack(MAGIC, kind, len(words)) + words)


# ---- The others ----------------------------------------------------------------------------------


class _Guest:
    """Goes from port to port until rank 0 answers, and waits there."""

    def __init__(self, where: Meeting, rank: int, ranks: int) -> None:
        self.where = where
        self.hello = HELLO.pack(MAGIC, where.job, rank, ranks)
        self.problem = ""  # what was met last
        self.missing = ""  # whom rank 0 waits for, as it has told

    def take(self, timeout: float | None, end: float | None) -> bytes:
        first, *rest = self.where.ports
        while True:
            for port in rest:
                # The first is nearly always the one. A firewall may let one wait at the others.
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
                # A port of this host may connect to itself while nobody listens at it.
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
            # Who is no rank 0 of ours may say nothing at all; ours answers at once.
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
            raise ConnectionError("whoever listens there hangs up")
        data += more
    return data
