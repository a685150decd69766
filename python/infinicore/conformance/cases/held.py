"""Held streams, which make the order of work deterministic in tests.

A host function holds a stream until its case releases it. Work that must proceed meanwhile has a
time limit; work that must not is observed long enough for it to have run. Three rules keep correct
devices from failing: host functions of different streams may be serialized, so no case needs
another one to run while a stream is held; the null stream need not wait for a host function alone,
so other work follows it; and streams may share a copy engine, so the effects of held streams are
observed in pinned memory, and not by another copy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from infinicore.conformance import patience
from infinicore.conformance.cases import SECONDS, expect

CHANCE = 0.2  # seconds of processor time after which any runnable work has run


def limit() -> float:
    """Seconds for work that must proceed: a third of the case's limit, so that it fails instead of
    hanging."""
    return float(os.environ.get("INFINI_CONFORMANCE_SECONDS", SECONDS)) / 3


# A device that does not wait may still call a host function of a failed case.
_kept: list[Any] = []


def latch(make: Any) -> Any:
    """A latch that holds nothing yet."""
    from kit import Latch

    _kept.append(Latch(make.rt, limit=1.5 * limit()))
    return _kept[-1]


def order(make: Any) -> Any:
    """The order in which functions ran."""
    from kit import Order

    _kept.append(Order(make.rt))
    return _kept[-1]


def hold(make: Any, stream: int | None) -> Any:
    """Holds a stream after its work so far is done. A context manager that releases it at the
    end."""
    made = latch(make).hold(stream)
    made.reached()
    expect(not made.timed_out, "LaunchHostFunc waits for its host function")
    return made


def ends(is_done: Callable[[], bool], what: str) -> None:
    """Checks that something happens while unrelated streams are held."""
    clock = patience.Clock(os.getpid())
    while not is_done():
        expect(clock.spent() < limit(), f"{what}: did not end")
        time.sleep(1e-3)


def waits(is_waiting: Callable[[], bool], what: str) -> None:
    """Checks that something does not happen while a stream is held that it has to wait for."""
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
