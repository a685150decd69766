"""The last lines of a run: how many tests were skipped, for which reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

KEY = "skipped_files"


class SkipSummary:
    def __init__(self) -> None:
        self.files: dict[str, str] = {}  # skipped as a whole, and why

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.files[report.nodeid] = _reason(report)

    # Workers of xdist do not report skipped files: they are sent when a worker ends.

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[KEY] = self.files
        # A skipped file has no tests, which pytest treats as a failure.
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.files:
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self.files |= getattr(node, "workeroutput", {}).get(KEY, {})

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reports = [r for r in terminalreporter.stats.get("skipped", []) if hasattr(r, "when")]
        tests = Counter(_reason(report) for report in reports if report.when != "collect")
        files = Counter(self.files.values())
        if not tests and not files:
            return
        terminalreporter.section("skipped, by reason")
        for reason in sorted({*tests, *files}, key=lambda r: (-tests[r], -files[r], r)):
            counts = [_counted(tests[reason], "test"), _counted(files[reason], "whole file")]
            terminalreporter.line(f"{' and '.join(filter(None, counts)):>28}: {reason}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}" if count else ""


def _reason(report: Any) -> str:
    """The first line."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    lines = text.removeprefix("Skipped: ").splitlines()
    return lines[0] if lines else "no reason given"
