"""Each mistake in streams and events is detected by its case in every run, not by chance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .faults import NOTICED


def run(library: Path, cases: Sequence[str], **settings: str) -> dict[str, Any]:
    """The results of cases in one process, as the kit's runner would see them."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("INFINI_", "MYCHIP_"))}
    env |= {"INFINI_DEVICE": "mychip", "INFINI_BACKEND_PATH": str(library), **settings}
    done = subprocess.run(
        [sys.executable, "-m", "infinicore.conformance.worker"],
        input="".join(f"{case}\n" for case in cases),
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer["id"]: answer for answer in answers}


def test_without_a_mistake(broken: Path) -> None:
    cases = sorted({case for _, case in NOTICED})
    found = run(broken, cases)
    assert [found[case]["status"] for case in cases] == ["pass"] * len(cases), found


@pytest.mark.parametrize(("mistake", "case"), NOTICED)
def test_is_noticed(broken: Path, mistake: str, case: str) -> None:
    found = run(broken, [case], MYCHIP_FAULT=mistake, INFINI_CONFORMANCE_SECONDS="3")
    assert found.get(case, {"status": "crash"})["status"] == "fail", found
