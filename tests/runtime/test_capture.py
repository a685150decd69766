"""Stream capture: what is recorded, how streams join, and which errors invalidate it.

test_capture_rules.py has the whole table of calls, modes and threads.
"""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch, Order
from kit.latch import HOST_FUNCTION, in_thread

MODES = ["StreamCaptureModeGlobal", "StreamCaptureModeThreadLocal", "StreamCaptureModeRelaxed"]


class Capturing:
    """A stream that is being captured; the capture is ended afterwards in any state."""

    def __init__(self, rt, make, stream=None, mode=MODES[0]) -> None:
        self.rt = rt
        self.make = make
        self.stream = make.free_stream() if stream is None else stream
        self.mode = getattr(rt, mode)

    def __enter__(self):
        self.rt.StreamBeginCapture(self.stream, self.mode)
        return self

    def __exit__(self, *_):
        if self.status() != "none":
            self.rt.code.StreamEndCapture(self.stream)

    def status(self) -> str:
        return ["none", "active", "invalidated"][self.rt.StreamIsCapturing(self.stream)]

    def end(self) -> int:
        return self.make.own_graph(self.rt.StreamEndCapture(self.stream))


@pytest.fixture
def capturing(rt, make):
    return lambda **options: Capturing(rt, make, **options)


@pytest.mark.parametrize("mode", MODES)
def test_work_is_recorded_and_not_run(rt, make, capturing, mode):
    order, buffer = Order(rt), make.buffer(64, 1)
    with capturing(mode=mode) as capture:
        rt.MemsetAsync(buffer.address, 2, 64, capture.stream)
        order.note(capture.stream, "host")
        assert capture.status() == "active"
        graph = capture.end()
        assert capture.status() == "none"
    rt.DeviceSynchronize()
    assert order.seen == []
    assert buffer.read() == bytes([1]) * 64
    rt.GraphLaunch(make.exec(graph), capture.stream)
    rt.StreamSynchronize(capture.stream)
    assert order.seen == ["host"]
    assert buffer.read() == bytes([2]) * 64


def test_a_blocking_stream_can_be_captured(rt, make, capturing):
    with capturing(stream=make.stream()) as capture:
        assert rt.listed("GraphGetNodes", capture.end()) == []


def test_the_threads_default_stream_can_be_captured(rt, make, capturing):
    order = Order(rt)
    with capturing(stream=rt.StreamPerThread) as capture:
        order.note(capture.stream, "host")
        graph = capture.end()
    assert len(rt.listed("GraphGetNodes", graph)) == 1


def test_joined_streams(rt, make, capturing):
    other, fork, join, order = make.free_stream(), make.event(), make.event(), Order(rt)
    with capturing() as capture:
        order.note(capture.stream, "origin")
        rt.EventRecord(fork, capture.stream)
        rt.StreamWaitEvent(other, fork)
        assert rt.StreamIsCapturing(other) == rt.StreamCaptureStatusActive
        order.note(other, "other")
        order.note(capture.stream, "side by side")
        rt.EventRecord(join, other)
        rt.StreamWaitEvent(capture.stream, join)
        order.note(capture.stream, "joined")
        graph = capture.end()
        assert rt.StreamIsCapturing(other) == rt.StreamCaptureStatusNone
    nodes = rt.listed("GraphGetNodes", graph)
    assert len(nodes) == 4
    assert len(rt.listed("GraphGetEdges", graph)) == 4
    assert len(rt.listed("GraphGetRootNodes", graph)) == 1
    rt.GraphLaunch(make.exec(graph), other)
    rt.StreamSynchronize(other)
    assert order.seen[0] == "origin"
    assert order.seen[3] == "joined"
    assert sorted(order.seen[1:3]) == ["other", "side by side"]


def test_two_captures_at_once(rt, make, capturing):
    with capturing() as one, capturing() as two:
        Order(rt).note(one.stream, 1)
        assert rt.StreamGetCaptureInfo(one.stream)[1] != rt.StreamGetCaptureInfo(two.stream)[1]
        assert len(rt.listed("GraphGetNodes", one.end())) == 1
        assert rt.listed("GraphGetNodes", two.end()) == []


