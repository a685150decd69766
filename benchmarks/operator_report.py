"""What benchmarks/operators.py prints of its rows, and what page.py needs of them."""

from __future__ import annotations

import fnmatch
from typing import Any

import report
from operator_notes import NOTES

Run = dict[str, Any]  # what --json writes
Row = dict[str, Any]
MIB = 1 << 20
STREAMING = {"elementwise", "norm", "softmax", "rope", "copy"}
HEAD = ("group", "operator", "shape", "type", "ours", "torch", "x torch", "limit", "of limit", "")


def title(row: Row) -> str:
    return f"{row['group']}/{row['name']} {row['shape']} {row['dtype']}"


def times_torch(row: Row) -> float | None:
    return row["theirs_s"] / row["ours_s"] if row.get("theirs_s") and row.get("ours_s") else None


def part_of_limit(row: Row) -> float | None:
    """A microsecond or less does not count as a limit: a call alone takes as long."""
    limit, ours = row.get("limit_s"), row.get("ours_s")
    return limit / ours if limit and ours and limit > 1e-6 else None


def is_bandwidth_bound(row: Row) -> bool:
    """Rows whose goal is a share of the limit: more than 16 MiB, or a product with one row."""
    moved = row.get("reads", 0) + row.get("writes", 0)
    return row.get("decode", False) or (row["group"] in STREAMING and moved > 16 * MIB)


def is_slower(row: Row) -> bool:
    """Slower than torch. 0.995 counts as 1."""
    ratio = times_torch(row)
    return ratio is not None and ratio < 0.995


def note(row: Row) -> str:
    return next(
        (text for pattern, text in NOTES.items() if fnmatch.fnmatch(title(row), pattern)), ""
    )


def cells(row: Row) -> tuple[str, ...]:
    named = (row["group"], row["name"], row["shape"], row["dtype"])
    if row["failed"]:
        return (*named, "", "", "", "", "", f"FAILED: {row['failed']}")
    mark = "slower" if is_slower(row) else ""
    return (
        *named,
        report.time_text(row["ours_s"]),
        report.time_text(row["theirs_s"]),
        report.ratio_text(times_torch(row)),
        report.time_text(row["limit_s"]),
        report.percent_text(part_of_limit(row)),
        mark,
    )


def groups(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(row["group"], []).append(row)
    return [*named.items(), ("all", rows)]


def summary(rows: list[Row]) -> list[tuple[str, ...]]:
    """For each group: rows, geometric mean, the least, how many are slower, part of the limit."""
    made = []
    for name, members in groups(rows):
        ratios = [ratio for row in members if (ratio := times_torch(row))]
        parts = [part_of_limit(row) for row in members if is_bandwidth_bound(row)]
        made.append(
            (
                name,
                str(len(members)),
                report.ratio_text(report.mean(ratios)),
                report.ratio_text(min(ratios, default=None)),
                str(sum(map(is_slower, members))),
                report.percent_text(report.mean(parts)),
            )
        )
    return made


SUMMARY = ("group", "rows", "x torch", "least", "slower", "of limit")


def rates(limits: dict[str, Any]) -> list[str]:
    """The limits of a machine, as lines."""
    sizes = sorted(limits["copy"], key=int)
    shown = [size for size in sizes if int(size) in (1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28)]
    lines = [
        f"{report.size_text(int(size))}: "
        + ", ".join(
            f"{name} {limits[name][size] / 1e9:.3g} GB/s" for name in ("copy", "read", "write")
        )
        for size in shown
    ]
    lines.append(f"vector instructions: {limits['issue'] / 1e9:.3g} G/s of {limits['lanes']} F32")
    for dtype, rate in sorted(limits["products"].items()):
        lines.append(f"multiply-adds of {dtype}: {rate / 1e9:.3g} G/s")
    lines += [
        f"plan of {name}, called from C: {cost:.0f} ns" for name, cost in limits["tiny"].items()
    ]
    return lines


def text(run: Run) -> str:
    rows = report.plain_table(HEAD, map(cells, run["rows"]), range(4, 9))
    means = report.plain_table(SUMMARY, summary(run["rows"]), range(1, 6))
    return "\n\n".join((rows, means, "\n".join(rates(run["limits"]))))
