"""Valid and invalid arguments for every function: objects of every kind, alive and destroyed."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from spec.model import Function, Param

from . import types
from .binding import default_of, handles
from .latch import HOST_FUNCTION
from .memory import Maker

MAX = (1 << 64) - 1
NOTHING = HOST_FUNCTION(lambda _: None)
PAGE = 1 << 16
LISTS = ("MemcpyBatchAsync", "MemPoolSetAccess", "SetValidDevices", "MemRangeGetAttributes")
SANE_ENUMS = {
    "infinirtMemcpyKind": 4,
    "infinirtMemcpyKind_t": 3,
    "infinirtLaunchAttributeID": 3,
    "infinirtMemPoolAttr": 4,
    "infinirtGraphMemAttributeType": 1,
}
NUMBERS = {
    "zero": 0,
    "one": 1,
    "minus one": -1,
    "unknown": 7777,
    "large": 1 << 20,
    "largest": (1 << 31) - 1,
    "smallest": -(1 << 31),
    "SIZE_MAX": MAX,
    "half SIZE_MAX": MAX // 2 + 1,
    "terabytes": 1 << 50,
}


def is_function(param: Param) -> bool:
    return "(*)" in types.resolve(param.type)


def is_opaque(param: Param) -> bool:
    """A handle, of a type that the core looks up or of another."""
    return not param.is_pointer and types.value_type(param.type) is ctypes.c_void_p


def is_enum(param: Param) -> bool:
    return not param.is_pointer and types.resolve(param.type) in types.ENUMS


class World:
    """One object of every type, alive and destroyed."""

    def __init__(self, rt: Any) -> None:
        self.rt = rt
        self.make = make = Maker(rt)
        rt.SetDevice(0)
        self.keep: list[Any] = []
        self.device, self.device2 = rt.Malloc(4096), rt.Malloc(4096)
        self.pinned = rt.MallocHost(4096)
        self.stream, self.event = rt.StreamCreate(), rt.EventCreate()
        self.graph = rt.GraphCreate(0)
        self.nodes = self.add_nodes()
        self.exec = rt.GraphInstantiate(self.graph)
        self.pool = make.pool()
        self.object = rt.UserObjectCreate(1, NOTHING, 1, rt.UserObjectNoDestructorSync)
        self.add_foreign()
        self.add_dead()

    def add_nodes(self) -> dict[str, int]:
        rt, graph = self.rt, self.graph
        fill = rt.struct("MemsetParams", dst=self.device, elementSize=1, width=16, height=1)
        call = rt.struct("HostNodeParams", fn=ctypes.cast(NOTHING, ctypes.c_void_p).value)
        child = rt.GraphCreate(0)
        nodes = {
            "Memset": rt.GraphAddMemsetNode(graph, None, 0, fill),
            "Memcpy": rt.GraphAddMemcpyNode1D(graph, None, 0, self.device, self.device2, 64, 4),
            "Host": rt.GraphAddHostNode(graph, None, 0, call),
            "Empty": rt.GraphAddEmptyNode(graph, None, 0),
            "ChildGraph": rt.GraphAddChildGraphNode(graph, None, 0, child),
            "EventRecord": rt.GraphAddEventRecordNode(graph, None, 0, self.event),
            "EventWait": rt.GraphAddEventWaitNode(graph, None, 0, self.event),
        }
        self.graph2 = rt.GraphCreate(0)
        wish = rt.struct("MemAllocNodeParams", bytesize=64)
        wish.poolProps.allocType = rt.MemAllocationTypePinned
        wish.poolProps.location.type = rt.MemLocationTypeDevice
        nodes["MemAlloc"] = rt.GraphAddMemAllocNode(self.graph2, None, 0, wish)
        self.graph_memory = wish.dptr
        behind = handles(nodes["MemAlloc"])
        nodes["MemFree"] = rt.GraphAddMemFreeNode(self.graph2, behind, 1, wish.dptr)
        self.graph3 = child
        return nodes

    def add_foreign(self) -> None:
        """The same on another device."""
        rt = self.rt
        rt.SetDevice(rt.GetDeviceCount() - 1)
        self.foreign = {
            "Stream": rt.StreamCreate(),
            "Event": rt.EventCreate(),
            "memory": rt.Malloc(4096),
            "MemPool": rt.DeviceGetDefaultMemPool(rt.GetDevice()),
        }
        rt.SetDevice(0)

    def add_dead(self) -> None:
        rt = self.rt
        stream, event, graph = rt.StreamCreate(), rt.EventCreate(), rt.GraphCreate(0)
        node = rt.GraphAddEmptyNode(graph, None, 0)
        made, pool, memory = rt.GraphInstantiate(graph), self.make.pool(), rt.Malloc(4096)
        thing = rt.UserObjectCreate(1, NOTHING, 1, rt.UserObjectNoDestructorSync)
        rt.StreamDestroy(stream)
        rt.EventDestroy(event)
        rt.GraphDestroy(graph)
        rt.GraphExecDestroy(made)
        rt.MemPoolDestroy(pool)
        rt.UserObjectRelease(thing, 1)
        rt.Free(memory)
        self.dead = {
            "Stream": stream,
            "Event": event,
            "Graph": graph,
            "GraphNode": node,
            "GraphExec": made,
            "MemPool": pool,
            "UserObject": thing,
            "memory": memory,
        }

    def end(self) -> None:
        code = self.rt.code
        for stream in (self.stream, self.foreign["Stream"]):
            code.StreamEndCapture(stream)
        for device in reversed(range(self.rt.GetDeviceCount())):
            code.SetDevice(device)
            code.DeviceSynchronize()  # a stream may still use another device's memory
        for stream in (self.stream, self.foreign["Stream"]):
            code.StreamDestroy(stream)
        for event in (self.event, self.foreign["Event"]):
            code.EventDestroy(event)
        code.GraphExecDestroy(self.exec)
        for graph in (self.graph, self.graph2, self.graph3):
            code.GraphDestroy(graph)
        code.UserObjectRelease(self.object, 1)
        for memory in (self.device, self.device2, self.foreign["memory"]):
            code.Free(memory)
        code.FreeHost(self.pinned)
        self.make.end()
        code.ThreadExchangeStreamCaptureMode(ctypes.c_int(0))

    # ---- Valid arguments -------------------------------------------------------------------------

    def room(self, fill: int = 0) -> int:
        """4 KiB of plain host memory."""
        memory = (ctypes.c_ubyte * 4096)(*([fill] * 4096 if fill else []))
        self.keep.append(memory)
        return ctypes.addressof(memory)

    def handle(self, function: Function, param: Param) -> int:
        word = param.type.removeprefix("infinirt").removesuffix("_t")
        if word == "GraphNode":
            kind = next((kind for kind in self.nodes if f"{kind}Node" in function.name), "Memset")
            return self.nodes[kind]
        if word == "Graph" and param.name == "childGraph":
            return self.graph3
        found = {
            "Stream": self.stream,
            "Event": self.event,
            "Graph": self.graph,
            "GraphExec": self.exec,
            "MemPool": self.pool,
            "UserObject": self.object,
        }
        return found.get(word, 0)

    def address(self, function: Function, param: Param) -> int:
        """For `ptr`: memory of the type that the function works on."""
        name, rt = function.name, self.rt
        if name.startswith("HostRegister"):
            memory = mmap.mmap(-1, PAGE)
            view = (ctypes.c_ubyte * PAGE).from_buffer(memory)
            self.keep += [memory, view]
            self.make.later(rt.code.HostUnregister, ctypes.addressof(view))
            return ctypes.addressof(view)
        if name in ("FreeHost", "HostGetFlags", "HostGetDevicePointer", "HostUnregister"):
            return self.pinned
        if name == "Free":
            return rt.Malloc(64)
        if name == "FreeAsync":
            return rt.MallocAsync(64, self.stream)
        if name.startswith(("MemPrefetch", "MemAdvise", "MemRange", "StreamAttach")):
            address = rt.MallocManaged(4096, rt.MemAttachGlobal)
            self.make.later(rt.code.Free, address)
            return address
        if name == "GraphAddMemFreeNode":
            return self.graph_memory
        return self.device2 if param.name in ("src", "symbol") else self.device

    def sane(self, function: Function, param: Param) -> Any:
        type_ = types.resolve(param.type)
        if is_function(param):
            return ctypes.cast(NOTHING, ctypes.c_void_p).value
        if is_opaque(param):
            return self.handle(function, param)
        if param.role == "ptr":
            return self.address(function, param)
        if param.is_pointer:
            return self.pointed(param)
        if param.default and type_ not in ("infinirtStream_t",):
            return default_of(param)
        if type_ in types.ENUMS:
            return SANE_ENUMS.get(type_, types.ENUMS[type_].values[0].value)
        if type_ in types.PLAIN:
            return self.number(function, param)
        return types.value_type(param.type)()

    def pointed(self, param: Param) -> int:
        address = self.room()
        made = self.content(param)
        if made is not None and param.role in ("in", "inout", "list"):
            ctypes.memmove(
                address, made if isinstance(made, bytes) else ctypes.byref(made), len(bytes(made))
            )
        return address

    def content(self, param: Param) -> Any:
        """The contents for a pointer that is read; None for zeros."""
        rt = self.rt
        place = {"type": rt.MemLocationTypeDevice, "id": 0}
        box = {"ptr": self.device, "pitch": 64, "xsize": 64, "ysize": 4}
        extent = {"width": 16, "height": 2, "depth": 1}
        pool = {"allocType": rt.MemAllocationTypePinned, "location": place}
        fill = {"dst": self.device, "elementSize": 1, "width": 16, "height": 1}
        function = ctypes.cast(NOTHING, ctypes.c_void_p).value
        copy = rt.struct("Memcpy3DParms", srcPtr=box, dstPtr=box, extent=extent, kind=4)
        copy.dstPtr.ptr = self.device2
        peer = rt.struct("Memcpy3DPeerParms", srcPtr=box, dstPtr=box, extent=extent, srcDevice=0)
        operand = {"type": rt.MemcpyOperandTypePointer, "op": {"ptr": {"ptr": self.device}}}
        contents = {
            "char": b"/no/such/place\0",
            "infinirtGraphNode_t": bytes(handles(self.nodes["Empty"], self.nodes["Memset"])),
            "infinirtMemcpy3DParms": copy,
            "infinirtMemcpy3DPeerParms": peer,
            "infinirtMemsetParams": rt.struct("MemsetParams", **fill),
            "infinirtHostNodeParams": rt.struct("HostNodeParams", fn=function),
            "infinirtMemPoolProps": rt.struct("MemPoolProps", **pool),
            "infinirtMemLocation": rt.struct("MemLocation", **place),
            "infinirtMemAccessDesc": rt.struct("MemAccessDesc", location=place, flags=3),
            "infinirtMemAllocNodeParams": rt.struct(
                "MemAllocNodeParams", poolProps=pool, bytesize=64
            ),
            "infinirtGraphNodeParams": rt.struct("GraphNodeParams", type=2, memset=fill),
            "infinirtMemcpyAttributes": rt.struct("MemcpyAttributes", srcAccessOrder=1),
            "infinirtMemcpy3DBatchOp": rt.struct(
                "Memcpy3DBatchOp", src=operand, dst=operand, extent=extent, srcAccessOrder=1
            ),
        }
        target = types.resolve(param.type).removesuffix("*").strip().removeprefix("struct ")
        if param.name in ("dsts", "srcs"):
            return bytes(handles(*[self.device if param.name == "dsts" else self.device2] * 64))
        return contents.get(target.removeprefix("const ").removeprefix("struct "))

    def number(self, function: Function, param: Param) -> int:
        if param.name in ("peerDevice", "dstDevice"):
            return 1
        if param.name == "dataSize":
            return 4
        if "evice" in param.name or "lag" in param.name or param.name == "priority":
            return 0
        if param.name in ("count", "numAttributes", "len") and param.type in ("size_t", "int"):
            return 1 if function.name in LISTS else 16
        if param.name == "height":
            return 2
        if param.name.startswith("num"):
            return 1
        return 64 if "itch" in param.name or param.name in ("len", "buffer_size") else 16

    # ---- Invalid arguments
    # -------------------------------------------------------------------------------

    def bad(self, function: Function, param: Param, value: str) -> Any:
        if value in NUMBERS:
            return NUMBERS[value]
        word = param.type.removeprefix("infinirt").removesuffix("_t")
        is_struct = types.resolve(param.type) not in types.PLAIN and not (
            param.is_pointer or is_opaque(param)
        )
        if is_struct:
            made = types.value_type(param.type)()
            ctypes.memset(ctypes.byref(made), 0xFF if value == "ones" else 0, ctypes.sizeof(made))
            return made
        if value == "misaligned":
            sane = self.sane(function, param)
            return (sane or self.room()) + 1
        simple = {
            "null": 0,
            "wild": 0xDEAD0000,
            "ones": MAX,
            "interior": self.room() + 12,
            "garbage": self.room(0xFF),
            "freed": self.dead["memory"],
            "pinned": self.pinned + 64,
            "plain": self.room(),
            "destroyed": self.dead.get(word, 0xDEAD0000),
            "other kind": self.event if word == "Stream" else self.stream,
            "foreign": self.foreign.get(word, self.foreign["memory"]),
        }
        return simple[value]
