"""Running test functions over devices, cases and data types."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from libinfiniop._memory import on_device
from libinfiniop._status import InfiniError
from libinfiniop._tensors import create_handle, destroy_handle
from libinfiniop._timing import get_sync_func
from libinfiniop._types import to_torch_dtype
from libinfiniop.devices import InfiniDeviceEnum, InfiniDeviceNames


def get_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a test script, from its command line."""
    parser = argparse.ArgumentParser(description="Tests of an operator")
    for device in InfiniDeviceEnum:
        words = f"run on {InfiniDeviceNames[device]}"
        parser.add_argument(f"--{device.name.lower()}", action="store_true", help=words)
    parser.add_argument("--profile", action="store_true", help="measure as well")
    parser.add_argument(
        "--num_prerun",
        type=_at_least(0),
        default=10,
        metavar="N",
        help="calls before measuring (%(default)s)",
    )
    parser.add_argument(
        "--num_iterations",
        type=_at_least(1),
        default=1000,
        metavar="N",
        help="calls to measure (%(default)s)",
    )
    parser.add_argument("--debug", action="store_true", help="print how results compare")
    return parser.parse_args(argv)


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value}: expected at least {least}")
        return value

    number.__name__ = "number"  # argparse says "invalid number value"
    return number


def get_test_devices(args: argparse.Namespace) -> list[InfiniDeviceEnum]:
    """The requested device types that are present; the CPU if none was requested. The reasons for
    missing ones are printed to stderr.
    """
    wanted = [device for device in InfiniDeviceEnum if getattr(args, device.name.lower(), False)]
    present = []
    for device in wanted or [InfiniDeviceEnum.CPU]:
        if reason := _why_absent(device):
            print(f"{InfiniDeviceNames[device]} is left out: {reason}", file=sys.stderr)
        else:
            present.append(device)
    return present


def _why_absent(device: InfiniDeviceEnum) -> str:
    try:
        with on_device(device):
            return ""
    except InfiniError as error:
        return str(error)


def filter_tensor_dtypes_by_device(device: int, tensor_dtypes: Iterable[Any]) -> list[Any]:
    """The data types that tests can use: those of the installed torch. Operators report types that
    a device does not support with a status.
    """
    kept = []
    for dtype in tensor_dtypes:
        try:
            to_torch_dtype(dtype)
        except ValueError as error:
            print(f"{InfiniDeviceNames.get(device, device)}: left out: {error}", file=sys.stderr)
        else:
            kept.append(dtype)
    return kept


def test_operator(
    device: int,
    test_func: Callable[..., Any],
    test_cases: Iterable[Sequence[Any]],
    tensor_dtypes: Iterable[Any],
) -> int:
    """Call a test function for every case and every data type, and return how often.

    It is called as `test_func(handle, device, *case, tensor_dtype, sync_func)`. An exception ends
    the run, after a line that describes the case.
    """
    dtypes = filter_tensor_dtypes_by_device(device, tensor_dtypes)
    done = 0
    with on_device(device, 0):
        handle = create_handle()
        try:
            for case in test_cases:
                for dtype in dtypes:
                    try:
                        test_func(handle, device, *case, dtype, get_sync_func(device))
                    except Exception:
                        where = InfiniDeviceNames.get(device, device)
                        name = getattr(test_func, "__name__", test_func)
                        words = f"{name}{tuple(case)!r} on {where}, {getattr(dtype, 'name', dtype)}"
                        print(f"failed: {words}", file=sys.stderr)
                        raise
                    done += 1
        finally:
            destroy_handle(handle)
    return done


test_operator.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's