def test_capture_info(rt, make, capturing):
    order = Order(rt)
    with capturing() as capture:
        status, number, graph, _, count = rt.StreamGetCaptureInfo(capture.stream)
        assert (status, count) == (rt.StreamCaptureStatusActive, 0)
        order.note(capture.stream, 1)
        again = rt.StreamGetCaptureInfo(capture.stream)
        assert (again[1], again[2], again[4]) == (number, graph, 1)
        tail = ctypes.c_void_p.from_address(again[3]).value
        assert rt.listed("GraphGetNodes", graph) == [tail]
        assert capture.end() == graph
    assert rt.StreamGetCaptureInfo(capture.stream)[0] == rt.StreamCaptureStatusNone


def test_dependencies_can_be_set(rt, make, capturing):
    order = Order(rt)
    with capturing() as capture:
        order.note(capture.stream, "a")
        graph = rt.StreamGetCaptureInfo(capture.stream)[2]
        rt.StreamUpdateCaptureDependencies(capture.stream, None, 0, rt.StreamSetCaptureDependencies)
        order.note(capture.stream, "b")
        roots = rt.listed("GraphGetRootNodes", graph)
        assert len(roots) == 2
        both = (ctypes.c_void_p * 2)(*roots)
        rt.StreamUpdateCaptureDependencies(capture.stream, both, 2, rt.StreamAddCaptureDependencies)
        order.note(capture.stream, "c")
        assert len(rt.listed("GraphGetEdges", capture.end())) == 2


def test_capture_into_a_graph_that_exists(rt, make):
    graph, stream, order = make.graph(), make.free_stream(), Order(rt)
    node = rt.GraphAddEmptyNode(graph, None, 0)
    mode = rt.StreamCaptureModeGlobal
    rt.StreamBeginCaptureToGraph(stream, graph, (ctypes.c_void_p * 1)(node), None, 1, mode)
    order.note(stream, "captured")
    assert rt.StreamEndCapture(stream) == graph
    assert len(rt.listed("GraphGetNodes", graph)) == 2
    assert rt.listed("GraphGetRootNodes", graph) == [node]


def test_external_events_become_nodes(rt, make, capturing):
    record, wait = make.event(), make.event()
    with capturing() as capture:
        rt.EventRecordWithFlags(record, capture.stream, rt.EventRecordExternal)
        rt.StreamWaitEvent(capture.stream, wait, rt.EventWaitExternal)
        graph = capture.end()
    kinds = [rt.GraphNodeGetType(node) for node in rt.listed("GraphGetNodes", graph)]
    assert kinds == [rt.GraphNodeTypeEventRecord, rt.GraphNodeTypeWaitEvent]
    with Latch(rt, capture.stream).reached():
        rt.GraphLaunch(make.exec(graph), capture.stream)
        assert rt.code.EventQuery(record) == "ErrorNotReady"  # it is a real event of the launch
    rt.EventSynchronize(record)


# ---- 900 StreamCaptureUnsupported --------------------------------------------------------------

ON_THE_STREAM = {
    "StreamQuery": lambda rt, capture: rt.StreamQuery(capture.stream),
    "StreamSynchronize": lambda rt, capture: rt.StreamSynchronize(capture.stream),
    "DeviceSynchronize": lambda rt, _: rt.DeviceSynchronize(),
    "StreamAddCallback": lambda rt, capture: rt.StreamAddCallback(capture.stream, NOTHING, None, 0),
}
NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: None)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ON_THE_STREAM)
def test_900_asking_a_captured_stream(rt, capturing, refused, name, mode):
    with capturing(mode=mode) as capture:
        with refused("ErrorStreamCaptureUnsupported"):
            ON_THE_STREAM[name](rt, capture)
        assert capture.status() == "invalidated"


UNSAFE = {
    "Malloc": lambda rt, _: rt.Malloc(64),
    "Free": lambda rt, memory: rt.Free(memory),
    "MallocHost": lambda rt, _: rt.MallocHost(64),
}


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("mode", MODES[:2])
def test_900_unsafe_calls_of_the_capturing_thread(rt, make, capturing, refused, name, mode):
    memory = rt.Malloc(64)
    with capturing(mode=mode) as capture:
        with refused("ErrorStreamCaptureUnsupported", "infinirtThreadExchangeStreamCaptureMode"):
            UNSAFE[name](rt, memory)
        assert capture.status() == "invalidated"
    rt.Free(memory)


