"""Cases: a name, a level and a function that raises when something is wrong.

Functions are registered with `@case(...)`. They get a `Maker` (tests/kit/memory.py): the runtime's
functions by name, and objects that are destroyed after the case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

LEVELS = (
    "loads",
    "memory and copies",
    "streams and events",
    "capture and graphs",
    "operators of a transformer",
    "all operators",
    "collectives",
    "an engine under load",
)
SPEED = -1  # measured; neither passes nor fails
SECONDS = 60.0  # a case that takes longer counts as hung

Body = Callable[..., Any]


class Unavailable(Exception):  # noqa: N818 - no error: the machine lacks what the case is about
    """The case needs something that is missing, such as a second device."""


class Refused(Exception):  # noqa: N818 - the device's answer
    """The device reported that this is unsupported."""


@dataclass(frozen=True)
class Case:
    id: str
    level: int
    optional: bool = False  # optional in the contract
    seconds: float = SECONDS
    about: str = ""
    body: Body | None = field(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "level": self.level,
            "optional": self.optional,
            "seconds": self.seconds,
            "about": self.about,
        }


REGISTRY: dict[str, Case] = {}


def case(
    level: int, id: str, *, optional: bool = False, seconds: float = SECONDS
) -> Callable[[Body], Body]:
    """Registers a function; its docstring says what must hold."""

    def register(body: Body) -> Body:
        about = " ".join((body.__doc__ or "").split())
        REGISTRY[id] = Case(id, level, optional, seconds, about, body)
        return body

    return register


# The function by which a long case reports progress; set by the worker.
listener: Callable[[str], None] | None = None


def tell(words: str) -> None:
    """Reports progress, which restarts the case's time limit."""
    if listener:
        listener(words)


def expect(condition: Any, words: str) -> None:
    """`assert` without its dependence on -O."""
    if not condition:
        raise AssertionError(words)


def expect_equal(got: Any, expected: Any, what: str) -> None:
    if got != expected:
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(got)}")


def expect_bytes(got: bytes, expected: bytes, what: str) -> None:
    """Compares bytes; the error names the first one that differs."""
    expect_equal(len(got), len(expected), f"{what}: length")
    if got != expected:
        first = next(i for i in range(len(got)) if got[i] != expected[i])
        wrong = sum(a != b for a, b in zip(got, expected, strict=True))
        raise AssertionError(
            f"{what}: {wrong} of {len(got)} bytes are wrong; the first is byte {first}:"
            f" expected 0x{expected[first]:02x}, got 0x{got[first]:02x}"
        )


def on_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs `work(number)` on several threads; raises the first error."""
    wrong: list[Exception] = []

    def run(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
