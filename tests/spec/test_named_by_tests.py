"""Every function of the runtime is named by a test.

Functions that the core does not support are covered by the test that calls each of them and expects
an error.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spec import api, first
from spec.model import Function

TESTS = Path(__file__).resolve().parents[1]
SUFFIXES = {".py", ".c", ".cc", ".h"}


def named() -> set[str]:
    """All words of the tests except this one."""
    files = [
        path for path in TESTS.rglob("*") if path.suffix in SUFFIXES and path != Path(__file__)
    ]
    return {word for path in files for word in re.findall(r"\w+", path.read_text("utf-8"))}


@pytest.mark.parametrize(
    "functions",
    [[each for each in api.entries if each.served], list(first.functions)],
    ids=["aligned", "first generation"],
)
def test_every_function_is_named(functions: list[Function]) -> None:
    words = named()
    missing = [
        function.c_name
        for function in functions
        if not words & {function.name, function.c_name, function.c_symbol}
    ]
    assert not missing, f"no test names {', '.join(missing)}"
