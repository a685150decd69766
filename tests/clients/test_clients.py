"""C11 and C++17 programs against the installed package: linked by flags, CMake and pkg-config, or
loaded by name."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kit import build, process
from kit.binding import root
from kit.requirements import need

HERE = Path(__file__).parent
C_CLIENTS = ["aligned", "first_generation", "operators"]
CPP_CLIENTS = ["aligned", "context", "host_arrays", "module_rules", "modules", "runtime"]

pytestmark = pytest.mark.requires("c++")


def flags() -> list[str]:
    """The flags for the folder under test, the same as from `infini config --cflags --libs`, see
    below."""
    library = root() / "lib"
    found = f"-Wl,-rpath,{library},--as-needed"
    libraries = ["-linfinicore_cpp_api", "-linfiniop", "-linfiniccl", "-linfinirt"]
    return [f"-I{root() / 'include'}", f"-L{library}", found, *libraries]


def run(program: Path, **changes: str) -> str:
    done = process.run([str(program)], timeout=60, INFINI_DEVICE=None, **changes)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", C_CLIENTS)
@pytest.mark.parametrize("standard", ["c11", "c17"])
def test_c(tmp_path, name, standard):
    program, source = tmp_path / name, HERE / "c" / f"{name}.c"
    build.compile_(
        [build.C, f"-std={standard}", *build.WARNINGS, str(source), *flags(), "-o", str(program)]
    )
    assert run(program).startswith("ok")


@pytest.mark.parametrize("name", CPP_CLIENTS)
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_cpp(tmp_path, name, standard):
    program, source = tmp_path / name, HERE / "cpp" / f"{name}.cc"
    options = [f"-std={standard}", "-pthread", *build.WARNINGS]
    build.compile_([build.CXX, *options, str(source), *flags(), "-o", str(program)])
    assert run(program).startswith("ok")


@pytest.mark.parametrize("name", ["module_ranks", "host_filled"])
def test_two_cpus(tmp_path, name):
    program, source = tmp_path / name, HERE / "cpp" / f"{name}.cc"
    options = ["-std=c++17", "-pthread", *build.WARNINGS]
    build.compile_([build.CXX, *options, str(source), *flags(), "-linfiniccl", "-o", str(program)])
    assert run(program, INFINI_CPU_DEVICES="2") == "ok\n"


def test_spdlog_of_the_system_needs_no_library_of_fmt(tmp_path):
    """Where spdlog is installed, engines get it from our header; other programs need not link its
    fmt."""
    (tmp_path / "spdlog").mkdir()
    (tmp_path / "spdlog" / "spdlog.h").write_text(
        "#ifdef FMT_HEADER_ONLY\nconstexpr bool needs_no_library = true;\n#endif\n"
    )
    source = tmp_path / "client.cc"
    source.write_text("#include <infinicore/nn/module.hpp>\nstatic_assert(needs_no_library);\n")
    options = ["-std=c++17", "-fsyntax-only", f"-I{tmp_path}", f"-I{root() / 'include'}"]
    build.compile_([build.CXX, *options, str(source)])


def test_c_headers_in_cpp(tmp_path):
    """Every public header compiles on its own, in C and in C++; of the generated operator headers
    only a few are tested."""
    include = root() / "include"
    headers = [path.relative_to(include) for path in sorted(include.rglob("*.h"))]
    operators = [header for header in headers if "ops" in header.parts]
    headers = [header for header in headers if header not in operators] + operators[::40]
    assert len(operators) > 150
    assert len(headers) >= 5
    for header in headers:
        text = f"#include <{header}>\nint main(void) {{ return 0; }}\n"
        languages = {"cc": [build.CXX, "-std=c++17"]}
        if header.name not in (
            "rt.h",
            "operation.h",
            "loop_nest.h",
            "make_loop_nest.h",
            "expression.h",
        ):  # those are C++
            languages["c"] = [build.C, "-std=c11"]
        for ending, compiler in languages.items():
            source = tmp_path / f"alone.{ending}"
            source.write_text(text)
            options = [*build.WARNINGS, f"-I{include}", "-fsyntax-only"]
            build.compile_([*compiler, *options, str(source)])


def test_both_faces_in_one_program(tmp_path):
    source, objects = HERE / "c" / "mixed.c", []
    for define in ("-UFIRST_GENERATION", "-DFIRST_GENERATION"):
        objects.append(str(tmp_path / f"{define[1]}.o"))
        options = ["-std=c11", *build.WARNINGS, define, f"-I{root() / 'include'}", "-c"]
        build.compile_([build.C, *options, str(source), "-o", objects[-1]])
    build.compile_([build.C, *objects, *flags()[1:], "-o", str(tmp_path / "mixed")])
    assert run(tmp_path / "mixed") == "ok\n"


def test_both_headers_in_one_file_are_refused(tmp_path):
    source = tmp_path / "both.c"
    source.write_text("#include <infinirt_runtime_api.h>\n#include <infinirt.h>\n")
    command = [build.C, f"-I{root() / 'include'}", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "include one of them" in done.stderr


def test_loaded_by_name(tmp_path):
    program = tmp_path / "loaded"
    options = ["-std=c11", "-D_DEFAULT_SOURCE", *build.WARNINGS]
    build.compile_([build.C, *options, str(HERE / "c" / "loaded.c"), "-ldl", "-o", str(program)])
    assert run(program, INFINI_ROOT=str(root())) == "ok\n"


def test_cpp_headers(tmp_path):
    """Every header of infinicore's C++ interface compiles on its own; of the generated operator
    headers only a few are tested."""
    include = root() / "include"
    headers = [path.relative_to(include) for path in sorted(include.rglob("*.hpp"))]
    operators = [header for header in headers if "ops" in header.parts]
    headers = [header for header in headers if header not in operators] + operators[::20]
    assert len(operators) >= 195
    assert len(headers) >= 16
    source = tmp_path / "alone.cc"
    for header in headers:
        source.write_text(f"#include <{header}>\nint main() {{ return 0; }}\n")
        options = ["-std=c++17", *build.WARNINGS, f"-I{include}", "-fsyntax-only"]
        build.compile_([build.CXX, *options, str(source)])


@pytest.mark.requires("installed")
def test_former_name_of_the_cpp_library(tmp_path):
    program, source = tmp_path / "context", HERE / "cpp" / "context.cc"
    words = ["-linfinicore" if word == "-linfinicore_cpp_api" else word for word in flags()]
    build.compile_([build.CXX, "-std=c++17", str(source), *words, "-o", str(program)])
    assert run(program).startswith("ok")


@pytest.fixture(scope="module")
def cmake_build(tmp_path_factory):
    need("installed")
    folder = tmp_path_factory.mktemp("cmake")
    build.cmake(HERE / "cmake", folder, f"-DInfini_DIR={root() / 'lib' / 'cmake' / 'Infini'}")
    return folder


@pytest.mark.parametrize("name", ["aligned", "runtime"])
def test_cmake(cmake_build, name):
    assert run(cmake_build / name).startswith("ok")


def example(source: Path, folder: Path) -> str:
    """Built as a reader would build it, against the installed package, and run."""
    need("installed")
    build.cmake(source, folder, f"-DInfini_DIR={root() / 'lib' / 'cmake' / 'Infini'}")
    return run(folder / "infinicore_example")


def test_example(tmp_path):
    said = example(HERE.parents[1] / "examples" / "cpp", tmp_path)
    assert said.startswith("device  ")
    assert "100 replays" in said


def test_cmake_back_end(cmake_build):
    library = cmake_build / "libbackend.so"
    said = process.python(
        "print(rt.load_backend(sys.argv[1]), rt.set_kind('null'))", library, INFINI_DEVICE="cpu"
    )
    assert said.split() == ["INFINI_STATUS_SUCCESS"] * 2


@pytest.mark.requires("pkg-config", "installed")
def test_pkg_config(tmp_path):
    folder = root() / "lib" / "pkgconfig"
    done = process.run(["pkg-config", "--cflags", "--libs", "infini"], PKG_CONFIG_PATH=str(folder))
    assert done.returncode == 0, done.stderr
    program = tmp_path / "aligned"
    build.compile_(
        [
            build.C,
            "-std=c11",
            str(HERE / "c" / "aligned.c"),
            *shlex.split(done.stdout),
            "-o",
            str(program),
        ]
    )
    assert run(program).startswith("ok")


def test_infini_config(tmp_path):
    """The command's output is enough to compile and run a program."""
    command = [sys.executable, "-m", "infinicore", "config"]
    done = process.run([*command, "--root"])
    if done.returncode:
        pytest.skip("the Python package is not installed")
    assert (Path(done.stdout.strip()) / "include" / "infinirt_runtime_api.h").exists()
    words = process.run([*command, "--cflags", "--libs"])
    program = tmp_path / "aligned"
    build.compile_(
        [build.C, str(HERE / "c" / "aligned.c"), *shlex.split(words.stdout), "-o", str(program)]
    )
    assert run(program).startswith("ok")
    cmake_dir = process.run([*command, "--cmake-dir"]).stdout.strip()
    assert (Path(cmake_dir) / "InfiniConfig.cmake").exists()


def test_the_library_needs_only_the_system():
    """The wheel runs where nothing else is installed."""
    needed = subprocess.run(
        ["readelf", "-d", str(root() / "lib" / "libinfinirt.so")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    names = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line]
    known = ("libstdc++", "libm.", "libgcc_s", "libc.", "libdl", "libpthread", "librt", "ld-linux")
    assert [name for name in names if not name.startswith(known)] == []
