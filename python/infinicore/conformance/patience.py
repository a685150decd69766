"""The time that a process has had for a case, excluding waits for a processor, so that a case on a
busy machine is slow but not reported as a hang."""

from __future__ import annotations

import time
from pathlib import Path

PROC = Path("/proc")
MOST = 20.0  # multiple of the limit after which it is a hang on any machine


class Clock:
    """Seconds since it was made, less the longest wait of any of the process's threads."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._start = self._last = time.monotonic()
        self._waits = waits(pid)
        self._waited = 0.0

    def spent(self) -> float:
        """Polled about every second: a thread's wait time is lost when it ends."""
        now, found = time.monotonic(), waits(self._pid)
        waited = (wait - self._waits.get(task, 0.0) for task, wait in found.items())
        self._waited += min(max(waited, default=0.0), now - self._last)
        self._last, self._waits = now, found
        return max(now - self._start - self._waited, (now - self._start) / MOST)


def waits(pid: int) -> dict[str, float]:
    """The seconds that each thread of a process and of its children (compilers) was runnable but
    not running. Empty if the kernel does not count them."""
    found: dict[str, float] = {}
    for task in (PROC / str(pid) / "task").glob("*"):
        try:
            found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
            children = (task / "children").read_text().split()
        except (OSError, IndexError):  # it has ended, or there is no such file
            continue
        for child in children:
            found.update(waits(int(child)))
    return found
