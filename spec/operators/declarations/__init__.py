"""The operators, declared: a folder for each family of kernels.

Every module below is read when this package is imported; `language.model.REGISTRY` then holds the
operators by name.
"""

from __future__ import annotations

import importlib
import pkgutil

# One name for each family, the same in every tree: declarations, kernels of every back end, device
# code, Python functions, tests and reference pages.
FAMILIES = (
    *("attention", "blas", "cache", "conv", "copy", "elementwise", "fft", "index", "linalg"),
    *("loss", "matmul", "moe", "norm", "quant", "random", "recurrence", "reduce", "rope"),
    *("scan", "sort", "window"),
)

for _family in FAMILIES:
    _package = importlib.import_module(f"{__name__}.{_family}")
    for _module in pkgutil.iter_modules(_package.__path__):
        importlib.import_module(f"{_package.__name__}.{_module.name}")
