"""Compiling C and C++ against the installed headers and libraries."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .binding import root
from .requirements import find_program, need

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
C = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")


def compile_(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"


def cmake(source: Path, folder: Path, *options: str) -> None:
    """Builds with this environment's Ninja: a fresh machine may have no make."""
    need("cmake")
    program, ninja = find_program("cmake"), find_program("ninja")
    assert program and ninja
    make = f"-DCMAKE_MAKE_PROGRAM={ninja}"
    compile_([program, "-G", "Ninja", make, "-S", str(source), "-B", str(folder), *options])
    compile_([program, "--build", str(folder)])


def shared_library(source: Path, output: Path, *options: str) -> Path:
    """Compiles a back end: only against the headers, without linking to our libraries."""
    flags = ["-std=c++17", "-O1", "-g", "-shared", "-fPIC", "-pthread", *WARNINGS]
    include = f"-I{root() / 'include'}"
    compile_([CXX, *flags, include, *options, str(source), "-o", str(output)])
    return output
