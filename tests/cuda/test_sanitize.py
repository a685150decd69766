"""tools/sanitize.py, with a stand-in for compute-sanitizer that runs the cases on the CPU and
reports what the test specifies: the real one needs a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "sanitize.py"

# Reports two errors where `relu` runs under racecheck, dies where `silu` runs under synccheck, and
# never ends where `tanh` runs under memcheck.
STAND_IN = """#!{python}
import json, subprocess, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("stand-in 1")
    sys.exit()
tool, log = words[words.index("--tool") + 1], words[words.index("--log-file") + 1]
start = words.index("--print-limit") + 2
operators = {{case["operator"] for case in json.load(open(words[-1]))}}
if tool == "memcheck" and "tanh" in operators:
    time.sleep(1000)
done = subprocess.run(words[start:]).returncode
if tool == "synccheck" and "silu" in operators:
    sys.exit(134)
errors = 2 if tool == "racecheck" and "relu" in operators else 0
with open(log, "w") as file:
    print("========= COMPUTE-SANITIZER", file=file)
    if errors:
        print("========= Error: Race reported between Write access", file=file)
    if tool == "racecheck":
        print(f"========= RACECHECK SUMMARY: {{errors}} hazards displayed", file=file)
    else:
        print(f"========= ERROR SUMMARY: {{errors}} errors", file=file)
sys.exit(9 if errors else done)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "compute-sanitizer"
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(0o755)
    return path


def run(stand_in: Path, *more: str) -> tuple[int, str]:
    out = stand_in.parent / "summary.md"
    command = [sys.executable, str(TOOL), "--device", "cpu", "--sanitizer", str(stand_in)]
    command += ["--commit", "abc", "--jobs", "2", "--small", "--out", str(out), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert out.exists(), done.stderr
    return done.returncode, out.read_text()


def test_reports_have_their_case(stand_in: Path) -> None:
    status, summary = run(stand_in, "-k", "lu-BF16")  # relu, silu, swiglu, ...
    assert status == 1
    assert "- commit: `abc`" in summary and "stand-in 1" in summary
    rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in summary.splitlines()}
    operators, cases, clean, *others = map(int, " ".join(rows["| memcheck"]).strip("| ").split())
    assert operators == cases == clean > 5 and others == [0, 0, 0]
    assert summary.count("- racecheck, `") == summary.count("- racecheck, `relu-") == 1
    assert "Race reported between Write access" in summary
    assert "- synccheck, `silu-" in summary and "the tool wrote no summary" in summary
    assert "Not run" not in summary


def test_what_did_not_run_is_named(stand_in: Path) -> None:
    status, summary = run(stand_in, "-k", "tanh-", "--limit", "8", "--tools", "memcheck")
    assert status == 2
    named = summary[summary.index("## Not run: memcheck") :]
    assert "`tanh-" in named


def test_clean(stand_in: Path) -> None:
    status, summary = run(stand_in, "-k", "exp-", "--tools", "racecheck")
    assert status == 0 and "## " not in summary
