"""Every call that may be made while a stream is being captured, and what it does to the capture.

The tables are CUDA 12.9's results, recorded with the real library: each call was made next to a
captured stream, in each mode, from the capturing thread and from another, with a captured stream
that the null stream waits for and with one that it does not.
"""

from __future__ import annotations

import ctypes
import itertools
from types import SimpleNamespace

import pytest

from kit.latch import HOST_FUNCTION, in_thread

NOTHING = HOST_FUNCTION(lambda _: None)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: None)

# Never touch a capture.
SAFE = {
    "EventElapsedTime": lambda c, at: c.EventElapsedTime(at.event, at.event2),
    "EventRecord": lambda c, at: c.EventRecord(at.event, at.free),
    "StreamWaitEvent": lambda c, at: c.StreamWaitEvent(at.free, at.event),
    "StreamWaitEvent captured, never recorded": lambda c, at: c.StreamWaitEvent(
        at.captured, at.fresh
    ),
    "StreamWaitEvent captured, external": lambda c, at: c.StreamWaitEvent(at.captured, at.event, 1),
    "MallocAsync captured": lambda c, at: c.MallocAsync(64, at.captured),
    "MemcpyAsync": lambda c, at: c.MemcpyAsync(at.a, at.b, 64, 3, at.free),
    "MemcpyAsync captured": lambda c, at: c.MemcpyAsync(at.a, at.b, 64, 3, at.captured),
    "MemcpyAsync captured, pageable": lambda c, at: c.MemcpyAsync(
        at.a, at.page, 64, 1, at.captured
    ),
    "MemsetAsync": lambda c, at: c.MemsetAsync(at.a, 0, 64, at.free),
    "LaunchHostFunc": lambda c, at: c.LaunchHostFunc(at.free, NOTHING, None),
    "StreamAddCallback": lambda c, at: c.StreamAddCallback(at.free, CALLBACK, None, 0),
    "StreamCreate": lambda c, _: c.StreamCreate(),
    "StreamDestroy": lambda c, at: c.StreamDestroy(at.new_stream()),
    "EventCreate": lambda c, _: c.EventCreate(),
    "EventDestroy": lambda c, at: c.EventDestroy(at.new_event()),
    "StreamGetPriority captured": lambda c, at: c.StreamGetPriority(at.captured),
    "StreamGetAttribute captured": lambda c, at: c.StreamGetAttribute(at.captured, 3),
    "GraphLaunch": lambda c, at: c.GraphLaunch(at.exec, at.free),
    "GraphUpload": lambda c, at: c.GraphUpload(at.exec, at.free),
    "GraphCreate": lambda c, _: c.GraphCreate(0),
    "GraphClone": lambda c, at: c.GraphClone(at.graph),
    "GraphDestroy": lambda c, at: c.GraphDestroy(at.new_graph()),
    "MemGetInfo": lambda c, _: c.MemGetInfo(),
    "PointerGetAttributes": lambda c, at: c.PointerGetAttributes(at.a),
    "HostGetDevicePointer": lambda c, at: c.HostGetDevicePointer(at.pinned, 0),
    "GetDevice": lambda c, _: c.GetDevice(),
    "SetDevice": lambda c, _: c.SetDevice(0),
    "GetDeviceProperties": lambda c, _: c.GetDeviceProperties(0),
    "DeviceGraphMemTrim": lambda c, _: c.DeviceGraphMemTrim(0),
    "DeviceGetDefaultMemPool": lambda c, _: c.DeviceGetDefaultMemPool(0),
    "UserObjectCreate": lambda c, _: c.UserObjectCreate(1, NOTHING, 1, 1),
}

# Forbidden by the modes of capture and thread; the capture becomes invalid.
UNSAFE = {
    "StreamQuery": lambda c, at: c.StreamQuery(at.free),
    "StreamQuery blocking": lambda c, at: c.StreamQuery(at.blocking),
    "StreamSynchronize": lambda c, at: c.StreamSynchronize(at.free),
    "EventQuery": lambda c, at: c.EventQuery(at.event),
    "EventSynchronize": lambda c, at: c.EventSynchronize(at.event),
    "Malloc": lambda c, _: c.Malloc(64),
    "MallocHost": lambda c, _: c.MallocHost(64),
    "HostAlloc": lambda c, _: c.HostAlloc(64, 0),
    "MallocPitch": lambda c, _: c.MallocPitch(64, 2),
    "Free": lambda c, at: c.Free(at.memory),
    "Free null": lambda c, _: c.Free(0),
    "FreeHost": lambda c, at: c.FreeHost(at.host),
    "HostRegister": lambda c, at: c.HostRegister(at.page, 4096, 0),
    "MallocAsync": lambda c, at: c.MallocAsync(64, at.free),
    "MallocFromPoolAsync": lambda c, at: c.MallocFromPoolAsync(64, at.pool, at.free),
    "MemPoolTrimTo": lambda c, at: c.MemPoolTrimTo(at.pool, 0),
    "GraphInstantiate": lambda c, at: c.GraphInstantiate(at.graph),
    "GraphExecDestroy": lambda c, at: c.GraphExecDestroy(at.new_exec()),
}

