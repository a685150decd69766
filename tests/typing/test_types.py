"""The package's types, as seen by a type checker in a user's program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import infinicore

HERE = Path(__file__).parent
PACKAGE = Path(infinicore.__file__).parent

pytestmark = pytest.mark.requires("mypy")


def check(program: Path, cache: Path) -> str:
    environment = dict(os.environ)
    if PACKAGE.parent.name != "site-packages":
        environment["MYPYPATH"] = str(PACKAGE.parent)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--config-file=", f"--cache-dir={cache}", str(program)]
    done = subprocess.run(
        command, env=environment, cwd=cache, capture_output=True, text=True, timeout=600
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_a_program_has_no_errors(tmp_path: Path) -> None:
    assert "Success" in (said := check(HERE / "user_program.py", tmp_path)), said


# Lines, and the expected error of each.
MISTAKES = {
    'infinicore.add(x, "one")': "incompatible type",
    "infinicore.add(x)": "Missing positional argument",
    "infinicore.sum(x, axes=1)": "Unexpected keyword argument",
    "infinicore.no_such_function(x)": "has no attribute",
    "x.no_such_method()": "has no attribute",
    "x.clamp(minimum=0)": "Unexpected keyword argument",
    "functional.gelu(x, approximately=True)": "Unexpected keyword argument",
    "infinicore.zeros(2, dtypes=infinicore.float32)": "Unexpected keyword argument",
}


def test_mistakes_are_found(tmp_path: Path) -> None:
    program = tmp_path / "mistakes.py"
    head = "import infinicore\nfrom infinicore.nn import functional\nx = infinicore.ones(2)\n"
    program.write_text(head + "\n".join(MISTAKES) + "\n", encoding="utf-8")
    lines = check(program, tmp_path).splitlines()
    for number, (line, complaint) in enumerate(MISTAKES.items(), head.count("\n") + 1):
        about = [said for said in lines if said.startswith(f"mistakes.py:{number}:")]
        assert any(complaint in said for said in about), (line, about)
