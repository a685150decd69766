"""Errors as exceptions: their attributes, and where they are raised."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from typing import Any

import pytest

from infinicore import rt
from tests.python.conftest import Latch


def caught(function: Any, *arguments: Any) -> rt.InfiniRTError:
    with pytest.raises(rt.InfiniRTError) as info:
        function(*arguments)
    return info.value


def test_an_error_carries_what_where_and_what_next() -> None:
    error = caught(rt.StreamSynchronize, 0x1234)
    assert error.code is rt.Error.ErrorInvalidResourceHandle
    assert error.name == "infinirtErrorInvalidResourceHandle"
    assert error.function == "infinirtStreamSynchronize"
    assert error.argument == "stream"
    assert error.hint
    assert error.message.startswith("infinirtStreamSynchronize: argument 1 (stream)")
    assert str(error) == f"{error.message} [{error.name}, 400]\n  hint: {error.hint}"
    assert isinstance(error, RuntimeError)


def test_an_error_about_a_value_names_its_argument() -> None:
    memory = rt.Memory(8)
    error = caught(rt.Memcpy, memory, memory, 4, 77)
    assert (error.code, error.argument) == (rt.ErrorInvalidMemcpyDirection, "kind")


def test_the_last_error_is_the_threads_own() -> None:
    caught(rt.SetDevice, 999)
    assert rt.PeekAtLastError() is rt.Error.ErrorInvalidDevice
    seen: list[rt.Error] = []
    thread = threading.Thread(target=lambda: seen.append(rt.PeekAtLastError()))
    thread.start()
    thread.join()
    assert seen == [rt.Success]
    assert rt.GetLastError() is rt.ErrorInvalidDevice
    assert rt.GetLastError() is rt.Success


def test_what_the_collector_frees_leaves_the_last_error() -> None:
    stream = rt.Stream()
    rt.StreamDestroy(stream.handle)  # so that freeing it fails
    caught(rt.SetDevice, 999)
    del stream
    gc.collect()
    assert rt.GetLastError() is rt.ErrorInvalidDevice


def test_an_error_can_be_pickled() -> None:
    error = caught(rt.StreamSynchronize, 0x1234)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.argument) == (str(error), error.code, "stream")


def test_codes_without_a_name_stay_numbers() -> None:
    error = rt.InfiniRTError(12345, "unrecognized error code", "some sentence")
    assert (error.code, error.function, error.argument, error.hint) == (12345, "", None, None)


def test_out_of_memory_leaves_the_device_usable() -> None:
    error = caught(rt.Memory, 1 << 60)
    assert error.code is rt.ErrorMemoryAllocation
    assert rt.Memory(64).to_bytes()


def test_not_ready_is_an_answer_of_queries_alone(stream: rt.Stream, latch: Latch) -> None:
    start = stream.record()
    latch.hold(stream)
    end = stream.record()
    latch.reached()
    assert stream.query() is False
    assert end.query() is False
    assert caught(end.elapsed, start).code is rt.ErrorNotReady
    latch.open()
    end.synchronize()
    assert end - start >= 0


def test_wrong_handles_raise_in_queries_too() -> None:
    assert caught(rt.EventQuery, 0x1234).argument == "event"


# ---- In host functions --------------------------------------------------------------------------


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda info: seen.append((info.exc_value, info.object))
    )
    return seen


def test_an_exception_in_a_host_function_goes_to_the_hook(
    stream: rt.Stream, unraisable: list[Any]
) -> None:
    def fail() -> None:
        raise KeyError("lost")

    stream.launch(fail)
    stream.synchronize()
    (error, where), *rest = unraisable
    assert isinstance(error, KeyError)
    assert where is fail
    assert not rest
    assert stream.query()


def test_an_exception_in_a_callback_goes_to_the_hook(
    stream: rt.Stream, unraisable: list[Any]
) -> None:
    rt.StreamAddCallback(stream, lambda handle, error: [][handle])
    stream.synchronize()
    assert [type(error) for error, _ in unraisable] == [IndexError]


def test_a_host_function_must_not_call_the_runtime(
    stream: rt.Stream, unraisable: list[Any]
) -> None:
    stream.launch(lambda: rt.Malloc(16))
    stream.synchronize()
    assert [error.code for error, _ in unraisable] == [rt.ErrorNotPermitted]


def test_a_callback_gets_stream_and_state(stream: rt.Stream) -> None:
    seen: list[Any] = []
    rt.StreamAddCallback(stream, lambda *given: seen.append(given))
    stream.synchronize()
    assert seen == [(stream.handle, rt.Error.Success)]


def test_only_callables_and_addresses_are_host_functions(stream: rt.Stream) -> None:
    with pytest.raises(TypeError, match="expected a callable"):
        stream.launch("no function")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a callable"):
        rt.GraphAddHostNode(rt.GraphCreate(), [], 3.5)  # type: ignore[arg-type]


def test_the_address_of_a_c_function_is_a_host_function(stream: rt.Stream) -> None:
    import ctypes

    seen: list[int] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    rt.LaunchHostFunc(stream, address, 77)
    stream.synchronize()
    assert seen == [77]
