"""The example scripts, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.requirements import need

need("torch")

DEVICE = "--" + (os.environ.get("INFINI_DEVICE") or "cpu")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "libinfiniop"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=EXAMPLES,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=200,
    )


def output(*command: str) -> str:
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_are_tested() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"gemm_test.py", "broadcast_add.py", "tensor_from_file.py"}


def test_gemm() -> None:
    assert output("gemm_test.py", DEVICE).splitlines()[-1] == "18 tests passed"


def test_gemm_measured_and_shown() -> None:
    said = output(
        *("gemm_test.py", DEVICE, "--profile", "--debug", "--num_prerun", "1"),
        *("--num_iterations", "2"),
    )
    assert said.count(" time: ") == 36 and said.count("(2 runs)") == 36
    assert said.count("elements agree") == 18


def test_gemm_without_a_device() -> None:
    done = run("gemm_test.py", "--kunlun")
    if done.returncode == 0:
        pytest.skip("there is one")
    assert "Kunlun is left out" in done.stderr and "no device to test on" in done.stderr


def test_broadcast_add() -> None:
    said = output("broadcast_add.py", DEVICE)
    assert "broadcast: True, in torch (3, 1)" in said and "all 12 elements agree" in said


def test_tensor_from_file() -> None:
    assert "all 2048 elements agree" in output("tensor_from_file.py")


def test_the_test_of_the_docs(tmp_path: Path) -> None:
    page = (EXAMPLES.parents[1] / "docs" / "libinfiniop.md").read_text("utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 30
    script = tmp_path / "silu_test.py"
    script.write_text(code)
    said = output(str(script), DEVICE, "--profile", "--num_iterations", "2")
    assert said.count("all 32 elements agree") == 4 and said.count(" time: ") == 4
