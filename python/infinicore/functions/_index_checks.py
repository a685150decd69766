"""Checks of indices. Out-of-range indices raise on the CPU, except while a graph is recorded; on a
device they are ignored."""

from __future__ import annotations

import functools
from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import int64
from infinicore._tensor import Tensor

_CPU = device("cpu")


def check_indices(name: str, index: Any, size: int, dim: int, wraps: bool = False) -> None:
    """Raises IndexError for an index that is not below the size, or negative unless it `wraps`."""
    if not isinstance(index, Tensor) or index.device is not _CPU or _core.is_recording():
        return
    if index.dtype is not int64 and index.dtype.is_floating_point:
        return
    try:
        is_negative = _core.check_indices(index, size, dim)
    except IndexError as error:
        raise IndexError(f"{name}: {error}") from None
    if is_negative and not wraps:
        raise IndexError(f"{name}: an index for dimension {dim} is negative: expected 0 or more")


def with_checked_index(made: Any) -> Any:
    """A function whose arguments begin with input, dim and index, with its index checked. It is a
    method too, also in place."""
    name = made.__name__

    @functools.wraps(made)
    def function(
        input: Any, dim: Any = None, index: Any = None, *args: Any, **keywords: Any
    ) -> Any:
        check_indices_along(name, input, dim, index)
        return made(input, dim, index, *args, **keywords)

    def in_place(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        return self.copy_(function(self, *args, **keywords))

    function.__signature__ = made.__signature__  # type: ignore[attr-defined]
    in_place.__doc__ = made.__doc__
    setattr(Tensor, f"{name}_", in_place)
    return function


def check_indices_along(name: str, input: Any, dim: Any, index: Any, wraps: bool = False) -> None:
    """As `check_indices`, for a dimension of a tensor. Other mistakes are left to the function
    itself."""
    if not isinstance(input, Tensor) or isinstance(dim, bool) or not isinstance(dim, int):
        return
    rank = max(input.ndim, 1)
    if -rank <= dim < rank:
        dim %= rank
        check_indices(name, index, input.shape[dim] if input.ndim else 1, dim, wraps)
