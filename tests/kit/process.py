"""Subprocesses: for crashes, forks, separate environments, and several devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .binding import root

TESTS = Path(__file__).resolve().parents[1]
PROJECT = TESTS.parent


def environment(**changes: str | None) -> dict[str, str]:
    """The current environment, in which the kit and the spec can be imported; None removes a
    variable."""
    made = dict(os.environ, INFINI_TEST_ROOT=str(root()), PYTHONFAULTHANDLER="1")
    paths = [str(TESTS), str(PROJECT), os.environ.get("PYTHONPATH", "")]
    made["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    for name, value in changes.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = value
    return made


def run(
    command: list[str], timeout: float = 120, **changes: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs a program; if it hangs, the test fails with its output."""
    env = environment(**changes)
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=env, check=False
        )
    except subprocess.TimeoutExpired as error:
        printed = [text.decode() if text else "" for text in (error.stdout, error.stderr)]
        raise AssertionError(f"no end after {timeout} s: {command}\n{printed}") from None


PRELUDE = """
import ctypes, os, sys, threading
from kit import Failure, Latch, Maker, Order, open_runtime
from kit.latch import HOST_FUNCTION, in_thread, settle
rt = open_runtime()
make = Maker(rt)
"""


def python(code: str, *arguments: Any, timeout: float = 120, **changes: str | None) -> str:
    """The output of a Python program with `rt` and `make`, which must succeed."""
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    done = run(command, timeout, **changes)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def suite(*arguments: str, timeout: float = 600, **changes: str | None) -> str:
    """Runs some of these suites in another pytest process, and returns its output."""
    # The inner run is not reported separately: its failures are this test's message.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = run(command, timeout, **changes)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
