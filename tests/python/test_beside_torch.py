"""Libraries with their own C++ runtime must not conflict with ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

OURS = "import infinicore, infinicore.rt, infinicore.op, infinicore.nn; infinicore.ones(2).sum()"


@pytest.mark.parametrize(
    "library", ["numpy", "scipy.linalg", pytest.param("torch", marks=pytest.mark.requires("torch"))]
)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_the_order_of_imports_does_not_matter(library, first):
    theirs = f"import {library}"
    lines = [OURS, theirs] if first == "ours" else [theirs, OURS]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
