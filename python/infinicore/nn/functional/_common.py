"""What the functions share: checks of arguments, sizes per dimension, sums over what a loss gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import ALL, dtype, get_default_dtype
from infinicore._emit import cast_to, emit
from infinicore._tensor import Tensor

HALVES = (ALL["F16"], ALL["BF16"])
FLOAT32, FLOAT64, INT64 = ALL["F32"], ALL["F64"], ALL["I64"]


def expect(holds: bool, name: str, argument: str, found: Any, expected: str) -> None:
    """A ValueError that says what was expected, unless the condition holds."""
    if not holds:
        raise ValueError(f"{name}: {argument} is {found}: expected {expected}")


def dimension(name: str, dim: Any, rank: int) -> int:
    """A dimension that may count from the end, as an index."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}: dim is {dim!r}: expected an integer")
    place = dim.__index__()
    wide = max(rank, 1)
    if not -wide <= place < wide:
        raise IndexError(f"{name}: dim is {place}: expected one of {rank} dimensions")
    return place % wide


def sizes(name: str, argument: str, value: Any, count: int, least: int = 0) -> list[int]:
    """One integer for each of `count` dimensions: a number stands for all of them."""
    given = [value] * count if hasattr(value, "__index__") else value
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise TypeError(f"{name}: {argument} is {value!r}: expected an integer or {count} of them")
    made = list(given)
    if len(made) == 1:
        made = made * count
    if len(made) != count or not all(hasattr(each, "__index__") for each in made):
        raise ValueError(f"{name}: {argument} is {value!r}: expected an integer or {count} of them")
    made = [each.__index__() for each in made]
    if any(each < least for each in made):
        raise ValueError(f"{name}: {argument} is {value!r}: expected {least} or more")
    return made


def is_floating(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point


def need_tensor(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, _core.Tensor):
        raise TypeError(f"{name}: {argument} is {type(value).__name__}: expected a tensor")


def wide(tensor: Tensor) -> Tensor:
    """Half types as float32, integers in the default type; others as they are."""
    if tensor.dtype in HALVES:
        return cast_to(tensor, FLOAT32)
    if not tensor.dtype.is_floating_point:
        return cast_to(tensor, get_default_dtype())
    return tensor


def finish(value: Tensor, kind: dtype, out: Any, name: str) -> Tensor:
    """A value computed in a wider type, in the type of the result, in `out` if that is given."""
    from infinicore._function import write

    value = cast_to(value, kind)
    if out is None:
        return value
    return write(name, out, value)  # type: ignore[no-any-return]


def reduced(name: str, loss: Tensor, reduction: str) -> Tensor:
    """Losses themselves, their mean or their sum."""
    if reduction == "none":
        return loss
    if reduction == "mean":
        return emit("mean", loss)  # type: ignore[no-any-return]
    if reduction == "sum":
        return emit("sum", loss)  # type: ignore[no-any-return]
    raise ValueError(f"{name}: reduction is {reduction!r}: expected 'none', 'mean' or 'sum'")


def target_of(input: Tensor, inplace: bool, out: Any) -> Any:
    """Where a result goes: the input itself, `out`, or a tensor to be made (None)."""
    return input if inplace else out


def shape_text(tensor: Tensor) -> str:
    return str(list(tensor.shape))
