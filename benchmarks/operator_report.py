"""The figures of benchmarks/operators.py as text, as Markdown and as a chart."""

from __future__ import annotations

import fnmatch
import importlib.util
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from operator_notes import NOTES

Run = dict[str, Any]  # what --json writes
HEAD = ("group", "operator", "shape", "type", "ours", "torch", "x torch", "limit", "of limit", "")
WIDTHS = (11, 31, 22, 4, 9, 9, 7, 9, 8, 0)
RIGHT = range(4, 9)
MEAN_GOALS = {"aarch64": 4.0, "x86_64": 1.5}
TINY_GOAL = 300  # nanoseconds


def time_text(value: float | None) -> str:
    if value is None:
        return "n/a"
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value * 1e9:.3g} ns"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    named = (row["group"], row["name"], row["shape"], row["dtype"])
    if not row["ours_s"]:
        return (*named, "", "", "", "", "", f"FAILED: {row['failed']}")
    ratio = "n/a" if row["x_torch"] is None else f"{row['x_torch']:.2f}"
    # The limit of what fits into registers is no limit that a call could meet.
    part = f"{100 * row['of_limit']:.0f} %" if row["limit_s"] > 1e-6 else ""
    marks = [f"FAILED: {row['failed']}"] if row["failed"] else []
    marks += [f"missed {goal}" for goal in row["missed"]]
    times = (time_text(row["ours_s"]), time_text(row["theirs_s"]))
    return (*named, *times, ratio, time_text(row["limit_s"]), part, ", ".join(marks))


