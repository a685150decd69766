"""Every exported function with each bad argument: a status and a message, no crash.

The calls are derived from the spec; see kit/bad_calls.py for the values, and for the two kinds of
wild address that are left out. They run in separate processes. A crash is attributed to the
function that was called, and the next process continues.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest

from kit import bad_calls
from kit.process import environment

CASES = list(bad_calls.cases())
OK = ("Success", "INFINI_STATUS_SUCCESS", "text")

# Numbers for which any value is valid.
ANY_SIZE = {"value", "minBytesToKeep", "buffer_size", "sharedMem", "offset", "size_t"}
# Addresses that are only forwarded or queried.
ANY_ADDRESS = {"userData", "PointerGetAttributes.ptr", "UserObjectCreate.ptr"}


@pytest.fixture(scope="module")
def answers(_runtime: Any) -> dict[int, dict[str, str]]:
    """The result of each call; a crash has the name "crash"."""
    found: dict[int, dict[str, str]] = {}
    start = 0
    while start < len(CASES):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "kit.bad_calls", str(start)],
            env=environment(INFINI_CPU_DEVICES="3"),
            capture_output=True,
            text=True,
            timeout=200,  # of all calls together; each takes about a millisecond
            check=False,
        )
        begun = start - 1
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                answer = json.loads(line)
                found[answer["number"]] = answer
            else:
                begun = int(line)
        if done.returncode == 0:
            break
        assert begun not in found, (
            f"ended with {done.returncode} outside of a call, after {words(begun)}\n{done.stderr}"
        )
        found[begun] = {"name": "crash", "message": done.stderr[-400:]}
        start = begun + 1
    return found


def words(number: int) -> str:
    face, function, index, value = CASES[number]
    where = f"{function.params[index].name} = {value}" if index >= 0 else "sane"
    return f"{function.c_symbol} ({face} face): {where}"


BY_FUNCTION: dict[str, list[int]] = defaultdict(list)
for _number, (_, _function, _, _) in enumerate(CASES):
    BY_FUNCTION[_function.c_symbol].append(_number)


@pytest.mark.parametrize("symbol", BY_FUNCTION)
def test_a_status_and_a_message(answers, symbol):
    problems = []
    for number in BY_FUNCTION[symbol]:
        answer = answers[number]
        _, function, _, _ = CASES[number]
        if answer["name"] == "crash":
            problems.append(f"crash: {words(number)}\n{answer['message']}")
        elif not answer["name"]:
            problems.append(f"an unknown code: {words(number)}")
        elif answer["name"] not in OK:
            # The first generation calls the CUDA-aligned API, whose function may give the reason.
            known = (function.c_name, function.c_name.replace("Luanch", "Launch"))
            if not answer["message"].startswith(known):
                problems.append(f"message {answer['message']!r}: {words(number)}")
    assert not problems, "\n".join(problems)


def test_what_is_not_supported_is_said_so(rt, answers):
    if rt.kind() != "cpu":
        pytest.skip("another back end may have functions that the core's software does not")
    problems = []
    for number, (face, function, index, _) in enumerate(CASES):
        if index >= 0 or function.served or face != "aligned":
            continue
        if answers[number]["name"] != "ErrorNotSupported":
            problems.append(f"{answers[number]['name']}: {words(number)}")
    assert not problems, "\n".join(problems)


def check_refused(answers: Any, wanted: Any, names_argument: bool = True) -> None:
    problems = []
    for number, (face, function, index, value) in enumerate(CASES):
        if index < 0 or not function.served:
            continue
        param = function.params[index]
        if function.returns.endswith("*") or not wanted(function, param, value):
            continue
        answer = answers[number]
        if answer["name"] == "crash":
            continue  # reported by the test above
        if answer["name"] in OK:
            problems.append(f"accepted: {words(number)}")
        elif names_argument and face == "aligned" and param.name not in answer["message"]:
            problems.append(f"does not name its argument: {words(number)}: {answer['message']}")
    assert not problems, "\n".join(problems)


def test_handles_that_are_none(answers):
    bad = ("wild", "ones", "misaligned", "interior", "destroyed", "other kind")
    check_refused(
        answers,
        lambda _, param, value: (
            bad_calls.is_opaque(param)
            and (value in bad or (value == "null" and param.type != "infinirtStream_t"))
        ),
    )


def test_pointers_that_must_not_be_null(answers):
    check_refused(answers, lambda _, param, value: value == "null" and param.required)


def test_pointers_that_lead_nowhere(answers):
    check_refused(answers, lambda _, param, value: value in ("wild", "ones") and param.required)


def test_numbers_that_an_enum_does_not_have(answers):
    check_refused(
        answers,
        lambda _, param, value: (
            bad_calls.is_enum(param) and value in ("minus one", "unknown", "largest")
        ),
    )


def test_sizes_that_cannot_be(answers):
    def wanted(_: Any, param: Any, value: str) -> bool:
        return value in ("SIZE_MAX", "half SIZE_MAX") and param.name not in ANY_SIZE

    check_refused(answers, wanted, names_argument=False)


def test_addresses_that_are_none(answers):
    def wanted(function: Any, param: Any, value: str) -> bool:
        known = param.name in ANY_ADDRESS or f"{function.name}.{param.name}" in ANY_ADDRESS
        return param.role == "ptr" and value in ("wild", "ones", "freed") and not known

    check_refused(answers, wanted)


def test_every_symbol_was_called():
    from spec import api, first

    symbols = {function.c_symbol for function in (*api.entries, *first.functions)}
    assert set(BY_FUNCTION) == symbols
    assert len(CASES) > 5000
