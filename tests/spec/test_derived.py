"""The generated headers and pages: they compile, are complete, and are reproducible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spec import api, first
from spec.generate.__main__ import PARTS, generate
from spec.generate.tables import exported_symbols

ROOT = Path(__file__).resolve().parents[2]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
C11 = ["gcc", "-x", "c", "-std=c11", *STRICT]
CPP17 = ["g++", "-x", "c++", "-std=c++17", *STRICT]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated")
    generate(out, list(PARTS))
    return out


def compile_(compiler: list[str], out: Path, source: str) -> subprocess.CompletedProcess[str]:
    command = [*compiler, f"-I{out / 'include'}", f"-I{ROOT / 'include'}", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True)


def check(compiler: list[str], out: Path, source: str) -> None:
    done = compile_(compiler, out, source)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", [C11, CPP17], ids=["C11", "C++17"])
@pytest.mark.parametrize(
    "header",
    ["infinirt_runtime_api.h", "infinirt_runtime.h", "infinirt.h", "infinicore.h", "infini/ext.h"],
)
def test_header_compiles_alone(compiler: list[str], header: str, out: Path) -> None:
    check(compiler, out, f'#include "{header}"\n')


@pytest.mark.parametrize("compiler", [C11, CPP17], ids=["C11", "C++17"])
def test_layouts_and_values(compiler: list[str], out: Path) -> None:
    assertion = "static_assert" if compiler is CPP17 else "_Static_assert"
    facts = [f"sizeof({s.kind} {s.name}) == {s.size}" for s in api.structs]
    facts += [f"{v.name} == {v.value}" for e in api.enums for v in e.values]
    lines = [f'{assertion}({fact}, "{fact}");' for fact in facts]
    check(compiler, out, "\n".join(['#include "infinirt_runtime_api.h"', *lines]))

    facts = [f"sizeof({s.name}) == {s.size}" for s in first.structs]
    facts += [f"{v.name} == {v.value}" for e in first.core_enums + first.enums for v in e.values]
    lines = [f'{assertion}({fact}, "{fact}");' for fact in facts]
    check(compiler, out, "\n".join(['#include "infinirt.h"', *lines]))


@pytest.mark.parametrize("compiler", [C11, CPP17], ids=["C11", "C++17"])
@pytest.mark.parametrize("order", [1, -1])
def test_both_faces_in_one_file_are_refused(compiler: list[str], order: int, out: Path) -> None:
    includes = ['#include "infinirt.h"', '#include "infinirt_runtime_api.h"'][::order]
    done = compile_(compiler, out, "\n".join(includes))
    assert done.returncode
    assert "include one of them in a source file" in done.stderr


def test_cpp_conveniences(out: Path) -> None:
    source = """
        #include "infinirt_runtime.h"
        infinirtError_t use(infinirtStream_t stream, infinirtMemPool_t pool,
                            infinirtGraph_t graph) {
            float *memory;
            infinirtEvent_t event;
            infinirtGraphExec_t exec;
            infinirtMalloc(&memory, 4);
            infinirtMallocHost(&memory, 4);
            infinirtMallocHost(&memory, 4, infinirtHostAllocPortable);
            infinirtHostAlloc(&memory, 4, infinirtHostAllocMapped);
            infinirtMallocManaged(&memory, 4);
            infinirtMallocAsync(&memory, 4, stream);
            infinirtMallocAsync(&memory, 4, pool, stream);
            infinirtMemcpyAsync(memory, memory, 4, infinirtMemcpyDefault);
            infinirtStreamAttachMemAsync(stream, memory);
            infinirtEventCreate(&event, infinirtEventDisableTiming);
            infinirtGraphInstantiate(&exec, graph);
            infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
            infinirtPitchedPtr pointer = make_infinirtPitchedPtr(memory, 4, 4, 1);
            dim3 grid(7);
            return grid.z == 1 ? infinirtMemset3D(pointer, 0, make_infinirtExtent(4, 1, 1))
                               : infinirtSuccess;
        }
    """
    check(CPP17, out, source)


def test_cpp_face_has_every_function(out: Path) -> None:
    calls = "\n".join(f"(void)&infini::rt::runtime::{f.name};" for f in api.functions)
    source = f"""
        #include "infini/rt.h"
        using infini::rt::Device;
        static_assert(static_cast<int>(Device::Type::kCpu) == INFINI_DEVICE_CPU, "");
        void use() {{
            {calls}
            infini::rt::set_runtime_device_type(infini::rt::runtime_device_type());
        }}
    """
    check(CPP17, out, source)


def test_exports(out: Path) -> None:
    """Both APIs and infini/ext.h, each symbol once."""
    exported = exported_symbols(api, first)
    assert len(set(exported)) == len(exported)
    for name in ("infinirtMalloc", "infinirtMalloc_v2", "infinirtGraphLuanch",
                 "infinirtGraphLaunch", "infinirtGraphLaunch_v2", "infinirtGetDeviceProperties_v2",
                 "infinirtSetDeviceKind", "infiniGetLastErrorMessage"):  # fmt: skip
        assert name in exported
    script = (out / "src" / "infinirt.map").read_text()
    assert all(f"        {name};\n" in script for name in exported)


def test_every_function_is_documented(out: Path) -> None:
    reference = out / "docs" / "reference"
    support = (reference / "support.md").read_text()
    for function in api.functions:
        page = (reference / "runtime" / f"{function.group}.md").read_text()
        _, _, rest = page.partition(f"\n## {function.c_name}\n")
        section, _, _ = rest.partition("\n## ")
        assert function.doc in section, function.name
        assert all(f"- `{param.name}`: " in section for param in function.params), function.name
        assert function.unsupported in section, function.name
        assert f"[`{function.c_name}`]" in support, function.name
    page = (reference / "first-generation.md").read_text()
    assert all(f"\n## {function.c_name}\n" in page for function in first.functions)


def test_links_between_pages(out: Path) -> None:
    reference = out / "docs" / "reference"
    for page in reference.rglob("*.md"):
        for part in page.read_text().split("](")[1:]:
            target = part.split(")")[0].split("#")[0]
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_a_second_run_changes_nothing(out: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    written, changed = generate(out, list(PARTS))
    assert len(written) == len(set(written)) == len(before)
    assert not changed
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_the_command_needs_nothing_and_is_deterministic(out: Path, tmp_path: Path) -> None:
    """In an interpreter without installed packages, with another hash seed."""
    command = [sys.executable, "-I", "-S", "-c",
               "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
               "runpy.run_module('spec.generate', run_name='__main__')",
               str(ROOT), "--out", str(tmp_path)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    for path in out.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(out)).read_bytes() == path.read_bytes()
    shutil.rmtree(tmp_path)
