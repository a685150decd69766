"""The command line of a test."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from libinfiniop._runs import get_test_devices

from .devices import InfiniDeviceEnum, InfiniDeviceNames

__all__ = ["add_common_test_args", "get_args", "get_hardware_args_group", "get_test_devices"]


def get_hardware_args_group(parser: argparse.ArgumentParser) -> Any:
    """Adds --cpu, --nvidia and so on; without any of them tests run on the CPU."""
    group = parser.add_argument_group("devices")
    for device in InfiniDeviceEnum:
        words = f"run on {InfiniDeviceNames[device]}"
        group.add_argument(f"--{device.name.lower()}", action="store_true", help=words)
    return group


def add_common_test_args(parser: argparse.ArgumentParser) -> Any:
    group = parser.add_argument_group("tests")
    modes = ["host", "device", "both"]
    words = "measure calls (host), calls with the work that they give the device, or both"
    group.add_argument("--bench", nargs="?", const="both", choices=modes, help=words)
    group.add_argument("--debug", action="store_true", help="print how results compare")
    group.add_argument("--eq_nan", action="store_true", help="NaN equals NaN")
    group.add_argument("--verbose", action="store_true", help="stop at the first error, with trace")
    group.add_argument("--num_prerun", type=int, default=10, help="calls before measuring")
    group.add_argument("--num_iterations", type=int, default=1000, help="calls to measure")
    return group


def get_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="An operator of infinicore against torch's")
    get_hardware_args_group(parser)
    add_common_test_args(parser)
    return parser.parse_args(argv)
