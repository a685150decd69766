"""Operands in the types and layouts that operators support, and results in `out`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import (
    bfloat16,
    category,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int64,
)
from infinicore._emit import cast_to, emit, fits_layout
from infinicore._tensor import Tensor

# ---- Types --------------------------------------------------------------------------------------


def wide(tensor: Tensor) -> Tensor:
    """Half types as float32, where intermediate results would lose too much precision."""
    return cast_to(tensor, float32) if tensor.dtype in (float16, bfloat16) else tensor


def floats(tensor: Tensor) -> Tensor:
    """Integers as the default floating-point type."""
    return tensor if category(tensor.dtype) > 1 else cast_to(tensor, get_default_dtype())


def wide_floats(tensor: Tensor) -> Tensor:
    """Half types as float32, integers as the default floating-point type."""
    return floats(wide(tensor))


def exact_floats(tensor: Tensor) -> Tensor:
    """Integers as float64, which holds them exactly up to 2**53."""
    return tensor if category(tensor.dtype) > 1 else cast_to(tensor, float64)


def float32_at_least(tensor: Tensor) -> Tensor:
    """Narrower floats and integers as float32."""
    return tensor if tensor.dtype._code in ("F32", "F64") else cast_to(tensor, float32)


# ---- Layouts ------------------------------------------------------------------------------------


def has_rows(tensor: Any) -> bool:
    """Whether the last dimension has unit stride."""
    return isinstance(tensor, Tensor) and fits_layout(tensor, "1")


def with_rows(tensor: Tensor) -> Tensor:
    """The tensor itself if its last dimension has unit stride, else a copy."""
    return tensor if has_rows(tensor) else tensor.contiguous()


# ---- New tensors --------------------------------------------------------------------------------


def counting(count: int, like: Tensor, step: int = 1, kind: dtype = int64) -> Tensor:
    """The integers 0, step, 2 * step, ..."""
    made = _core.empty((count,), kind, like.device)
    return emit("arange", out=made, start=0.0, step=float(step))


def filled(shape: Sequence[int], value: float, kind: dtype, like: Tensor) -> Tensor:
    """A tensor filled with one value."""
    return emit("fill", out=_core.empty(tuple(shape), kind, like.device), value=float(value))


# ---- Results ------------------------------------------------------------------------------------


def reduced(name: str, loss: Tensor, reduction: str, kind: dtype) -> Tensor:
    """The losses, their mean or their sum, in the type of the result."""
    if reduction == "none":
        return cast_to(loss, kind)
    if reduction in ("mean", "sum"):
        return cast_to(emit(reduction, loss), kind)
    raise ValueError(f"{name}: reduction is {reduction!r}: expected 'none', 'mean' or 'sum'")


def store(target: Tensor, value: Tensor) -> None:
    """Copies a value into a tensor, converted to its type."""
    if target is not value:
        target.copy_(cast_to(value, target.dtype))


# ---- Caches -------------------------------------------------------------------------------------


def rows_of(name: str, argument: str, cache: Tensor) -> Tensor:
    """A view of a cache [blocks, block_size, ...] with its first two dimensions merged."""
    try:
        return cache.view(-1, *cache.shape[2:])
    except RuntimeError:
        raise ValueError(
            f"{name}: {argument} has strides {cache.stride()}: expected blocks side by side"
        ) from None


def store_rows(name: str, cache: Tensor, slots: Tensor, values: Tensor) -> None:
    """Row slots[t] of a cache [blocks, block_size, D] becomes values[t]; invalid slots, such as
    negative ones, are skipped."""
    values = cast_to(values, cache.dtype)
    if cache.dtype._code in ("F16", "BF16", "F32") and has_rows(cache):
        pages, rows = cache.unsqueeze(1), values.unsqueeze(1)
        emit("paged_caching", pages, pages[..., :0], rows, rows[..., :0], slots)
        return
    rows = rows_of(name, "the cache", cache)
    beyond = filled((), rows.shape[0], int64, rows)
    slots = emit("where", emit("less", slots, 0), beyond, slots)
    whole = rows.contiguous()
    made = emit("index_copy", whole, slots, values.contiguous(), dim=0, out=whole)
    store(rows, made)
