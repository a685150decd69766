"""Discovery of the modules whose public names make up a package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def modules_of(package: str, path: list[str]) -> Iterator[ModuleType]:
    """The public modules below a package, in the order of their names."""
    for info in sorted(pkgutil.iter_modules(path), key=lambda each: each.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        if info.ispkg:
            yield from modules_of(module.__name__, list(module.__path__))
        else:
            yield with_names(module)


def with_names(module: ModuleType) -> ModuleType:
    """Imports a module; its public names are those it defines, unless it lists others."""
    vars(module).setdefault("__all__", own_names(vars(module)))
    return module


def own_names(names: dict[str, Any]) -> list[str]:
    """The lower-case functions and classes that a module defines. `public` in
    spec/generate/package_stubs.py derives the same from the source."""
    found = [(key, value) for key, value in names.items() if key[0].islower()]
    home = names["__name__"]
    return sorted(key for key, value in found if getattr(value, "__module__", None) == home)
