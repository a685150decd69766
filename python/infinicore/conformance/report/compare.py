"""Two reports side by side (`--against`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infinicore.cli.table import table
from infinicore.conformance.report import words

DONE = ("pass", "stale")
GROWN = 2.0  # factor by which a larger error counts as worse
SLOWER = 0.8  # fraction of the previous speed that counts as slower


class ReportError(Exception):
    """The file is not a report."""


def read(path: str) -> dict[str, Any]:
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: {error}") from None
    if not isinstance(report, dict) or report.get("format") != 1 or "cases" not in report:
        raise ReportError(f"{path}: expected a report.json that `infini conformance` wrote")
    return report


def differences(before: dict[str, Any], now: dict[str, Any]) -> dict[str, list[str]]:
    """Lines by kind. Cases that only one of the two ran are counted, not judged."""
    one = {row["id"]: row for row in before["cases"]}
    two = {row["id"]: row for row in now["cases"]}
    found: dict[str, list[str]] = {"broken": [], "repaired": [], "changed": [], "less exact": []}
    for id in one.keys() & two.keys():
        old, new = one[id]["status"], two[id]["status"]
        if old != new:
            kind = "changed"
            if old in DONE or new in DONE:
                kind = "repaired" if new in DONE else "broken"
            if not (old in DONE and new in DONE):
                found[kind].append(f"{id}: {old} -> {new}  {two[id]['words'][:100]}")
        less, more = ((row.get("data") or {}).get("ulp") for row in (one[id], two[id]))
        if less is not None and more is not None and more > max(GROWN * less, 1.0):
            found["less exact"].append(f"{id}: {less:.3g} -> {more:.3g} ulp")
    found["slower"] = _slower(before, now)
    return {kind: sorted(lines) for kind, lines in found.items()}


def _slower(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    rates = [
        {(r["operator"], r["dtype"]): r["rate"] for r in each["facts"]["speed"] if "rate" in r}
        for each in (before, now)
    ]
    lines = []
    for key in rates[0].keys() & rates[1].keys():
        share = rates[1][key] / rates[0][key]
        if share < SLOWER:
            lines.append(f"{' '.join(key)}: {share:.2f} of the speed before")
    return lines


def text(before: dict[str, Any], now: dict[str, Any], most: int = 20) -> str:
    found = differences(before, now)
    ids = [{row["id"] for row in each["cases"]} for each in (before, now)]
    rows = [
        ("level", words.level_text(before), words.level_text(now)),
        ("only in one", str(len(ids[0] - ids[1])), str(len(ids[1] - ids[0]))),
    ]
    parts = [table(("compared", "before", "now"), rows)]
    for kind, lines in found.items():
        if lines:
            more = [f"  and {len(lines) - most} more"] if len(lines) > most else []
            parts.append(
                "\n".join([f"{kind}: {len(lines)}", *(f"  {x}" for x in lines[:most]), *more])
            )
    if not any(found.values()):
        parts.append("no case that both ran has changed")
    return "\n\n".join(parts)
