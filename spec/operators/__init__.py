"""The operators, declared: every module here is read, and `REGISTRY` then holds them by name."""

from __future__ import annotations

import importlib
import pkgutil

from .model import REGISTRY, Operator

for _found in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
    if _found.name not in ("model", "expression"):
        importlib.import_module(f"{__name__}.{_found.name}")

OPERATORS: tuple[Operator, ...] = tuple(REGISTRY[name] for name in sorted(REGISTRY))
