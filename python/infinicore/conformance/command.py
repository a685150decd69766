"""`infini conformance`."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from infinicore.cli.table import duration, table
from infinicore.cli.terminal import Terminal
from infinicore.conformance import claims as manifest
from infinicore.conformance import results, runner
from infinicore.conformance.cases import LEVELS, SPEED
from infinicore.conformance.report import compare, facts, write

DESCRIPTION = """\
Find out what of infinicore works on a device. Levels:

""" + "\n".join(f"  {level}  {name}" for level, name in enumerate(LEVELS))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help="device type, such as mychip"
    )
    parser.add_argument("--backend", metavar="LIBRARY", help="back-end library to load first")
    parser.add_argument(
        "--level", type=_level, default=5, metavar="N", help="run levels 0 to N (default: 5)"
    )
    parser.add_argument("--report", metavar="DIR", help="write report.json, .md and .html to DIR")
    parser.add_argument("--against", metavar="JSON", help="compare with another run's report")
    parser.add_argument("--claims", metavar="TOML", help="the manifest of what the device supports")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="only cases whose id matches (op/gelu/*) or contains it; may be repeated",
    )
    parser.add_argument(
        "--exhaustive", action="store_true", help="all combinations instead of pairwise"
    )
    parser.add_argument(
        "--hours", type=_positive, default=0.0, metavar="H", help="run level 7 for H hours"
    )
    parser.add_argument("--jobs", type=_count, default=0, metavar="N", help="parallel processes")
    parser.add_argument("--timeout", type=_positive, metavar="S", help="seconds per case")
    parser.add_argument("--no-speed", action="store_true", help="do not measure speed")
    parser.add_argument("--list", action="store_true", help="print the ids of the cases and exit")
    parser.add_argument(
        "--support", nargs="+", metavar="JSON", help="write the support page from reports and exit"
    )
    parser.add_argument(
        "--out", default="docs/support.md", metavar="FILE", help="the page for --support"
    )


def _level(text: str) -> int:
    if not text.isdecimal() or int(text) >= len(LEVELS):
        raise argparse.ArgumentTypeError(f"expected 0 to {len(LEVELS) - 1}, got {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {text!r}")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def run(options: argparse.Namespace) -> int:
    """Exit status: 0: nothing unexpected; 1: something failed; 2: the run could not start."""
    try:
        return _run(options)
    except (manifest.ClaimsError, runner.StartError, compare.ReportError) as error:
        print(f"infini conformance: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("infini conformance: interrupted, no report was written", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    if options.support:
        from infinicore.conformance.report import support

        return support.write(options.support, options.out)
    if options.backend and not Path(options.backend).is_file():
        raise runner.StartError(f"--backend {options.backend}: there is no such file")
    before = compare.read(options.against) if options.against else None
    claims = manifest.read(options.claims) if options.claims else manifest.Claims()
    jobs = options.jobs or min(8, len(os.sched_getaffinity(0)))
    env = runner.environment(options.device, options.backend, jobs, options.hours)
    every, missing = runner.list_cases(options.level, options.exhaustive, env)
    manifest.check(claims, options.device, every)
    chosen = [case for case in every if _is_chosen(case, options)]
    if options.list:
        print("\n".join(case["id"] for case in chosen))
        return 0
    if not chosen:
        raise runner.StartError(f"--only {' '.join(options.only)}: no case of {len(every)} matches")

    if options.report:  # now, not after hours of work
        try:
            Path(options.report).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise runner.StartError(f"--report {options.report}: {error}") from None
    started, begin = time.time(), time.monotonic()
    raw = _run_levels(chosen, options, claims, jobs)
    rows = results.judge(chosen, raw, claims)
    reached, lack = results.level_reached(rows, options.level)
    if missing:
        lack = f"{lack}; {missing}" if lack else missing
    report = {
        "format": 1,
        "device": options.device,
        "simulated": claims.simulated,
        "partial": bool(options.only),
        "level": {"asked": options.level, "reached": reached, "next": lack},
        "claims": {"level": claims.level},
        "unmatched": [] if options.only else _unmatched(claims, every, options),
        "facts": facts.collect(rows, started, time.monotonic() - begin, jobs),
        "totals": results.totals(rows),
        "cases": rows,
    }
    if missing and options.level >= 4:
        print(f"infini conformance: {missing}", file=sys.stderr)
    print(summary(report))
    if options.report:
        print(f"\nreport: {write(report, Path(options.report))}")
    if before:
        print("\n" + compare.text(before, report))
    return 0 if results.is_good(report) and not (missing and not options.only) else 1


def _unmatched(claims: Any, every: list[Any], options: argparse.Namespace) -> list[str]:
    """Known only if all levels that a manifest may mention were listed."""
    return manifest.unmatched(claims, every) if options.level >= 5 else []


def _is_chosen(case: dict[str, Any], options: argparse.Namespace) -> bool:
    if options.only:
        return any(
            fnmatchcase(case["id"], text if set(text) & set("*?[") else f"*{text}*")
            for text in options.only
        )
    if case["level"] == SPEED:  # operators are timed only if they are correct
        return not options.no_speed and options.level >= (4 if "operators" in case["id"] else 1)
    return True


# ---- Running ------------------------------------------------------------------------------------


def _run_levels(
    chosen: list[Any], options: argparse.Namespace, claims: Any, jobs: int
) -> list[Any]:
    """Runs level by level; without a device nothing beyond level 0 is run."""
    shared, whole = (
        runner.environment(options.device, options.backend, count, options.hours, options.timeout)
        for count in (jobs, 1)
    )
    raw: list[Any] = []
    limit = options.timeout
    groups = [*range(len(LEVELS)), SPEED]
    terminal = Terminal()
    for level in groups:
        own = [case for case in chosen if case["level"] == level]
        own = [case for case in own if not _never(claims, case["id"])]
        if not own:
            continue
        alone = level in (6, 7, SPEED)
        processes, env = (1, whole) if alone else (jobs, shared)
        progress = Progress(terminal, level, len(own))
        raw += runner.run(own, env, processes, limit, progress.told, progress.say)
        progress.end()
        if any(r["id"] == "load/kind" and r["status"] != "pass" for r in raw):
            break
    return raw


def _never(claims: Any, id: str) -> bool:
    rule = claims.rule(id)
    return bool(rule and rule.kind == "unsupported")


class Progress:
    """Progress: a status line on a terminal; elsewhere a line for each finished level."""

    def __init__(self, terminal: Terminal, level: int, count: int) -> None:
        self.terminal, self.count = terminal, count
        self.name = "speed" if level == SPEED else f"level {level}: {LEVELS[level]}"
        self.done: Counter[str] = Counter()
        self.begin, self.drawn = time.monotonic(), 0.0

    def told(self, result: dict[str, Any]) -> None:
        none = (result.get("data") or {}).get("none")
        self.done["no such case" if none else result["status"]] += 1
        now = time.monotonic()
        if self.terminal.is_interactive and now - self.drawn > 0.1:
            self.drawn = now
            bad = sum(self.done[status] for status in ("fail", "crash", "hang"))
            words = f"{self.name}  {self.done.total()}/{self.count}  {bad} bad  {result['id']}"
            print(f"\r\x1b[K{words[: self.terminal.width - 1]}", end="", flush=True)

    def say(self, words: str) -> None:
        """Shows the progress of a long case: in the status line of a terminal, else as a separate
        line."""
        if self.terminal.is_interactive:
            print(f"\r\x1b[K{words[: self.terminal.width - 1]}", end="", flush=True)
        else:
            print(words, flush=True)

    def end(self) -> None:
        if self.terminal.is_interactive:
            print("\r\x1b[K", end="")
        self.done.pop("no such case", None)
        words = ", ".join(f"{count} {status}" for status, count in sorted(self.done.items()))
        print(f"{self.name:<36} {words}  ({duration(time.monotonic() - self.begin)})", flush=True)


# ---- Output ----------------------------------------------------------------------------

SHOWN = 20


def summary(report: dict[str, Any]) -> str:
    parts = []
    bad = [row for row in report["cases"] if row["status"] in results.BAD]
    if bad:
        rows = _grouped(bad)
        parts.append(table(("result", "case", "why"), rows[:SHOWN]))
        if len(rows) > SHOWN:
            parts.append(f"and {len(rows) - SHOWN} more: see the report")
    for pattern in report["unmatched"]:
        parts.append(f"the manifest's pattern {pattern!r} matches no case")
    parts.append(verdict(report))
    return "\n\n" + "\n\n".join(parts)


def _grouped(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """A line for each case; cases of one operator with the same reason share a line."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        name = row["id"]
        if name.startswith("op/"):
            name = "/".join([*name.split("/")[:2], "*"])
        found.setdefault((row["status"], name, _first(row["words"])), []).append(row["id"])
    return [
        (status, f"{name} ({len(ids)})" if len(ids) > 1 else ids[0], words)
        for (status, name, words), ids in found.items()
    ]


def _first(words: str) -> str:
    return words.partition("\n")[0][:160]


def verdict(report: dict[str, Any]) -> str:
    counts = Counter(row["status"] for row in report["cases"])
    words = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    if report["partial"]:
        return f"{report['device']}: a part of the cases: {words}; a partial run has no level"
    level = report["level"]
    name = f"{level['reached']} ({LEVELS[level['reached']]})" if level["reached"] >= 0 else "none"
    text = f"{report['device']}: level reached: {name}; {words}"
    return f"{text}\nnext: {level['next']}" if level["next"] else text