# Work of the null stream: forbidden in every mode if a captured stream is a blocking one.
IMPLICIT = {
    "EventRecord": lambda c, at: c.EventRecord(at.event, 0),
    "StreamWaitEvent": lambda c, at: c.StreamWaitEvent(0, at.event),
    "MemcpyAsync": lambda c, at: c.MemcpyAsync(at.a, at.b, 64, 3, 0),
    "Memcpy": lambda c, at: c.Memcpy(at.a, at.b, 64, 3),
    "Memcpy to host": lambda c, at: c.Memcpy(at.page, at.a, 64, 2),
    "Memset": lambda c, at: c.Memset(at.a, 0, 64),
    "MemsetAsync": lambda c, at: c.MemsetAsync(at.a, 0, 64, 0),
    "LaunchHostFunc": lambda c, _: c.LaunchHostFunc(0, NOTHING, None),
    "GraphLaunch": lambda c, at: c.GraphLaunch(at.exec, 0),
}

# The same result in every mode, from every thread.
ALWAYS = {
    "DeviceSynchronize": (lambda c, _: c.DeviceSynchronize(), "ErrorStreamCaptureUnsupported", 2),
    "StreamQuery": (lambda c, at: c.StreamQuery(at.captured), "ErrorStreamCaptureUnsupported", 2),
    "StreamSynchronize": (
        lambda c, at: c.StreamSynchronize(at.captured),
        "ErrorStreamCaptureUnsupported",
        2,
    ),
    "StreamAddCallback": (
        lambda c, at: c.StreamAddCallback(at.captured, CALLBACK, None, 0),
        "ErrorStreamCaptureUnsupported",
        2,
    ),
    "GraphLaunch": (
        lambda c, at: c.GraphLaunch(at.exec, at.captured),
        "ErrorStreamCaptureUnsupported",
        2,
    ),
    "GraphUpload": (
        lambda c, at: c.GraphUpload(at.exec, at.captured),
        "ErrorStreamCaptureUnsupported",
        2,
    ),
    "StreamBeginCapture": (
        lambda c, at: c.StreamBeginCapture(at.captured, 0),
        "ErrorIllegalState",
        1,
    ),
    "StreamEndCapture": (lambda c, at: c.StreamEndCapture(at.free), "ErrorIllegalState", 1),
    "StreamWaitEvent": (
        lambda c, at: c.StreamWaitEvent(at.captured, at.event),
        "ErrorStreamCaptureIsolation",
        2,
    ),
    "EventQuery": (
        lambda c, at: (c.EventRecord(at.event, at.captured), c.EventQuery(at.event))[1],
        "ErrorCapturedEvent",
        2,
    ),
    "EventSynchronize": (
        lambda c, at: (c.EventRecord(at.event, at.captured), c.EventSynchronize(at.event))[1],
        "ErrorCapturedEvent",
        2,
    ),
    "EventElapsedTime": (
        lambda c, at: (
            c.EventRecord(at.event, at.captured),
            c.EventElapsedTime(at.event2, at.event),
        )[1],
        "ErrorCapturedEvent",
        1,
    ),
    "EventRecord elsewhere": (
        lambda c, at: (c.EventRecord(at.event, at.captured), c.EventRecord(at.event, at.free))[1],
        "Success",
        1,
    ),
}


@pytest.fixture
def observe(rt, make):
    """observe(call): {(blocking, own thread, mode): (code, state of the capture afterwards)}"""
    at = SimpleNamespace(
        a=make.buffer(4096, 0).address,
        b=make.buffer(4096, 0).address,
        pinned=make.pinned(64).address,
        page=(ctypes.c_ubyte * 4096)(),
        free=make.free_stream(),
        blocking=make.stream(),
        event=make.event(),
        event2=make.event(),
        fresh=make.event(),
        graph=make.graph(),
        pool=make.pool(),
    )
    rt.GraphAddEmptyNode(at.graph, None, 0)
    at.exec = make.exec(at.graph)
    rt.EventRecord(at.event2, at.free)

    def prepare() -> None:
        """Objects that a call may consume."""
        rt.EventRecord(at.event, at.free)
        rt.DeviceSynchronize()
        at.memory, at.host = rt.Malloc(64), rt.MallocHost(64)
        stream, event, graph = make.stream(), make.event(), make.graph()
        made = make.exec(at.graph)
        at.new_stream, at.new_event = lambda: stream, lambda: event
        at.new_graph, at.new_exec = lambda: graph, lambda: made

    def tidy() -> None:
        rt.code.Free(at.memory)
        rt.code.FreeHost(at.host)
        rt.code.HostUnregister(at.page)
        rt.code.GetLastError()

    def watch(call):
        answers = {}
        for blocking, own, mode in itertools.product((0, 1), (1, 0), (0, 1, 2)):
            prepare()
            at.captured = make.stream() if blocking else make.free_stream()
            rt.StreamBeginCapture(at.captured, mode)
            code = call(rt.code, at) if own else in_thread(lambda: call(rt.code, at))
            state = rt.StreamIsCapturing(at.captured)
            if state:
                rt.code.StreamEndCapture(at.captured)
            tidy()
            answers[blocking, own, mode] = (code, state)
        return answers

    return watch


