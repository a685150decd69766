"""One way to use any accelerator: tensors and functions as in torch, on every device.

    x = infinicore.ones(2, 3)
    y = infinicore.nn.functional.silu(x) @ x.T

`infinicore.nn` has modules, `infinicore.context` devices and streams, `infinicore.op` the operators
on arrays of any library, `infinicore.rt` the runtime.
"""

from __future__ import annotations

from . import _fork as _fork  # first: from here on, fork() waits for imports

# isort: split
import importlib
from typing import Any

use_ntops = False  # some programs query whether an optional kernel package is in use

_MODULES = (
    *("array_api", "ccl", "context", "fft", "functions", "lib", "library", "linalg"),
    *("masked", "nn", "op", "ops", "return_types", "rt", "signal", "special", "test", "utils"),
)


def __getattr__(name: str) -> Any:
    # On first use, not on import: `import infinicore` opens no library and never fails.
    if name in _MODULES:
        return importlib.import_module(f"infinicore.{name}")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("infinicore")
    if name.startswith("_"):
        raise AttributeError(f"module 'infinicore' has no attribute {name!r}")
    names = _load()
    if name in names:
        return names[name]
    raise AttributeError(f"module 'infinicore' has no attribute {name!r}")


def _load_once() -> None:
    """For code that creates tensors without having looked up any name here."""
    if "Tensor" not in globals():
        _load()


def _load() -> dict[str, Any]:
    # An import, because its lock lets one thread collect while other threads, and fork(), wait.
    from infinicore._collected import NAMES

    for name, value in NAMES.items():
        globals().setdefault(name, value)
    return NAMES


def __dir__() -> list[str]:
    return sorted({*_load(), *_MODULES, "__version__"})
