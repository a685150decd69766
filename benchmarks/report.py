"""Shared by the scripts to print figures: formatting, means, tables, selection of rows."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Iterable, Sequence


def time_text(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def size_text(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def percent_text(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.0f} %"


def mean(values: Iterable[float | None]) -> float | None:
    """The geometric mean of the values that are not None."""
    known = [math.log(value) for value in values if value]
    return math.exp(sum(known) / len(known)) if known else None


def wanted(title: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern occurs in the title; all rows are wanted when there is none."""
    low = title.lower()
    found = (fnmatch.fnmatchcase(low, f"*{pattern.lower()}*") for pattern in patterns)
    return not patterns or any(found)


def patterns(text: str) -> list[str]:
    """The patterns of an option such as `--rows 'add*F32,softmax'`."""
    return [each for each in text.split(",") if each]


def plain_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]
