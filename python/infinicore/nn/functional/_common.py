"""What the functions share: checks of arguments, sizes per dimension, reductions of losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    place = int(dim.__index__())
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


def run(operator: str, *inputs: Any, out: Any = None, **values: Any) -> Tensor:
    """An operator with one result."""
    made: Tensor = emit(operator, *inputs, out=out, **values)
    return made


def reduced(name: str, loss: Tensor, reduction: str, kind: dtype) -> Tensor:
    """Losses themselves, their mean or their sum, in the type of the result."""
    if reduction == "none":
        return cast_to(loss, kind)
    if reduction == "mean":
        return cast_to(run("mean", loss), kind)
    if reduction == "sum":
        return cast_to(run("sum", loss), kind)
    raise ValueError(f"{name}: reduction is {reduction!r}: expected 'none', 'mean' or 'sum'")


def same_shape(name: str, input: Tensor, target: Tensor, argument: str = "target") -> None:
    """Two tensors of shapes that go together."""
    from infinicore.op._shapes import broadcast

    try:
        broadcast([tuple(input.shape), tuple(target.shape)])
    except ValueError:
        raise ValueError(
            f"{name}: {argument} has shape {tuple(target.shape)}: expected that of input,"
            f" {tuple(input.shape)}"
        ) from None


def counting(count: int, like: Tensor, kind: dtype = INT64) -> Tensor:
    """The integers from 0 to count - 1."""
    made = _core.empty((count,), kind, like.device)
    return run("arange", out=made, start=0.0, step=1.0)


def filled(shape: Sequence[int], value: float, kind: dtype, like: Tensor) -> Tensor:
    """One value everywhere."""
    return run("fill", out=_core.empty(tuple(shape), kind, like.device), value=float(value))


def batched(name: str, input: Tensor, spatial: int) -> tuple[Tensor, bool]:
    """Input [N, C, *spatial], and whether the first dimension was missing."""
    need_tensor(name, "input", input)
    ranks = (spatial + 1, spatial + 2)
    expect(input.ndim in ranks, name, "input.ndim", input.ndim, f"{ranks[0]} or {ranks[1]}")
    alone = input.ndim == ranks[0]
    return (input.unsqueeze(0) if alone else input), alone


def with_rows(tensor: Tensor) -> Tensor:
    """The tensor itself if its last dimension has no gaps, else a copy."""
    if tensor.ndim == 0 or tensor.stride()[-1] == 1 or tensor.shape[-1] <= 1:
        return tensor
    return tensor.contiguous()


def dense(tensor: Tensor) -> Tensor:
    """The tensor itself if it has no gaps, else a copy."""
    return tensor.contiguous()


def run_into(name: str, out: Any, fits: bool, work: Callable[[Any], Tensor]) -> Tensor:
    """Results written into `out` where it fits the operator, else made and copied."""
    from infinicore._function import write

    if out is None or (isinstance(out, _core.Tensor) and fits):
        return work(out)
    made: Tensor = write(name, out, work(None))
    return made


def has_rows(tensor: Any) -> bool:
    return isinstance(tensor, _core.Tensor) and (
        tensor.ndim == 0 or tensor.stride()[-1] == 1 or tensor.shape[-1] <= 1
    )


def is_dense(tensor: Any) -> bool:
    return isinstance(tensor, _core.Tensor) and tensor.is_contiguous()
