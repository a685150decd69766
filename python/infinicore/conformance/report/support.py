"""docs/support.md, written from reports: infini conformance --support a.json b.json"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infinicore.conformance import results
from infinicore.conformance.report import compare, words
from infinicore.conformance.report.markdown import table

HEAD = """\
# What works where

Written by `infini conformance --support REPORT.json ...` from the reports of runs; do not edit.
Each row is a run on a device. *Simulated* means a simulation of the vendor's interface on the
host: it shows that the back end makes the right calls, and nothing about the vendor's hardware.

Levels: 0 loads, 1 memory and copies, 2 streams and events, 3 capture and graphs, 4 operators of a
transformer, 5 all operators, 6 collectives, 7 an engine under load ([porting.md](porting.md)).

A level is reached when all of its cases pass, and those of the levels below. *Run up to* is the
highest level that was run: the cells of higher levels are empty."""

CELLS = """\
For each operator: how many of its declared element types pass in every layout and size that was
run (`15/15`), and the largest error in units of the last place. Cases that are not supported yet
or never will be are named; an empty cell was not run, nor was any operator of devices without a
column."""


def write(paths: Sequence[str], out: str) -> int:
    reports = [compare.read(path) for path in paths]
    for path, report in zip(paths, reports, strict=True):
        if report["partial"]:
            raise compare.ReportError(f"{path}: it is of a part of the cases; run without --only")
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(reports), encoding="utf-8")
    print(f"{out}: {len(reports)} devices")
    return 0


def name(report: dict[str, Any]) -> str:
    return str(report["device"]) + (" (simulated)" if report["simulated"] else "")


def page(reports: Sequence[dict[str, Any]]) -> str:
    parts = [HEAD, "## Devices", devices(reports), "## Levels", levels(reports)]
    speeds = [report for report in reports if report["facts"]["copy"] and not report["simulated"]]
    if speeds:
        parts += ["## Speed", SPEED_WORDS, speed(speeds)]
    matrices = {name(report): results.matrix(report["cases"]) for report in reports}
    matrices = {column: matrix for column, matrix in matrices.items() if matrix}
    if matrices:
        parts += ["## Operators", CELLS, operators(matrices)]
    return "\n\n".join(parts) + "\n"


def devices(reports: Sequence[dict[str, Any]]) -> str:
    rows = []
    for report in reports:
        facts = report["facts"]
        # Only file names: their folders are of no use to readers.
        libraries = ", ".join(re.sub(r"\(/[^)]*/", "(", each) for each in facts["libraries"])
        asked = str(report["level"]["asked"])
        rows.append(
            (
                *(name(report), facts["device"], words.level_text(report), asked),
                *(_lacks(report), libraries, facts["date"]),
            )
        )
    head = ("device type", "device", "level reached", "run up to", "missing for the next level")
    return table((*head, "works with", "run"), rows)


def _lacks(report: dict[str, Any]) -> str:
    return str(report["level"]["next"] or "")


def levels(reports: Sequence[dict[str, Any]]) -> str:
    """Passing cases of all, level by level."""
    rows = []
    for report in reports:
        cells = {}
        for total in report["totals"]:
            counts = total["counts"]
            passed = counts.get("pass", 0) + counts.get("stale", 0)
            cells[total["level"]] = f"{passed}/{sum(counts.values())}"
        rows.append((name(report), *(cells.get(level, "") for level in range(8))))
    return table(("device type", *(str(level) for level in range(8))), rows)


SPEED_WORDS = (
    "Bytes per second relative to a copy on the same device, which moves two bytes for each copied."
)


def speed(reports: Sequence[dict[str, Any]]) -> str:
    columns: dict[str, dict[str, str]] = {}
    for report in reports:
        for operator, dtype, _, rate, share in words.speed_rows(report):
            cell = f"{share:.2f}" if share else rate
            columns.setdefault(f"{operator} {dtype}", {})[name(report)] = cell
    names = [name(report) for report in reports]
    copies = [f"{report['facts']['copy']['device'] / 1e9:.4g} GB/s" for report in reports]
    rows = [("copy on the device", *copies)]
    rows += [(row, *(cells.get(each, "") for each in names)) for row, cells in columns.items()]
    return table(("operator", *names), rows)


def operators(matrices: dict[str, dict[str, Any]]) -> str:
    every = sorted({operator for matrix in matrices.values() for operator in matrix})
    rows = [
        (f"`{operator}`", *(_cell(matrix.get(operator)) for matrix in matrices.values()))
        for operator in every
    ]
    return table(("operator", *matrices), rows)


def _cell(row: dict[str, Any] | None) -> str:
    if not row:
        return ""
    statuses = {dtype: results.worst_of(cell["layouts"].values()) for dtype, cell in row.items()}
    passed = [dtype for dtype, status in statuses.items() if status in ("pass", "stale")]
    text = f"{len(passed)}/{len(row)}"
    errors = [row[dtype]["ulp"] for dtype in passed if row[dtype]["ulp"] is not None]
    if errors:
        text += f", {max(errors):.3g} ulp"
    others = sorted({words.SIGNS[status] for status in statuses.values()} - {"ok", "ok (stale)"})
    return f"{text}; {', '.join(others)}" if others else text
