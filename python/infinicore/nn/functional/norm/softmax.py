"""Softmax, its logarithm, and softmin."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import dtype as dtype_class
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dimension


def _dim(name: str, dim: int | None, rank: int) -> int:
    if dim is None:  # torch's default
        return 0 if rank in (0, 1, 3) else 1
    return dimension(name, dim, rank)


def _run(operator: str, attribute: str, input: Tensor, dim: int, out: Any) -> Tensor:
    if input.ndim:
        return emit(operator, input, out=out, **{attribute: dim})  # type: ignore[no-any-return]
    made = None if out is None else out.unsqueeze(0)
    result = emit(operator, input.unsqueeze(0), out=made, **{attribute: 0})
    return result.view() if out is None else out  # type: ignore[no-any-return]


@function
def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype_class | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """exp(input) / sum(exp(input)) along a dimension, computed in `dtype` if that is given.

    >>> F.softmax(infinicore.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    x = input if dtype is None else cast_to(input, dtype)
    return _run("softmax", "axis", x, _dim("softmax", dim, x.ndim), out)


@function
def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype_class | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """log(softmax(input)) along a dimension, computed in `dtype` if that is given.

    >>> F.log_softmax(infinicore.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    x = input if dtype is None else cast_to(input, dtype)
    return _run("log_softmax", "dim", x, _dim("log_softmax", dim, x.ndim), out)


@function
def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype_class | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """softmax(-input) along a dimension.

    >>> F.softmin(infinicore.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    x = emit("neg", input)
    x = x if dtype is None else cast_to(x, dtype)
    return _run("softmax", "axis", x, _dim("softmin", dim, x.ndim), out)
