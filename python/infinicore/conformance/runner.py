"""Runs cases in worker processes. A crash or a hang fails only the case that was running."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from infinicore.conformance import patience

BATCH = 400  # cases per process, which limits the accumulation of leaks
Result = dict[str, Any]


class StartError(Exception):
    """The workers cannot be started."""


def environment(
    device: str, backend: str | None, jobs: int, hours: float, timeout: float | None = None
) -> dict[str, str]:
    chosen = dict(os.environ, INFINI_DEVICE=device)
    if backend:
        path = str(Path(backend).resolve())
        others = chosen.get("INFINI_BACKEND_PATH", "")
        chosen["INFINI_BACKEND_PATH"] = f"{path}:{others}" if others else path
        chosen["INFINI_CONFORMANCE_BACKEND"] = path
    if jobs > 1 and "INFINI_NUM_THREADS" not in chosen:
        chosen["INFINI_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // jobs))
        chosen.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's, for the references
    if hours:
        chosen["INFINI_CONFORMANCE_HOURS"] = str(hours)
    if timeout:
        chosen["INFINI_CONFORMANCE_SECONDS"] = str(timeout)
    return chosen


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "infinicore.conformance.worker", *arguments]


def list_cases(level: int, exhaustive: bool, env: dict[str, str]) -> tuple[list[Any], str]:
    """All cases up to a level, and why some can't be listed. Opens no device."""
    extra = ["--exhaustive"] if exhaustive else []
    done = subprocess.run(
        _command("--list", str(level), *extra), capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        raise StartError(done.stderr.strip().splitlines()[-1] if done.stderr else "no reason given")
    answer = json.loads(done.stdout)
    return answer["cases"], answer["missing"]


def _decoded(line: str) -> Result:
    """Parses a line of a worker; empty if it is something else. A back end may write to any
    descriptor, or die while writing."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


class Worker:
    """A worker process, started with its first case."""

    def __init__(self, env: dict[str, str], progress: Callable[[str], None]) -> None:
        self._env, self._progress = env, progress
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._count = 0

    def run(self, case: dict[str, Any], limit: float) -> Result:
        if self._process is None or self._count >= BATCH:
            self.close()
            self._start()
        self._count += 1
        assert self._process and self._process.stdin
        said: Result = {}
        try:
            self._process.stdin.write(case["id"] + "\n")
            self._process.stdin.flush()
            while line := self._answer(limit):
                said = _decoded(line)
                if "progress" not in said:
                    break
                self._progress(f"{case['id']}: {said['progress']}")
        except queue.Empty:
            return self._lost(case, "hang", f"no answer after {limit:.0f} s", limit)
        except BrokenPipeError:
            line = ""
        if not line:
            return self._lost(case, "crash", self._death(), 0.0)
        if said.get("id") != case["id"] or "status" not in said:
            return self._lost(case, "crash", f"no result of this case: {line[:80]!r}", 0.0)
        if said.pop("soiled", False):
            self.close()
        return said

    def _answer(self, limit: float) -> str:
        assert self._process
        clock = patience.Clock(self._process.pid)
        while True:
            try:
                return self._answers.get(timeout=min(1.0, limit))
            except queue.Empty:
                if clock.spent() >= limit:
                    raise

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            errors="replace",
            env=self._env,
        )
        self._count = 0
        self._answers = queue.Queue()
        given = (self._process, self._answers)
        threading.Thread(target=self._read, args=given, daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            answers.put(line)
        answers.put("")  # the end

    def _death(self) -> str:
        assert self._process
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            return "the process closed its output"
        if code < 0:  # real-time signals have no names
            known = -code in signal.Signals.__members__.values()
            return f"the process died of {signal.Signals(-code).name if known else -code}"
        return f"the process ended with status {code}"

    def _lost(self, case: dict[str, Any], status: str, words: str, seconds: float) -> Result:
        """The next case gets a new process."""
        self.close(kill=True)
        self._errors.seek(0)
        tail = self._errors.read().decode(errors="replace").strip().splitlines()[-6:]
        self._errors.close()
        words = "; ".join([words, *(line.strip() for line in tail)])[:1000]
        return {"id": case["id"], "status": status, "words": words, "seconds": seconds}

    def close(self, kill: bool = False) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        if kill:
            process.kill()
        if process.stdin:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # a back end that blocks the end of its process
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # it is stuck in a driver
                process.wait(5)
        if not kill:
            self._errors.close()


def run(
    cases: Sequence[dict[str, Any]],
    env: dict[str, str],
    jobs: int,
    limit: float | None,
    told: Callable[[Result], None],
    progress: Callable[[str], None],
) -> list[Result]:
    """The results, in the order of the cases. `limit`: seconds of a case, instead of its own."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(cases)):
        waiting.put(index)
    results: list[Result | None] = [None] * len(cases)
    lock, stop = threading.Lock(), threading.Event()

    def serve() -> None:
        worker = Worker(env, progress)
        try:
            while not stop.is_set():
                try:
                    index = waiting.get_nowait()
                except queue.Empty:
                    return
                case = cases[index]
                result = worker.run(case, limit or case["seconds"])
                with lock:
                    results[index] = result
                    told(result)
        finally:
            worker.close()

    threads = [threading.Thread(target=serve) for _ in range(min(jobs, len(cases)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except KeyboardInterrupt:
        stop.set()
        raise
    return [result for result in results if result is not None]
