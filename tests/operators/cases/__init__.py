"""What the declarations cannot say, for drawing cases: a module for each family of operators, in
which operators that need it have an entry."""

from __future__ import annotations

import importlib
import pkgutil

from kit.drawing import Rules

SHARED = "values"  # the module that serves several families


def all_cases() -> dict[str, Rules]:
    found: dict[str, Rules] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != SHARED:
            found |= importlib.import_module(f"{__name__}.{module.name}").CASES
    return found
