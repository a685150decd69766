"""Back ends that `infini new-backend` wrote, built once for all tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kit.binding import root

from . import faults
from .kit_runs import infini

PAGE = Path(__file__).resolve().parents[2] / "docs" / "porting.md"


def example() -> list[str]:
    """The C++ of docs/porting.md: a file, and lines of `plan`."""
    blocks = PAGE.read_text(encoding="utf-8").split("```cpp\n")[1:]
    return [block.partition("```")[0] for block in blocks]


def compiled(folder: Path, name: str) -> Path:
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        pytest.skip("needs a C++ compiler")
    library = folder / f"libinfini_{name}.so"
    source = folder / "src" / f"{name}.cc"
    flags = ["-std=c++20", "-O0", "-shared", "-fPIC", "-pthread", f"-I{root() / 'include'}"]
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True, timeout=300)
    return library


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in which MYCHIP_FAULT selects a fault; without it, the library is correct. It has
    the operator of docs/porting.md."""
    folder = tmp_path_factory.mktemp("broken") / "mychip"
    done = infini("new-backend", "mychip", "--into", str(folder))
    assert done.returncode == 0, done.stderr
    header, choice = example()
    (folder / "src" / "gemm.h").write_text(header, encoding="utf-8")
    faults.inject(folder, choice)
    return compiled(folder, "mychip")
