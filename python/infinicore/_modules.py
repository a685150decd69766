"""Modules found by being there: their public names (`__all__`) make up a package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType


def modules_of(package: str, path: list[str]) -> Iterator[ModuleType]:
    """The public modules below a package, in the order of their names."""
    for info in sorted(pkgutil.iter_modules(path), key=lambda each: each.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        if info.ispkg:
            yield from modules_of(module.__name__, list(module.__path__))
        else:
            yield module