ACTIVE, INVALID = 1, 2


@pytest.mark.parametrize("name", SAFE)
def test_safe_calls(observe, name):
    for case, answer in observe(SAFE[name]).items():
        assert answer == ("Success", ACTIVE), case


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_calls(observe, name):
    for (blocking, own, mode), answer in observe(UNSAFE[name]).items():
        refused = (own and mode < 2) or (not own and mode == 0)
        expected = ("ErrorStreamCaptureUnsupported", INVALID) if refused else ("Success", ACTIVE)
        assert answer == expected, (blocking, own, mode)


@pytest.mark.parametrize("name", IMPLICIT)
def test_work_of_the_null_stream(observe, name):
    for (blocking, own, mode), answer in observe(IMPLICIT[name]).items():
        refused = ("ErrorStreamCaptureImplicit", INVALID)
        assert answer == (refused if blocking else ("Success", ACTIVE)), (blocking, own, mode)


@pytest.mark.parametrize("name", ["StreamQuery", "StreamSynchronize"])
def test_waiting_for_the_null_stream(observe, name):
    for (blocking, own, mode), answer in observe(lambda c, _: getattr(c, name)(0)).items():
        unsafe = (own and mode < 2) or (not own and mode == 0)
        if blocking:
            expected = ("ErrorStreamCaptureImplicit", INVALID)
        else:
            expected = ("ErrorStreamCaptureUnsupported", INVALID) if unsafe else ("Success", ACTIVE)
        assert answer == expected, (blocking, own, mode)


@pytest.mark.parametrize("name", ["StreamIsCapturing", "StreamGetCaptureInfo"])
def test_asking_whether_the_null_stream_is_captured(observe, name):
    for (blocking, *case), answer in observe(lambda c, _: getattr(c, name)(0)).items():
        code = "ErrorStreamCaptureImplicit" if blocking else "Success"
        assert answer == (code, ACTIVE), (blocking, case)


@pytest.mark.parametrize("name", ALWAYS)
def test_what_does_not_depend_on_the_mode(observe, name):
    call, code, state = ALWAYS[name]
    for case, answer in observe(call).items():
        assert answer == (code, state), case


# Capture mode x mode of the thread: whether Malloc is forbidden in another thread and in the
# capturing one.
MODES = {
    (0, 0): (True, True),
    (0, 1): (False, True),
    (0, 2): (False, False),
    (1, 0): (False, True),
    (1, 1): (False, True),
    (1, 2): (False, False),
    (2, 0): (False, False),
    (2, 1): (False, False),
    (2, 2): (False, False),
}


@pytest.mark.parametrize(("capture", "thread"), MODES)
def test_modes_of_capture_and_thread(rt, make, capture, thread):
    def with_mode(function):
        rt.ThreadExchangeStreamCaptureMode(ctypes.c_int(thread))
        return function()

    def attempt():
        return rt.code.Malloc(64) == "ErrorStreamCaptureUnsupported"

    def own():
        stream = make.free_stream()
        rt.StreamBeginCapture(stream, capture)
        refused = attempt()
        rt.code.StreamEndCapture(stream)
        return refused

    stream = make.free_stream()
    rt.StreamBeginCapture(stream, capture)
    other = in_thread(lambda: with_mode(attempt))
    rt.code.StreamEndCapture(stream)
    assert (other, in_thread(lambda: with_mode(own))) == MODES[capture, thread]


def test_ending_from_the_wrong_thread_ends_the_capture(rt, make):
    stream = make.free_stream()
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    code = in_thread(lambda: rt.code.StreamEndCapture(stream))
    assert code == "ErrorStreamCaptureWrongThread"
    assert rt.StreamIsCapturing(stream) == rt.StreamCaptureStatusNone
    assert rt.code.StreamEndCapture(stream) == "ErrorIllegalState"


def test_what_an_invalid_capture_answers(rt, make):
    stream, event, buffer = make.free_stream(), make.event(), make.buffer(64)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    assert rt.code.StreamQuery(stream) == "ErrorStreamCaptureUnsupported"
    assert rt.code.MemsetAsync(buffer.address, 0, 64, stream) == "ErrorStreamCaptureInvalidated"
    assert rt.code.EventRecord(event, stream) == "ErrorStreamCaptureInvalidated"
    assert rt.code.StreamQuery(stream) == "ErrorStreamCaptureUnsupported"
    assert rt.code.Malloc(64) == "ErrorStreamCaptureUnsupported"
    assert rt.code.StreamGetCaptureInfo(stream) == "Success"
    assert rt.code.StreamEndCapture(stream) == "ErrorStreamCaptureInvalidated"


def test_joining_without_work_needs_no_join_back(rt, make):
    stream, other, event = make.free_stream(), make.free_stream(), make.event()
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    rt.EventRecord(event, stream)
    rt.StreamWaitEvent(other, event)
    make.own_graph(rt.StreamEndCapture(stream))
