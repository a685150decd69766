"""The first-generation API by symbol name, as existing programs load it; alone and mixed."""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch
from kit.binding import load_library
from kit.types import struct_type
from spec import first

OK = "INFINI_STATUS_SUCCESS"
NULL = "INFINI_STATUS_NULL_POINTER"
BAD = "INFINI_STATUS_BAD_PARAM"


@pytest.fixture
def old(rt):
    return rt.first


@pytest.fixture
def kind(rt):
    """The number of this device type in infiniDevice_t, or after its last value."""
    return next(info.device_type for info in rt.backends() if info.name == rt.kind().encode())


def good(answer):
    """The outputs of a successful call."""
    if isinstance(answer, tuple):
        assert answer[0] == OK, answer
        return answer[1] if len(answer) == 2 else answer[1:]
    assert answer == OK
    return None


def test_all_symbols_are_there_under_their_plain_names():
    library = load_library()
    assert len(first.functions) == 36  # 35, and the launch under both of its spellings
    for function in first.functions:
        assert function.symbol == function.name
        getattr(library, f"infinirt{function.name}")


def test_devices(rt, old, kind):
    assert old.Init() == OK
    counts = (ctypes.c_int * 11)()
    entry = rt.library.infinirtGetAllDeviceCount
    assert entry(counts) == 0
    assert counts[0] == good(old.GetDeviceCount(0))
    assert good(old.GetDeviceCount(kind)) == rt.GetDeviceCount()
    assert good(old.SetDevice(kind, 0)) is None
    assert good(old.GetDevice()) == (kind, 0)
    absent = next(number for number in range(1, 11) if counts[number] == 0)
    assert good(old.GetDeviceCount(absent)) == 0
    assert old.SetDevice(absent, 0) == "INFINI_STATUS_DEVICE_NOT_FOUND"
    assert old.SetDevice(999, 0) == "INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED"
    assert old.SetDevice(kind, 77) == "INFINI_STATUS_DEVICE_NOT_FOUND"
    assert rt.message().startswith("infinirtSetDevice: ")


def test_one_output_of_get_device_may_be_null(rt, kind):
    entry, number = rt.library.infinirtGetDevice, ctypes.c_int(-1)
    assert entry(ctypes.byref(number), None) == 0
    assert number.value == kind
    assert entry(None, ctypes.byref(number)) == 0
    assert number.value == 0
    assert entry(None, None) == 4


def test_a_new_thread_begins_on_the_first_cpu():
    from kit.process import python

    said = python("print(rt.first.GetDevice())", INFINI_DEVICE=None)
    assert said.strip() == str((OK, 0, 0))


def test_memory_and_copies(rt, old, kind):
    free, total = good(old.GetMemInfo(kind, 0))
    assert 0 < free <= total
    device, host = good(old.Malloc(100)), good(old.MallocHost(100))
    ctypes.memset(host, 3, 100)
    stream = good(old.StreamCreate())
    assert old.Memcpy(device, host, 100, 1) == OK
    assert old.Memset(device, 4, 10) == OK
    assert old.MemsetAsync(device + 10, 5, 10, stream) == OK
    assert old.MemcpyAsync(host, device, 100, 2, stream) == OK
    assert old.StreamSynchronize(stream) == OK
    assert ctypes.string_at(host, 100) == bytes([4] * 10 + [5] * 10 + [3] * 80)
    pooled = good(old.MallocAsync(64, stream))
    assert old.FreeAsync(pooled, stream) == OK
    assert old.StreamDestroy(stream) == OK
    assert old.Free(device) == old.FreeHost(host) == OK
    assert old.DeviceSynchronize() == OK


def test_events(rt, old):
    stream, start = good(old.StreamCreate()), good(old.EventCreate())
    end = good(old.EventCreateWithFlags(2))
    with Latch(rt, stream).reached():
        assert old.EventRecord(start, stream) == OK
        assert old.EventQuery(start) == (OK, 1)  # INFINIRT_EVENT_NOT_READY is an answer, no error
        assert rt.code.GetLastError() == "Success"
        assert old.EventRecord(end, stream) == OK
    assert old.EventSynchronize(end) == OK
    assert old.EventQuery(start) == (OK, 0)
    assert good(old.EventElapsedTime(start, end)) >= 0
    assert old.StreamWaitEvent(stream, start) == OK
    untimed = good(old.EventCreateWithFlags(1))  # INFINIRT_EVENT_DISABLE_TIMING: not CUDA's bit
    assert old.EventRecord(untimed, stream) == OK
    assert old.StreamSynchronize(stream) == OK
    assert old.EventElapsedTime(start, untimed)[0] == BAD
    for event in (start, end, untimed):
        assert old.EventDestroy(event) == OK
    assert old.EventCreateWithFlags(8)[0] == BAD
    assert old.StreamDestroy(stream) == OK


