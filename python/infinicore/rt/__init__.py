"""The runtime: devices, streams, events, memory, pools and graphs.

Every function of the C API is here by its name without the prefix (`Malloc`,
`StreamCreateWithFlags`, `GraphAddMemcpyNode`): out parameters are returned, handles and addresses
are ints, errors raise `InfiniRTError`. Enums, flags and structs keep their C names too. The classes
built on them own what they represent and keep alive what they need; functions that take a handle or
an address also accept such an object.
"""

from typing import TYPE_CHECKING, Any

from infinicore import _rt, _rt_enums
from infinicore._rt import *  # noqa: F403
from infinicore.rt._backends import (
    Backend,
    absent_kinds,
    backends,
    kind,
    kinds,
    load_entry_points,
    set_kind,
)
from infinicore.rt._device import Device, devices
from infinicore.rt._error import InfiniRTError
from infinicore.rt._event import Event
from infinicore.rt._graph import Graph, GraphExec, Node, capture
from infinicore.rt._memory import Memory
from infinicore.rt._pool import MemoryPool
from infinicore.rt._stream import Stream

if TYPE_CHECKING:
    from infinicore._rt_enums import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        # Enums are created on first access.
        if name in _rt_enums.__all__:
            return getattr(_rt_enums, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_rt_enums.__all__})


__all__ = [
    "Backend",
    "Device",
    "Event",
    "Graph",
    "GraphExec",
    "InfiniRTError",
    "Memory",
    "MemoryPool",
    "Node",
    "Stream",
    "absent_kinds",
    "backends",
    "capture",
    "devices",
    "kind",
    "kinds",
    "set_kind",
]
__all__ += _rt.__all__
__all__ += _rt_enums.__all__

load_entry_points()
