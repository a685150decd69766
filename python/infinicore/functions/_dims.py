"""Dimensions that arguments name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._device import Size
from infinicore._dtype import ALL, category, float32, get_default_dtype
from infinicore._emit import cast_to
from infinicore._tensor import Tensor

HALVES = (ALL["F16"], ALL["BF16"])


def dim_of(function: str, tensor: Tensor, dim: Any, name: str = "dim") -> int:
    """One dimension, counted from the front. A tensor of no dimensions has dimension 0 too."""
    rank = max(tensor.ndim, 1)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{function}: {name} is {dim!r}: expected an integer")
    dim = dim.__index__()
    if not -rank <= dim < rank:
        raise IndexError(f"{function}: {name} is {dim}: expected {-rank} to {rank - 1}")
    return int(dim % rank)


def dims_of(function: str, tensor: Tensor, dim: Any, name: str = "dim") -> list[int]:
    """Several dimensions, none twice; None and () stand for all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return list(range(tensor.ndim))
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    made = [dim_of(function, tensor, each, name) for each in given]
    if len(set(made)) != len(made):
        raise RuntimeError(f"{function}: {name} is {tuple(given)}: a dimension appears twice")
    return [d for d in made if tensor.ndim]


def folded_dims(function: str, tensor: Tensor, dim: Any) -> list[int] | None:
    """The dimensions that an operator folds; None for a tensor that has none."""
    dims = dims_of(function, tensor, dim)
    return dims if tensor.ndim else None


def size_of(function: str, size: Sequence[Any]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    if len(size) == 1 and isinstance(size[0], (tuple, list, Size)):
        size = size[0]
    for each in size:
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(f"{function}: a size is {each!r}: expected an integer")
    return tuple(each.__index__() for each in size)


def wide(tensor: Tensor) -> Tensor:
    """Halves as float32, for what would lose too much in between."""
    return cast_to(tensor, float32) if tensor.dtype in HALVES else tensor


def floats(tensor: Tensor) -> Tensor:
    """Integers as the default type of floats."""
    return tensor if category(tensor.dtype) > 1 else cast_to(tensor, get_default_dtype())


def needs_tensor(function: str, value: Any, name: str = "input") -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {name} is {type(value).__name__}: expected a tensor")
    return value