@pytest.mark.parametrize("launch", ["GraphLaunch", "GraphLuanch"])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_graphs_with_both_spellings(rt, old, make, launch, mode):
    stream, memory = good(old.StreamCreate()), make.buffer(64, 0)
    assert old.StreamBeginCapture(stream, mode) == OK
    assert old.MemsetAsync(memory.address, 6, 64, stream) == OK
    graph = good(old.StreamEndCapture(stream))
    log = ctypes.create_string_buffer(b"?", 100)
    made, node = good(old.GraphInstantiate(graph, log, 100))
    assert (node, log.value) == (0, b"")
    for _ in range(3):
        assert getattr(old, launch)(made, stream) == OK
    assert old.StreamSynchronize(stream) == OK
    assert memory.read() == bytes([6]) * 64
    assert old.GraphExecDestroy(made) == old.GraphDestroy(graph) == OK
    assert old.StreamDestroy(stream) == OK


@pytest.mark.needs("checked-handles")
def test_a_graph_that_cannot_be_instantiated_says_why(rt, old):
    log = ctypes.create_string_buffer(200)
    assert old.GraphInstantiate(0xDEAD0000, log, 200)[0] == BAD
    assert b"graph" in log.value
    assert old.GraphInstantiate(0xDEAD0000, None, 0)[0] == BAD
    small = ctypes.create_string_buffer(b"zzzzzzzz", 9)
    assert old.GraphInstantiate(0xDEAD0000, small, 5)[0] == BAD
    assert small.raw[4:8] == b"\0zzz"


def test_the_snapshot(rt, old, kind):
    type_ = struct_type("infinirtDeviceResourceSnapshot_t")
    offsets = {name: getattr(type_, name).offset for name, _ in type_._fields_}
    assert ctypes.sizeof(type_) == 80
    assert offsets == {
        "device_type": 0,
        "device_id": 4,
        "valid_fields": 8,
        "estimated_fields": 16,
        "free_bytes": 24,
        "total_bytes": 32,
        "used_bytes": 40,
        "reserved_bytes": 48,
        "compute_utilization": 56,
        "memory_bandwidth_utilization": 60,
        "kernel_time_ratio": 64,
        "communication_time_ratio": 68,
        "communication_bytes": 72,
    }
    snapshot = good(old.GetDeviceResourceSnapshot(kind, 0))
    assert (snapshot.device_type, snapshot.device_id) == (kind, 0)
    assert snapshot.valid_fields & 1
    assert 0 < snapshot.free_bytes <= snapshot.total_bytes
    assert snapshot.used_bytes == snapshot.total_bytes - snapshot.free_bytes


def test_null_pointers_have_a_status_of_their_own(rt):
    for name, arguments in {
        "GetAllDeviceCount": [None],
        "GetDeviceCount": [0, None],
        "GetMemInfo": [0, 0, None, None],
        "GetDeviceResourceSnapshot": [0, 0, None],
        "StreamCreate": [None],
        "EventCreate": [None],
        "EventCreateWithFlags": [None, 0],
        "Malloc": [None, ctypes.c_size_t(8)],
        "MallocHost": [None, ctypes.c_size_t(8)],
        "StreamEndCapture": [None, None],
        "GraphInstantiate": [None, None, None, None, 0],
    }.items():
        assert getattr(rt.library, f"infinirt{name}")(*arguments) == 4, name
        assert rt.message().startswith(f"infinirt{name}"), rt.message()


def test_both_faces_on_the_same_handles(rt, old, make):
    memory, stream, event = make.buffer(64, 0), make.stream(), make.event()
    assert old.MemsetAsync(memory.address, 1, 32, stream) == OK
    rt.MemsetAsync(memory + 32, 2, 32, stream)
    assert old.EventRecord(event, stream) == OK
    rt.EventSynchronize(event)
    assert memory.read() == bytes([1] * 32 + [2] * 32)
    theirs = good(old.StreamCreate())
    rt.StreamWaitEvent(theirs, event)
    rt.StreamBeginCapture(theirs, rt.StreamCaptureModeRelaxed)
    rt.MemsetAsync(memory.address, 7, 64, theirs)
    graph = good(old.StreamEndCapture(theirs))
    made = rt.GraphInstantiate(graph)
    assert old.GraphLuanch(made, theirs) == OK
    rt.StreamSynchronize(theirs)
    assert memory.read() == bytes([7]) * 64
    assert old.Free(rt.Malloc(8)) == OK
    rt.Free(good(old.Malloc(8)))
    assert old.GraphExecDestroy(made) == OK
    rt.GraphDestroy(graph)
    rt.StreamDestroy(theirs)


@pytest.mark.needs("checked-handles")
def test_an_error_of_one_face_is_seen_by_the_other(rt, old):
    assert old.StreamDestroy(0xDEAD0000) == BAD
    assert rt.code.GetLastError() == "ErrorInvalidResourceHandle"
    assert "stream" in rt.message()