def line(texts: Sequence[str]) -> str:
    padded = (
        text.rjust(width) if i in RIGHT else text.ljust(width)
        for i, (text, width) in enumerate(zip(texts, WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()


def mean(values: Iterable[float | None]) -> float | None:
    """The geometric mean of those that there are."""
    known = [math.log(value) for value in values if value]
    return math.exp(sum(known) / len(known)) if known else None


def heading(run: Run) -> str:
    limits = run["limits"]
    rates = ", ".join(
        f"{int(size) >> 20 or int(size) / (1 << 20):g} MiB {limits['copy'][size] / 1e9:.3g}"
        f"/{limits['read'][size] / 1e9:.3g}"
        for size in limits["copy"]
    )
    issue = f"{limits['issue'] / 1e9:.3g} G/s of {limits['lanes']} F32"
    products = "".join(
        f", products of {dtype} {rate / 1e9:.3g} G/s" for dtype, rate in limits["products"].items()
    )
    return (
        f"infinicore {run['infinicore']} ({run['commit'] or 'commit unknown'}), torch"
        f" {run['torch']}, {run['machine']}\n"
        f"copy/read GB/s: {rates}\nvector instructions: {issue}{products}\n"
    )


def groups(run: Run) -> list[tuple[str, list[dict[str, Any]]]]:
    named: dict[str, list[dict[str, Any]]] = {}
    for row in run["rows"]:
        named.setdefault(row["group"], []).append(row)
    return list(named.items())


def means(run: Run) -> list[tuple[str, ...]]:
    """Group, rows, mean and least speed-up, mean part of the limit above 16 MiB, missed."""
    made = []
    for group, rows in [*groups(run), ("all", run["rows"])]:
        ratios = [row["x_torch"] for row in rows if row["x_torch"]]
        large = [row["of_limit"] for row in rows if row["reads"] + row["writes"] > 16 << 20]
        part = mean(large)
        made.append(
            (
                group,
                str(len(rows)),
                f"{mean(ratios):.2f}" if ratios else "n/a",
                f"{min(ratios):.2f}" if ratios else "n/a",
                f"{100 * part:.0f} %" if part else "",
                str(sum(bool(row["missed"] or row["failed"]) for row in rows)),
            )
        )
    return made


def overall(run: Run) -> list[str]:
    """The goals that are not of one row."""
    goal = MEAN_GOALS.get(run["architecture"], 1.0)
    reached = mean(row["x_torch"] for row in run["rows"])
    lines = []
    if reached:
        word = "met" if reached >= goal else "MISSED"
        lines.append(f"mean of all rows {reached:.2f}x torch, goal >= {goal:g}: {word}")
    for name, cost in run["limits"]["tiny"].items():
        word = "met" if cost < TINY_GOAL else "MISSED"
        lines.append(f"plan of {name} from C {cost:.0f} ns a call, goal < {TINY_GOAL}: {word}")
    return lines


def missed(run: Run) -> list[str]:
    lines = []
    for row in run["rows"]:
        title = f"{row['group']}/{row['name']} {row['shape']} {row['dtype']}"
        if not row["missed"] and not row["failed"]:
            continue
        goals = ", ".join([*row["missed"], *([row["failed"]] if row["failed"] else [])])
        figures = f"{row['x_torch'] or math.nan:.2f}x torch, {100 * (row['of_limit'] or 0):.0f} %"
        notes = NOTES.get(run["architecture"], {}).items()
        note = next((text for pattern, text in notes if fnmatch.fnmatch(title, pattern)), "")
        lines.append(f"{title}: {goals} ({figures} of the limit){'. ' + note if note else ''}")
    return lines


def text(run: Run) -> str:
    head = ("group", "rows", "x torch", "least", "of limit > 16 MiB", "missed")
    lines = [
        f"{a:12} {b:>5} {c:>8} {d:>7} {e:>18} {f:>7}" for a, b, c, d, e, f in (head, *means(run))
    ]
    rows = [line(HEAD), *(line(cells(row)) for row in run["rows"])]
    parts = (rows, lines, overall(run), missed(run))
    return heading(run) + "\n" + "\n\n".join("\n".join(part) for part in parts)


# ---- Markdown -----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    made = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return made + [f"| {' | '.join(row)} |" for row in rows]


BEGIN, END = "<!-- operators: written by benchmarks/operators.py -->", "<!-- operators: end -->"


def write_markdown(runs: Sequence[Run], path: Path, chart: Path | None) -> None:
    """The tables, as a file or between the two marks of one that there is."""
    body = "\n".join(markdown(runs, chart and Path(os.path.relpath(chart, path.parent))))
    page = path.read_text() if path.exists() else ""
    if BEGIN in page and END in page:
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    else:
        before, after = "# Operators\n\n", "\n"
    path.write_text(f"{before}{BEGIN}\n{body}\n{END}{after}")


def markdown(runs: Sequence[Run], chart: Path | None) -> list[str]:
    lines = ["", f"![Speed-up over torch, by group]({chart})"] if chart else []
    for run in runs:
        lines += ["", f"## {run['machine']}", "", heading(run).rstrip().replace("\n", "  \n"), ""]
        head = ("group", "rows", "x torch", "least", "of the limit above 16 MiB", "rows that miss")
        lines += table(head, means(run))
        lines += ["", *(f"* {words}" for words in overall(run))]
        if gaps := missed(run):
            lines += ["", "Rows that miss a goal:", "", *(f"* {words}" for words in gaps)]
        lines.append("")
        named = (
            (*cells(row)[:-1], row["against"], "missed" if row["missed"] else "")
            for row in run["rows"]
            if row["ours_s"]
        )
        lines += table((*HEAD[:-1], "against", ""), named)
    return [*lines, ""]


# ---- Chart --------------------------------------------------------------------------------------

COLOURS = ("#1f6feb", "#d1242f", "#2da44e", "#8250df")


def draw(runs: Sequence[Run], path: Path) -> Path:
    """A dot for each row, a line for the mean of each group; gives back what it has written."""
    if path.suffix == ".svg" or not importlib.util.find_spec("matplotlib"):
        path = path.with_suffix(".svg")
        path.write_text(svg(runs))
        return path
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(group for run in runs for group, _ in groups(run)))
    figure, axes = pyplot.subplots(figsize=(8, 0.55 * len(names) + 1.4), layout="constrained")
    for i, run in enumerate(runs):
        shift = (i + 0.5) / len(runs) - 0.5
        for group, rows in groups(run):
            at = names.index(group) + 0.7 * shift
            ratios = [row["x_torch"] for row in rows if row["x_torch"]]
            axes.plot(ratios, [at] * len(ratios), "o", color=COLOURS[i], alpha=0.45, ms=5, mew=0)
            axes.plot([mean(ratios)], [at], "|", color=COLOURS[i], ms=14, mew=3)
        axes.plot([], [], "o", color=COLOURS[i], label=run["machine"])
    axes.axvline(1, color="black", lw=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.set_xlabel("times as fast as torch (a dot for each row, a bar for the geometric mean)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    figure.savefig(path, dpi=150)
    return path


def svg(runs: Sequence[Run]) -> str:
    """The same, without any library."""
    names = list(dict.fromkeys(group for run in runs for group, _ in groups(run)))
    ratios = [row["x_torch"] for run in runs for row in run["rows"] if row["x_torch"]] or [1.0]
    low, high = math.log10(min(*ratios, 0.5)), math.log10(max(*ratios, 10.0))
    left, width, step, top = 110, 660, 34, 30 + 20 * len(runs)
    bottom = top + step * len(names)

    def x(ratio: float) -> float:
        return left + width * (math.log10(ratio) - low) / (high - low)

    def label(at: float, y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{at:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'

    size = f'width="{left + width + 20}" height="{bottom + 50}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"']
    parts += [' font-size="13"><rect width="100%" height="100%" fill="white"/>']
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in (1, 2, 5):
            if low <= math.log10(tick := digit * 10.0**power) <= high:
                stroke = "black" if tick == 1 else "#ddd"
                line = f'x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}"'
                parts += [
                    f'<line {line} stroke="{stroke}"/>',
                    label(x(tick), bottom + 16, f"{tick:g}"),
                ]
    for i, run in enumerate(runs):
        colour = COLOURS[i % len(COLOURS)]
        parts.append(f'<circle cx="{left + 6}" cy="{16 + 20 * i}" r="5" fill="{colour}"/>')
        parts.append(label(left + 18, 20 + 20 * i, run["machine"], "start"))
        for group, rows in groups(run):
            y = top + step * (names.index(group) + (i + 0.5) / len(runs) * 0.7 + 0.15)
            known = [row["x_torch"] for row in rows if row["x_torch"]]
            dot = f'cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.45"'
            parts += [f'<circle cx="{x(ratio):.1f}" {dot}/>' for ratio in known]
            if middle := mean(known):
                bar = f'y="{y - 8:.1f}" width="4" height="16" fill="{colour}"'
                parts.append(f'<rect x="{x(middle) - 2:.1f}" {bar}/>')
    for i, name in enumerate(names):
        parts.append(label(left - 8, top + step * (i + 0.5) + 4, name, "end"))
    words = "times as fast as torch: a dot for each row, a bar for the geometric mean"
    parts.append(label(left + width / 2, bottom + 38, words))
    return "\n".join([*parts, "</svg>"]) + "\n"
