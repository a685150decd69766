"""What `benchmarks/operators.py --device KIND` prints, and what page.py needs of its rows."""

from __future__ import annotations

from typing import Any

import report

Run = dict[str, Any]
Row = dict[str, Any]
HEAD = ("", "infinicore", "torch", "against", "x torch", "of limit", "")


def quantity(row: Row, seconds: float | None) -> str:
    if not seconds:
        return ""
    if row["unit"] == "TB/s":
        return f"{(row['reads'] + row['writes']) / seconds / 1e12:.2f} TB/s"
    if row["unit"] == "TFLOP/s":
        return f"{row['flops'] / seconds / 1e12:.0f} TFLOP/s"
    return report.time_text(seconds)


def times_torch(row: Row) -> float | None:
    return row["theirs_s"] / row["ours_s"] if row.get("theirs_s") and row.get("ours_s") else None


def is_slower(row: Row) -> bool:
    """Slower than torch. 0.995 counts as 1."""
    ratio = times_torch(row)
    return ratio is not None and ratio < 0.995


def is_large(row: Row) -> bool:
    """Whether its bytes do not fit into the caches of any device."""
    return bool(row.get("reads", 0) + row.get("writes", 0) > 128 << 20)


def limits_of(run: Run) -> dict[str, float]:
    """The best rates that anything reached: what was measured for the purpose, by us or by torch,
    and the rows that only copy, only read, or only multiply."""
    found = {name: float(rate) for name, rate in run["limits"].items()}

    def raise_to(name: str, rate: float) -> None:
        found[name] = max(found.get(name, 0.0), rate)

    for row in run["rows"]:
        if row.get("failed") or row["group"] == "host":
            continue
        best = min(row["ours_s"], row.get("theirs_s") or row["ours_s"])
        reads, writes = row["reads"], row["writes"]
        moved = reads + writes
        if row["flops"] and row["group"] == "product":
            raise_to("product", row["flops"] / best)
        elif moved > 1 << 28 and reads == writes:
            raise_to("copy", moved / best)
        elif moved > 1 << 28 and writes < 0.02 * reads:
            raise_to("read", moved / best)
    for row in run["rows"]:  # the rest of a row after the time of its copy
        if row.get("failed") or row["group"] == "host" or not found.get("copy"):
            continue
        best = min(row["ours_s"], row.get("theirs_s") or row["ours_s"])
        reads, writes = row["reads"], row["writes"]
        rest, left = abs(reads - writes), best - 2 * min(reads, writes) / found["copy"]
        if reads + writes > 1 << 28 and rest and left > 0:
            raise_to("read" if reads > writes else "write", rest / left)
    return found


def part_of_limit(row: Row, limits: dict[str, float]) -> float | None:
    """Of the time that its bytes, or its operations, take at least: a copy and a rest that is only
    read or only written."""
    if row.get("failed") or row["group"] == "host" or not limits.get("copy"):
        return None
    reads, writes = row["reads"], row["writes"]
    copied = 2 * min(reads, writes)
    rest = limits.get("read" if reads > writes else "write") or limits["copy"]
    least = copied / limits["copy"] + (reads + writes - copied) / rest
    if limits.get("product"):
        least = max(least, row["flops"] / limits["product"])
    return least / row["ours_s"]


def cells(row: Row, limits: dict[str, float]) -> tuple[str, ...]:
    if row.get("failed"):
        return (row["title"], "", "", "", "", "", f"FAILED: {row['failed']}")
    others = [
        f"{label} {quantity(row, value) if isinstance(value, float) else 'n/a'}"
        for label, value in row.get("others", {}).items()
    ]
    return (
        row["title"],
        quantity(row, row["ours_s"]),
        quantity(row, row.get("theirs_s")),
        ", ".join(others) if len(others) > 1 else row.get("against", ""),
        report.ratio_text(times_torch(row)),
        report.percent_text(part_of_limit(row, limits)),
        "slower" if is_slower(row) else "",
    )


SUMMARY = ("group", "rows", "x torch", "least", "slower", "of limit above 128 MiB")


def summary(run: Run) -> list[tuple[str, ...]]:
    """For each group: rows, geometric mean, the least, how many are slower, part of the limit."""
    named: dict[str, list[Row]] = {}
    for row in run["rows"]:
        named.setdefault(row["group"], []).append(row)
    limits, made = limits_of(run), []
    for name, rows in (*named.items(), ("all", run["rows"])):
        ratios = [ratio for row in rows if (ratio := times_torch(row))]
        parts = [part_of_limit(row, limits) for row in rows if is_large(row)]
        made.append(
            (
                name,
                str(len(rows)),
                report.ratio_text(report.mean(ratios)),
                report.ratio_text(min(ratios, default=None)),
                str(sum(map(is_slower, rows))),
                report.percent_text(report.mean(parts)),
            )
        )
    return made


def rates(run: Run) -> str:
    limits = limits_of(run)
    words = [
        f"{name} {limits[name] / 1e12:.2f} TB/s"
        for name in ("copy", "read", "write")
        if limits.get(name)
    ]
    words += [f"product {limits['product'] / 1e12:.0f} TFLOP/s"] if limits.get("product") else []
    return ", ".join(words)


def text(run: Run) -> str:
    limits = limits_of(run)
    rows = report.plain_table(HEAD, [cells(row, limits) for row in run["rows"]], {1, 2, 4, 5})
    means = report.plain_table(SUMMARY, summary(run), range(1, 6))
    heading = f"{run.get('processor', run['device'])}, torch {run.get('torch', '')}"
    return f"{heading}; limits: {rates(run)}\n\n{rows}\n\n{means}"
