"""Tools to write tests of operators with. torch is imported when the first of them needs it."""

from __future__ import annotations

from libinfiniop._compare import debug, debug_all, get_tolerance, print_discrepancy
from libinfiniop._layout import rearrange_tensor
from libinfiniop._runs import (
    filter_tensor_dtypes_by_device,
    get_args,
    get_test_devices,
    test_operator,
)
from libinfiniop._status import InfiniError, check_error
from libinfiniop._tensors import CTensor, TestTensor, TestWorkspace, create_handle, destroy_handle
from libinfiniop._timing import get_sync_func, profile_operation, synchronize_device, timed_op
from libinfiniop._types import to_numpy_dtype, to_torch_dtype

__all__ = [
    "CTensor",
    "InfiniError",
    "TestTensor",
    "TestWorkspace",
    "check_error",
    "create_handle",
    "debug",
    "debug_all",
    "destroy_handle",
    "filter_tensor_dtypes_by_device",
    "get_args",
    "get_sync_func",
    "get_test_devices",
    "get_tolerance",
    "print_discrepancy",
    "profile_operation",
    "rearrange_tensor",
    "synchronize_device",
    "test_operator",
    "timed_op",
    "to_numpy_dtype",
    "to_torch_dtype",
]
