"""SciPy and scikit-learn take tensors, by the array API, and return tensors."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functions.array_programs import PROGRAMS
from tests.kit.requirements import need

pytestmark = pytest.mark.requires("host")
ROOT = Path(__file__).resolve().parents[2]
CASES = [(library, each.__name__) for library in PROGRAMS for each in PROGRAMS[library]]


@functools.cache
def problems(library: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.functions.array_programs", library],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    made: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return made


@pytest.mark.parametrize(("library", "name"), CASES)
def test_programs(library: str, name: str) -> None:
    need(library)
    assert problems(library)[name] == ""
