"""Checks of arguments beyond those of the declarations, with errors that say what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._device import Size
from infinicore._dtype import dtype, int64
from infinicore._emit import cast_to
from infinicore._tensor import Tensor
from infinicore.op._shapes import broadcast


def expect(
    holds: bool,
    name: str,
    argument: str,
    found: Any,
    expected: str,
    error: type[Exception] = ValueError,
) -> None:
    """Raises an error that says what was expected, unless the condition holds."""
    if not holds:
        raise error(f"{name}: {argument} is {found}: expected {expected}")


# ---- Tensors ------------------------------------------------------------------------------------


def need_tensor(name: str, argument: str, value: Any, rank: int | None = None) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: {argument} is {type(value).__name__}: expected a tensor")
    if rank is not None:
        expect(value.ndim == rank, name, f"{argument}.ndim", value.ndim, str(rank))
    return value


def expect_shape(holds: bool, name: str, argument: str, tensor: Tensor, expected: str) -> None:
    """Like `expect`, for the shape of a tensor."""
    expect(holds, name, f"{argument}.shape", tuple(tensor.shape), expected)


def need_rank(
    name: str,
    argument: str,
    tensor: Tensor,
    rank: int,
    or_more: bool = False,
    error: type[Exception] = RuntimeError,
) -> None:
    """Checks the number of dimensions of a tensor."""
    need_tensor(name, argument, tensor)
    if tensor.ndim < rank or (tensor.ndim > rank and not or_more):
        if not tensor.ndim and rank == 1 and or_more:
            raise error(f"{name}: {argument} has no dimensions: expected one or more")
        wanted = f"{rank} or more" if or_more else f"{rank}"
        raise error(f"{name}: {argument} has {tensor.ndim} dimensions: expected {wanted}")


def need_shape(name: str, argument: str, value: Any, *shape: int | None) -> Tensor:
    """Checks the shape of a tensor; None means any size."""
    need_tensor(name, argument, value)
    found = tuple(value.shape)
    fits = len(found) == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(found, shape, strict=True)
    )
    text = ", ".join("*" if size is None else str(size) for size in shape)
    expect_shape(fits, name, argument, value, f"({text})")
    return value  # type: ignore[no-any-return]


def same_shape(name: str, input: Tensor, target: Tensor, argument: str = "target") -> None:
    """Checks two tensors whose shapes must broadcast."""
    try:
        broadcast([tuple(input.shape), tuple(target.shape)])
    except ValueError:
        raise ValueError(
            f"{name}: {argument} has shape {tuple(target.shape)}: expected that of input,"
            f" {tuple(input.shape)}"
        ) from None


def batched(name: str, input: Tensor, spatial: int) -> tuple[Tensor, bool]:
    """Input as [N, C, *spatial], and whether the first dimension was missing."""
    need_tensor(name, "input", input)
    ranks = (spatial + 1, spatial + 2)
    expect(input.ndim in ranks, name, "input.ndim", input.ndim, f"{ranks[0]} or {ranks[1]}")
    alone = input.ndim == ranks[0]
    return (input.unsqueeze(0) if alone else input), alone


def integers(name: str, argument: str, value: Any, kind: dtype = int64) -> Tensor:
    """Indices as integers of one type."""
    need_tensor(name, argument, value)
    if value.dtype.is_floating_point or value.dtype._code in ("BOOL", "F8"):
        raise TypeError(f"{name}: {argument} has type {value.dtype!r}: expected integers")
    return cast_to(value, kind)


# ---- Dimensions ---------------------------------------------------------------------------------


def dimension(name: str, dim: Any, rank: int, argument: str = "dim") -> int:
    """One of `rank` dimensions, counted from the front. A zero-dimensional tensor has dimension 0
    too."""
    rank = max(rank, 1)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}: {argument} is {dim!r}: expected an integer")
    dim = dim.__index__()
    if not -rank <= dim < rank:
        raise IndexError(f"{name}: {argument} is {dim}: expected {-rank} to {rank - 1}")
    return int(dim % rank)


def dim_of(name: str, tensor: Tensor, dim: Any, argument: str = "dim") -> int:
    """One dimension of a tensor, counted from the front."""
    return dimension(name, dim, tensor.ndim, argument)


def dims_of(name: str, tensor: Tensor, dim: Any, argument: str = "dim") -> list[int]:
    """Several dimensions, none twice; None and () mean all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(tensor.ndim))
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    made = [dim_of(name, tensor, each, argument) for each in given]
    if len(set(made)) != len(made):
        raise RuntimeError(f"{name}: {argument} is {tuple(given)}: a dimension appears twice")
    return [d for d in made if tensor.ndim]


def folded_dims(name: str, tensor: Tensor, dim: Any) -> list[int] | None:
    """The dimensions that an operator reduces; None for a zero-dimensional tensor."""
    dims = dims_of(name, tensor, dim)
    return dims if tensor.ndim else None


# ---- Sizes --------------------------------------------------------------------------------------


def size_of(name: str, size: Sequence[Any]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, Size)):
        size = size[0]
    for each in size:
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(f"{name}: a size is {each!r}: expected an integer")
    return tuple(each.__index__() for each in size)


def sizes(name: str, argument: str, value: Any, count: int, least: int = 0) -> list[int]:
    """One integer for each of `count` dimensions: one number serves all of them."""
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
