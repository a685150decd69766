"""The most frequent element, and norms that are held down."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import category
from infinicore._emit import cast_to
from infinicore._function import Operand, function
from infinicore._ranges import arange
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions._operands import wide
from infinicore.functions._results import Ordered
from infinicore.functions.comparison import where
from infinicore.functions.declared.reduce import argmax
from infinicore.functions.declared.scan import cummax
from infinicore.functions.joining import cat
from infinicore.functions.searching import sort
from infinicore.functions.taking import gather

__all__ = ["conj", "fill", "isreal", "mode", "renorm"]


@function
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along a dimension (the smallest of several), and the last place
    where it stands.

    >>> infinicore.mode(infinicore.tensor([2, 1, 2, 3])).values
    tensor(2)
    """
    need_tensor("mode", "input", input)
    place = dim_of("mode", input, dim)
    if input.ndim == 0:
        return Ordered(input.clone(), arange(1, device=input.device).reshape(()))
    count = input.shape[place]
    if count == 0:
        raise IndexError(f"mode: dimension {place} is empty: expected some elements")
    values, indices = sort(input.movedim(place, -1), dim=-1, stable=True)
    # Where the run of equal elements begins that each one is part of.
    steps = arange(count, device=input.device)
    starts = where(values[..., 1:] != values[..., :-1], steps[1:], 0)
    first = steps[:1].expand(*values.shape[:-1], 1)
    runs = steps - cummax(cat([first, starts], -1), -1).values
    # The longest run, and of these the first: its elements are the smallest.
    best = argmax(runs, dim=-1, keepdim=True)
    made = [gather(each, -1, best) for each in (values, indices)]
    made = [each.movedim(-1, place) if keepdim else each.squeeze(-1) for each in made]
    return Ordered(*made)


@function
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The input with each of its parts along a dimension scaled down to a p-norm of `maxnorm`, if
    its norm is greater.

    >>> infinicore.renorm(infinicore.tensor([[3., 4.], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    need_tensor("renorm", "input", input)
    if category(input.dtype) < 2:
        raise TypeError(f"renorm: input has type {input.dtype!r}: expected floats")
    if input.ndim < 2 or p <= 0 or maxnorm < 0:
        raise ValueError("renorm: expected 2 or more dimensions, p above 0, maxnorm 0 or more")
    place = dim_of("renorm", input, dim)
    others = [d for d in range(input.ndim) if d != place]
    x = wide(input)
    norm = x.norm(p=p, dim=others, keepdim=True)
    factor = where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return cast_to(x * factor, input.dtype)


@function
def fill(input: Tensor, value: Operand) -> Tensor:
    """A tensor like the input with `value` for all elements.

    >>> infinicore.fill(infinicore.ones(2), 3)
    tensor([3., 3.])
    """
    need_tensor("fill", "input", input)
    if value.ndim:
        raise ValueError(f"fill: value has {value.ndim} dimensions: expected a number")
    return cast_to(value, input.dtype).expand(*input.shape).clone()


@function
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0.

    >>> infinicore.isreal(infinicore.ones(2))
    tensor([True, True])
    """
    need_tensor("isreal", "input", input)
    if input.dtype.is_complex:
        return input.imag == 0
    return (input == input) | (input != input)


def conj(input: Tensor) -> Tensor:
    """The conjugate: a tensor of real numbers itself.

    >>> infinicore.conj(infinicore.ones(2))
    tensor([1., 1.])
    """
    need_tensor("conj", "input", input)
    if input.dtype.is_complex:
        raise TypeError(f"conj: input has type {input.dtype!r}: expected real numbers")
    return input
