"""The scripts of benchmarks/ as modules, and as programs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.append(str(FOLDER))


def module(name: str) -> ModuleType:
    """Imports a script that has the same name as a folder of tests."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def run(script: str, *arguments: object, code: int = 0, **more: str) -> str:
    """The output of a script; `code` is the expected exit status, `more` changes its
    environment."""
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=220, env={**os.environ, **more}
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
