"""Comparison of results with expected values, with helpful messages."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from libinfiniop._types import known

if TYPE_CHECKING:
    import torch

MOST_ROWS = 20  # rows of elements that differ; the others are only counted
_RED, _GREEN, _YELLOW, _CYAN = 31, 32, 33, 36


def debug(
    actual: torch.Tensor,
    desired: torch.Tensor,
    atol: float = 0,
    rtol: float = 1e-2,
    equal_nan: bool = False,
    verbose: bool = True,
) -> None:
    """Print how two tensors compare, and raise AssertionError when they differ.

    Elements differ when |actual - desired| > atol + rtol * |desired|.
    """
    _agree(actual, desired, atol, rtol, equal_nan, verbose, "debug")


def debug_all(
    actual_vals: Sequence[torch.Tensor],
    desired_vals: Sequence[torch.Tensor],
    condition: str,
    atol: float = 0,
    rtol: float = 1e-2,
    equal_nan: bool = False,
    verbose: bool = True,
) -> None:
    """Compare pairs of tensors as `debug` does.

    With condition "and" all pairs must agree, with "or" at least one. Else AssertionError is
    raised.
    """
    if condition not in ("and", "or"):
        raise ValueError(f"debug_all: condition is {condition!r}: expected 'and' or 'or'")
    if len(actual_vals) != len(desired_vals):
        raise ValueError(
            f"debug_all: {len(actual_vals)} actual_vals for {len(desired_vals)} desired_vals"
        )
    failed = []
    for number, (actual, desired) in enumerate(zip(actual_vals, desired_vals, strict=True), 1):
        print(_coloured(f" Pair {number} of {len(actual_vals)}:", _CYAN))
        if len(print_discrepancy(actual, desired, atol, rtol, equal_nan, verbose)):
            failed.append(number)
    if condition == "and" and failed:
        raise AssertionError(f"debug_all: pairs that differ: {', '.join(map(str, failed))}")
    if condition == "or" and len(failed) == len(actual_vals):
        raise AssertionError("debug_all: all pairs differ")


def _agree(
    actual: torch.Tensor,
    desired: torch.Tensor,
    atol: float,
    rtol: float,
    equal_nan: bool,
    verbose: bool,
    function: str,
) -> None:
    differing = len(print_discrepancy(actual, desired, atol, rtol, equal_nan, verbose))
    if differing:
        raise AssertionError(
            f"{function}: {differing} of {desired.numel()} elements differ by more than "
            f"{atol} + {rtol} * |desired|"
        )


def print_discrepancy(
    actual: torch.Tensor,
    expected: torch.Tensor,
    atol: float = 0,
    rtol: float = 1e-3,
    equal_nan: bool = True,
    verbose: bool = True,
) -> torch.Tensor:
    """The indices of elements that differ, a row for each; `verbose` prints a report."""
    import torch

    if actual.shape != expected.shape:
        raise ValueError(
            f"print_discrepancy: actual has shape {tuple(actual.shape)}, expected has "
            f"{tuple(expected.shape)}"
        )
    a, e = _comparable(actual), _comparable(expected)
    delta = (a - e).abs()
    allowed = atol + rtol * e.abs()
    differs = delta > allowed
    # No tolerance applies to infinite values, nor to integers whose difference was lost in
    # rounding.
    differs |= (a.isinf() | e.isinf()) & (a != e)
    if not any(t.is_floating_point() or t.is_complex() for t in (actual, expected)):
        same_type = torch.int64 if torch.uint64 not in (actual.dtype, expected.dtype) else None
        if same_type is not None:
            unequal = actual.detach().cpu().to(same_type) != expected.detach().cpu().to(same_type)
            differs |= unequal & (allowed < 1)
    nans = a.isnan() ^ e.isnan() if equal_nan else a.isnan() | e.isnan()
    differs = (differs & ~(a.isnan() | e.isnan())) | nans
    indices = differs.nonzero()
    if verbose:
        _report(actual, expected, a, e, indices, atol, rtol)
    return indices


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host, in a type that represents differences of any values."""
    import torch

    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.complex32:
        tensor = tensor.to(torch.complex64)
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _report(
    actual: torch.Tensor,
    expected: torch.Tensor,
    a: torch.Tensor,
    e: torch.Tensor,
    indices: torch.Tensor,
    atol: float,
    rtol: float,
) -> None:
    count, total = len(indices), expected.numel()
    if count:
        share = f"{count} of {total} elements differ ({100 * count / total:.3g} %)"
        print(_coloured(f" {share}", _RED) + f" by more than {atol} + {rtol} * |expected|")
        print(f"   {'index':<18}{'actual':<24}{'expected':<24}difference")
        for row in indices[:MOST_ROWS].tolist():
            place = tuple(row)
            left, right, delta = (_number(x) for x in (a[place], e[place], a[place] - e[place]))
            print(
                f"   {place!s:<18}"
                + _coloured(f"{left:<24}", _RED)
                + _coloured(f"{right:<24}", _GREEN)
                + _coloured(delta, _YELLOW)
            )
        if count > MOST_ROWS:
            print(f"   ... and {count - MOST_ROWS} more")
    else:
        print(_coloured(f" all {total} elements agree", _GREEN) + f" (atol {atol}, rtol {rtol})")
    print(f"   {'':<18}{'actual':<24}{'expected':<24}difference")
    types = [str(t.dtype).removeprefix("torch.") for t in (actual, expected)]
    print(f"   {'type':<18}{types[0]:<24}{types[1]}")
    if total:
        # Absolute values of complex numbers.
        parts = [t.abs() if t.is_complex() else t for t in (a, e)] + [(a - e).abs()]
        for word in ("min", "max"):
            cells = [_number(getattr(part, word)()) for part in parts]
            print(f"   {word:<18}{cells[0]:<24}{cells[1]:<24}{cells[2]}")


def _number(value: torch.Tensor) -> str:
    return f"{value.item():.10g}"


def _coloured(words: str, colour: int) -> str:
    """Colours are only used on a terminal."""
    return f"\033[{colour}m{words}\033[0m" if sys.stdout.isatty() else words


def get_tolerance(
    tolerance_map: Mapping[Any, Mapping[str, float]],
    tensor_dtype: Any,
    default_atol: float = 0,
    default_rtol: float = 1e-3,
) -> tuple[float, float]:
    """(atol, rtol) of a data type. The table's keys, like the type, are InfiniDtype or torch.dtype.

    >>> get_tolerance({InfiniDtype.F16: {"atol": 1e-3, "rtol": 1e-2}}, InfiniDtype.F16)
    (0.001, 0.01)
    """
    wanted = known(tensor_dtype, "get_tolerance")
    for key, row in tolerance_map.items():
        if known(key, "get_tolerance: tolerance_map") == wanted:
            return row.get("atol", default_atol), row.get("rtol", default_rtol)
    return default_atol, default_rtol
