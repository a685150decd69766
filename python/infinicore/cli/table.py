"""Tables, sizes and times for the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, with a rule under the head. A row that is a plain string is a heading across
    all columns."""
    lines: list[Sequence[str]] = [list(head), *rows]
    cells = [line for line in lines if not isinstance(line, str)]
    widths = [max(_width(line[i]) for line in cells) for i in range(len(head))]
    lines.insert(1, ["-" * width if name else "" for name, width in zip(head, widths, strict=True)])
    return "\n".join(
        line
        if isinstance(line, str)
        else "  ".join(_pad(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _width(cell: str) -> int:
    return len(_COLOUR.sub("", cell))


def _pad(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def size(nbytes: int) -> str:
    """1536 -> '1.5 KiB'"""
    amount = float(nbytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} TiB"


def duration(seconds: float) -> str:
    """0.00012 -> '120 us'"""
    for unit, factor in (("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 999.5:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"
