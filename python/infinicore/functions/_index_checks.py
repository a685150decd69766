"""Checks of values. Out-of-range indices and targets raise an error on the CPU, except while a
graph is recorded; on a device they are not checked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import bool_, int64
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor

_CPU = device("cpu")
Made = TypeVar("Made", bound=Callable[..., Any])


def is_known(tensor: Any) -> bool:
    """Whether the values of a tensor can be read: it is on the CPU, and no graph is recorded."""
    return isinstance(tensor, Tensor) and tensor.device is _CPU and not _core.is_recording()


def check_indices(name: str, index: Any, size: int, dim: int, wraps: bool = False) -> bool:
    """Raises IndexError for an index that is not below the size, or negative unless it `wraps`.
    Returns whether some may be negative."""
    if not is_known(index):
        return True
    if index.dtype is not int64 and index.dtype.is_floating_point:
        return True
    try:
        is_negative = _core.check_indices(index, size, dim)
    except IndexError as error:
        raise IndexError(f"{name}: {error}") from None
    if is_negative and not wraps:
        raise IndexError(f"{name}: an index for dimension {dim} is negative: expected 0 or more")
    return bool(is_negative)


# Functions, because they are recorded once; single operators are traced in each call.
@function
def _extremes(value: Tensor) -> tuple[Tensor, Tensor]:
    flat = value.reshape(-1)
    return emit("amin", flat, dim=[0]), emit("amax", flat, dim=[0])


@function
def _classified(target: Tensor, ignored: int) -> Tensor:
    return emit("where", emit("not_equal", target, ignored), target, 0)


def class_count(name: str, classes: Tensor) -> int:
    """The greatest of some classes, plus 1. Negative ones raise an error as in `check_indices`."""
    if is_known(classes) and classes.dtype is int64:
        least, most = _core.index_range(classes)
        if least >= 0:
            return int(most) + 1
    else:
        most = _extremes(classes)[1].item()
    count = int(most) + 1
    check_indices(name, classes, count, classes.ndim)
    return count


def check_targets(name: str, target: Any, classes: int, ignored: int | None) -> bool:
    """Like `check_indices`, for classes with one ignored number, or none. Returns whether all are
    known to be classes."""
    if not is_known(target) or target.dtype.is_floating_point:
        return False
    try:
        check_indices(name, target, classes, 1)
    except IndexError:
        if ignored is None:
            raise
        check_indices(name, _classified(target, ignored), classes, 1)
        return False
    return True


def check_range(name: str, argument: str, value: Any, low: float, high: float) -> None:
    """Raises RuntimeError for an element that is NaN or outside `low` to `high`."""
    if not is_known(value) or not value.numel() or value.dtype is bool_:
        return
    least, most = (each.item() for each in _extremes(value))
    if not (least >= low and most <= high):
        found = least if not least >= low else most
        raise RuntimeError(f"{name}: {argument} has an element {found}: expected {low} to {high}")


def with_check(check: Callable[..., None]) -> Callable[[Made], Made]:
    """A function whose arguments are checked by another function with the same parameters."""

    def decorate(made: Made) -> Made:
        @functools.wraps(made)
        def function(*args: Any, **keywords: Any) -> Any:
            check(*args, **keywords)
            return made(*args, **keywords)

        function.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
        return function  # type: ignore[return-value]

    return decorate


def with_checked_index(made: Made) -> Made:
    """A function with the parameters input, dim and index, each call of which checks the index. If
    it is public, it is also an in-place method."""
    _core.check_index_of(made)
    function: Any = made
    if made.__name__.startswith("_"):
        return made

    def in_place(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        return self.copy_(function(self, *args, **keywords))

    in_place.__signature__ = function.__signature__  # type: ignore[attr-defined]
    in_place.__name__, in_place.__doc__ = f"{made.__name__}_", made.__doc__
    setattr(Tensor, f"{made.__name__}_", in_place)
    return made


def check_indices_along(name: str, input: Any, dim: Any, index: Any, wraps: bool = False) -> None:
    """Like `check_indices`, for a dimension of a tensor. Other errors are left to the function
    itself."""
    if not isinstance(input, Tensor) or isinstance(dim, bool) or not isinstance(dim, int):
        return
    rank = max(input.ndim, 1)
    if -rank <= dim < rank:
        dim %= rank
        check_indices(name, index, input.shape[dim] if input.ndim else 1, dim, wraps)
