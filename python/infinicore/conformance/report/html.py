"""report.html: one self-contained page. Charts are inline SVG, and there is no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from infinicore.conformance import results
from infinicore.conformance.cases import LEVELS
from infinicore.conformance.report import words

COLOURS = {
    "pass": "#3a9d5d",
    "stale": "#8bc34a",
    "unsupported": "#b0b7bd",
    "refused optional": "#b0b7bd",
    "unavailable": "#d5d9dc",
    "expected failure": "#e6b422",
    "refused": "#e58e26",
    "fail": "#d64541",
    "crash": "#8e1b1b",
    "hang": "#8e1b8b",
    "not run": "#eeeeee",
}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em;
  color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1em 0; } th, td { padding: .2em .6em; text-align: left;
  border-bottom: 1px solid #ddd; vertical-align: top; } th { border-bottom: 2px solid #888; }
.scroll { overflow-x: auto; } .scroll td { text-align: right; font-variant-numeric: tabular-nums; }
.scroll td:first-child { text-align: left; font-family: monospace; }
code { font-size: .9em; } .level { font-size: 1.4em; } .key { margin-right: 1em; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
"""


def page(report: dict[str, Any]) -> str:
    title = escape(words.title(report))
    level = escape(words.level_text(report))
    parts = [f"<h1>{title}</h1>", f'<p class="level">Level reached: <b>{level}</b></p>']
    charts = {"Levels": levels_chart, "Speed": speed_chart}
    for heading, below in words.outline(report, table, operators):
        parts += [f"<h2>{heading}</h2>"] * bool(heading)
        parts += [charts[heading](report)] if heading in charts else []
        parts += [x if x.startswith("<") else f"<p>{escape(x)}</p>" for x in below]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}'
        f"</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "\n".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>\n{lines}</table>"


# ---- Charts -------------------------------------------------------------------------------------


def levels_chart(report: dict[str, Any]) -> str:
    """A bar for each level: its cases by status."""
    width, height, left = 640, 22, 230
    bars, seen = [], set()
    for line, total in enumerate(report["totals"]):
        y, x = line * (height + 6), float(left)
        count = sum(total["counts"].values())
        label = f"{total['level']}  {LEVELS[total['level']]}"
        bars.append(f'<text x="0" y="{y + 16}">{escape(label)}</text>')
        for status in COLOURS:
            number = total["counts"].get(status, 0)
            if number:
                seen.add(status)
                step = width * number / count
                bars.append(
                    f'<rect x="{x:.1f}" y="{y}" width="{step:.1f}" height="{height}"'
                    f' fill="{COLOURS[status]}"><title>{number} {status}</title></rect>'
                )
                x += step
    keys = "".join(
        f'<span class="key"><i style="background:{COLOURS[s]}"></i>{s}</span>'
        for s in COLOURS
        if s in seen
    )
    return f"{_svg(left + width, len(report['totals']) * (height + 6), bars)}<p>{keys}</p>"


def speed_chart(report: dict[str, Any]) -> str:
    """Bytes per second of each operator, compared with a copy on the device."""
    copy = report["facts"]["copy"].get("device", 0.0)
    rows = [(f"{name} {dtype}", share) for name, dtype, _, _, share in words.speed_rows(report)]
    rows = [("copy on the device", 1.0), *((name, share) for name, share in rows if share)]
    most, width, height, left = max(share for _, share in rows), 560, 18, 190
    bars = []
    for line, (name, share) in enumerate(rows):
        y, length = line * (height + 5), width * share / most
        colour = "#888" if line == 0 else "#3572a5"
        bars.append(f'<text x="0" y="{y + 14}">{escape(name)}</text>')
        bars.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{height}" fill="{colour}"/>'
        )
        bars.append(
            f'<text x="{left + length + 5:.1f}" y="{y + 14}">{share * copy / 1e9:.4g} GB/s</text>'
        )
    return _svg(left + width + 110, len(rows) * (height + 5), bars)


def _svg(width: int, height: int, shapes: Sequence[str]) -> str:
    return (
        f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' xmlns="http://www.w3.org/2000/svg" font-size="13">{"".join(shapes)}</svg>'
    )


def operators(matrix: dict[str, Any]) -> str:
    """Coloured by the worst status; the tooltip of a cell shows the result of each layout."""
    columns = words.dtypes(matrix)
    lines = []
    for name, row in sorted(matrix.items()):
        cells = [f"<td>{escape(name)}</td>"]
        for dtype in columns:
            if dtype not in row:
                cells.append("<td></td>")
                continue
            status = results.worst_of(row[dtype]["layouts"].values())
            told = ", ".join(f"{k}: {v}" for k, v in row[dtype]["layouts"].items())
            colour = COLOURS.get(status, "#fff")
            cells.append(
                f'<td style="background:{colour}44" title="{escape(told)}">'
                f"{escape(words.cell_text(row[dtype]))}</td>"
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{escape(column)}</th>" for column in ("operator", *columns))
    return f'<div class="scroll"><table><tr>{head}</tr>\n' + "\n".join(lines) + "</table></div>"
