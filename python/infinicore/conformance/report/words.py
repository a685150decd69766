"""Rows of words that the Markdown page, the HTML page and the support page share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from infinicore.cli.table import size
from infinicore.conformance import results
from infinicore.conformance.cases import LEVELS

SIGNS = {
    "pass": "ok",
    "fail": "FAIL",
    "crash": "CRASH",
    "hang": "HANG",
    "refused": "refused",
    "stale": "ok (stale)",
    "expected failure": "not yet",
    "unsupported": "never",
    "unavailable": "not here",
    "not run": "not run",
    "refused optional": "no",
}

ORDER = (
    *("F64", "F32", "F16", "BF16", "F8"),
    *("I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BYTE", "BOOL"),
)


def level_text(report: dict[str, Any]) -> str:
    if report["partial"]:
        return "not told: a part of the cases was run"
    level = report["level"]["reached"]
    return f"{level}: {LEVELS[level]}" if level >= 0 else "none"


def fact_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    facts = report["facts"]
    device = facts["device"] or report["device"]
    if report["simulated"]:
        device += " (simulated)"
    return [
        ("device", f"{report['device']}: {device}, {facts['devices']} found"),
        ("memory", size(facts["memory"])),
        ("back end", f"{facts['vendor']} {facts['backend']}"),
        *(("works with", library) for library in facts["libraries"]),
        ("driver, runtime version", f"{facts['driver']}, {facts['runtime']}"),
        ("infinicore", facts["infinicore"]),
        ("Python, machine", f"{facts['python']}, {facts['system']} {facts['machine']}"),
        ("run", f"{facts['date']}, {facts['seconds']:.0f} s, {facts['jobs']} processes"),
    ]


def total_rows(report: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Level, name, cases, share. A partial run has no share."""
    rows = []
    for total in report["totals"]:
        counts = total["counts"]
        words = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        able = sum(counts.values())
        passed = counts.get("pass", 0) + counts.get("stale", 0)
        share = "" if report["partial"] else f"{100 * passed / able:.1f} %"
        if share == "100.0 %" and passed != able:
            share = "99.9 %"  # never 100 % unless all pass
        rows.append((str(total["level"]), total["name"], words, share))
    return rows


def speed_rows(report: dict[str, Any]) -> list[tuple[str, str, str, str, float]]:
    """Operator, type, time, rate, and the share of the copy bandwidth (0: not comparable)."""
    copy = report["facts"]["copy"].get("device", 0.0)
    rows = []
    for row in report["facts"]["speed"]:
        if "rate" not in row:
            rows.append((row["operator"], row["dtype"], "-", row.get("words", "")[:60], 0.0))
            continue
        by_bytes = row["unit"] == "bytes"
        share = row["rate"] / copy if by_bytes and copy else 0.0
        rate = f"{row['rate'] / 1e9:.4g} {'GB/s' if by_bytes else 'GFLOP/s'}"
        rows.append((row["operator"], row["dtype"], f"{row['seconds'] * 1e6:.4g} us", rate, share))
    return rows


def cell_text(cell: dict[str, Any]) -> str:
    """A cell of the matrix: the worst status; the largest error; layouts that differ."""
    layouts = cell["layouts"]
    status = results.worst_of(layouts.values())
    text = SIGNS.get(status, status)
    if status == "pass":
        return "ok" if cell["ulp"] is None else f"{cell['ulp']:.3g}"
    others = [name for name, other in layouts.items() if other == status]
    if len(others) < len(layouts):
        text += f" ({', '.join(others)})"
    return text


def dtypes(matrix: dict[str, Any]) -> list[str]:
    found = {dtype for row in matrix.values() for dtype in row}
    known = [dtype for dtype in ORDER if dtype in found]
    return known + sorted(found.difference(ORDER))


MATRIX_WORDS = (
    "A number is the largest error of all layouts and sizes in units of the last place of the"
    " type (of operators that add up: at the root mean square of the result). Layouts:"
    " contiguous, strided, transposed, mixed, stride-0, unaligned; those that differ are named."
)


def title(report: dict[str, Any]) -> str:
    return f"Conformance of {report['device']}{' (simulated)' if report['simulated'] else ''}"


def outline(
    report: dict[str, Any],
    table: Callable[[Sequence[str], Sequence[Sequence[str]]], str],
    operators: Callable[[dict[str, Any]], str],
) -> Iterator[tuple[str, list[str]]]:
    """The sections of a page: headings and contents, with tables written by `table` and the matrix
    of operators by `operators`."""
    lacking = report["level"]["next"] and not report["partial"]
    first = [f"Next: {report['level']['next']}"] if lacking else []
    yield "", [*first, table(("what", "value"), fact_rows(report))]
    yield "Levels", [table(("level", "name", "cases", "pass"), total_rows(report))]
    bad = [row for row in report["cases"] if row["status"] in (*results.BAD, "expected failure")]
    if bad:
        rows = [(row["status"], row["id"], row["words"][:400]) for row in bad]
        yield "What does not work", [table(("result", "case", "why"), rows)]
    if report["facts"]["copy"]:
        copies = report["facts"]["copy"].items()
        shown = [(f"copy: {name}", "", "", f"{v / 1e9:.4g} GB/s", "") for name, v in copies]
        for name, dtype, taken, rate, share in speed_rows(report):
            shown.append((name, dtype, taken, rate, f"{share:.2f}" if share else ""))
        head = ("operator", "type", "time", "rate", "of the copy bandwidth")
        yield "Speed", [table(head, shown)]
    matrix = results.matrix(report["cases"])
    if matrix:
        yield "Operators", [MATRIX_WORDS, operators(matrix)]
