"""Complex tensors as pairs of floating-point tensors: views of the parts, and results combined from
them."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import ALL, dtype

Tensor = _core.Tensor

# The element type of the parts of a complex type, and the reverse.
PARTS = {"C16": ALL["F8"], "C32": ALL["F16"], "C64": ALL["F32"], "C128": ALL["F64"]}
WHOLES = {part._code: ALL[code] for code, part in PARTS.items()}


def real_view(tensor: Tensor) -> Tensor:
    """A view of the real parts of complex elements."""
    if not tensor.numel():
        return _core.empty(tensor.shape, PARTS[tensor.dtype._code], tensor.device)
    strides = [2 * step for step in tensor.stride()]
    return _core.view_as(tensor, tensor.shape, strides, 0, PARTS[tensor.dtype._code])


def imag_view(tensor: Tensor) -> Tensor:
    """A view of the imaginary parts of complex elements."""
    part = PARTS[tensor.dtype._code]
    if not tensor.numel():
        return _core.empty(tensor.shape, part, tensor.device)
    strides = [2 * step for step in tensor.stride()]
    return _core.view_as(tensor, tensor.shape, strides, part.itemsize, part)


def parts(tensor: Tensor) -> tuple[Tensor, Tensor]:
    return real_view(tensor), imag_view(tensor)


def part_type(kind: dtype) -> dtype:
    """The element type of the parts of complex numbers, in which operators compute."""
    return PARTS[kind._code]


def real_type(kind: dtype) -> dtype:
    """The element type of absolute values."""
    return PARTS.get(kind._code, kind)


def is_complex(value: Any) -> bool:
    """Whether an operand, or one of several, is complex."""
    if isinstance(value, Tensor):
        return value.dtype.is_complex
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    return isinstance(value, complex)
