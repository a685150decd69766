"""Repetition of elements, and combinations."""

from __future__ import annotations

import itertools
from typing import Any

from infinicore import _core
from infinicore._data import tensor
from infinicore._dtype import float64, int64
from infinicore._emit import emit
from infinicore._function import function, traced
from infinicore._ranges import arange
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, integers, need_rank, need_tensor, size_of
from infinicore.functions._combinations import FEW, combination_count, combination_indices
from infinicore.functions.copy.cat import stack
from infinicore.functions.index.gather import index_select
from infinicore.functions.sort.sort import searchsorted

_MOST = 2.0**62


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
    """Repeats the tensor along its dimensions, the given number of times each.

    >>> infinicore.tile(infinicore.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    given = dims or (keywords.pop("dims", None),)
    if given == (None,):
        raise TypeError("tile: dims is missing")
    return _tile(need_tensor("tile", "input", input), size_of("tile", given), **keywords)


def repeat(input: Tensor, *times: Any, repeats: Any = None) -> Tensor:
    """Repeats the tensor along its dimensions; additional repeats add leading dimensions.

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
    """Repeats each element: a fixed number of times, or as given by a tensor.

    >>> infinicore.repeat_interleave(infinicore.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    need_tensor("repeat_interleave", "input", input)
    if repeats is None:  # How often each place is repeated is all that was given.
        repeats, input = input, _tensor_range(input.numel(), input)
    if dim is None:
        input, dim = input.reshape(input.numel()), 0
    at = dim_of("repeat_interleave", input, dim)
    if isinstance(repeats, Tensor) and repeats.numel() == 1 and not _core.is_recording():
        repeats = repeats.item()
    if not isinstance(repeats, Tensor):
        expect(repeats >= 0, "repeat_interleave", "repeats", repeats, "0 or more", RuntimeError)
        return _repeat_each(input if input.ndim else input.view(1), int(repeats), at)
    _core.refuse_while_recording("repeat_interleave with a tensor")
    counts = integers("repeat_interleave", "repeats", repeats)
    size = input.shape[at] if input.ndim else 1
    if tuple(counts.shape) != (size,) or (size and int(counts.min().item()) < 0):
        raise RuntimeError(f"repeat_interleave: expected {size} repeats of 0 or more")
    total = int(counts.sum().item())
    # A sum of int64 may wrap around.
    if total < 0 or float(counts.to(float64).sum().item()) > _MOST:
        raise RuntimeError("repeat_interleave: the sum of repeats is above 2**62")
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave: output_size is {output_size}: expected {total}, the sum of repeats"
        )
    places = _tensor_range(total, input)
    index = searchsorted(counts.cumsum(0), places, right=True)
    return index_select(input, at, index)


def _tensor_range(count: int, like: Tensor) -> Tensor:
    return arange(count, dtype=int64, device=like.device)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, as rows.

    >>> infinicore.combinations(infinicore.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    need_rank("combinations", "input", input, 1)
    expect(r >= 0, "combinations", "r", r, "0 or more", RuntimeError)
    if not r:
        return input.new_empty(0)
    rows = combination_count(input.numel(), r, with_replacement)
    if rows * r <= FEW or _core.is_recording():
        return _few_combinations(input, r, with_replacement)
    chosen = combination_indices(input.numel(), r, with_replacement, input)
    return stack([index_select(input, 0, each) for each in chosen], 1)


@traced
def _few_combinations(input: Tensor, r: int, with_replacement: bool) -> Tensor:
    # The indices are a constant of the recipe.
    choose: Any = (
        itertools.combinations_with_replacement if with_replacement else itertools.combinations
    )
    chosen = list(itertools.chain.from_iterable(choose(range(input.numel()), r)))
    if not chosen:
        return _core.empty((0, r), input.dtype, input.device)
    index = tensor(chosen, dtype=int64, device=input.device)
    return emit("index_select", input, index, dim=0).view(len(chosen) // r, r)  # type: ignore[no-any-return]
