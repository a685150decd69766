"""Memory and objects of a test, which are destroyed at its end."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


class Buffer:
    """Memory of a known size, read and written by copies: device memory may be inaccessible."""

    def __init__(self, rt: Any, address: int, size: int) -> None:
        self._rt = rt
        self.address = address
        self.size = size

    def __add__(self, offset: int) -> int:
        return self.address + offset

    def write(self, data: bytes, offset: int = 0) -> Buffer:
        self._rt.Memcpy(self.address + offset, data, len(data), self._rt.MemcpyDefault)
        return self

    def read(self, offset: int = 0, count: int | None = None) -> bytes:
        count = self.size - offset if count is None else count
        into = (ctypes.c_ubyte * count)()
        self._rt.Memcpy(into, self.address + offset, count, self._rt.MemcpyDefault)
        return bytes(into)

    def view(self) -> Any:
        """The bytes themselves. Only for memory that the host can access."""
        return (ctypes.c_ubyte * self.size).from_address(self.address)


class Maker:
    """Creates objects, and destroys them in reverse order at the end of the test."""

    def __init__(self, rt: Any) -> None:
        self.rt = rt
        self._ends: list[Callable[[], Any]] = []

    def later(self, end: Callable[..., Any], *arguments: Any) -> None:
        self._ends.append(lambda: end(*arguments))

    def _destroy_later(self, function: str, handle: int) -> None:
        """Unless the test does it: not every device recognises a destroyed handle."""
        self.rt.gone.discard(handle)

        def destroy() -> None:
            if handle not in self.rt.gone or "checked-handles" in self.rt.tags:
                getattr(self.rt.code, function)(handle)

        self.later(destroy)

    def stream(self, flags: int = 0, priority: int = 0) -> int:
        stream = self.rt.StreamCreateWithPriority(flags, priority)
        self._destroy_later("StreamDestroy", stream)
        return stream

    def free_stream(self) -> int:
        """One that the null stream does not wait for."""
        return self.stream(self.rt.StreamNonBlocking)

    def event(self, flags: int = 0) -> int:
        event = self.rt.EventCreateWithFlags(flags)
        self._destroy_later("EventDestroy", event)
        return event

    def buffer(self, size: int, data: bytes | int | None = None) -> Buffer:
        address = self.rt.Malloc(size)
        self.later(self.rt.code.Free, address)
        buffer = Buffer(self.rt, address, size)
        if isinstance(data, int):
            self.rt.Memset(address, data, size)
            self.rt.DeviceSynchronize()
        elif data is not None:
            buffer.write(data)
        return buffer

    def pinned(self, size: int, data: bytes | int = 0) -> Buffer:
        address = self.rt.MallocHost(size)
        self.later(self.rt.code.FreeHost, address)
        ctypes.memmove(address, bytes([data]) * size if isinstance(data, int) else data, size)
        return Buffer(self.rt, address, size)

    def graph(self) -> int:
        graph = self.rt.GraphCreate(0)
        self._destroy_later("GraphDestroy", graph)
        return graph

    def own_graph(self, graph: int) -> int:
        """Takes ownership of a captured graph."""
        self._destroy_later("GraphDestroy", graph)
        return graph

    def exec(self, graph: int, flags: int = 0) -> int:
        made = self.rt.GraphInstantiate(graph, flags)
        self._destroy_later("GraphExecDestroy", made)
        return made

    def pool(self, **members: Any) -> int:
        properties = self.rt.struct("MemPoolProps", allocType=self.rt.MemAllocationTypePinned)
        properties.location.type = self.rt.MemLocationTypeDevice
        properties.location.id = self.rt.GetDevice()
        for name, value in members.items():
            setattr(properties, name, value)
        pool = self.rt.MemPoolCreate(properties)
        self._destroy_later("MemPoolDestroy", pool)
        return pool

    def end(self) -> None:
        self.rt.code.DeviceSynchronize()
        while self._ends:
            self._ends.pop()()
        self.rt.code.GetLastError()
