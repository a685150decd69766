"""Comparing results of the package with torch's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import infinicore
from libinfiniop._compare import debug, print_discrepancy

from .tensor_utils import convert_infinicore_to_torch, is_integer_dtype

__all__ = [
    "compare_results",
    "create_test_comparator",
    "debug",
    "get_tolerance",
    "print_discrepancy",
]


def compare_results(
    infini_result: Any,
    torch_result: Any,
    atol: float = 1e-5,
    rtol: float = 1e-5,
    equal_nan: bool = False,
    debug_mode: bool = False,
) -> bool:
    """Whether tensors, numbers, or tuples of them agree.

    Integers must be equal, of whichever integer type; other types must be the same.
    """
    import torch

    if isinstance(torch_result, (list, tuple)):
        if not isinstance(infini_result, (list, tuple)) or len(infini_result) != len(torch_result):
            return False
        pairs = zip(infini_result, torch_result, strict=True)
        return all(
            compare_results(ours, theirs, atol, rtol, equal_nan, debug_mode)
            for ours, theirs in pairs
        )
    actual, desired = infini_result, torch_result
    if isinstance(actual, infinicore.Tensor):
        actual = convert_infinicore_to_torch(actual)
    actual, desired = torch.as_tensor(actual).cpu(), torch.as_tensor(desired).cpu()
    if actual.shape != desired.shape:
        return False
    are_integers = is_integer_dtype(actual.dtype) and is_integer_dtype(desired.dtype)
    is_tensor = isinstance(infini_result, infinicore.Tensor)
    if is_tensor and actual.dtype != desired.dtype and not are_integers:
        return False
    if debug_mode:
        print_discrepancy(actual, desired, atol, rtol, equal_nan)
    if are_integers:
        return bool(torch.equal(actual.to(torch.int64), desired.to(torch.int64)))
    wide = torch.complex128 if desired.is_complex() else torch.float64
    return bool(torch.allclose(actual.to(wide), desired.to(wide), rtol, atol, equal_nan))


def create_test_comparator(
    config: Any, atol: float, rtol: float, mode_name: str = "", equal_nan: bool = False
) -> Callable[[Any, Any], bool]:
    """A function (infinicore's result, torch's result) -> whether they agree."""

    def compare(infini_result: Any, torch_result: Any) -> bool:
        if config.debug and mode_name:
            print(mode_name)
        return compare_results(infini_result, torch_result, atol, rtol, equal_nan, config.debug)

    return compare


def get_tolerance(
    tolerance_map: Mapping[Any, Mapping[str, float]],
    tensor_dtype: Any,
    default_atol: float = 0,
    default_rtol: float = 1e-3,
) -> tuple[float, float]:
    """(atol, rtol) of a dtype."""
    found = tolerance_map.get(tensor_dtype, {"atol": default_atol, "rtol": default_rtol})
    return found["atol"], found["rtol"]
