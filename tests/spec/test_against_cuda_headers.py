"""Our header against NVIDIA's own, declaration by declaration: 12.9 must be the same, and what 13
does differently must be what spec/cuda13_differences.py lists."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import differences
import header_facts
import pytest
from header_facts import Facts

from spec import api, cuda13_differences, first, model
from spec.generate.__main__ import generate
from spec.runtime.left_out import LEFT_OUT

HEADER = "cuda_runtime_api.h"
UNREACHABLE = r"(?i)connection|timed out|resolution|resolve|unreachable|no route|proxy"


def cuda_include(package: str, version: str, cache: Path) -> Path:
    """The folder of NVIDIA's headers: of the installed package, else of the downloaded one."""
    try:
        installed = importlib.metadata.distribution(package)
        if installed.version.startswith(f"{version}."):
            header = next(file for file in installed.files or () if file.name == HEADER)
            return Path(str(installed.locate_file(header))).resolve().parent
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        pass
    folder = cache / f"{package}-{version}"
    if not (found := list(folder.rglob(HEADER))):
        for wheel in download(f"{package}=={version}.*", folder):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder, [n for n in archive.namelist() if "/include/" in n])
            wheel.unlink()
        found = list(folder.rglob(HEADER))
    return found[0].resolve().parent


def download(requirement: str, folder: Path) -> list[Path]:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--retries=1", "--timeout=20", f"--dest={folder}", requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and re.search(UNREACHABLE, done.stderr) and not os.environ.get("CI"):
        pytest.skip(f"the package registry cannot be reached for {requirement}: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return list(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = getattr(pytestconfig, "cache", None)  # absent with -p no:cacheprovider
    return kept.mkdir("cuda-headers") if kept else tmp_path_factory.mktemp("cuda-headers")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    out = tmp_path_factory.mktemp("generated")
    generate(out, ["c"])
    return header_facts.read(out / "include", "infinirt_runtime_api.h", out)


@pytest.fixture(scope="module")
def cuda12(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    include = cuda_include("nvidia-cuda-runtime-cu12", "12.9", cache)
    return header_facts.read(include, HEADER, tmp_path_factory.mktemp("cuda12"))


@pytest.fixture(scope="module")
def cuda13(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    include = cuda_include("nvidia-cuda-runtime", cuda13_differences.VERSION, cache)
    return header_facts.read(include, HEADER, tmp_path_factory.mktemp("cuda13"))


def test_the_header_declares_the_spec(ours: Facts) -> None:
    assert list(ours.functions) == [f"cuda{function.name}" for function in api.functions]
    assert len(api.functions) >= 180
    assert len(ours.enums) == len(api.enums)
    assert len(ours.structs) == len(api.structs)


@pytest.mark.parametrize("kind", ["functions", "enums", "structs", "typedefs"])
def test_declarations_are_those_of_12_9(kind: str, ours: Facts, cuda12: Facts) -> None:
    mine, theirs = getattr(ours, kind), getattr(cuda12, kind)
    assert mine
    assert {name: theirs.get(name) for name in mine} == mine


def test_default_arguments_are_those_of_12_9(ours: Facts, cuda12: Facts) -> None:
    theirs = {n: d for n, d in cuda12.defaults.items() if n in ours.functions}
    assert ours.defaults == theirs


def test_macros_are_those_of_12_9(ours: Facts, cuda12: Facts) -> None:
    """All but those that leave the plain symbol to the first generation."""
    mine = {name: text for name, text in ours.macros.items() if name.startswith("cuda")}
    kept = {f"cuda{name}": f"cuda{name}_v2" for name in first.names & set(api.by_name)}
    assert {name: mine.pop(name) for name in kept} == kept
    assert {name: cuda12.macros.get(name) for name in mine} == mine


def test_functions_left_out_are_listed(ours: Facts, cuda12: Facts) -> None:
    listed = {f"cuda{name}" for names in LEFT_OUT.values() for name in names.split()}
    assert set(cuda12.functions) - set(ours.functions) == listed


@pytest.mark.parametrize("part", ["FUNCTIONS", "ENUMS", "STRUCTS", "NAMES"])
def test_differences_to_13_are_listed(part: str, ours: Facts, cuda12: Facts, cuda13: Facts) -> None:
    found = differences.between(cuda12, cuda13, ours)[part]
    blocks = model.blocks_of(getattr(cuda13_differences, part))
    assert found == {head: [line.strip() for line in lines] for head, lines in blocks}
