"""Information for drawing cases that the declarations lack: a module for each family of operators,
with entries for those that need it."""

from __future__ import annotations

import importlib
import pkgutil

from kit.drawing import Rules

SHARED = "values"  # the module shared by several families


def all_cases() -> dict[str, Rules]:
    found: dict[str, Rules] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != SHARED:
            found |= importlib.import_module(f"{__name__}.{module.name}").CASES
    return found
