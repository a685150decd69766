"""report.md"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from infinicore.conformance import results
from infinicore.conformance.report import words


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(cell: str) -> str:
    return " ".join(str(cell).split()).replace("|", "\\|")


def page(report: dict[str, Any]) -> str:
    parts = [
        f"# Conformance of {report['device']}{' (simulated)' if report['simulated'] else ''}",
        f"Level reached: **{words.level_text(report)}**",
    ]
    if report["level"]["next"] and not report["partial"]:
        parts.append(f"Next: {report['level']['next']}")
    parts += [
        table(("what", "value"), words.fact_rows(report)),
        "## Levels",
        table(("level", "name", "cases", "pass"), words.total_rows(report)),
    ]
    bad = [row for row in report["cases"] if row["status"] in (*results.BAD, "expected failure")]
    if bad:
        rows = [(row["status"], f"`{row['id']}`", row["words"][:300]) for row in bad]
        parts += ["## What does not work", table(("result", "case", "why"), rows)]
    if report["facts"]["copy"]:
        parts += ["## Speed", speed(report)]
    matrix = results.matrix(report["cases"])
    if matrix:
        parts += ["## Operators", MATRIX_WORDS, operators(matrix)]
    return "\n\n".join(parts) + "\n"


MATRIX_WORDS = (
    "A number is the largest error of all layouts and sizes in units of the last place of the"
    " type (of operators that add up: at the root mean square of the result). Layouts:"
    " contiguous, strided, transposed, mixed, stride-0, unaligned; those that differ are named."
)


def speed(report: dict[str, Any]) -> str:
    copy = report["facts"]["copy"]
    rates = ", ".join(f"{name} {rate / 1e9:.4g} GB/s" for name, rate in copy.items())
    rows = [
        (name, dtype, taken, rate, f"{share:.2f}" if share else "")
        for name, dtype, taken, rate, share in words.speed_rows(report)
    ]
    head = ("operator", "type", "time", "rate", "of the copy bandwidth")
    return f"Copies: {rates}\n\n{table(head, rows)}"


def operators(matrix: dict[str, Any]) -> str:
    columns = words.dtypes(matrix)
    rows = [
        (f"`{name}`", *(words.cell_text(row[d]) if d in row else "" for d in columns))
        for name, row in sorted(matrix.items())
    ]
    return table(("operator", *columns), rows)
