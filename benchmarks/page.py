"""Writes docs/performance.md from the result files: `python benchmarks/page.py [--check]`.

The prose is in page_template.md, where a line `@suite@` stands for a suite's tables.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import device_report
import goals
import operator_report
import report
import results
import wild
from report import folded, markdown_table, percent_text, ratio_text, time_text

TEMPLATE = Path(__file__).with_name("page_template.md")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
WORST = 10  # rows in a list of the slowest
Suite = results.Suite
Row = dict[str, Any]


def write(found: list[dict[str, Any]]) -> str:
    lines = []
    for line in TEMPLATE.read_text().splitlines():
        name = line.strip("@") if line.startswith("@") and line.endswith("@") else ""
        lines += section(name, found) if name else [line]
    return "\n".join(lines) + "\n"


def section(name: str, found: list[dict[str, Any]]) -> list[str]:
    if name == "machines":
        return machines(found)
    suites = [(each["machine"], each["suites"][name]) for each in found if name in each["suites"]]
    if not suites:
        return ["Not measured yet."]
    lines: list[str] = []
    for machine, suite in suites:
        failed = [row for row in suite["rows"] if row.get("failed")]
        good = {**suite, "rows": [row for row in suite["rows"] if not row.get("failed")]}
        lines += [""] * bool(lines) + [f"**{machine}**: {stamp(suite)}", ""]
        lines += TABLES[name](good) if good["rows"] else []
        met = goals.line(name, good) if good["rows"] else ""
        lines += ["", f"Goals, and how many rows reach them: {met}."] if met else []
        lines += failures(name, failed)
    return lines


def stamp(suite: Suite) -> str:
    versions = suite["versions"]
    named = [f"{name} {versions[name]}" for name in ("torch", "driver") if versions[name]]
    words = [f"commit {suite['commit']}", suite["date"], *named]
    words += [f"{suite['threads']} threads"] * (suite.get("device", "cpu") == "cpu")
    words += ["`--quick`"] * bool(suite["quick"])
    return ", ".join(words) + (f". {suite['imported']}" if suite.get("imported") else "")


def failures(name: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    named = ["* " + " ".join(str(row[key]) for key in results.NAMES[name]) for row in rows]
    lines = [f"{words}: {row['failed']}" for words, row in zip(named, rows, strict=True)]
    return ["", "Failed:", "", *lines]


def machines(found: list[dict[str, Any]]) -> list[str]:
    rows = []
    for each in found:
        for name, suite in each["suites"].items():
            known = suite["versions"].items()
            versions = ", ".join(f"{which} {version}" for which, version in known if version)
            kind = ", ".join(filter(None, (suite["processor"], suite["architecture"])))
            stamped = (suite["commit"], suite["date"], kind, str(suite["cores"] or ""))
            rows.append((each["machine"], name.replace("_", " on "), *stamped, versions))
    return markdown_table(
        ("machine", "suite", "commit", "date", "processor", "cores", "versions"), rows
    )


# ---- Suites --------------------------------------------------------------------------------------


def overhead(suite: Suite) -> list[str]:
    rows = [
        (
            f"`{row['what']}`" if "decode" not in row["what"] else row["what"],
            time_text(row["ours_s"]),
            row["against"],
            time_text(row["theirs_s"]),
            ratio(row),
        )
        for row in suite["rows"]
    ]
    calls = [
        row for row in suite["rows"] if row["against"] == "torch" and "deco" not in row["what"]
    ]
    mean = ratio_text(report.mean(row["theirs_s"] / row["ours_s"] for row in calls))
    table = markdown_table(("call", "infinicore", "against", "", "ratio"), rows)
    return [f"Mean of the {len(calls)} calls against torch: {mean}.", "", *table]


def ratio(row: Row) -> str:
    return ratio_text(row["theirs_s"] / row["ours_s"] if row["theirs_s"] else None)


def operators(suite: Suite) -> list[str]:
    rows = suite["rows"]
    lines = markdown_table(operator_report.SUMMARY, operator_report.summary(rows))
    slow = sorted(filter(operator_report.is_slower, rows), key=operator_report.times_torch)
    if slow:
        listed = [
            (
                operator_report.title(row),
                time_text(row["ours_s"]),
                time_text(row["theirs_s"]),
                ratio_text(operator_report.times_torch(row)),
                operator_report.note(row),
            )
            for row in slow[:WORST]
        ]
        head = ("row", "infinicore", "torch", "x torch", "reason, where known")
        count = f"the {WORST} slowest of {len(slow)}" if len(slow) > WORST else f"all {len(slow)}"
        lines += ["", f"Slower than torch, {count}:", "", *markdown_table(head, listed)]
    lines += folded(f"All {len(rows)} rows: x torch (of limit)", pivot(rows))
    if suite.get("limits"):
        rates = [f"* {words}" for words in operator_report.rates(suite["limits"])]
        lines += folded("Rates that the limits are computed from", rates)
    return lines


def pivot(rows: list[Row]) -> list[str]:
    """A line for each operator and shape, a column for each type."""
    types = ("F32", "BF16", "F16")
    named: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        part = operator_report.part_of_limit(row)
        cell = ratio_text(operator_report.times_torch(row)) or time_text(row["ours_s"])
        cell += f" ({percent_text(part)})" if part is not None else ""
        named.setdefault((row["group"], row["name"], row["shape"]), {})[row["dtype"]] = cell
    lines = [(*key, *(cells.get(dtype, "") for dtype in types)) for key, cells in named.items()]
    return markdown_table(("group", "operator", "shape", *types), lines)


def operators_device(suite: Suite) -> list[str]:
    limits = device_report.limits_of(suite)
    lines = [f"Limits: {device_report.rates(suite)}.", ""]
    lines += markdown_table(device_report.SUMMARY, device_report.summary(suite))
    slow = sorted(filter(device_report.is_slower, suite["rows"]), key=device_report.times_torch)
    if slow:
        listed = [device_report.cells(row, limits)[:-1] for row in slow[:WORST]]
        head = ("row", *device_report.HEAD[1:-1])
        lines += ["", "Slower than torch:", "", *markdown_table(head, listed)]
    listed = [device_report.cells(row, limits)[:-1] for row in suite["rows"]]
    table = markdown_table(("row", *device_report.HEAD[1:-1]), listed)
    return lines + folded(f"All {len(listed)} rows", table)


def runtime(suite: Suite) -> list[str]:
    """A line for each case; what it is compared with goes into one cell."""
    named: dict[tuple[str, str], list[Row]] = {}
    for row in suite["rows"]:
        named.setdefault((row["what"], row["case"]), []).append(row)
    lines = []
    for (what, case), rows in named.items():
        others = [f"{row['against']} {time_text(row['theirs_s'])} ({ratio(row)})" for row in rows]
        lines.append((what, case, time_text(rows[0]["ours_s"]), ", ".join(others)))
    return markdown_table(("", "", "infinicore", "against (ratio)"), lines)


def collectives(suite: Suite) -> list[str]:
    lines: list[str] = []
    rows = suite["rows"]
    others = [name for name in rows[0]["seconds"] if name != "infinicore"]
    for mode in dict.fromkeys(row["mode"] for row in rows):
        of_mode = [row for row in rows if row["mode"] == mode]
        sizes = sorted({row["bytes"] for row in of_mode})
        for column in ("infinicore", *others):
            title = (
                f"{mode}, time of infinicore" if column == "infinicore" else f"{mode}, x {column}"
            )
            cells: dict[str, dict[int, str]] = {}
            for row in of_mode:
                ours, theirs = row["seconds"]["infinicore"], row["seconds"][column]
                text = time_text(ours) if column == "infinicore" else ratio_text(theirs / ours)
                cells.setdefault(row["operation"], {})[row["bytes"]] = text
            head = (title, *map(report.size_text, sizes))
            body = [(name, *(known.get(n, "") for n in sizes)) for name, known in cells.items()]
            lines += [""] * bool(lines) + markdown_table(head, body)
    return [f"{rows[0]['ranks']} ranks.", "", *lines]


def random_cases(suite: Suite) -> list[str]:
    found = suite["summary"]
    share = percent_text(found["slower"] / max(found["cases"], 1))
    lines = [
        f"Seed {suite['seed']}: {found['cases']} cases, mean {ratio_text(found['mean'])}; slower "
        f"than torch: {found['slower']} ({share}), below {wild.MUCH_SLOWER}: "
        f"{found['much_slower']}.",
        "",
    ]
    rows = sorted(suite["rows"], key=wild.ratio)
    listed = [
        (f"`{row['call'][:120]}`", time_text(row["ours_s"]), time_text(row["theirs_s"]), ratio(row))
        for row in rows[:WORST]
    ]
    return lines + markdown_table(("the slowest", "infinicore", "torch", "x torch"), listed)


TABLES: dict[str, Callable[[Suite], list[str]]] = {
    "overhead": overhead,
    "operators": operators,
    "operators_device": operators_device,
    "runtime": runtime,
    "collectives": collectives,
    "wild": random_cases,
    "wild_device": random_cases,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    options = parser.parse_args()
    text = write(results.load())
    if not options.check:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        return 0
    print(
        f"{PAGE.name} is not what the result files give: python benchmarks/page.py", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
