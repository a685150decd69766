"""infinicore in C++ with a second device type."""

from __future__ import annotations

from pathlib import Path

from kit import build, process
from kit.binding import root

SOURCE = Path(__file__).parent / "core.cc"


def test_two_kinds_of_device(sample, tmp_path):
    program, library = tmp_path / "core", root() / "lib"
    flags = ["-std=c++17", "-O1", "-pthread", *build.WARNINGS, f"-I{root() / 'include'}"]
    link = [
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        "-linfinicore_cpp_api",
        "-linfiniop",
        "-linfinirt",
    ]
    build.compile_([build.CXX, *flags, str(SOURCE), *link, "-o", str(program)])
    done = process.run([str(program)], INFINI_BACKEND_PATH=str(sample()), INFINI_DEVICE=None)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr
