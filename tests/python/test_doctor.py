"""`infini doctor`: every setting with its value, and their effects."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from infinicore.cli import doctor, settings
from kit import process

ROOT = Path(__file__).resolve().parents[2]
# Set by the conformance kit for its own processes, or by people for the tests.
INTERNAL = ("INFINI_CONFORMANCE_", "INFINI_TEST_")
READS = re.compile(r"""["'](INFINI_[A-Z_]+)["']""")


def variables_read() -> dict[str, Path]:
    """The variables that the sources name in quotes."""
    found: dict[str, Path] = {}
    for folder in ("csrc", "backends", "python"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in (".cc", ".h", ".py") or path.name == "settings.py":
                continue
            for name in READS.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, path)
    wrong = ("INFINI_STATUS_", "INFINI_DTYPE_", "INFINI_DEVICE_", "INFINI_KERNEL_")
    return {
        name: path
        for name, path in found.items()
        if not name.startswith((*wrong, *INTERNAL)) or name == "INFINI_KERNEL_IMAGES"
    }


def test_the_table_has_what_the_sources_read() -> None:
    names = {each.name for each in settings.known()}
    absent = {name: str(path) for name, path in variables_read().items() if name not in names}
    assert absent == {}
    unread = {each.name for each in settings.SETTINGS} - set(variables_read())
    assert unread == set()


def test_the_pages_have_what_the_table_has() -> None:
    pages = "".join(
        (ROOT / "docs" / f"{name}.md").read_text() for name in ("install", "collectives")
    )
    assert [each.name for each in settings.SETTINGS if f"`{each.name}`" not in pages] == []


def test_where_values_come_from() -> None:
    given = {"INFINI_NUM_THREADS": "3", "INFINI_API_KEY": "secret", "INFINI_NUM_TREADS": "4"}
    rows = {row.name: row for row in settings.effective(given)}
    assert rows["INFINI_NUM_THREADS"][1:3] == ("3", "environment")
    assert rows["INFINI_API_KEY"].value == settings.SECRET
    assert rows["INFINI_CCL_TIMEOUT"][1:3] == ("300", "default")
    assert rows["INFINI_NUM_TREADS"][1:3] == ("4", "unknown name")
    assert "INFINI_NVIDIA_LIBRARIES" in rows


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"INFINI_CACHE": "/a"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/infinicore"),
        ({"XDG_CACHE_HOME": "b", "HOME": "/c"}, "/c/.cache/infinicore"),
        ({}, ""),
    ],
)
def test_the_folder_of_kernels(given: dict[str, str], expected: str) -> None:
    assert settings.kernel_cache(given) == expected


def test_facts_of_the_cpu() -> None:
    program = "from infinicore.cli import doctor; print(doctor.facts())"
    done = process.run(
        [sys.executable, "-c", program],
        timeout=120,
        INFINI_NUM_THREADS="3",
        INFINI_LAPACK_LIBRARY="none",
        INFINI_TUNING="off",
    )
    assert done.returncode == 0, done.stderr
    for fact in (
        "('cpu', 'threads of the pool', '3')",
        f"('cpu', 'processors by affinity', '{len(os.sched_getaffinity(0))}')",
        "('cpu', 'LAPACK', 'none: kernels of our own')",
        "('cpu', 'tuning', 'off: constants')",
        "'processors by quota'",
        "'instruction set of the kernels'",
    ):
        assert fact in done.stdout


def test_libraries_that_are_open() -> None:
    names = [name for name, _ in doctor.libraries()]
    assert "libinfinirt.so" in names
    assert "libinfini_cpu.so" in names
