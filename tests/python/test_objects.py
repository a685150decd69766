"""The classes: devices, streams, events, memory, pools and graphs."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import pytest

from infinicore import rt
from tests.python.conftest import Latch

# ---- Devices ------------------------------------------------------------------------------------


def test_devices_and_kinds() -> None:
    present = rt.kinds()
    assert rt.kind() in present
    assert len(rt.devices()) == sum(present.values())
    assert rt.devices("no such kind") == []
    assert not set(present) & set(rt.absent_kinds())
    assert all(rt.absent_kinds().values())
    device = rt.Device.current()
    assert device in rt.devices()
    assert device == rt.Device(device.index)
    assert len({device, rt.Device(device.index)}) == 1
    assert device != "cpu"
    assert device.name == device.properties.name
    free, total = device.memory()
    assert 0 < free <= total
    assert device.attribute(rt.DevAttrMultiProcessorCount) > 0
    least, greatest = device.priorities
    assert greatest <= least
    assert device.pool.device == device
    with pytest.raises(ValueError, match="no device 999"):
        rt.Device(999)
    with pytest.raises(rt.InfiniRTError, match="no back end of that kind"):
        rt.set_kind("no such kind")


def test_the_current_device_is_the_threads_own_and_restored() -> None:
    device = rt.devices(rt.kind())[-1]
    before = rt.Device.current()
    seen: list[rt.Device] = []
    with device as entered:
        assert entered is device
        assert rt.Device.current() == device
        with before:
            assert rt.Device.current() == before
        assert rt.Device.current() == device
        thread = threading.Thread(target=lambda: seen.append(rt.Device.current()))
        thread.start()
        thread.join()
    assert seen[0].index == 0
    assert rt.Device.current() == before


def test_backends_are_listed() -> None:
    backend = next(b for b in rt.backends() if b.name == rt.kind())
    assert backend.device_count >= 1
    assert backend.reason == ""
    assert backend.path.endswith(".so")


# ---- Streams and events -------------------------------------------------------------------------


def test_streams_have_properties() -> None:
    stream = rt.Stream(nonblocking=True, priority=-1)
    assert stream.nonblocking
    assert stream.priority <= 0
    assert stream.device == rt.Device.current()
    assert not stream.capturing
    assert "Stream" in repr(stream)
    assert rt.Stream.from_handle(0).query()
    stream.close()
    stream.close()
    assert "closed" in repr(stream)
    with pytest.raises(ValueError, match="closed"):
        stream.synchronize()


def test_a_stream_works_in_order(stream: rt.Stream) -> None:
    seen: list[int] = []
    for index in range(100):
        stream.launch(lambda index=index: seen.append(index))  # type: ignore[misc]
    stream.synchronize()
    assert seen == list(range(100))


def test_with_waits_and_closes(latch: Latch) -> None:
    seen: list[str] = []
    with rt.Stream() as stream:
        stream.launch(lambda: seen.append("done"))
    assert seen == ["done"]
    assert stream.closed
    stream = rt.Stream()
    latch.hold(stream)
    with pytest.raises(KeyError), stream:
        raise KeyError("must not wait for the latch")
    assert stream.closed


def test_events_order_streams(stream: rt.Stream, latch: Latch) -> None:
    seen: list[str] = []
    with rt.Stream() as other:
        latch.hold(stream)
        stream.launch(lambda: seen.append("first"))
        other.wait(stream.record())
        other.launch(lambda: seen.append("second"))
        latch.open()
    assert seen == ["first", "second"]


def test_events(stream: rt.Stream) -> None:
    event = rt.Event()
    assert event.query()
    assert event.record(stream) is event
    later = stream.record(rt.Event(blocking=True))
    later.synchronize()
    assert later - event >= 0
    assert later.elapsed(since=event) == later - event
    quick = rt.Event(timing=False).record(stream)
    with pytest.raises(rt.InfiniRTError):
        quick - event
    with pytest.raises(TypeError):
        event - 5  # type: ignore[operator]
    with rt.Event() as closing:
        pass
    assert closing.closed


CHILD = """
import pickle, sys
from infinicore import rt
memory, event = pickle.load(sys.stdin.buffer)
memory, event = rt.Memory.open(*memory), rt.Event.open(event)
with rt.Stream() as stream:
    stream.wait(event)
    memory[:4].copy_from(memory[4:], nbytes=4, stream=stream)
