"""Streams that are held, so that the order of work is shown and not left to chance.

A host function holds a stream until its case lets it go. What must go on meanwhile has a limit;
what must not is watched until it had every chance to happen. Three rules keep right devices from
failing: host functions of different streams may run one after the other, so no case needs another
one to run while a stream is held; the null stream need not wait for a host function alone, so
other work is behind it; and streams may share an engine for copies, so what held streams do is
seen in pinned memory, and not by a copy of the case's own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from infinicore.conformance import patience
from infinicore.conformance.cases import SECONDS, expect

CHANCE = 0.2  # seconds with a processor at hand: what is free to run has run by then


def limit() -> float:
    """Seconds for what must go on: a third of the case's time, so that it fails and does not
    hang."""
    return float(os.environ.get("INFINI_CONFORMANCE_SECONDS", SECONDS)) / 3


# A device that does not wait may still call a function of a case that has failed.
_kept: list[Any] = []


def latch(make: Any) -> Any:
    """One that holds nothing yet."""
    from kit import Latch

    _kept.append(Latch(make.rt, limit=1.5 * limit()))
    return _kept[-1]


def order(make: Any) -> Any:
    """A list of who ran when."""
    from kit import Order

    _kept.append(Order(make.rt))
    return _kept[-1]


def hold(make: Any, stream: int | None) -> Any:
    """Holds a stream whose work so far is done. A context manager, open at its end."""
    made = latch(make).hold(stream)
    made.reached()
    expect(not made.timed_out, "LaunchHostFunc waits for its host function")
    return made


def ends(is_done: Callable[[], bool], what: str) -> None:
    """Something comes to pass, while streams are held that have nothing to do with it."""
    clock = patience.Clock(os.getpid())
    while not is_done():
        expect(clock.spent() < limit(), f"{what}: did not end")
        time.sleep(1e-3)


def waits(is_waiting: Callable[[], bool], what: str) -> None:
    """Something does not come to pass, as long as a stream is held that it has to wait for."""
    clock = patience.Clock(os.getpid())
    while True:
        expect(is_waiting(), f"{what}: did not wait")
        if clock.spent() >= CHANCE:
            return
        time.sleep(1e-2)


def stream_ends(make: Any, stream: int | None, what: str) -> None:
    ends(lambda: make.rt.code.StreamQuery(stream) == "Success", what)
    make.rt.StreamSynchronize(stream)


def stream_waits(make: Any, stream: int | None, what: str) -> None:
    waits(lambda: make.rt.code.StreamQuery(stream) == "ErrorNotReady", what)
