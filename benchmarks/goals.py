"""The goals of each suite, and how many of its rows meet them. 0.995 counts as 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import device_report
import operator_report
import report

MEAN = {"aarch64": 4.0, "x86_64": 1.5}  # times torch, of the operators on the CPU
CALL = 2.5  # times torch, of `add` and of calls that launch on a device
PYTHON_NS, PLAN_NS = 300, 300


def counted(words: str, met: Iterable[bool]) -> list[str]:
    """`words`, with the number of rows that meet the goal; empty without such rows."""
    marks = list(met)
    return [f"{words}: {sum(marks)} of {len(marks)}"] if marks else []


def _at_least(row: dict[str, Any], goal: float) -> bool:
    return bool(row["theirs_s"] / row["ours_s"] >= 0.995 * goal)


def overhead(suite: dict[str, Any]) -> list[str]:
    adds = [row for row in suite["rows"] if row["what"].startswith("add(") and row["theirs_s"]]
    return counted(f"`add` {CALL}x torch", (_at_least(row, CALL) for row in adds))


def operators(suite: dict[str, Any]) -> list[str]:
    rows = suite["rows"]
    mean = report.mean(map(operator_report.times_torch, rows)) or 0.0
    goal = MEAN.get(suite["architecture"], 1.0)
    parts = map(operator_report.part_of_limit, filter(operator_report.is_bandwidth_bound, rows))
    costs = suite.get("limits", {}).get("tiny", {}).values()
    return [
        f"mean of {goal}x torch: {'met' if mean >= goal else 'missed'}",
        *counted("not slower than torch", (not operator_report.is_slower(row) for row in rows)),
        *counted("85 % of the limit where bandwidth counts", (p >= 0.85 for p in parts if p)),
        *counted(f"plan called from C below {PLAN_NS} ns", (cost < PLAN_NS for cost in costs)),
    ]


def operators_device(suite: dict[str, Any]) -> list[str]:
    limits = device_report.limits_of(suite)
    device = [row for row in suite["rows"] if row["group"] != "host"]
    calls = [row for row in suite["rows"] if row["title"].startswith("host time")]
    large = [row for row in device if row["unit"] == "TB/s" and device_report.is_large(row)]
    parts = (device_report.part_of_limit(row, limits) for row in large)
    return [
        *counted("not slower than torch", (not device_report.is_slower(row) for row in device)),
        *counted("90 % of the limit above 128 MiB", (p >= 0.9 * 0.995 for p in parts if p)),
        *counted(f"host time {CALL}x torch", (_at_least(row, CALL) for row in calls)),
    ]


def runtime(suite: dict[str, Any]) -> list[str]:
    copies = [row for row in suite["rows"] if row["against"] == "memcpy"]
    calls = [row for row in suite["rows"] if row["what"] == "Python call"]
    return [
        *counted("`Memcpy` as fast as memcpy", (_at_least(row, 1.0) for row in copies)),
        *counted(
            f"call from Python in {PYTHON_NS} ns", (r["ours_s"] * 1e9 <= PYTHON_NS for r in calls)
        ),
    ]


def collectives(suite: dict[str, Any]) -> list[str]:
    rows = [row["seconds"] for row in suite["rows"]]
    gloo = (each["gloo"] / each["infinicore"] >= 2.0 for each in rows if "gloo" in each)
    return counted("2x gloo on one host", gloo)


def wild(suite: dict[str, Any]) -> list[str]:
    found = suite["summary"]
    slower = found["slower"] < 0.03 * found["cases"]
    return [
        f"worst above 0.8: {'met' if found['worst'] > 0.8 else 'missed'}",
        f"fewer than 3 % slower than torch: {'met' if slower else 'missed'}",
    ]


SUITES = {
    "overhead": overhead,
    "operators": operators,
    "operators_device": operators_device,
    "runtime": runtime,
    "collectives": collectives,
    "wild": wild,
    "wild_device": wild,
}


def line(name: str, suite: dict[str, Any]) -> str:
    return "; ".join(SUITES[name](suite))
