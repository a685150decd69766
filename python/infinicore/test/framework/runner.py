"""A test as a program."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from .base import BaseOperatorTest, TestConfig, TestRunner
from .config import get_args, get_test_devices


class GenericTestRunner:
    """Runs a BaseOperatorTest with the options of the command line."""

    def __init__(
        self, operator_test_class: type[BaseOperatorTest], args: argparse.Namespace | None = None
    ) -> None:
        self.operator_test = operator_test_class()  # type: ignore[call-arg]
        self.args = args or get_args()

    def run(self) -> tuple[bool, TestRunner]:
        """Returns whether no case failed, and the runner with the results."""
        config = TestConfig(
            debug=self.args.debug,
            bench=self.args.bench,
            num_prerun=self.args.num_prerun,
            num_iterations=self.args.num_iterations,
            verbose=self.args.verbose,
            equal_nan=self.args.eq_nan,
        )
        runner = TestRunner(self.operator_test.test_cases, config)
        test = self.operator_test
        runner.run_tests(get_test_devices(self.args), test.run_test, test.operator_name)
        return runner.print_summary(), runner

    def run_and_exit(self) -> NoReturn:
        success, _ = self.run()
        sys.exit(0 if success else 1)
