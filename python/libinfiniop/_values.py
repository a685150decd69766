"""The initial values of test tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from libinfiniop._types import to_torch_dtype
from libinfiniop.datatypes import InfiniDtype, InfiniDtypeSizes

if TYPE_CHECKING:
    import torch

DEFAULT_BOUND = 2_000_000_000
_ONE_BYTE = (InfiniDtype.BYTE, InfiniDtype.U8, InfiniDtype.I8)


def initial(
    mode: str,
    shape: Sequence[int],
    dt: InfiniDtype,
    device: str,
    low: int | None,
    high: int | None,
) -> torch.Tensor:
    """Values of a mode that needs no tensor, as the data type."""
    import torch

    dtype = to_torch_dtype(dt)
    shape = tuple(shape)
    is_float = dtype.is_floating_point or dtype.is_complex
    if mode == "float8_e4m3fn":
        return _float8(shape, dt, device)
    if mode == "random" and is_float:
        return torch.rand(shape, dtype=_working(dtype), device=device).to(dtype)
    if mode in ("random", "randint"):
        low, high = _bounds(dt, dtype, low, high)
        drawn = torch.randint(low, high, shape, dtype=torch.int64, device=device)
        return drawn.to(_working(dtype)).to(dtype) if is_float else drawn.to(dtype)
    if mode in ("zeros", "ones"):
        number = 1 if mode == "ones" else 0
        return torch.full(shape, number, dtype=_working(dtype), device=device).to(dtype)
    raise ValueError(
        f"TestTensor: mode is {mode!r}: expected random, zeros, ones, randint, float8_e4m3fn, "
        "manual or binary"
    )


def scaled(values: torch.Tensor, scale: Any, bias: Any) -> torch.Tensor:
    """values * scale + bias, in the same type; the input is not modified."""
    if scale is None and bias is None:
        return values
    import torch

    wide = _working(values.dtype)
    # An integer times a fraction is rounded towards zero at the end only.
    is_integer = not (values.is_floating_point() or values.is_complex())
    if is_integer and any(isinstance(number, float) for number in (scale, bias)):
        wide = torch.float64
    result = values.to(wide)
    if scale is not None:
        result = result * scale
    if bias is not None:
        result = result + bias
    return result.to(values.dtype)


def _working(dtype: torch.dtype) -> torch.dtype:
    """A type that torch computes in, for types that it can only store."""
    import torch

    if dtype.is_complex:
        return torch.complex128 if dtype == torch.complex128 else torch.complex64
    if dtype.is_floating_point:
        return torch.float64 if dtype == torch.float64 else torch.float32
    return torch.int64


def _float8(shape: tuple[int, ...], dt: InfiniDtype, device: str) -> torch.Tensor:
    import torch

    values = torch.rand(shape, dtype=torch.float32, device=device).to(torch.float8_e4m3fn)
    if dt == InfiniDtype.F8:
        return values
    if dt in _ONE_BYTE:  # the bits
        return values.view(to_torch_dtype(dt))
    raise ValueError(
        f"TestTensor: mode float8_e4m3fn makes one byte for each element, and dt is {dt.name}: "
        "expected F8, U8, I8 or BYTE"
    )


def _bounds(
    dt: InfiniDtype, dtype: torch.dtype, low: int | None, high: int | None
) -> tuple[int, int]:
    """From `low` up to but not including `high`; by default the range that the type represents
    exactly."""
    import torch

    bits = 8 * InfiniDtypeSizes[dt]
    if dtype.is_floating_point or dtype.is_complex:
        part = to_torch_dtype(InfiniDtype[f"F{bits // 2}"]) if dtype.is_complex else dtype
        least, most = -int(2 / torch.finfo(part).eps), int(2 / torch.finfo(part).eps)
    elif dt == InfiniDtype.BOOL:
        least, most = 0, 1
    elif dt.name[0] == "I":
        least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    else:
        least, most = 0, (1 << bits) - 1
    chosen_low = max(least, -DEFAULT_BOUND) if low is None else int(low)
    chosen_high = min(most + 1, DEFAULT_BOUND) if high is None else int(high)
    if chosen_low < least or chosen_high > most + 1:
        raise ValueError(
            f"TestTensor: {dt.name} holds the integers {least} to {most}; "
            f"randint_low is {low}, randint_high is {high}"
        )
    if chosen_low >= chosen_high:
        raise ValueError(
            f"TestTensor: no integer from randint_low {chosen_low} up to but not including "
            f"randint_high {chosen_high}"
        )
    return chosen_low, chosen_high
