"""The results of a run: a status for each case, totals for each level, the level reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from infinicore.conformance.cases import LEVELS
from infinicore.conformance.claims import Claims

# Final statuses. GOOD ones do not fail a run.
GOOD = ("pass", "unsupported", "expected failure", "unavailable", "refused optional", "measured")
BAD = ("fail", "refused", "crash", "hang", "stale")


def judge(
    cases: Sequence[dict[str, Any]], raw: Iterable[dict[str, Any]], claims: Claims
) -> list[dict[str, Any]]:
    """The rows of a report. Cases that the declaration does not allow are left out."""
    by_id = {result["id"]: result for result in raw}
    rows = []
    for case in cases:
        rule = claims.rule(case["id"])
        result = by_id.get(case["id"])
        row = {"id": case["id"], "level": case["level"], "status": "not run", "words": ""}
        if rule and rule.kind == "unsupported":
            row |= {"status": "unsupported", "words": rule.reason}
        elif result:
            data = result.get("data") or {}
            if data.get("none"):
                continue
            row |= {key: result.get(key, "") for key in ("status", "words", "seconds")}
            row["data"] = data
            _settle(row, case, rule.reason if rule else "")
        rows.append(row)
    return rows


def _settle(row: dict[str, Any], case: dict[str, Any], reason: str) -> None:
    status = row["status"]
    if case["level"] < 0:
        row["status"] = "measured" if status == "pass" else status
    elif reason and status == "pass":
        row |= {"status": "stale", "words": f"passes, but the manifest expects: {reason}"}
    elif reason and status in BAD:
        row |= {"status": "expected failure", "words": f"{reason} ({status}: {row['words']})"}
    elif status == "refused" and case["optional"]:
        row["status"] = "refused optional"


def totals(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The number of cases by status, for each level."""
    found = []
    for level, name in enumerate(LEVELS):
        counts = Counter(row["status"] for row in rows if row["level"] == level)
        if counts:
            found.append({"level": level, "name": name, "counts": dict(counts)})
    return found


def level_reached(rows: Sequence[dict[str, Any]], wanted: int) -> tuple[int, str]:
    """The highest level up to which all cases pass that are not claimed to be unsupported, and what
    the next level lacks. -1: not even level 0."""
    for level in range(wanted + 1):
        own = [row for row in rows if row["level"] == level]
        if not own:
            return level - 1, f"level {level} has no results"
        if all(row["status"] == "unsupported" for row in own):
            return level - 1, f"all cases of level {level} are claimed to be unsupported"
        lacking = [row for row in own if not _counts_as_done(row)]
        if lacking:
            kinds = Counter(row["status"] for row in lacking)
            words = ", ".join(f"{count} {status}" for status, count in kinds.items())
            return level - 1, f"level {level} lacks {len(lacking)} of {len(own)} cases ({words})"
    return wanted, ""


def _counts_as_done(row: dict[str, Any]) -> bool:
    if row["status"] == "unavailable":  # only optional cases may be unsupported
        return bool(row["id"] in ("copies/peer", "copies/large"))
    return row["status"] in ("pass", "stale", "unsupported", "refused optional")


def is_good(report: dict[str, Any]) -> bool:
    """Whether nothing unexpected happened and the claimed level was reached."""
    claimed = report["claims"].get("level")
    if claimed is not None and not report["partial"] and report["level"]["asked"] >= claimed:
        reached = report["level"]["reached"]
        if reached < claimed:
            return False
    return not any(row["status"] in (*BAD, "not run") for row in report["cases"])


def matrix(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """operator -> dtype -> {"layouts": {layout: status}, "ulp": largest error}."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if not row["id"].startswith("op/"):
            continue
        _, name, dtype, layout, _ = row["id"].split("/")
        cell = found.setdefault(name, {}).setdefault(dtype, {"layouts": {}, "ulp": None})
        before = cell["layouts"].get(layout)
        cell["layouts"][layout] = _worse(before, row["status"])
        error = (row.get("data") or {}).get("ulp")
        if error is not None:
            cell["ulp"] = error if cell["ulp"] is None else max(cell["ulp"], error)
    return found


_ORDER = (
    *("crash", "hang", "fail", "stale", "refused", "not run", "expected failure"),
    *("unavailable", "unsupported", "refused optional", "pass"),
)


def _worse(one: str | None, other: str) -> str:
    return other if one is None else min(one, other, key=_ORDER.index)


def worst_of(statuses: Iterable[str]) -> str:
    return min(statuses, key=_ORDER.index, default="not run")
