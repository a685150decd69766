"""What functions of models share: checks of arguments, and forms that operators take."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import dtype, float32, int64
from infinicore._emit import cast_to, emit
from infinicore._tensor import Tensor


def expect(holds: bool, name: str, argument: str, found: Any, expected: str) -> None:
    """A ValueError that says what was expected, unless the condition holds."""
    if not holds:
        raise ValueError(f"{name}: {argument} is {found}: expected {expected}")


def need_tensor(name: str, argument: str, value: Any, rank: int | None = None) -> Tensor:
    if not isinstance(value, _core.Tensor):
        raise TypeError(f"{name}: {argument} is {type(value).__name__}: expected a tensor")
    if rank is not None:
        expect(value.ndim == rank, name, f"{argument}.ndim", value.ndim, str(rank))
    return value


def need_shape(name: str, argument: str, value: Any, *shape: int | None) -> Tensor:
    """A tensor of this shape; None stands for any size."""
    need_tensor(name, argument, value)
    found = tuple(value.shape)
    fits = len(found) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(found, shape, strict=True)
    )
    text = ", ".join("*" if size is None else str(size) for size in shape)
    expect(fits, name, f"{argument}.shape", found, f"({text})")
    return value  # type: ignore[no-any-return]


def inner(tensor: Tensor) -> Tensor:
    """The tensor, or a copy if the elements of its last dimension are not side by side."""
    if tensor.ndim == 0 or tensor.shape[-1] == 1 or tensor.stride(-1) == 1:
        return tensor
    return tensor.contiguous()


def integers(name: str, argument: str, value: Any, kind: dtype = int64) -> Tensor:
    """Indices in one type."""
    need_tensor(name, argument, value)
    if value.dtype.is_floating_point or value.dtype._code in ("BOOL", "F8"):
        raise TypeError(f"{name}: {argument} has type {value.dtype!r}: expected integers")
    return cast_to(value, kind)


def counting(count: int, like: Tensor, step: int = 1, kind: dtype = int64) -> Tensor:
    """The integers 0, step, 2 * step, ..."""
    made = _core.empty((count,), kind, like.device)
    return emit("arange", out=made, start=0.0, step=float(step))  # type: ignore[no-any-return]


def filled(value: float, shape: tuple[int, ...], kind: dtype, like: Tensor) -> Tensor:
    made = _core.empty(shape, kind, like.device)
    return emit("fill", out=made, value=float(value))  # type: ignore[no-any-return]


def wide(tensor: Tensor) -> Tensor:
    """Narrower floats and integers as float32."""
    return tensor if tensor.dtype._code in ("F32", "F64") else cast_to(tensor, float32)


def store(target: Tensor, value: Tensor) -> None:
    """The elements of a value into a tensor, in its type."""
    if target is not value:
        target.copy_(cast_to(value, target.dtype))


def rows_of(name: str, argument: str, cache: Tensor) -> Tensor:
    """A cache [blocks, block_size, ...] with its first two dimensions as one, without a copy."""
    try:
        return cache.view(-1, *cache.shape[2:])
    except RuntimeError:
        raise ValueError(
            f"{name}: {argument} has strides {cache.stride()}: expected blocks side by side"
        ) from None


def store_rows(name: str, cache: Tensor, slots: Tensor, values: Tensor) -> None:
    """Row slots[t] of a cache [blocks, block_size, D] becomes values[t]; slots that there are not,
    negative ones among them, are skipped."""
    values = cast_to(values, cache.dtype)
    if cache.dtype._code in ("F16", "BF16", "F32") and inner(cache) is cache:
        pages, rows = cache.unsqueeze(1), inner(values).unsqueeze(1)
        emit("paged_caching", pages, pages[..., :0], rows, rows[..., :0], slots)
        return
    rows = rows_of(name, "the cache", cache)
    beyond = filled(rows.shape[0], (), int64, rows)
    slots = emit("where", emit("less", slots, 0), beyond, slots)
    whole = rows.contiguous()
    made = emit("index_copy", whole, slots, values.contiguous(), dim=0, out=whole)
    store(rows, made)
