"""Host functions of streams: their data, their order, and what they must not do."""

from __future__ import annotations

import ctypes

import pytest

from kit import Latch, Order
from kit.latch import HOST_FUNCTION


def test_it_gets_its_data(rt, make):
    got, stream = [], make.stream()
    function = HOST_FUNCTION(got.append)
    for data in (None, 1, 0xFFFFFFFFFFFFFFFF):
        rt.LaunchHostFunc(stream, function, data)
    rt.StreamSynchronize(stream)
    assert got == [None, 1, 0xFFFFFFFFFFFFFFFF]


def test_it_stands_between_the_work_before_and_behind(rt, make):
    host, device, stream = make.pinned(16, 1), make.buffer(16, 0), make.stream()
    seen = []
    bump = HOST_FUNCTION(lambda _: (seen.append(host.view()[0]), host.view().__setitem__(0, 9)))
    rt.MemsetAsync(device.address, 5, 16, stream)
    rt.MemcpyAsync(host.address, device.address, 16, rt.MemcpyDeviceToHost, stream)
    rt.LaunchHostFunc(stream, bump, None)
    rt.MemcpyAsync(device.address, host.address, 16, rt.MemcpyHostToDevice, stream)
    rt.StreamSynchronize(stream)
    assert seen == [5]
    assert device.read() == bytes([9] + [5] * 15)


CALLS = {
    "StreamQuery": lambda rt, make: rt.code.StreamQuery(make),
    "StreamSynchronize": lambda rt, make: rt.code.StreamSynchronize(make),
    "DeviceSynchronize": lambda rt, _: rt.code.DeviceSynchronize(),
    "Malloc": lambda rt, _: rt.code.Malloc(16),
    "GetDevice": lambda rt, _: rt.code.GetDevice(),
    "StreamCreate": lambda rt, _: rt.code.StreamCreate(),
    "EventCreate": lambda rt, _: rt.code.EventCreate(),
    "LaunchHostFunc": lambda rt, make: rt.code.LaunchHostFunc(make, 1, None),
    "GraphCreate": lambda rt, _: rt.code.GraphCreate(0),
}


@pytest.mark.needs("core-words")  # also forbidden on other devices, but they may not detect it
@pytest.mark.parametrize("null", [False, True], ids=["stream", "null"])
@pytest.mark.parametrize("name", CALLS)
def test_it_must_not_call_the_runtime(rt, make, name, null):
    stream = 0 if null else make.stream()
    other, said = make.stream(), []
    ask = HOST_FUNCTION(lambda _: said.append((CALLS[name](rt, other), rt.message())))
    rt.LaunchHostFunc(stream, ask, None)
    rt.StreamSynchronize(stream)
    code, message = said[0]
    assert code == "ErrorNotPermitted"
    assert message.startswith(f"infinirt{name}: ")
    assert "host function" in message


def test_it_may_ask_for_names_and_versions(rt, make):
    said = []
    stream = make.stream()
    ask = HOST_FUNCTION(lambda _: said.append((rt.RuntimeGetVersion(), rt.GetErrorName(0))))
    rt.LaunchHostFunc(stream, ask, None)
    rt.StreamSynchronize(stream)
    assert said == [(12090, b"infinirtSuccess")]


@pytest.mark.needs("core-words")
def test_the_refusal_ends_with_the_function(rt, make):
    # Whichever thread ran it can call the runtime again.
    ask = HOST_FUNCTION(lambda _: rt.code.GetDevice())
    for stream in (make.stream(), 0):
        rt.LaunchHostFunc(stream, ask, None)
        rt.StreamSynchronize(stream)
    assert rt.GetDevice() == 0


@pytest.mark.needs("core-words")
def test_callbacks_must_not_call_the_runtime_either(rt, make):
    said, stream = [], make.stream()
    type_ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    callback = type_(lambda *_: said.append(rt.code.DeviceSynchronize()))
    rt.StreamAddCallback(stream, callback, None, 0)
    rt.StreamSynchronize(stream)
    assert said == ["ErrorNotPermitted"]


@pytest.mark.needs("core-words")
def test_those_in_graphs_must_not_either(rt, make):
    said = []
    ask = HOST_FUNCTION(lambda _: said.append(rt.code.DeviceSynchronize()))
    graph, stream = make.graph(), make.stream()
    rt.GraphAddHostNode(graph, None, 0, rt.struct("HostNodeParams", fn=_address(ask)))
    rt.GraphLaunch(make.exec(graph), stream)
    rt.StreamSynchronize(stream)
    assert said == ["ErrorNotPermitted"]


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def test_a_blocked_one_holds_nobody_else(rt, make):
    held, order = make.free_stream(), Order(rt)
    buffer = make.buffer(1 << 20, 0)
    with Latch(rt, held).reached():
        for value in range(1, 9):
            stream = make.free_stream()
            rt.MemsetAsync(buffer.address, value, buffer.size, stream)
            order.note(stream, value)
            rt.StreamSynchronize(stream)
        assert order.seen == list(range(1, 9))
        assert rt.code.StreamQuery(held) == "ErrorNotReady"


def test_null_functions_are_refused(rt, make, refused):
    with refused("ErrorInvalidValue", "argument 2 (fn)", "null"):
        rt.LaunchHostFunc(make.stream(), None, None)
    with refused("ErrorInvalidValue", "argument 2 (callback)", "null"):
        rt.StreamAddCallback(make.stream(), None, None, 0)
