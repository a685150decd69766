"""Latches, which make asynchronous behaviour deterministic here."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from infinicore import rt

LIMIT = 30.0  # far longer than any test takes: reaching it means a hang


class Latch:
    """`latch.hold(stream)` stops a stream until `latch.open()`."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._reached = threading.Event()

    def wait(self) -> None:
        self._reached.set()
        assert self._open.wait(LIMIT), "the latch was never opened"

    def hold(self, stream: rt.Stream) -> None:
        stream.launch(self.wait)

    def reached(self) -> None:
        assert self._reached.wait(LIMIT), "the stream did not get to its latch"

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def latch() -> Iterator[Latch]:
    made = Latch()
    yield made
    made.open()


@pytest.fixture
def stream() -> Iterator[rt.Stream]:
    made = rt.Stream()
    yield made
    if not made.closed:
        made.close()


@pytest.fixture(autouse=True)
def _no_error_left() -> Iterator[None]:
    yield
    rt.GetLastError()