def test_900_unsafe_calls_of_another_thread_in_global_mode(rt, capturing):
    with capturing(mode=MODES[0]) as capture:
        assert in_thread(lambda: rt.code.Malloc(64)) == "ErrorStreamCaptureUnsupported"
        assert capture.status() == "invalidated"


@pytest.mark.parametrize("mode", MODES[:2])
def test_a_relaxed_thread_may_do_what_it_likes(rt, capturing, mode):
    with capturing(mode=mode) as capture:
        cell = ctypes.c_int(rt.StreamCaptureModeRelaxed)
        rt.ThreadExchangeStreamCaptureMode(cell)
        assert cell.value == rt.StreamCaptureModeGlobal
        try:
            rt.Free(rt.Malloc(64))
            assert capture.status() == "active"
        finally:
            rt.ThreadExchangeStreamCaptureMode(cell)
        assert cell.value == rt.StreamCaptureModeRelaxed


def test_a_mode_that_does_not_exist(rt, make, refused):
    with refused("ErrorInvalidValue", "mode"):
        rt.StreamBeginCapture(make.stream(), 3)
    if "core-words" in rt.tags:  # CUDA accepts any number as the mode of a thread
        with refused("ErrorInvalidValue", "mode"):
            rt.ThreadExchangeStreamCaptureMode(ctypes.c_int(-1))


def test_900_the_null_stream_cannot_be_captured(rt, refused):
    for stream in (0, rt.StreamLegacy):
        with refused("ErrorStreamCaptureUnsupported", "null stream"):
            rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)


# ---- 901 to 908, 401 ---------------------------------------------------------------------------


def test_901_a_capture_that_was_invalidated(rt, make, capturing, refused):
    with capturing() as capture:
        assert rt.code.StreamQuery(capture.stream) == "ErrorStreamCaptureUnsupported"
        with refused("ErrorStreamCaptureInvalidated", "infinirtStreamEndCapture"):
            rt.LaunchHostFunc(capture.stream, HOST_FUNCTION(lambda _: None), None)
        with refused("ErrorStreamCaptureInvalidated"):
            rt.EventRecord(make.event(), capture.stream)
        with refused("ErrorStreamCaptureInvalidated", "no graph"):
            rt.StreamEndCapture(capture.stream)
        assert capture.status() == "none"
    rt.StreamSynchronize(capture.stream)  # usable again


def test_an_invalid_capture_gives_no_graph(rt, capturing):
    with capturing() as capture:
        rt.code.StreamQuery(capture.stream)
        graph = ctypes.c_void_p(0x1234)
        code = rt.library.infinirtStreamEndCapture_v2(
            ctypes.c_void_p(capture.stream), ctypes.byref(graph)
        )
        assert code == 901
        assert graph.value is None


def test_902_two_captures_cannot_be_merged(rt, make, capturing, refused):
    event = make.event()
    with capturing() as one, capturing() as two:
        rt.EventRecord(event, two.stream)
        with refused("ErrorStreamCaptureMerge"):
            rt.StreamWaitEvent(one.stream, event)
        assert one.status() == two.status() == "invalidated"


def joined(rt, make, capture):
    """A stream that joined a capture and has work in it."""
    other, fork = make.free_stream(), make.event()
    rt.EventRecord(fork, capture.stream)
    rt.StreamWaitEvent(other, fork)
    order = Order(rt)
    order.note(other, "other")
    return other, order


def test_903_the_wrong_stream_ends_it(rt, make, capturing, refused):
    with capturing() as capture:
        other, _order = joined(rt, make, capture)
        with refused("ErrorStreamCaptureUnmatched", "argument 1 (stream)"):
            rt.StreamEndCapture(other)
        assert capture.status() == "invalidated"


