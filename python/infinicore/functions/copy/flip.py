"""Reversing, rotating and rolling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank, size_of


@function
def _flip(input: Tensor, dims: Any) -> Tensor:
    at = [dim_of("flip", input, each, "dims") for each in dims]
    if len(set(at)) != len(at):
        raise RuntimeError(f"flip: dims is {tuple(dims)}: a dimension appears twice")
    if not at or not input.ndim:
        return emit("rearrange", input)
    return emit("flip", input, dim=at)


def flip(input: Tensor, *dims: Any, **keywords: Any) -> Tensor:
    """Reverses the order of elements along dimensions.

    >>> infinicore.flip(infinicore.arange(3), (0,))
    tensor([2, 1, 0])
    """
    given = dims or (keywords.pop("dims", None),)
    if given == (None,):
        raise TypeError("flip: dims is missing")
    return _flip(input, size_of("flip", given), **keywords)


def fliplr(input: Tensor, *, out: Any = None) -> Tensor:
    """Flips left and right: reverses the second dimension.

    >>> infinicore.fliplr(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    need_rank("fliplr", "input", input, 2, or_more=True)
    return _flip(input, (1,), out=out)


def flipud(input: Tensor, *, out: Any = None) -> Tensor:
    """Flips up and down: reverses the first dimension.

    >>> infinicore.flipud(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    need_rank("flipud", "input", input, 1, or_more=True)
    return _flip(input, (0,), out=out)


@function
def _rot90(input: Tensor, k: int, dims: Any) -> Tensor:
    one, two = (dim_of("rot90", input, each, "dims") for each in dims)
    expect(one != two, "rot90", "dims", tuple(dims), "two dimensions", RuntimeError)
    turns = k % 4
    if turns == 2:
        return emit("flip", input, dim=[one, two])
    if turns:
        return emit("flip", input.transpose(one, two), dim=[one if turns == 1 else two])
    return emit("rearrange", input)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1), *, out: Any = None) -> Tensor:
    """Rotates by k * 90 degrees in the plane of two dimensions, from the first towards the second.

    >>> infinicore.rot90(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    expect(len(dims) == 2, "rot90", "dims", tuple(dims), "two dimensions", RuntimeError)
    return _rot90(input, int(k), tuple(dims), out=out)


@function
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shifts elements along dimensions, by one number each; those shifted past the end reenter at
    the start. Without dims the flattened tensor is shifted.

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
