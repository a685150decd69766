"""Rows of the table, from worker processes that may crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kit.process import environment

SAMPLES = 3  # of an operator and dtype, unless the whole database is requested
TORCH = "2.13"  # the version whose database the table of differences is about


@dataclass(frozen=True)
class Row:
    operator: str
    dtype: str
    kind: str  # right, skipped, refused, accepted, crash, or what differs: values, dtype, ...
    index: int = 0
    call: str = ""
    message: str = ""

    def __str__(self) -> str:
        where = f"{self.operator}({self.call}) [{self.dtype} sample {self.index}]"
        return f"{self.kind}: {where}: {self.message}"


class Worker:
    """A process that answers requests; it is started again after a crash."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        # A worker uses one core, and its own messages would fill the report.
        self._process: Any = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(OMP_NUM_THREADS="1", INFINI_NUM_THREADS="1"),
        )
        first = self._process.stdout.readline()
        if not first:
            raise RuntimeError(f"{__package__}.worker: it ended with {self._process.wait()}")
        self.dtypes: dict[str, list[str]] = json.loads(first)

    def ask(self, operator: str, dtype: str, most: int | None, seed: int) -> Iterator[Row]:
        self._process.stdin.write(json.dumps([operator, dtype, most, seed]) + "\n")
        self._process.stdin.flush()
        begun = {"operator": operator, "dtype": dtype}
        while line := self._process.stdout.readline():
            part = json.loads(line)
            if not part:
                return
            if "kind" in part:
                yield Row(**begun, **part)
            else:
                begun = part
        status = self._process.wait()
        yield Row(**begun, kind="crash", message=f"the process ended with {status}")
        self._start()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def drive(
    report: Callable[[Row], None], chosen: Callable[[str], bool], most: int | None, seed: int
) -> None:
    """Reports the rows of all chosen operators, from as many workers as there are cores."""
    workers = [Worker() for _ in range(min(os.cpu_count() or 1, 4))]
    requests = [
        (name, dtype)
        for name, dtypes in workers[0].dtypes.items()
        for dtype in dtypes
        if chosen(name)
    ]
    lock = threading.Lock()

    def work(worker: Worker) -> None:
        while True:
            with lock:
                if not requests:
                    return
                name, dtype = requests.pop()
            for row in worker.ask(name, dtype, most, seed):
                with lock:
                    report(row)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.close()
