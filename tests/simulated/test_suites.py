"""The suites that name no device, on every simulated vendor, behind a flag: they take hours.

INFINI_SIMULATED_SUITES=1 pytest -n auto tests/simulated/test_suites.py     # 200 operator cases
INFINI_SIMULATED_SUITES=full pytest -n auto tests/simulated/test_suites.py  # all of them
"""

from __future__ import annotations

import os
import sys

import pytest

from kit import process

from .test_accelerators import VENDORS
from .vendors.build import KINDS

ASKED = os.environ.get("INFINI_SIMULATED_SUITES")
SUITES = ["operators", "tensor", "collectives", "runtime", "graph"]


def suites(kind: str, *words: str) -> None:
    options = ["-q", "--simulated", "--device", kind, "-p", "no:cacheprovider", "--tb=short"]
    command = [sys.executable, "-m", "pytest", *options, *words]
    done = process.run(command, timeout=6000, INFINI_SIM_DEVICES="3")
    # The summary comes last, and failures in full before it.
    print(kind, *words, done.stdout.rstrip().rpartition("\n")[2])
    assert done.returncode == 0, done.stdout[-8000:]


def test_a_sample():
    """Whole files on one kind: of the kinds, this one has the widest warps."""
    names = ("events", "capture")
    suites("moore", *(str(process.TESTS / f"runtime/test_{name}.py") for name in names))


@pytest.mark.skipif(not ASKED, reason="INFINI_SIMULATED_SUITES")
@pytest.mark.parametrize("kind", sorted([*KINDS, *VENDORS]))
@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite: str, kind: str):
    words = ["--sample", "200"] if suite == "operators" and ASKED != "full" else []
    suites(kind, str(process.TESTS / suite), *words)
