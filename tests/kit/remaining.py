"""`--remaining`: only tests that the last run without it did not pass.

After more packages were installed this runs what was skipped for want of them, and nothing twice.
"""

from __future__ import annotations

import pytest

KEY = "infini/passed"


class Remaining:
    def __init__(self) -> None:
        self.passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        cache = getattr(config, "cache", None)  # absent without pytest's cache provider
        is_worker = hasattr(config, "workerinput")  # of xdist: only the controller sees all reports
        if cache is not None and not is_worker and not config.getoption("--remaining"):
            cache.set(KEY, sorted(self.passed))

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if not config.getoption("--remaining"):
            return
        cache = getattr(config, "cache", None)
        if cache is None:
            raise pytest.UsageError("--remaining: expected pytest's cache provider")
        passed = set(cache.get(KEY, []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
