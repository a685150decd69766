"""Kernels that several threads and plans ask for: each has a result, and none spoils another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root


def works(sanitizer: str, folder: Path) -> bool:
    """Compilers come without the library, and old ones do not run where addresses are random."""
    source, program = folder / "nothing.cc", folder / "nothing"
    source.write_text("int main() {}")
    made = process.run([build.CXX, sanitizer, str(source), "-o", str(program)])
    return made.returncode == 0 and process.run([str(program)]).returncode == 0


@pytest.mark.parametrize("sanitizer", ["", "-fsanitize=thread"], ids=["plain", "threads"])
def test_attempts(tmp_path: Path, sanitizer: str) -> None:
    if not build.has_compiler():
        pytest.skip("no C++ compiler here")
    here = process.PROJECT / "backends" / "cuda"
    folders = [here, process.PROJECT / "csrc" / "base", root() / "include"]
    sources = [Path(__file__).parent / "loading.cc", here / "loaded.cc"]
    program = tmp_path / "loading"
    command = [build.CXX, "-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-pthread"]
    command += [f"-I{folder}" for folder in folders] + [str(source) for source in sources]
    if sanitizer and not works(sanitizer, tmp_path):
        pytest.skip(f"the compiler or the system has no {sanitizer}")
    build.compile_([*filter(None, [*command, sanitizer]), "-o", str(program)])
    done = process.run([str(program)])
    assert done.returncode == 0, done.stdout + done.stderr
