"""Errors, the last error of each thread, error messages; versions."""

from __future__ import annotations

import pytest

from kit import Latch
from kit.latch import in_thread
from spec import api


def test_a_new_thread_has_no_error(rt):
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    assert in_thread(rt.code.PeekAtLastError) == "Success"
    assert rt.code.GetLastError() == "ErrorInvalidDevice"


def test_peek_keeps_and_get_resets(rt):
    assert rt.code.SetDevice(1 << 20) == "ErrorInvalidDevice"
    assert rt.code.PeekAtLastError() == "ErrorInvalidDevice"
    assert rt.code.PeekAtLastError() == "ErrorInvalidDevice"
    assert rt.code.GetLastError() == "ErrorInvalidDevice"
    assert rt.code.GetLastError() == "Success"


def test_success_does_not_hide_an_earlier_error(rt):
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    rt.DeviceSynchronize()
    rt.GetDeviceCount()
    assert rt.code.GetLastError() == "ErrorInvalidDevice"


def test_the_latest_error_counts(rt):
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    assert rt.code.StreamCreateWithFlags(0x80) == "ErrorInvalidValue"
    assert rt.code.GetLastError() == "ErrorInvalidValue"


def test_not_ready_is_an_answer_and_no_error(rt, make):
    stream = make.free_stream()
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    with Latch(rt, stream).reached():
        assert rt.code.StreamQuery(stream) == "ErrorNotReady"
        assert rt.code.PeekAtLastError() == "ErrorInvalidDevice"
        rt.code.GetLastError()
        assert rt.code.StreamQuery(stream) == "ErrorNotReady"
        assert rt.code.PeekAtLastError() == "Success"


def test_an_error_of_one_thread_is_not_seen_by_another(rt):
    def fail() -> str:
        assert rt.code.EventCreateWithFlags(0x800) == "ErrorInvalidValue"
        return rt.code.PeekAtLastError()

    assert in_thread(fail) == "ErrorInvalidValue"
    assert rt.code.PeekAtLastError() == "Success"


def test_message_names_function_argument_and_expectation(rt, refused):
    with refused("ErrorInvalidDevice", "argument 1", "device", "expected"):
        rt.SetDevice(-1)


def test_message_stays_after_get_last_error(rt):
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    rt.code.GetLastError()
    assert rt.message().startswith("infinirtSetDevice: ")


def test_message_belongs_to_the_thread(rt):
    assert rt.code.SetDevice(-1) == "ErrorInvalidDevice"
    assert in_thread(rt.message) == ""


@pytest.mark.parametrize("error", api.errors.values, ids=lambda error: error.name)
def test_every_error_has_its_name_and_a_text(rt, error):
    assert rt.GetErrorName(error.value).decode() == error.name
    text = rt.GetErrorString(error.value).decode()
    assert text
    assert text != "unrecognized error code"


@pytest.mark.parametrize("code", [-1, 123456, 2**31 - 1])
def test_an_unknown_error_has_a_text_too(rt, code):
    assert rt.GetErrorName(code).decode() == "unrecognized error code"
    assert rt.GetErrorString(code).decode() == "unrecognized error code"


def test_versions_are_those_of_the_declarations(rt):
    assert rt.RuntimeGetVersion() == 12090
    assert rt.DriverGetVersion() >= rt.RuntimeGetVersion()
