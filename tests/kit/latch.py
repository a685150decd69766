"""Deterministic tests of asynchrony: host functions that wait for a flag, and a log of the order of
execution."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Far longer than any operation; a wait that reaches it is a hang and fails the test.
LIMIT = 30.0


class Latch:
    """Holds a stream: `latch.hold(stream)` queues a host function that waits for `latch.open()`.

    If host functions of several streams may be serialized, a waiting one would block all of them.
    Such a device type provides a gate: `close(stream)` queues work that sets the first of two words
    of host memory and waits for the second, and returns both.

    As a context manager it is always open at the end, so a failing test leaves nothing blocked. It
    opens automatically after `limit` seconds: a device that waits where it must not then gives a
    wrong result instead of hanging.
    """

    def __init__(self, rt: Any, stream: int | None = None, limit: float = LIMIT) -> None:
        if "asynchronous" not in rt.tags:
            import pytest  # the conformance kit uses latches without it

            pytest.skip("needs asynchronous")  # it would deadlock
        self._rt, self._limit = rt, limit
        self._flag = threading.Event()
        self._reached = threading.Event()
        self.timed_out = False
        self.function = HOST_FUNCTION(self._wait)
        self._words: list[tuple[Any, Any]] = []
        if stream is not None:
            self.hold(stream)

    def _wait(self, _: int | None) -> None:
        self._reached.set()
        if not self._flag.wait(self._limit):
            self.timed_out = True

    def hold(self, stream: int) -> Latch:
        if self._rt.gate:
            self._words.append(self._rt.gate.close(stream))
            threading.Thread(target=self._open_late, daemon=True).start()
        else:
            self._rt.LaunchHostFunc(stream, self.function, None)
        return self

    def _open_late(self) -> None:
        if not self._flag.wait(self._limit):
            self.timed_out = True
            self.open()

    def reached(self) -> Latch:
        """Wait until the stream has reached the latch."""
        end = time.monotonic() + self._limit
        while self._words and not self.is_reached and time.monotonic() < end:
            time.sleep(1e-4)
        there = self.is_reached or self._reached.wait(self._limit)
        assert there, "the stream did not get to its latch"
        return self

    @property
    def is_reached(self) -> bool:
        return self._reached.is_set() or any(there.value for there, _ in self._words)

    def open(self) -> None:
        self._flag.set()
        for _, gate in self._words:
            gate.value = 1

    def __enter__(self) -> Latch:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.open()
        late = "the latch was never opened: something waited that must not wait"
        assert error or not self.timed_out, late


class Order:
    """A list to which host functions append."""

    def __init__(self, rt: Any) -> None:
        self._rt = rt
        self.seen: list[Any] = []
        self._kept: list[Any] = []

    def function(self, word: Any, also: Callable[[], Any] | None = None) -> Any:
        def run(_: int | None) -> None:
            if also:
                also()
            self.seen.append(word)

        made = HOST_FUNCTION(run)
        self._kept.append(made)  # ctypes frees a callback with its last reference
        return made

    def note(self, stream: int, word: Any, also: Callable[[], Any] | None = None) -> None:
        self._rt.LaunchHostFunc(stream, self.function(word, also), None)


def settle(rt: Any, rounds: int = 50) -> None:
    """Let all runnable work run: many round trips through an independent stream. For showing that
    something did NOT happen. It cannot make a correct implementation fail, and gives an incorrect
    one time to fail.
    """
    stream = rt.StreamCreateWithFlags(rt.StreamNonBlocking)
    ran = Order(rt)
    for index in range(rounds):
        ran.note(stream, index)
        rt.StreamSynchronize(stream)
    rt.StreamDestroy(stream)
    assert ran.seen == list(range(rounds))


def in_thread(function: Callable[[], Any]) -> Any:
    """The result of a function that another thread runs; its exception is raised here."""
    box: list[Any] = []

    def run() -> None:
        try:
            box.append((True, function()))
        except BaseException as error:
            box.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert box, "the thread did not end"
    done, value = box[0]
    if not done:
        raise value
    return value
