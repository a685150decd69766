"""Kernels requested by several threads and plans: each gets a result, and none affects
another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root
from kit.requirements import need


@pytest.mark.parametrize("sanitizer", ["", "-fsanitize=thread"], ids=["plain", "threads"])
def test_attempts(tmp_path: Path, sanitizer: str) -> None:
    need("c++", *(["thread-sanitizer"] if sanitizer else []))
    here = process.PROJECT / "backends" / "cuda"
    folders = [here, process.PROJECT / "csrc" / "base", root() / "include"]
    sources = [Path(__file__).parent / "loading.cc", here / "kernel_loader.cc"]
    program = tmp_path / "loading"
    command = [build.CXX, "-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-pthread"]
    command += [f"-I{folder}" for folder in folders] + [str(source) for source in sources]
    build.compile_([*filter(None, [*command, sanitizer]), "-o", str(program)])
    done = process.run([str(program)])
    assert done.returncode == 0, done.stdout + done.stderr
