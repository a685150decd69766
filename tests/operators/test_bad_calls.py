"""Every function of every operator with each bad argument: a status and a message.

The calls are made in processes of their own; bad_calls.py has the values. A process that dies is
charged to the call that it died in, and the rest is done by the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from kit.process import environment
from spec.operators import REGISTRY
from spec.operators.language.model import Param

from . import bad_calls
from .bad_calls import SUCCESS, UNREAD, Case

HANDLES = {"wild", "ones", "misaligned", "destroyed", "other kind", "null"}
OPTIONS = ("-X", "faulthandler", "-m")
WRONG = {"wild", "ones", "misaligned"}


def answers_of(part: int, cases: list[Case]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    start = 0
    while start < len(cases):
        done = subprocess.run(
            [sys.executable, *OPTIONS, "operators.bad_calls", str(part), str(start)],
            env=environment(INFINI_CPU_DEVICES="2"),
            capture_output=True,
            text=True,
            timeout=200,  # of all calls together; each takes a few milliseconds
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
            f"ended with {done.returncode} outside of a call, after {cases[begun]}\n{done.stderr}"
        )
        found[begun] = {"status": "crash", "message": done.stderr[-400:]}
        start = begun + 1
    return found


def must_be_refused(case: Case) -> bool:
    """Whether the value is wrong for every operator. Numbers may be valid for some."""
    operator = REGISTRY[case.operator]
    if case.value in WRONG:
        return True
    if case.function in ("workspace", "destroy") or case.argument in ("desc", "stream"):
        return True
    if case.argument in ("handle", "desc_ptr"):
        return case.value != "other device"
    if case.function == "create":
        [param] = [each for each in operator.create if each.name == case.argument]
        if isinstance(param, Param):
            return False
        if case.value == "null":
            return not param.optional
        return case.value.endswith(" item") or case.value in HANDLES | {"ranks"}
    return False


@pytest.mark.host
@pytest.mark.parametrize("part", bad_calls.PARTS)
def test_bad_arguments(rt: Any, part: int) -> None:
    if rt.kind() != "cpu":
        pytest.skip("devices without checked memory die of what these calls write")
    cases = list(bad_calls.cases(part))
    answers = answers_of(part, cases)
    problems = []
    for number, case in enumerate(cases):
        answer = answers[number]
        said = f"{case}: {answer['status']}: {answer['message']}"
        if answer["status"] == "crash":
            problems.append(said)
        elif answer["status"] in (SUCCESS, UNREAD):
            if answer["status"] == SUCCESS and must_be_refused(case):
                problems.append(f"accepted: {said}")
        elif not answer["message"].startswith("infiniop"):
            problems.append(f"does not name its function: {said}")
    assert not problems, f"{len(problems)} calls\n" + "\n".join(problems)


def test_every_argument_is_made_bad() -> None:
    made: dict[str, set[tuple[str, str]]] = {}
    for part in bad_calls.PARTS:
        for case in bad_calls.cases(part):
            made.setdefault(case.operator, set()).add((case.function, case.argument))
    assert made.keys() == {operator.name for operator in bad_calls.SUPPORTED}
    for name, arguments in made.items():
        operator = REGISTRY[name]
        run = operator.runs[bad_calls.rules_of(operator).run]
        wanted = {("create", param.name) for param in operator.create}
        wanted |= {("run", each.name) for each in run.params}
        wanted |= {("create", "handle"), ("create", "desc_ptr"), ("run", "desc")}
        wanted |= {("run", "stream"), ("destroy", "desc")}
        assert arguments >= wanted, f"{name}: {wanted - arguments}"
