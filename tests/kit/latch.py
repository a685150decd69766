"""Asynchrony made deterministic: host functions that wait for a flag, a record of who ran when."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Far longer than anything takes; a wait that reaches it is a hang and fails the test.
LIMIT = 30.0


class Latch:
    """Holds a stream: `latch.hold(stream)` queues a host function that waits for `latch.open()`.

    Where host functions of several streams may be run one after the other, one that waits would
    hold them all. Such a device type brings a gate: `close(stream)` queues work that sets the
    first of two words of host memory and waits for the second, and gives the two.

    As a context manager it is open at the end whatever happens, so a failing test leaves nothing
    stuck. It opens by itself after `limit` seconds: a device that waits where it must not wait
    gives a wrong answer then, and does not hang.
    """

    def __init__(self, rt: Any, stream: int | None = None, limit: float = LIMIT) -> None:
        if "asynchronous" not in rt.tags:
            import pytest  # the conformance kit uses latches without it

            pytest.skip("needs asynchronous")  # it would wait for itself
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
        """Wait until the stream stands at the latch."""
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
    """A list that host functions of streams append to."""

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
    """Let everything run that can: many round trips through a stream that waits for nobody.

    For showing that something did NOT happen. It cannot make a right implementation fail, and gives
    a wrong one every chance to show itself.
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
