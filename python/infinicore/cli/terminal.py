"""Colours, bars and a progress line, where standard output is a terminal that can show them."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

REDRAW_SECONDS = 0.1
_CODES = {"bold": "1", "dim": "2", "red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
_CLEAR_LINE = "\r\x1b[K"


class Terminal:
    """Standard output. Only a terminal gets colours (unless NO_COLOR is set), bars and a progress
    line; a file, a pipe and TERM=dumb get plain lines."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = sys.stdout if out is None else out
        self.is_interactive = self.out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.has_colour = self.is_interactive and not os.environ.get("NO_COLOR")
        self.full, self.empty, self.spinner = "#", ".", "|/-\\"
        if _can_show(self.out, "█░⠋"):
            self.full, self.empty, self.spinner = "█", "░", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    @property
    def width(self) -> int:
        return shutil.get_terminal_size((100, 24)).columns

    def colour(self, name: str, text: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.has_colour and text else text

    def bar(self, share: float, length: int) -> str:
        """A bar of at least one character for a share of 0 to 1; nothing outside a terminal."""
        if not self.is_interactive:
            return ""
        return self.full * max(1, round(min(share, 1.0) * length))

    def print(self, text: str = "") -> None:
        print(text, file=self.out, flush=True)

    @contextmanager
    def progress(self, parts: int) -> Iterator[Progress]:
        """A transient line that shows the current step."""
        progress = Progress(self, parts)
        try:
            yield progress
        finally:
            progress.end()

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """The same for a single thing; outside a terminal nothing is printed."""
        progress = Progress(self, 0)
        if self.is_interactive:
            progress.begin(what)
        try:
            yield
        finally:
            progress.end()


class Progress:
    """Which of several parts is under way. A thread redraws the line, so that a step that takes
    long does not look like a hang; outside a terminal each part is a plain line."""

    def __init__(self, terminal: Terminal, parts: int) -> None:
        self._terminal, self._parts = terminal, parts
        self._part, self._title, self._step = 0, "", ""
        self._start = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, title: str) -> None:
        self._part, self._title, self._step = self._part + 1, title, ""
        if not self._terminal.is_interactive:
            self._terminal.print(f"[{self._part}/{self._parts}] {title}")
        elif self._thread is None:
            self._thread = threading.Thread(target=self._redraw, daemon=True)
            self._thread.start()

    def step(self, text: str) -> None:
        """What the part does now; shown on a terminal only."""
        self._step = text

    def end(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _redraw(self) -> None:
        frame = 0
        while True:
            self._write(_CLEAR_LINE + self._line(frame))
            frame += 1
            if self._ended.wait(REDRAW_SECONDS):
                break
        self._write(_CLEAR_LINE)

    def _line(self, frame: int) -> str:
        terminal = self._terminal
        done = max(self._part - 1, 0)
        bar = terminal.full * done * 2 + terminal.empty * (self._parts - done) * 2
        spinner = terminal.spinner[frame % len(terminal.spinner)]
        seconds = f"{time.monotonic() - self._start:.0f} s"
        text = f"{self._title}: {self._step}" if self._step else self._title
        room = max(0, terminal.width - len(bar) - len(seconds) - 7)
        return (
            f"{terminal.colour('cyan', f'{spinner} {bar}')}  {text[:room]}"
            f"  {terminal.colour('dim', seconds)}"
        )

    def _write(self, text: str) -> None:
        self._terminal.out.write(text)
        self._terminal.out.flush()


def _can_show(out: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(out, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
