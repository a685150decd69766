"""The base class of operator tests, and the code that runs their cases."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import infinicore

from .devices import InfiniDeviceNames, torch_device_map
from .entities import TestCase, mapped
from .results import FAILED, PARTIAL, PASSED, SKIPPED, CaseResult
from .tensor import TensorSpec
from .utils.compare_utils import create_test_comparator
from .utils.tensor_utils import (
    clone_torch_tensor,
    infinicore_tensor_from_torch,
    synchronize_device,
)


class TestConfig:
    """How cases are run: `bench` is empty, "host", "device" or "both"."""

    __test__ = False

    def __init__(
        self,
        debug: bool = False,
        bench: Any = False,
        num_prerun: int = 10,
        num_iterations: int = 1000,
        verbose: bool = False,
        equal_nan: bool = False,
    ) -> None:
        self.debug, self.equal_nan, self.verbose = debug, equal_nan, verbose
        self.bench = "both" if bench is True else bench
        self.num_prerun, self.num_iterations = num_prerun, num_iterations


class BaseOperatorTest(ABC):
    """Base class of operator tests. Subclasses define the cases, and the operator in torch and in
    infinicore. An operator that raises NotImplementedError, or returns None where its result is
    compared, counts as missing: the case is skipped, or partial if only one of them is missing.
    """

    def __init__(self, operator_name: str) -> None:
        self.operator_name = operator_name
        self.test_cases: Sequence[TestCase] = self.get_test_cases()

    @abstractmethod
    def get_test_cases(self) -> Sequence[TestCase]: ...

    def torch_operator(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.operator_name}: torch_operator")

    def infinicore_operator(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self.operator_name}: infinicore_operator")

    def prepare_pytorch_inputs_and_kwargs(
        self, test_case: TestCase, device: int
    ) -> tuple[list[Any], dict[str, Any]]:
        """Torch tensors in place of the TensorSpecs."""

        def made(item: Any, _: str = "") -> Any:
            return item.create_torch_tensor(device) if isinstance(item, TensorSpec) else item

        inputs = [mapped(item, made, "") for item in test_case.inputs]
        kwargs = {
            name: mapped(value, made, "") if _has_spec(value) else value
            for name, value in test_case.kwargs.items()
        }
        out = test_case.output_spec if test_case.output_count == 1 else test_case.output_specs
        if out is not None:
            kwargs["out"] = mapped(out, made, "")
        elif type(kwargs.get("out")) is int:
            if not 0 <= kwargs["out"] < len(inputs):
                raise ValueError(
                    f"{self.operator_name}: out is {kwargs['out']}: expected the number of an input"
                )
            kwargs["out"] = inputs[kwargs["out"]]
        return inputs, kwargs

    def prepare_infinicore_inputs_and_kwargs(
        self, inputs: Sequence[Any], kwargs: dict[str, Any], comparison_target: Any = None
    ) -> tuple[list[Any], dict[str, Any], list[Any]]:
        """Tensors of infinicore over copies of the torch tensors, and those copies."""
        import torch

        copies: dict[int, tuple[Any, Any]] = {}  # an input that is `out` too is copied once

        def made(item: Any, _: str = "") -> Any:
            if not isinstance(item, torch.Tensor):
                return item
            if id(item) not in copies:
                copy = clone_torch_tensor(item)
                copies[id(item)] = (copy, infinicore_tensor_from_torch(copy))
            return copies[id(item)][1]

        def each(value: Any) -> Any:
            is_list = isinstance(value, (list, tuple))
            return type(value)(map(each, value)) if is_list else made(value)

        return (
            [each(item) for item in inputs],
            {name: each(value) for name, value in kwargs.items()},
            [copy for copy, _ in copies.values()],
        )

    def run_test(self, device: int, test_case: TestCase, config: TestConfig) -> CaseResult:
        result = CaseResult(False, FAILED, test_case=test_case, device=device)
        inputs, kwargs = self.prepare_pytorch_inputs_and_kwargs(test_case, device)
        target = test_case.comparison_target
        prepared = self.prepare_infinicore_inputs_and_kwargs(inputs, kwargs, target)
        given, keywords, kept = prepared

        def torch_call() -> Any:
            return self.torch_operator(*inputs, **kwargs)

        def infinicore_call() -> Any:
            return self.infinicore_operator(*given, **keywords)

        desired, reasons = _attempt(torch_call, target, inputs, kwargs)
        actual, others = _attempt(infinicore_call, target, given, keywords)
        infinicore.sync_device()
        if reasons or others:
            result.return_code = SKIPPED if reasons and others else PARTIAL
            result.error_message = "; ".join(filter(None, (reasons, others)))
            return result
        atol, rtol = test_case.tolerance["atol"], test_case.tolerance["rtol"]
        compare = create_test_comparator(config, atol, rtol, str(test_case), config.equal_nan)
        if not compare(actual, desired):
            result.error_message = f"results differ by more than {atol} + {rtol} * |expected|"
            return result
        result.success, result.return_code = True, PASSED
        if config.bench:
            where = torch_device_map[device]
            times = [_measured(call, where, config) for call in (torch_call, infinicore_call)]
            (result.torch_host_time, result.torch_device_time) = times[0]
            (result.infini_host_time, result.infini_device_time) = times[1]
        del kept
        return result


def _has_spec(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_spec, value))
    return isinstance(value, TensorSpec)


def _attempt(
    call: Callable[[], Any], target: Any, inputs: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, str]:
    """The values to compare after a call, or why there is nothing to compare."""
    try:
        returned = call()
    except NotImplementedError as error:
        return None, str(error) or "not implemented"
    if target is None:
        return returned, "nothing was returned" if returned is None else ""
    if isinstance(target, (list, tuple)):
        return tuple(inputs[each] for each in target), ""
    return kwargs["out"] if target == "out" else inputs[target], ""


def _measured(call: Callable[[], Any], device: str, config: TestConfig) -> tuple[float, float]:
    """Seconds of a call: until it returns, and until the device has finished."""
    count = max(1, config.num_iterations)
    for _ in range(config.num_prerun):
        call()
    synchronize_device(device)
    infinicore.sync_device()
    start = time.perf_counter()
    for _ in range(count):
        call()
    called = time.perf_counter() - start
    synchronize_device(device)
    infinicore.sync_device()
    done = time.perf_counter() - start
    host = called / count if config.bench in ("host", "both") else 0.0
    return host, done / count if config.bench in ("device", "both") else 0.0


class TestRunner:
    """Runs cases on devices and keeps their results."""

    __test__ = False

    def __init__(self, test_cases: Iterable[TestCase], test_config: TestConfig) -> None:
        self.test_cases, self.config = list(test_cases), test_config
        self.test_results: list[CaseResult] = []
        self.passed_tests: list[str] = []
        self.failed_tests: list[str] = []
        self.skipped_tests: list[str] = []
        self.partial_tests: list[str] = []

    def run_tests(
        self, devices: Iterable[int], test_func: Callable[..., CaseResult], test_type: str = "Test"
    ) -> bool:
        """Whether no case failed."""
        lists = {
            PASSED: ("passed", self.passed_tests),
            FAILED: ("FAILED", self.failed_tests),
            SKIPPED: ("skipped", self.skipped_tests),
            PARTIAL: ("partial", self.partial_tests),
        }
        for device in devices:
            print(f"{test_type} on {InfiniDeviceNames[device]}")
            for case in self.test_cases:
                try:
                    result = test_func(device, case, self.config)
                except Exception as error:
                    if self.config.verbose:
                        raise
                    reason = traceback.format_exception_only(error)[-1].strip()
                    result = CaseResult(False, FAILED, 0, 0, 0, 0, reason, case, device)
                self.test_results.append(result)
                word, names = lists[result.return_code]
                names.append(f"{case} on {InfiniDeviceNames[device]}: {result.error_message}")
                print(f"  {word:8} {case}{_times(result)}", end="")
                print(f": {result.error_message}" if result.error_message else "")
        return not self.failed_tests

    def print_summary(self) -> bool:
        """Whether no case failed."""
        kinds = ("passed", "failed", "skipped", "partial")
        counts = [f"{len(getattr(self, f'{kind}_tests'))} {kind}" for kind in kinds]
        print(f"{len(self.test_results)} cases: {', '.join(counts)}")
        for each in self.failed_tests:
            print(f"  FAILED   {each}")
        return not self.failed_tests

    def get_test_results(self) -> list[CaseResult]:
        return self.test_results


def _times(result: CaseResult) -> str:
    pairs = {
        "host": (result.torch_host_time, result.infini_host_time),
        "device": (result.torch_device_time, result.infini_device_time),
    }
    shown = [
        f"{name}: torch {1e6 * torch:.1f} us, infinicore {1e6 * ours:.1f} us"
        for name, (torch, ours) in pairs.items()
        if torch or ours
    ]
    return f" ({'; '.join(shown)})" if shown else ""
