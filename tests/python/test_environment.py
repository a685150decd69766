"""Environment variables that hold nonsense: one warning each, which names the variable, its value
and what was expected, and the default instead."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kit import process

pytestmark = pytest.mark.host

PROGRAM = """
import infinicore
x = infinicore.ones(1000, 1000)
assert (x @ x).sum().item() == 1e9
infinicore.det(infinicore.eye(3))
print(infinicore.get_device_count("cpu"))
"""
BAD = {
    "INFINI_NUM_THREADS": ["abc", "0", "-3", "1.5", "99999999999999999999", "4 "],
    "INFINI_CPU_DEVICES": ["-3", "abc", "1000"],
    "INFINI_CPU_ISA": ["foo", "AVX512"],
    "INFINI_BACKEND_PATH": ["/nowhere/at/all"],
    "INFINI_PROBE_SECONDS": ["soon", "0"],
    "INFINI_TUNING": ["always", "ON"],
    "INFINI_LAPACK_LIBRARY": ["/nowhere/liblapack.so"],
}


def run(program: str = PROGRAM, **variables: str) -> tuple[str, list[str]]:
    done = process.run([sys.executable, "-c", program], timeout=120, **variables)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "infinicore: warning: " in line]
    assert done.stderr.splitlines() == warnings, done.stderr
    return done.stdout, warnings


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_nonsense(name: str, value: str) -> None:
    printed, warnings = run(**{name: value})
    assert len(warnings) == 1, warnings
    assert warnings[0].startswith(f"infinicore: warning: {name}={value} is ignored: expected ")
    assert printed == "1\n"


def test_each_variable_has_its_warning() -> None:
    given = {name: values[0] for name, values in BAD.items()}
    _, warnings = run(**given)
    assert sorted(line.split()[2] for line in warnings) == sorted(
        f"{name}={value}" for name, value in given.items()
    )


def test_what_can_be_used_has_no_warning(tmp_path: Path) -> None:
    printed, warnings = run(
        INFINI_NUM_THREADS="2",
        INFINI_CPU_DEVICES="3",
        INFINI_CPU_ISA="",
        INFINI_BACKEND_PATH=str(tmp_path),
        INFINI_LAPACK_LIBRARY="none",
    )
    assert (printed, warnings) == ("3\n", [])


INIT_ALL = "from infinicore import ccl; ccl.init_all(['cpu:0']); ccl.init_all(['cpu:0'])"
INIT = "from infinicore import ccl; ccl.init(ranks=1, rank=0)"


@pytest.mark.parametrize("program", [INIT_ALL, INIT], ids=["init_all", "init"])
@pytest.mark.parametrize("value", ["abc", "-1", "inf", "nan"])
def test_timeout_of_collectives(program: str, value: str, tmp_path: Path) -> None:
    file = str(tmp_path / "id")
    _, warnings = run(program, INFINI_CCL_TIMEOUT=value, INFINI_CCL_FILE=file)
    assert len(warnings) == 1
    assert f"INFINI_CCL_TIMEOUT={value} is ignored: expected a number of 0 or more" in warnings[0]
