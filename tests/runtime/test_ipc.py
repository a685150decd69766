"""Memory and events passed to another process."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from kit import Latch
from kit.process import PRELUDE, environment, python

pytestmark = pytest.mark.needs("ipc")

TAKE = """
def take(name, text):
    handle = rt.struct(name)
    ctypes.memmove(ctypes.byref(handle), bytes.fromhex(text), 64)
    return handle
"""


def text_of(handle) -> str:
    return bytes(handle).hex()


def test_memory_is_shared_both_ways(rt, make):
    buffer = make.buffer(10_000, bytes(range(100)) * 100)
    handle = rt.IpcGetMemHandle(buffer.address)
    said = python(
        TAKE
        + """
memory = rt.IpcOpenMemHandle(take("IpcMemHandle_st", sys.argv[1]), rt.IpcMemLazyEnablePeerAccess)
into = (ctypes.c_ubyte * 10000)()
rt.Memcpy(into, memory, 10000, rt.MemcpyDefault)
print(bytes(into) == bytes(range(100)) * 100, rt.PointerGetAttributes(memory + 5).type)
rt.Memset(memory, 77, 5000)
rt.DeviceSynchronize()
rt.IpcCloseMemHandle(memory)
print(rt.code.IpcCloseMemHandle(memory), rt.PointerGetAttributes(memory).type)
""",
        text_of(handle),
    ).split()
    assert said[0] == "True"
    assert int(said[1]) == rt.MemoryTypeDevice
    assert said[2] == "ErrorInvalidValue"
    assert int(said[3]) == rt.MemoryTypeUnregistered
    assert buffer.read() == bytes([77]) * 5000 + (bytes(range(100)) * 100)[5000:]


def test_an_address_inside_means_its_allocation(rt, make):
    buffer = make.buffer(4096, 9)
    handle = rt.IpcGetMemHandle(buffer + 1000)
    said = python(
        TAKE
        + """
memory = rt.IpcOpenMemHandle(take("IpcMemHandle_st", sys.argv[1]), 1)
into = (ctypes.c_ubyte * 4096)()
rt.Memcpy(into, memory, 4096, rt.MemcpyDefault)
print(set(into))
""",
        text_of(handle),
    )
    assert said.strip() == "{9}"


def test_what_cannot_be_exported(rt, make, refused):
    plain = ctypes.create_string_buffer(64)
    for address in (0, ctypes.addressof(plain), make.pinned(64).address, 0xDEAD0000):
        with refused("ErrorInvalidValue", "devPtr"):
            rt.IpcGetMemHandle(address)
    with refused("ErrorInvalidResourceHandle"):
        rt.IpcGetEventHandle(make.event())  # made without Interprocess


UNKNOWN = ("ErrorInvalidValue", "ErrorInvalidResourceHandle", "ErrorMapBufferObjectFailed")


def test_handles_that_nobody_made(rt):
    for content in (b"\0" * 64, b"\xff" * 64, bytes(range(64))):
        handle = rt.struct("IpcMemHandle_st")
        ctypes.memmove(ctypes.byref(handle), content, 64)
        code = rt.code.IpcOpenMemHandle(handle, 1)
        assert code in UNKNOWN, code
        handle = rt.struct("IpcEventHandle_st")
        ctypes.memmove(ctypes.byref(handle), content, 64)
        code = rt.code.IpcOpenEventHandle(handle)
        assert code in UNKNOWN, code


@pytest.mark.needs("core-words")  # CUDA takes any
def test_flags(rt, make, refused):
    handle = rt.IpcGetMemHandle(make.buffer(64).address)
    with refused("ErrorInvalidValue", "flags"):
        rt.IpcOpenMemHandle(handle, 7)


def test_memory_of_a_process_that_ended(rt, make):
    # The other side allocates, writes and passes the handle; then it ends while the memory is still
    # mapped here.
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            PRELUDE
            + """
memory = make.buffer(4096, 5)
print(bytes(rt.IpcGetMemHandle(memory.address)).hex(), flush=True)
sys.stdin.readline()
""",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    handle = rt.struct("IpcMemHandle_st")
    ctypes.memmove(ctypes.byref(handle), bytes.fromhex(other.stdout.readline().strip()), 64)
    memory = rt.IpcOpenMemHandle(handle, 1)
    other.communicate("end\n", timeout=60)
    into = (ctypes.c_ubyte * 4096)()
    rt.Memcpy(into, memory, 4096, rt.MemcpyDefault)
    assert bytes(into) == bytes([5]) * 4096
    rt.IpcCloseMemHandle(memory)


WAITER = (
    PRELUDE
    + TAKE
    + """
event = rt.IpcOpenEventHandle(take("IpcEventHandle_st", sys.argv[1]))
stream, order = make.free_stream(), Order(rt)
print(rt.code.EventQuery(event), flush=True)
rt.StreamWaitEvent(stream, event)
order.note(stream, "behind")
print(rt.code.StreamQuery(stream), order.seen, flush=True)
rt.EventSynchronize(event)
rt.StreamSynchronize(stream)
print(rt.code.EventQuery(event), order.seen, flush=True)
rt.EventDestroy(event)
"""
)


def test_an_event_is_seen_in_another_process(rt, make):
    event = make.event(rt.EventInterprocess | rt.EventDisableTiming)
    handle, stream = rt.IpcGetEventHandle(event), make.free_stream()
    with Latch(rt, stream).reached():
        rt.EventRecord(event, stream)
        other = subprocess.Popen(
            [sys.executable, "-c", WAITER, text_of(handle)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert other.stdout.readline().strip() == "ErrorNotReady"
        assert other.stdout.readline().strip() == "ErrorNotReady []"
    assert other.communicate(timeout=60)[0].strip() == "Success ['behind']"
    assert other.returncode == 0


def test_a_record_of_another_process_is_seen_here(rt, make):
    event = make.event(rt.EventInterprocess | rt.EventDisableTiming)
    python(
        TAKE
        + """
event = rt.IpcOpenEventHandle(take("IpcEventHandle_st", sys.argv[1]))
stream = make.free_stream()
rt.EventRecord(event, stream)
rt.EventSynchronize(event)
""",
        text_of(rt.IpcGetEventHandle(event)),
    )
    rt.EventSynchronize(event)
    assert rt.code.EventQuery(event) == "Success"
