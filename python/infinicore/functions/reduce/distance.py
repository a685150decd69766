"""Distances."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_parts import real_type
from infinicore._data import tensor
from infinicore._device import device
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_rank
from infinicore.functions._combinations import FEW, combination_count, combination_indices
from infinicore.functions._operands import wide
from infinicore.functions.index.gather import take
from infinicore.functions.reduce.statistics import _vector_norm

_CPU = device("cpu")


@function
def dist(input: Tensor, other: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm of the difference of two tensors; broadcast.

    >>> infinicore.dist(infinicore.tensor([0., 0.]), infinicore.tensor([3., 4.]))
    tensor(5.)
    """
    kind = result_type(input, other)
    difference = emit("sub", wide(cast_to(input, kind)), wide(cast_to(other, kind)))
    return cast_to(_vector_norm(difference, p, None, False), real_type(kind))


def _rows_apart(a: Tensor, b: Tensor, p: float) -> Tensor:
    return _vector_norm(emit("sub", a.unsqueeze(-2), b.unsqueeze(-3)), p, -1, False)


@function
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The p-norm of the difference of every row of one matrix and every row of another; leading
    dimensions are batches and broadcast.

    >>> infinicore.cdist(infinicore.zeros(1, 2), infinicore.tensor([[3., 4.]]))
    tensor([[5.]])
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: shapes {tuple(x1.shape)} and {tuple(x2.shape)}: expected matrices with as"
            " many columns"
        )
    if p < 0:
        raise RuntimeError(f"cdist: p is {p}: expected 0 or more")
    kind = result_type(x1, x2)
    a, b = cast_to(x1, kind), cast_to(x2, kind)
    if kind._code == "F64" or not x1.shape[-1]:
        if not x1.shape[-1]:
            return emit("sum", emit("sub", a.unsqueeze(-2), b.unsqueeze(-3)), dim=[-1])
        return _rows_apart(a, b, p)
    return emit("cdist", a, b, p=p)


def pdist(input: Tensor, p: float = 2.0, *, out: Any = None) -> Tensor:
    """The p-norm of the difference of each pair of rows of a matrix.

    >>> infinicore.pdist(infinicore.tensor([[0., 0.], [3., 4.]]))
    tensor([5.])
    """
    need_rank("pdist", "input", input, 2)
    count = input.shape[0]
    if combination_count(count, 2) <= FEW or _core.is_recording():
        return _few_pairs(input, p, out=out)
    if input.device is _CPU:
        made = _pairs_of_host(input, p)
        return made if out is None else write("pdist", out, made)  # type: ignore[no-any-return]
    one, two = combination_indices(count, 2, False, input)
    return take(cdist(input, input, p), one * count + two, out=out)


def _pairs_of_host(input: Tensor, p: float) -> Tensor:
    # Blocks of rows, each with the rows after its first one: half of the whole matrix.
    count = input.shape[0]
    made = _core.empty((count * (count - 1) // 2,), input.dtype, _CPU)
    step, end = -(-count // 8), 0
    for low in range(0, count - 1, step):
        high = min(low + step, count - 1)
        rows, others = input.narrow(0, low, high - low), input.narrow(0, low + 1, count - low - 1)
        begin, end = end, end + (high - low) * (2 * count - low - high - 1) // 2
        _core.pack_triangle(made.narrow(0, begin, end - begin), cdist(rows, others, p))
    return made


@function
def _few_pairs(input: Tensor, p: float) -> Tensor:
    # The indices are a constant of the recipe.
    count = input.shape[0]
    places = [i * count + j for i in range(count) for j in range(i + 1, count)]
    if not places:
        return _core.empty((0,), input.dtype, input.device)
    index = tensor(places, dtype=int64, device=input.device)
    return emit("index_select", cdist(input, input, p).view(count * count), index, dim=0)  # type: ignore[no-any-return]
