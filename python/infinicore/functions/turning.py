"""Repeated, reversed, turned, rolled."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import int64
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor, size_of

__all__ = [
    "combinations",
    "flip",
    "fliplr",
    "flipud",
    "repeat",
    "repeat_interleave",
    "roll",
    "rot90",
    "tile",
]


@function
def _tile(input: Tensor, dims: Any) -> Tensor:
    rank = max(input.ndim, len(dims))
    sizes = (1,) * (rank - input.ndim) + tuple(input.shape)
    times = (1,) * (rank - len(dims)) + tuple(dims)
    if any(each < 0 for each in times):
        raise RuntimeError(f"tile: dims is {tuple(dims)}: expected 0 or more")
    pairs = [each for pair in zip(times, sizes, strict=True) for each in pair]
    spread = [each for size in sizes for each in (1, size)]
    view = input.reshape(*spread).expand(*pairs) if rank else input
    made = emit("rearrange", view)
    return made.view(*(a * b for a, b in zip(times, sizes, strict=True))) if rank else made


def tile(input: Tensor, *dims: Any, **keywords: Any) -> Tensor:
    """The tensor repeated along its dimensions, so many times each.

    >>> infinicore.tile(infinicore.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    given = dims or (keywords.pop("dims", None),)
    if given == (None,):
        raise TypeError("tile: dims is missing")
    return _tile(need_tensor("tile", "input", input), size_of("tile", given), **keywords)


def repeat(input: Tensor, *times: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated along its dimensions; more repeats than dimensions add some in front.

    >>> infinicore.repeat(infinicore.tensor([1, 2]), 2, 1).shape
    infinicore.Size([2, 2])
    """
    need_tensor("repeat", "input", input)
    given = size_of("repeat", times if repeats is None else (repeats,))
    if len(given) < input.ndim:
        raise RuntimeError(f"repeat: {len(given)} repeats for {input.ndim} dimensions")
    return _tile(input, given)


@function
def _repeat_each(input: Tensor, repeats: int, dim: int) -> Tensor:
    sizes = list(input.shape)
    spread = [*sizes[: dim + 1], repeats, *sizes[dim + 1 :]]
    made = emit("rearrange", input.unsqueeze(dim + 1).expand(*spread))
    sizes[dim] *= repeats
    return made.view(*sizes)


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated in place: all equally often, or as often as a tensor says.

    >>> infinicore.repeat_interleave(infinicore.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    need_tensor("repeat_interleave", "input", input)
    if repeats is None:  # How often each place is repeated is all that was given.
        repeats, input = input, tensor_range(input.numel(), input)
    if dim is None:
        input, dim = input.reshape(input.numel()), 0
    at = dim_of("repeat_interleave", input, dim)
    if isinstance(repeats, Tensor) and repeats.numel() == 1 and not _core.is_recording():
        repeats = repeats.item()
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave: repeats is {repeats}: expected 0 or more")
        return _repeat_each(input if input.ndim else input.view(1), int(repeats), at)
    _core.refuse_while_recording("repeat_interleave with a tensor")
    counts = repeats.tolist()
    if len(counts) != input.shape[at] or any(each < 0 for each in counts):
        raise RuntimeError(f"repeat_interleave: expected {input.shape[at]} repeats of 0 or more")
    from infinicore._data import tensor

    places = [i for i, count in enumerate(counts) for _ in range(count)]
    index = tensor(places, dtype=int64, device=input.device)
    from infinicore.functions.taking import index_select

    return index_select(input, at, index)


def tensor_range(count: int, like: Tensor) -> Tensor:
    from infinicore._ranges import arange

    return arange(count, dtype=int64, device=like.device)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose r of the elements of a vector, as rows.

    >>> infinicore.combinations(infinicore.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    need_tensor("combinations", "input", input)
    if input.ndim != 1:
        raise RuntimeError(f"combinations: input has {input.ndim} dimensions: expected 1")
    if r < 0:
        raise RuntimeError(f"combinations: r is {r}: expected 0 or more")
    choose: Any = (
        itertools.combinations_with_replacement if with_replacement else itertools.combinations
    )
    rows = list(choose(range(input.numel()), r))
    if not rows or not r:
        return input.new_empty(*((0,) if not r else (0, r)))
    from infinicore._data import tensor
    from infinicore.functions.taking import take

    return take(input, tensor(rows, dtype=int64, device=input.device))


# ---- Turned -------------------------------------------------------------------------------------


@function
def _flip(input: Tensor, dims: Any) -> Tensor:
    at = [dim_of("flip", input, each, "dims") for each in dims]
    if len(set(at)) != len(at):
        raise RuntimeError(f"flip: dims is {tuple(dims)}: a dimension appears twice")
    if not at or not input.ndim:
        return emit("rearrange", input)
    return emit("flip", input, dim=at)


def flip(input: Tensor, *dims: Any, **keywords: Any) -> Tensor:
    """The order along dimensions reversed.

    >>> infinicore.flip(infinicore.arange(3), (0,))
    tensor([2, 1, 0])
    """
    given = dims or (keywords.pop("dims", None),)
    if given == (None,):
        raise TypeError("flip: dims is missing")
    return _flip(input, size_of("flip", given), **keywords)


def fliplr(input: Tensor, *, out: Any = None) -> Tensor:
    """Left and right exchanged: the second dimension reversed.

    >>> infinicore.fliplr(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    need_tensor("fliplr", "input", input)
    if input.ndim < 2:
        raise RuntimeError(f"fliplr: input has {input.ndim} dimensions: expected 2 or more")
    return _flip(input, (1,), out=out)


def flipud(input: Tensor, *, out: Any = None) -> Tensor:
    """Up and down exchanged: the first dimension reversed.

    >>> infinicore.flipud(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    need_tensor("flipud", "input", input)
    if input.ndim < 1:
        raise RuntimeError("flipud: input has no dimensions: expected one or more")
    return _flip(input, (0,), out=out)


@function
def _rot90(input: Tensor, k: int, dims: Any) -> Tensor:
    one, two = (dim_of("rot90", input, each, "dims") for each in dims)
    if one == two:
        raise RuntimeError(f"rot90: dims is {tuple(dims)}: expected two dimensions")
    turns = k % 4
    if turns == 2:
        return emit("flip", input, dim=[one, two])
    if turns:
        flipped = emit("flip", input, dim=[two if turns == 1 else one])
        return emit("rearrange", flipped.transpose(one, two))
    return emit("rearrange", input)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1), *, out: Any = None) -> Tensor:
    """Turned by k quarters in the plane of two dimensions, from the first towards the second.

    >>> infinicore.rot90(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"rot90: dims is {tuple(dims)}: expected two dimensions")
    return _rot90(input, int(k), tuple(dims), out=out)


@function
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dimensions, by so many places each; what leaves comes back at the other
    end. Without dims the elements are moved in order.

    >>> infinicore.roll(infinicore.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    steps = list(shifts) if isinstance(shifts, (tuple, list)) else [shifts]
    if dims is None:
        if len(steps) != 1:
            raise RuntimeError("roll: several shifts: expected as many dims")
        flat = emit("roll", input.reshape(max(input.numel(), 0)), shifts=steps, dim=[0])
        return flat.view(*input.shape) if input.ndim else flat.view(())
    given = list(dims) if isinstance(dims, (tuple, list)) else [dims]
    if len(given) != len(steps):
        raise RuntimeError(f"roll: {len(steps)} shifts for {len(given)} dims")
    at = [dim_of("roll", input, each, "dims") for each in given]
    if len(set(at)) == len(at):
        return emit("roll", input, shifts=steps, dim=at)
    for step, d in zip(steps, at, strict=True):
        input = emit("roll", input, shifts=[step], dim=[d])
    return input
