"""report.md"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from infinicore.conformance.report import words


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(cell: str) -> str:
    return " ".join(str(cell).split()).replace("|", "\\|")


def page(report: dict[str, Any]) -> str:
    parts = [f"# {words.title(report)}", f"Level reached: **{words.level_text(report)}**"]
    for heading, below in words.outline(report, table, operators):
        parts += [f"## {heading}"] * bool(heading) + below
    return "\n\n".join(parts) + "\n"


def operators(matrix: dict[str, Any]) -> str:
    columns = words.dtypes(matrix)
    rows = [
        (f"`{name}`", *(words.cell_text(row[d]) if d in row else "" for d in columns))
        for name, row in sorted(matrix.items())
    ]
    return table(("operator", *columns), rows)
