"""One way to use any accelerator. `infinicore.rt` is the runtime: devices, streams, graphs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import infinicore.rt as rt

    __version__: str

__all__ = ["__version__", "rt"]


def __getattr__(name: str) -> Any:
    # On first use, not on import: `import infinicore` opens no library and never fails.
    if name == "rt":
        return importlib.import_module("infinicore.rt")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("infinicore")
    raise AttributeError(f"module 'infinicore' has no attribute {name!r}")
