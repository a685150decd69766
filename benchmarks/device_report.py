"""The figures of `benchmarks/operators.py --device KIND` as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HEAD = ("", "infinicore", "torch", "against", "x torch", "of limit", "goal")


def quantity(row: dict[str, Any], seconds: float | None) -> str:
    if not seconds:
        return ""
    if row["unit"] == "TB/s":
        return f"{row['moved'] / seconds / 1e12:.2f} TB/s"
    if row["unit"] == "TFLOP/s":
        return f"{row['flops'] / seconds / 1e12:.0f} TFLOP/s"
    return f"{seconds * 1e6:.3g} us"


def part_of_limit(row: dict[str, Any], limits: dict[str, float]) -> float | None:
    """Of the time that its bytes, or its operations, take at least."""
    if row.get("host") or not row.get("ours_s"):
        return None
    least = [
        amount / limits[name]
        for name, amount in (("copy", row["moved"]), ("product", row["flops"]))
        if amount and limits.get(name)
    ]
    return max(least) / row["ours_s"] if least else None


def judged(row: dict[str, Any], limits: dict[str, float]) -> list[str]:
    """Goals that a row misses. 0.995 counts as 1."""
    missed = []
    ratio = row["theirs_s"] / row["ours_s"] if row.get("theirs_s") else None
    if row.get("host") and ratio is not None and "graph" not in row["title"]:
        if ratio < 2.5 * 0.995:
            missed.append("<= 0.4 of torch's time")
    elif ratio is not None and ratio < 0.995:
        missed.append(">= 1x torch")
    part = part_of_limit(row, limits)
    bound = row.get("unit") == "TB/s" and row["moved"] > 128 << 20
    if bound and part is not None and part < 0.9 * 0.995:
        missed.append(">= 90 % of a copy")
    return missed


def cells(row: dict[str, Any], limits: dict[str, float]) -> tuple[str, ...]:
    if row.get("failed"):
        return (row["title"], f"FAILED: {row['failed']}", "", "", "", "", "")
    others = [
        f"{label} {quantity(row, value) if isinstance(value, float) else 'n/a'}"
        for label, value in row["others"].items()
    ]
    ratio = f"{row['theirs_s'] / row['ours_s']:.2f}" if row.get("theirs_s") else ""
    part = part_of_limit(row, limits)
    marks = [f"missed {goal}" for goal in judged(row, limits)]
    marks += ["FAILED: the result differs from torch's"] if row.get("differs") else []
    return (
        row["title"],
        quantity(row, row["ours_s"]),
        quantity(row, row.get("theirs_s")),
        ", ".join(others) if len(others) > 1 else row.get("against", ""),
        ratio,
        f"{100 * part:.0f} %" if part else "",
        ", ".join(marks),
    )


def heading(run: dict[str, Any]) -> str:
    limits = run["limits"]
    return (
        f"{run.get('machine', run['device'])}, infinicore {run.get('infinicore', '')}"
        f" ({run['commit'] or 'commit unknown'}), torch {run.get('torch', '')}; a copy moves"
        f" {limits.get('copy', 0) / 1e12:.2f} TB/s, a product of 8192^3 in bf16 does"
        f" {limits.get('product', 0) / 1e12:.0f} TFLOP/s"
    )


def text(run: dict[str, Any]) -> str:
    rows = [HEAD, *(cells(row, run["limits"]) for row in run["rows"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    widths[1] = min(widths[1], 16)
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    return "\n".join([heading(run), "", *lines])


def markdown(run: dict[str, Any]) -> list[str]:
    lines = [heading(run) + ".", ""]
    for title, is_issue in (("", True), ("Others", False)):
        rows = [row for row in run["rows"] if bool(row.get("issue", True)) == is_issue]
        if not rows:
            continue
        lines += [f"**{title}**", ""] if title else []
        lines += ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
        lines += ["| " + " | ".join(cells(row, run["limits"])) + " |" for row in rows]
        lines.append("")
    return lines


def write(run: dict[str, Any], path: Path) -> None:
    """Renews the part between the marks of this kind of device, or adds it at the end."""
    begin = f"<!-- operators on {run['device']}: written by benchmarks/operators.py -->"
    end = f"<!-- operators on {run['device']}: end -->"
    new = "\n".join([begin, "", *markdown(run), end])
    page = path.read_text() if path.exists() else ""
    if begin in page and end in page:
        head, _, rest = page.partition(begin)
        page = head + new + rest.partition(end)[2]
    else:
        page = page.rstrip() + f"\n\n# Figures of the operators on {run['device']}\n\n{new}\n"
    path.write_text(page)
