"""Conversion of infinicore's results to references, and comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .tensor import Tensor, bfloat16, float16, float32, float64, widened

# Relative and absolute, as in torch.testing.
CLOSE = {
    float64: (1e-7, 1e-7),
    float32: (1.3e-6, 1e-5),
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
}


def of(tensor: Any) -> Tensor:
    """A copy of a tensor of infinicore."""
    import infinicore

    if not isinstance(tensor, infinicore.Tensor):
        raise AssertionError(f"expected a tensor, got {type(tensor).__name__}")
    if tensor.numel() == 0:
        dtype = infinicore.utils.infinicore_to_numpy_dtype(tensor.dtype)
        return Tensor(np.zeros(tuple(tensor.shape), dtype))
    return Tensor(tensor.numpy(force=True).copy())


def to_torch(tensor: Tensor) -> Any:
    import torch

    if tensor.dtype == bfloat16:
        return torch.from_numpy(tensor.array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(tensor.array.copy())


def from_torch(tensor: Any) -> Tensor:
    import torch

    if tensor.dtype == torch.bfloat16:
        return Tensor(tensor.contiguous().view(torch.int16).numpy().view(bfloat16))
    return Tensor(tensor.contiguous().numpy())


def assert_close(
    got: Tensor,
    expected: Tensor,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    msg: Callable[[str], str] | None = None,
) -> None:
    """Asserts that shapes and types are equal, and all elements close."""
    text = _difference(got, expected, rtol, atol, equal_nan)
    assert not text, text if msg is None else msg(text)


def _difference(
    got: Tensor, expected: Tensor, rtol: float | None, atol: float | None, equal_nan: bool
) -> str:
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if got.dtype != expected.dtype:
        return f"type {got.dtype}, expected {expected.dtype}"
    relative, absolute = CLOSE.get(got.dtype, (0.0, 0.0))
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    one, other = widened(got.array), widened(expected.array)
    if one.dtype == float64:
        right = np.isclose(one, other, relative, absolute, equal_nan)
    else:
        right = (
            one == other
            if not relative and not absolute
            else np.isclose(one, other, relative, absolute)
        )
    if right.all():
        return ""
    worst = tuple(int(i) for i in np.argwhere(~right)[0])
    return (
        f"{int((~right).sum())} of {right.size} elements differ; the first at {worst}:"
        f" {one[worst]!r}, expected {other[worst]!r}"
    )
