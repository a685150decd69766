"""What the parts of the demo share: the setting, and the rows of the table that they return."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import infinicore
from infinicore import context


@dataclass(frozen=True)
class Setting:
    """The device that is shown, and how a part reports progress."""

    kind: str
    index: int
    copy_bytes: int
    step: Callable[[str], None]

    @property
    def device(self) -> str:
        return f"{self.kind}:{self.index}"


class Row(NamedTuple):
    what: str
    is_right: bool | None  # None: a measurement, with nothing to be right or wrong
    figure: str = ""
    amount: float | None = None  # the length of its bar, in the unit of the part's other rows
    note: str = ""


def use(device: str) -> None:
    """Makes a device the calling thread's. Unlike `with`, it does not restore the previous one,
    which would fail if that one is broken."""
    context.set_device(device)
    infinicore.set_default_device(device)


def fastest(work: Callable[[], object], rounds: int = 20, seconds: float = 0.5) -> float:
    """Seconds of one call until it is complete on the device: the best of several rounds."""
    best = float("inf")
    begin = time.perf_counter()
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        context.sync_stream()
        end = time.perf_counter()
        best = min(best, end - start)
        if end - begin > seconds:
            break
    return best


def against(slow: float, fast: float) -> str:
    """How much faster the second is: "2.3 x faster"; empty if it is not."""
    return f"{slow / fast:.1f} x faster" if fast > 0 and slow / fast >= 1.05 else ""
