"""Operators of the package against those of torch: cases as data, two functions, and a runner.

class Add(BaseOperatorTest):
    def get_test_cases(self):
        spec = TensorSpec.from_tensor((2, 3), None, infinicore.float32)
        return [TestCase([spec, spec], tolerance={"atol": 0, "rtol": 1e-6})]

    def torch_operator(self, *args, **kwargs):
        return torch.add(*args, **kwargs)

    def infinicore_operator(self, *args, **kwargs):
        return infinicore.add(*args, **kwargs)

GenericTestRunner(Add).run_and_exit()
"""

from __future__ import annotations

from .base import BaseOperatorTest, TestConfig, TestRunner
from .config import add_common_test_args, get_args, get_hardware_args_group, get_test_devices
from .datatypes import to_infinicore_dtype, to_torch_dtype
from .devices import InfiniDeviceEnum, InfiniDeviceNames, torch_device_map
from .entities import TestCase
from .results import CaseResult
from .runner import GenericTestRunner
from .tensor import TensorInitializer, TensorSpec
from .utils.compare_utils import compare_results, create_test_comparator, debug, get_tolerance
from .utils.tensor_utils import (
    convert_infinicore_to_torch,
    infinicore_tensor_from_torch,
    is_broadcast,
    is_complex_dtype,
    is_floating_dtype,
    is_integer_dtype,
    rearrange_tensor,
)

__all__ = [
    "BaseOperatorTest",
    "CaseResult",
    "GenericTestRunner",
    "InfiniDeviceEnum",
    "InfiniDeviceNames",
    "TensorInitializer",
    "TensorSpec",
    "TestCase",
    "TestConfig",
    "TestRunner",
    "add_common_test_args",
    "compare_results",
    "convert_infinicore_to_torch",
    "create_test_comparator",
    "debug",
    "get_args",
    "get_hardware_args_group",
    "get_test_devices",
    "get_tolerance",
    "infinicore_tensor_from_torch",
    "is_broadcast",
    "is_complex_dtype",
    "is_floating_dtype",
    "is_integer_dtype",
    "rearrange_tensor",
    "to_infinicore_dtype",
    "to_torch_dtype",
    "torch_device_map",
]
