"""The registered kernels, which `_emit` looks up before each call."""

from __future__ import annotations

from typing import Any

# By operator and device type, newest first.
kernels: dict[tuple[str, int], list[Any]] = {}


def find(this: Any, tensors: list[Any], values: dict[str, Any]) -> Any:
    """The first kernel that accepts these tensors; None: use the back end's own."""
    some = next((t for t in tensors if t is not None and not isinstance(t, list)), None)
    if some is None:
        return None
    for kernel in kernels.get((this.name, some.device._underlying[0]), ()):
        if kernel._accepts(tensors, values):
            return kernel
    return None
