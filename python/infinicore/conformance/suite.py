"""The declarations and test tools that are installed beside the package's libraries."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from infinicore.cli import config

EXTRA = "pip install 'infinicore[conformance]'"


def folder() -> Path:
    return config.root() / "share" / "infini" / "conformance"


def use() -> None:
    """Make `spec`, `kit` and `cases` importable. Only for the kit's own processes."""
    path = folder()
    if not (path / "kit").is_dir():
        raise FileNotFoundError(f"{path} is missing: install infinicore again")
    sys.path.insert(0, str(path))


def without_numpy() -> str:
    """Why operators cannot be checked here; empty if they can."""
    for module, name in (("numpy", "NumPy"), ("scipy", "SciPy")):
        if find_spec(module) is None:
            return f"{name} is not installed: it computes what operators should give; {EXTRA}"
    return ""
