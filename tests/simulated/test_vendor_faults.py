"""Each call of a CUDA-like vendor's libraries fails once: a message, no leak, and later calls
work."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.vendors import build

PROGRAM = Path(__file__).with_name("vendor_faults.py")


@pytest.mark.parametrize("kind", build.KINDS)
def test_any_call_may_fail(kind: str, pytestconfig: pytest.Config):
    """The first calls of each function; more of one kind, or of all with --exhaustive."""
    need("c++")
    calls = 8 if pytestconfig.getoption("--exhaustive") else 3 if kind == "moore" else 1
    settings = {**build.settings(kind, root=root()), "INFINI_DEVICE": kind}
    done = process.run(
        [sys.executable, str(PROGRAM), kind, str(build.folder(kind, root())), str(calls)],
        timeout=240,
        **settings,
        PYTHONPATH=str(process.TESTS),
    )
    assert re.fullmatch(r"failed (\d+)\n", done.stdout), done.stdout + done.stderr
    assert int(done.stdout.split()[1]) >= 20
