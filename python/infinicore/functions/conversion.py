"""Copies in other types and layouts."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor

__all__ = ["cast", "rearrange"]


@function
def _cast(input: Tensor, *, out: Any) -> Tensor:
    return emit("cast", input, out=out)


def cast(input: Tensor, dtype: Any = None, *, out: Any = None) -> Tensor:
    """The elements in the type of `out`, into `out`; or in a type, in a new tensor.

    >>> infinicore.cast(infinicore.ones(2), infinicore.int32)
    tensor([1, 1], dtype=infinicore.int32)
    """
    need_tensor("cast", "input", input)
    if out is None:
        if dtype is None:
            raise TypeError("cast: expected out= or a dtype")
        return input.to(dtype, copy=True)
    if tuple(out.shape) != tuple(input.shape):
        raise ValueError(f"cast: out has shape {tuple(out.shape)}: expected {tuple(input.shape)}")
    return _cast(input, out=out)


@function
def _rearrange(input: Tensor, *, out: Any = None) -> Tensor:
    return emit("rearrange", input, out=out)


def rearrange(input: Tensor, other: Any = None, *, out: Any = None) -> Tensor:
    """A copy without gaps, or into `out`. A second argument is ignored.

    >>> infinicore.rearrange(infinicore.ones(2, 3).T).is_contiguous()
    True
    """
    return _rearrange(need_tensor("rearrange", "input", input), out=out)
