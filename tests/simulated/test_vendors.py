"""CUDA-like vendors by their tables, on simulated libraries with the vendors' names and numbers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.vendors import build

PROGRAM = Path(__file__).with_name("vendor_program.py")
TABLES = process.PROJECT / "backends/cuda/vendors"
COMPILED = ("hygon", "metax", "moore")
OFFLINE = ("iluvatar", "qy")
# The additional vendors, whose kernels are the same as those of the three.
FEW = ("devices", "copies_streams_and_events", "elementwise", "rows", "products", "collective")
FEW += ("recorded_collective",)


@pytest.fixture(scope="session", autouse=True)
def compiler() -> None:
    need("c++")


def settings(*kinds: str, **options: bool) -> dict[str, str]:
    made = build.settings(*kinds, root=root(), **options)
    return {**made, "INFINI_SIM_DEVICES": "2", "INFINI_DEVICE": kinds[0]}


def run(kind: str, *checks: str, **changes: str) -> None:
    done = process.run(
        [sys.executable, str(PROGRAM), kind, *checks], timeout=240, **{**settings(kind), **changes}
    )
    assert re.fullmatch(r"checked \d+\n", done.stdout), done.stdout + done.stderr


def infini(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return process.run([sys.executable, "-m", "infinicore", *words], **changes)


@pytest.mark.parametrize("kind", COMPILED)
def test_a_vendor(kind: str):
    run(kind)


@pytest.mark.parametrize("kind", sorted({*build.KINDS} - {*COMPILED}))
def test_a_vendor_with_the_names_of_cuda(kind: str):
    run(kind, *FEW)


def test_narrow_warps_where_the_device_has_them():
    """From capability 3.x on Moore's warps have 32 lanes; before, 128."""
    run("moore", "rows", INFINI_SIMULATED_CAPABILITY="31")


def test_all_kinds_in_one_process():
    done = infini("info", **{**settings(*build.KINDS), "INFINI_DEVICE": "cpu"})
    for kind in build.KINDS:
        name = build.facts(kind)["device"]
        for index in range(2):
            assert re.search(rf"{kind}:{index} +{re.escape(name)} ", done.stdout), done.stdout
    code = (
        "import infinicore\n"
        f"for kind in {build.KINDS}:\n"
        "    x = infinicore.ones((3, 5), device=kind)\n"
        "    print(kind, (x + x).to('cpu').numpy().sum())\n"
    )
    done = process.run([sys.executable, "-c", code], **settings(*build.KINDS))
    assert done.stdout.splitlines() == [f"{kind} 30.0" for kind in build.KINDS], done.stderr


# ---- Reasons ------------------------------------------------------------------------------------


def reason(kind: str, **changes: str) -> str:
    code = f"from infinicore import rt; print(rt.absent_kinds()['{kind}'])"
    done = process.run([sys.executable, "-c", code], **changes)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", build.KINDS)
def test_absent_libraries_are_a_reason(kind: str, tmp_path: Path):
    variable = f"INFINI_{kind.upper()}_LIBRARIES"
    said = reason(kind, **{variable: str(tmp_path)})
    assert f"is not in {variable}=" in said


def test_a_missing_function_is_a_reason(tmp_path: Path):
    folder = tmp_path / "metax"
    shutil.copytree(build.folder("metax", root()), folder)
    library = folder / "libmcruntime.so"
    library.write_bytes(library.read_bytes().replace(b"\0mcMemGetInfo\0", b"\0mcMemGetNone\0"))
    said = reason("metax", INFINI_METAX_LIBRARIES=str(folder))
    assert "libmcruntime.so has no function mcMemGetInfo" in said


def test_an_old_library_is_a_reason():
    said = reason("iluvatar", **settings("iluvatar"), INFINI_SIMULATED_VERSION="9020")
    assert "is too old: its version is 9020, expected 10020 or later" in said


def test_another_vendors_device_is_a_reason(tmp_path: Path):
    """Iluvatar's libraries have the same names as NVIDIA's: the device's name decides."""
    folder = tmp_path / "libraries"
    shutil.copytree(build.folder("iluvatar", root()), folder)
    (folder / "libcudart.so").rename(folder / "libcudart.so.12")
    said = reason("nvidia", INFINI_NVIDIA_LIBRARIES=str(folder))
    assert "the devices are another vendor's: " in said
    assert "calls the first one simulated Iluvatar" in said


def test_libraries_of_one_name_are_told_apart(tmp_path: Path):
    """MetaX and Moore Threads both have a libmccl.so, with other functions of their own."""
    folder = tmp_path / "metax"
    shutil.copytree(build.folder("metax", root()), folder)
    shutil.copyfile(build.folder("moore", root()) / "libmccl.so", folder / "libmccl.so")
    changes = {**settings("metax"), "INFINI_METAX_LIBRARIES": str(folder)}
    done = infini("info", **changes)
    assert re.search(r"metax +collectives none: .*libmccl.so is another vendor's", done.stdout)


# ---- Kernels that are compiled off line ----------------------------------------------------------


PROGRAM_OF_ONE = """
import infinicore
x = infinicore.ones((3, 5), device={kind!r})
print(infinicore.exp(x).to("cpu").numpy().sum().round(3))
"""


@pytest.mark.parametrize("kind", OFFLINE)
def test_kernels_compiled_off_line(kind: str, tmp_path: Path):
    changes = {**settings(kind, compiler=False), "INFINI_CACHE": str(tmp_path / "cache")}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM_OF_ONE.format(kind=kind), encoding="utf-8")
    refused = process.run([sys.executable, str(program)], **changes)
    assert refused.returncode != 0
    assert f"`infini build-kernels --device {kind}` writes the sources" in refused.stderr
    out = tmp_path / "kernels"
    compiler = build.folder(kind, root()) / "bin/compile"
    command = ["build-kernels", "--device", kind, "--out", str(out), "--run"]
    done = infini(*command, "--compiler", str(compiler), str(program), **changes)
    assert done.returncode == 0, done.stdout + done.stderr
    script = (out / "build.sh").read_text(encoding="utf-8")
    assert "--cuda-gpu-arch=" in script
    again = process.run([sys.executable, str(program)], **changes, INFINI_KERNEL_IMAGES=str(out))
    assert again.stdout == "40.774\n", again.stderr


# ---- Tables --------------------------------------------------------------------------------------


def test_tables_are_short():
    for path in TABLES.glob("*.cc"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 150, path


def test_the_doctor_lists_what_is_not_confirmed():
    done = infini("doctor", INFINI_DEVICE="cpu")
    for kind in build.KINDS:
        assert re.search(rf"^{kind} +\S", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("kind", build.KINDS)
def test_names_of_low_confidence_are_in_the_table(kind: str):
    """Functions of low certainty in the facts, which the back end requests by a row of its
    table."""
    text = (TABLES / f"{kind}.cc").read_text(encoding="utf-8")
    renamed = set(re.findall(r'{Part::\w+, "\w+", "(\w+)"}', text))
    marked = text[text.index("kUnverified[] =") :]
    for functions in build.facts(kind)["libraries"].values():
        for name, function in functions.items():
            if function["confidence"] == "low" and name in renamed:
                assert name in marked, (kind, name)
