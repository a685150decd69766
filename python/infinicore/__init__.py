"""One way to use any accelerator. `infinicore.rt` is the runtime: devices, streams, graphs;
`infinicore.op` has the operators."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import infinicore.op as op
    import infinicore.rt as rt

    __version__: str

__all__ = ["__version__", "op", "rt"]


def __getattr__(name: str) -> Any:
    # On first use, not on import: `import infinicore` opens no library and never fails.
    if name in ("op", "rt"):
        return importlib.import_module(f"infinicore.{name}")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("infinicore")
    raise AttributeError(f"module 'infinicore' has no attribute {name!r}")