"""


@pytest.mark.needs("ipc")
def test_memory_and_events_of_other_processes(stream: rt.Stream) -> None:
    memory, event = rt.Memory(8), rt.Event(interprocess=True)
    memory.copy_from(b"....abcd")
    event.record(stream).synchronize()
    message = pickle.dumps((memory.share(), event.share()))
    subprocess.run([sys.executable, "-c", CHILD], input=message, timeout=120, check=True)
    assert memory.to_bytes() == b"abcdabcd"


# ---- Memory -------------------------------------------------------------------------------------


def test_memory_copies_and_fills(stream: rt.Stream) -> None:
    a, b = rt.Memory(1000), rt.Memory.host(1000)
    a.fill(7)
    b.copy_from(a)
    assert b.to_bytes() == b"\7" * 1000
    b.copy_from(b"abc")
    a.copy_from(b, nbytes=3, stream=stream)
    target = bytearray(5)
    a.copy_to(target, nbytes=5, stream=stream)
    stream.synchronize()
    assert target == b"abc\7\7"
    assert len(a) == a.nbytes == 1000
    assert rt.Memory(0).to_bytes() == b""


def test_memory_refuses_what_does_not_fit() -> None:
    memory = rt.Memory(4)
    with pytest.raises(ValueError, match="cannot copy 5 bytes: the target has 4"):
        memory.copy_from(b"12345")
    with pytest.raises(ValueError, match="cannot copy 4 bytes: the target has 3"):
        memory.copy_to(bytearray(3))
    with pytest.raises(ValueError, match="the source has 2"):
        memory.copy_from(b"12", nbytes=3)
    with pytest.raises(ValueError, match="0 to 255, got 256"):
        memory.fill(256)
    with pytest.raises(BufferError):
        memory.copy_to(b"read-only")
    with pytest.raises(TypeError, match="slices"):
        memory[0]  # type: ignore[index]
    with pytest.raises(ValueError, match="no gaps"):
        memory[::2]


def test_parts_of_memory() -> None:
    memory = rt.Memory(10)
    memory.copy_from(b"0123456789")
    assert memory[2:5].to_bytes() == b"234"
    assert memory[-3:].to_bytes() == b"789"
    assert memory[2:8][1:3].to_bytes() == b"34"
    assert len(memory[20:]) == 0
    memory[4:6].fill(ord("x"))
    assert memory.to_bytes() == b"0123xx6789"


@pytest.mark.needs("host-readable")
def test_memory_is_a_buffer() -> None:
    import numpy

    memory = rt.Memory(16)
    view = memoryview(memory)
    view[:4] = b"abcd"
    assert (view.nbytes, view.readonly, view.format) == (16, False, "B")
    assert bytes(memory)[:4] == b"abcd"
    array = numpy.frombuffer(memory, dtype="i4")
    array[1] = 0x01010101
    assert memory[4:8].to_bytes() == b"\1\1\1\1"
    interface = memory.__array_interface__
    assert interface["data"] == (memory.ptr, False)
    assert interface["shape"] == (16,)
    assert memoryview(rt.Memory(0)).nbytes == 0


@pytest.mark.needs("host-readable")
def test_dlpack_both_ways(stream: rt.Stream) -> None:
    import numpy

    memory = rt.Memory(8)
    memory.fill(1)
    assert memory.__dlpack_device__() == (1, 0)
    array = numpy.from_dlpack(memory)
    assert (array.dtype, array.shape) == (numpy.uint8, (8,))
    memory.fill(2)
    assert (array == 2).all()  # shared, not copied

    values = numpy.arange(6, dtype="f4").reshape(2, 3)
    borrowed = rt.Memory.from_dlpack(values)
    assert borrowed.ptr == values.ctypes.data
    assert borrowed.to_bytes() == values.tobytes()
    borrowed.fill(0, stream=stream)
    stream.synchronize()
    assert (values == 0).all()
    again = numpy.from_dlpack(borrowed)
    assert again.ctypes.data == values.ctypes.data

    with pytest.raises(ValueError, match="compact"):
        rt.Memory.from_dlpack(values.T)
    with pytest.raises(BufferError):
        memory.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        memory.__dlpack__(copy=True)


@pytest.mark.needs("host-readable")
def test_dlpack_of_memory_that_is_read_only() -> None:
    import numpy

    values = numpy.arange(4)
    values.flags.writeable = False
    borrowed = rt.Memory.from_dlpack(values)
    assert borrowed.readonly
    assert memoryview(borrowed).readonly
    with pytest.raises(BufferError):
        borrowed.fill(0)
    with pytest.raises(BufferError):
        borrowed.__dlpack__()
    assert borrowed.__dlpack__(max_version=(1, 1))


@pytest.mark.needs("managed")
def test_managed_memory() -> None:
    memory = rt.Memory.managed(64)
    assert memory.host_accessible
    assert rt.PointerGetAttributes(memory).type is rt.MemoryTypeManaged
    memory.fill(4)
    assert bytes(memory) == b"\4" * 64
    rt.MemAdvise(memory, 64, rt.MemAdviseSetReadMostly, 0)
    assert rt.MemRangeGetAttribute(4, rt.MemRangeAttributeReadMostly, memory, 64) == [1]


# ---- Pools --------------------------------------------------------------------------------------


def test_pools(stream: rt.Stream) -> None:
    with rt.MemoryPool(release_threshold=1 << 20) as pool:
        assert pool.release_threshold == 1 << 20
        memory = pool.allocate(1000, stream)
        memory.fill(3, stream=stream)
        assert pool.used >= 1000
        assert pool.reserved >= pool.used
        stream.synchronize()
        assert memory.to_bytes() == b"\3" * 1000
        memory.close()
        stream.synchronize()
        assert pool.used == 0
        assert pool.used_high >= 1000
        pool.trim()
        pool.reset_high()
        assert (pool.used_high, pool.reserved, pool.reserved_high) == (0, 0, 0)
        before = rt.MemoryPool.of()
        pool.use()
        assert rt.Device.current().pool.handle == pool.handle
        before.use()
    assert pool.closed


def test_every_object_explains_itself() -> None:
    things = (rt.Device, rt.Stream, rt.Event, rt.Memory, rt.Graph, rt.GraphExec, rt.MemoryPool)
    for thing in (
        *things,
        rt.Node,
        rt.Backend,
        rt.InfiniRTError,
        rt.capture,
        rt.kinds,
        rt.set_kind,
    ):
        assert ">>>" in (thing.__doc__ or ""), thing
    for thing in things:
        for name, member in vars(thing).items():
            function = getattr(member, "__func__", member)
            if callable(function) and not name.startswith("_") and name != "close":
                assert ">>>" in (function.__doc__ or ""), f"{thing.__name__}.{name}"
