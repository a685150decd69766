"""Reshaping, reordering and joining arrays, and lookups."""

from __future__ import annotations

import builtins
import operator
from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import as_array, common
from infinicore.functions._checks import expect

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unstack",
]


def integers(value: Any) -> tuple[int, ...]:
    """One integer or several; NumPy integers are accepted."""
    try:
        return (operator.index(value),)
    except TypeError:
        return tuple(map(operator.index, value))


def axes_of(function: str, axis: Any, rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the front."""
    axes = integers(axis)
    for each in axes:
        if not -rank <= each < rank:
            raise IndexError(f"{function}: axis is {each}: expected one of {rank} dimensions")
    made = tuple(each % rank for each in axes)
    expect(len(set(made)) == len(made), function, "axis", axis, "different ones")
    return made


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Arrays broadcast to a common shape."""
    return tuple(infinicore.broadcast_tensors(*arrays))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to."""
    return tuple(infinicore.broadcast_shapes(*shapes))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """An array broadcast to a shape."""
    return infinicore.broadcast_to(x, tuple(shape))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Arrays joined along an axis; with axis=None they are flattened first."""
    given = common("concat", *arrays)
    if axis is None:
        given, axis = tuple(each.reshape(-1) for each in given), 0
    (axis,) = axes_of("concat", axis, given[0].ndim)
    return infinicore.cat(list(given), axis)


def expand_dims(x: Tensor, /, axis: Any) -> Tensor:
    """An array with new axes of size 1, at these positions of the result."""
    axes = integers(axis)
    for each in builtins.sorted(axes_of("expand_dims", axes, x.ndim + len(axes))):
        x = x.unsqueeze(each)
    return x


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Elements in reverse order along axes, or along all."""
    axes = range(x.ndim) if axis is None else axes_of("flip", axis, x.ndim)
    return infinicore.flip(x, tuple(axes)) if x.ndim else x.clone()


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other positions; the others keep their order."""
    return infinicore.moveaxis(x, source, destination) if x.ndim else x


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """An array with permuted axes."""
    return infinicore.permute(x, tuple(axes)) if x.ndim else x


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated, along an axis or of the flattened array."""
    if isinstance(repeats, Tensor):
        repeats = repeats.to(infinicore.int64)
        if repeats.ndim and repeats.shape[0] == 1:
            repeats = int(repeats.reshape(()).item())
    if axis is None:
        x, axis = x.reshape(-1), 0
    return infinicore.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """An array with another shape; always a copy with `copy=True`, never with `copy=False`."""
    as_array("reshape", "x", x)
    if copy is False:
        return x.view(*shape) if shape else x.view(())
    made = x.reshape(tuple(shape))
    return made.clone() if copy else made


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements shifted along axes; those shifted past the end reenter at the start."""
    if axis is None:
        total = builtins.sum(integers(shift))
        return infinicore.roll(x.reshape(-1), total, 0).reshape(x.shape)
    axes, shifts = integers(axis), integers(shift)
    shifts *= len(axes) if len(shifts) == 1 else 1
    for one, at in zip(shifts, axes, strict=True):
        x = infinicore.roll(x, one, axes_of("roll", at, x.ndim)[0])
    return x


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """An array without the given axes, which must have size 1."""
    axes = axes_of("squeeze", axis, x.ndim) if x.ndim or axis != () else ()
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.shape[each]}: expected 1")
    for each in builtins.sorted(axes, reverse=True):
        x = x.squeeze(each)
    return x


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis."""
    return infinicore.stack(list(common("stack", *arrays)), axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements with these indices along an axis; negative ones count from the end."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: x has {x.ndim} dimensions: expected an axis")
        axis = 0
    (at,) = axes_of("take", axis, x.ndim)
    index = _from_start(indices, x.shape[at])
    made = infinicore.index_select(x, at, index.reshape(-1))
    return made.reshape((*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


def _from_start(indices: Tensor, size: int) -> Tensor:
    index = indices.to(infinicore.int64)
    return infinicore.where(index < 0, index + size, index)  # type: ignore[no-any-return]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements selected by an array of indices along an axis; the other axes broadcast."""
    (at,) = axes_of("take_along_axis", axis, x.ndim)
    index = _from_start(indices, x.shape[at])
    sides = []
    for dim, (one, two) in enumerate(zip(x.shape, index.shape, strict=True)):
        sides.append((1, 1) if dim == at else (one, two))
    shape = broadcast_shapes(*(tuple(side) for side in zip(*sides, strict=True)))
    x = x.expand(*shape[:at], x.shape[at], *shape[at + 1 :])
    index = index.expand(*shape[:at], index.shape[at], *shape[at + 1 :])
    return infinicore.gather(x.contiguous(), at, index.contiguous())


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array repeated along each axis."""
    return infinicore.tile(x, tuple(repetitions)) if repetitions else x.clone()


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The subarrays along an axis."""
    return tuple(infinicore.unbind(x, axes_of("unstack", axis, x.ndim)[0]))