def test_904_a_stream_that_was_not_joined_again(rt, make, capturing, refused):
    with capturing() as capture:
        other, _order = joined(rt, make, capture)
        with refused("ErrorStreamCaptureUnjoined", "no graph"):
            rt.StreamEndCapture(capture.stream)
        assert capture.status() == "none"
    assert rt.code.StreamQuery(other) == "Success"


def test_904_work_behind_the_joining_record(rt, make, capturing, refused):
    join = make.event()
    with capturing() as capture:
        other, order = joined(rt, make, capture)
        rt.EventRecord(join, other)
        order.note(other, "too late")
        rt.StreamWaitEvent(capture.stream, join)
        with refused("ErrorStreamCaptureUnjoined"):
            rt.StreamEndCapture(capture.stream)


def test_905_an_event_from_outside(rt, make, capturing, refused):
    event = make.event()
    rt.EventRecord(event, make.free_stream())
    with capturing() as capture:
        with refused("ErrorStreamCaptureIsolation", "infinirtEventWaitExternal"):
            rt.StreamWaitEvent(capture.stream, event)
        assert capture.status() == "invalidated"


def test_906_the_null_stream_would_wait_for_a_captured_one(rt, make, capturing, refused):
    with capturing(stream=make.stream()) as capture:
        with refused("ErrorStreamCaptureImplicit", "infinirtStreamNonBlocking"):
            rt.LaunchHostFunc(0, HOST_FUNCTION(lambda _: None), None)
        assert capture.status() == "invalidated"


CAPTURED_EVENT = {
    "EventQuery": lambda rt, event, _: rt.EventQuery(event),
    "EventSynchronize": lambda rt, event, _: rt.EventSynchronize(event),
    "EventElapsedTime": lambda rt, event, other: rt.EventElapsedTime(event, other),
}


@pytest.mark.parametrize("name", CAPTURED_EVENT)
def test_907_an_event_of_a_capture_has_no_state(rt, make, capturing, refused, name):
    event, other = make.event(), make.event()
    with capturing() as capture:
        rt.EventRecord(event, capture.stream)
        with refused("ErrorCapturedEvent"):
            CAPTURED_EVENT[name](rt, event, other)


def test_an_event_of_a_capture_is_usable_again_when_recorded_again(rt, make, capturing):
    event, stream = make.event(), make.free_stream()
    with capturing() as capture:
        rt.EventRecord(event, capture.stream)
        capture.end()
    assert rt.code.EventQuery(event) != "Success"
    rt.EventRecord(event, stream)
    rt.EventSynchronize(event)


@pytest.mark.parametrize("mode", MODES[:2])
def test_908_another_thread_cannot_end_it(rt, capturing, mode):
    with capturing(mode=mode) as capture:
        code = in_thread(lambda: rt.code.StreamEndCapture(capture.stream))
        assert code == "ErrorStreamCaptureWrongThread"


def test_another_thread_ends_a_relaxed_one(rt, make, capturing):
    with capturing(mode=MODES[2]) as capture:
        graph = in_thread(lambda: rt.StreamEndCapture(capture.stream))
        make.own_graph(graph)
        assert capture.status() == "none"


def test_401_begin_twice_and_end_without_begin(rt, capturing, refused, make):
    with refused("ErrorIllegalState", "argument 1 (stream)"):
        rt.StreamEndCapture(make.stream())
    with capturing() as capture:
        with refused("ErrorIllegalState", "argument 1 (stream)"):
            rt.StreamBeginCapture(capture.stream, rt.StreamCaptureModeGlobal)
        capture.end()


def test_900_a_launch_cannot_be_captured(rt, make, capturing, refused):
    made = make.exec(make.graph())
    with capturing() as capture:
        with refused("ErrorStreamCaptureUnsupported", "infinirtGraphAddChildGraphNode"):
            rt.GraphLaunch(made, capture.stream)
        assert capture.status() == "invalidated"


def test_destroying_a_captured_stream(rt, make):
    stream = rt.StreamCreateWithFlags(rt.StreamNonBlocking)
    rt.StreamBeginCapture(stream, rt.StreamCaptureModeGlobal)
    Order(rt).note(stream, "never")
    rt.StreamDestroy(stream)
    rt.Free(rt.Malloc(64))  # no capture is left that would forbid it
