"""Runs of `infini conformance` and `infini new-backend` in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 300


class Done(NamedTuple):
    status: int
    out: str
    report: dict[str, Any]

    def of(self, id: str) -> dict[str, Any]:
        return next(row for row in self.report["cases"] if row["id"] == id)


def infini(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("INFINI_")}
    return subprocess.run(
        [sys.executable, "-m", "infinicore", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**env, "INFINI_NUM_THREADS": "1", **settings},
        check=False,
    )


def conformance(folder: Path, *arguments: str, **settings: str) -> Done:
    out = folder / "report"
    command = ("conformance", "--jobs", "2", "--no-speed", "--report", str(out), *arguments)
    done = infini(*command, **settings)
    written = out / "report.json"
    report = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    return Done(done.returncode, done.stdout + done.stderr, report)
