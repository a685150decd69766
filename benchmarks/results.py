"""Result files: `benchmarks/results/<machine>.json`, written by measure.py and read by page.py.

    {"machine": "h200", "suites": {"runtime": SUITE, "operators": SUITE, ...}}

A suite has its own stamp (STAMP below), because suites of one machine may be measured on different
days, and the rows that its script measured.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
SOURCES = ("backends", "benchmarks", "csrc", "include", "python", "spec")
Suite = dict[str, Any]

STAMP = ("commit", "date", "quick", "processor", "architecture", "cores", "threads", "versions")
VERSIONS = ("infinicore", "python", "torch", "numpy", "gcc", "driver")
# The fields that a row has besides `failed`. A failed row has a name and no times.
NAMES = {
    "runtime": ("what", "case"),
    "overhead": ("what",),
    "operators": ("group", "name", "shape", "dtype"),
    "operators_device": ("group", "title"),
    "collectives": ("mode", "operation", "bytes", "ranks"),
    "wild": ("call",),
    "wild_device": ("call",),
}
FIGURES = {
    "runtime": ("ours_s", "against", "theirs_s"),
    "overhead": ("ours_s", "against", "theirs_s"),
    "operators": ("ours_s", "against", "theirs_s", "limit_s"),
    "operators_device": ("ours_s", "against", "theirs_s", "reads", "writes", "flops", "unit"),
    "collectives": ("seconds",),
    "wild": ("ours_s", "theirs_s", "case"),
    "wild_device": ("ours_s", "theirs_s", "case"),
}


def problems(result: dict[str, Any]) -> list[str]:
    """The fields that a result file lacks."""
    found = []
    for name, suite in result["suites"].items():
        if name not in NAMES:
            found.append(f"{name}: no such suite")
            continue
        # Rows imported from an older page have only that page's fields.
        needed = STAMP if not suite.get("imported") else ("commit", "date", "quick", "versions")
        found += [f"{name}: no {field}" for field in needed if suite.get(field) in (None, "")]
        found += [f"{name}: no version of {v}" for v in VERSIONS if v not in suite["versions"]]
        found += [f"{name}: no rows"] if not suite["rows"] else []
        for number, row in enumerate(suite["rows"]):
            absent = [field for field in NAMES[name] if field not in row]
            if not row.get("failed"):
                absent += [field for field in FIGURES[name] if field not in row]
            elif row.get("ours_s") or row.get("seconds"):
                absent.append("reason why a failed row has a time")
            found += [f"{name}: row {number} has no {field}" for field in absent]
    return found


def load(folder: Path = FOLDER) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def merge(path: Path, machine: str, suites: dict[str, Suite]) -> None:
    """Replaces the suites that were measured; the others keep their stamps and rows."""
    known = json.loads(path.read_text())["suites"] if path.exists() else {}
    result = {"machine": machine, "suites": {**known, **suites}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(result))


def dumps(result: dict[str, Any]) -> str:
    """JSON with one line for each row, so that a diff shows what changed."""
    rows: list[str] = []

    def keep(row: Any) -> str:
        rows.append(json.dumps(rounded(row)))
        return f"@row {len(rows) - 1}@"

    suites = {
        name: {**suite, "rows": [keep(row) for row in suite["rows"]]}
        for name, suite in result["suites"].items()
    }
    text = json.dumps({**result, "suites": suites}, indent=1)
    return re.sub(r'"@row (\d+)@"', lambda found: rows[int(found[1])], text) + "\n"


def rounded(value: Any) -> Any:
    """Floats with five digits: more is noise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return value


# ---- The stamp ----------------------------------------------------------------------------------


def stamp(quick: bool, threads: int, commit: str = "") -> dict[str, Any]:
    return {
        "commit": commit or commit_of_tree() or "unknown",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "quick": quick,
        "processor": processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads,
        "versions": versions(),
    }


def commit_of_tree() -> str:
    """The commit, with `-dirty` when a file that matters for speed has changed since."""
    top = Path(__file__).parents[1]
    head = _output(["git", "rev-parse", "--short", "HEAD"], top)
    paths = [*SOURCES, ":!benchmarks/results"]
    changed = _output(["git", "status", "--porcelain", "-uno", "--", *paths], top)
    return head + "-dirty" * bool(head and changed)


def processor() -> str:
    """The model, as lscpu knows it; else what the kernel says."""
    lines = _output(["lscpu"]).splitlines()
    named = [line.split(":", 1)[1].strip() for line in lines if "Model name" in line]
    return next((name for name in named if name not in ("", "-")), platform.machine())


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("infinicore", "torch", "numpy", "scipy-openblas32"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = ""
    found["gcc"] = _output(["g++", "-dumpfullversion"])
    driver = _output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"])
    found["driver"] = driver.splitlines()[0] if driver else ""
    return found


def _output(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
