"""Elements read by indices."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions._index_checks import (
    check_indices,
    check_indices_along,
    with_checked_index,
)
from infinicore.functions.index.scatter import _in_order, _index_of, _line_of
from infinicore.op._shapes import broadcast


@with_checked_index
@function
def _gather(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    at, index = dim_of("gather", input, dim), _index_of("gather", index)
    if not input.ndim:
        made = emit("gather", input.view(1), index.reshape(index.numel()), dim=0)
        made = made.view(*index.shape) if index.ndim else made.view(())
        return made if out is None else emit("rearrange", made, out=out)
    if not index.numel():
        nothing = _core.empty(tuple(index.shape), input.dtype, input.device)
        return nothing if out is None else emit("rearrange", nothing, out=out)
    sizes = tuple(index.shape[d] for d in range(index.ndim) if d != at)
    if index.ndim != input.ndim:
        raise RuntimeError(
            f"gather: index has {index.ndim} dimensions: expected {input.ndim}, as input"
        )
    rest = [d for d in range(input.ndim) if d != at]
    if any(size > input.shape[d] for size, d in zip(sizes, rest, strict=True)):
        raise RuntimeError(
            f"gather: index has shape {tuple(index.shape)}: expected none larger than"
            f" {tuple(input.shape)} but for dimension {at}"
        )
    for d in rest:
        input = input.narrow(d, 0, index.shape[d])
    return emit("gather", input, index, dim=at, out=out)


def gather(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    index: Any = None,
    sparse_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """Gathers elements along a dimension at the given indices: `gather(input, dim, index)`.

    >>> infinicore.gather(infinicore.tensor([[1, 2], [3, 4]]), 1, infinicore.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    if len(args) == 2 and type(args[0]) is int:
        at, index = args
    else:
        at, index = _in_order("gather", args, {"dim": dim, "index": index}, "dim index")
    return _gather(input, at, index, out=out)


@with_checked_index
@function
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    """Selects indices of a dimension.

    >>> infinicore.index_select(infinicore.tensor([[1, 2], [3, 4]]), 1, infinicore.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    at, index = dim_of("index_select", input, dim), _line_of("index_select", index)
    if not input.ndim:
        made = emit("index_select", input.view(1), index, dim=0).view(())
        return made if out is None else emit("rearrange", made, out=out)
    return emit("index_select", input, index, dim=at, out=out)


@function
def _take(input: Tensor, indices: Tensor, wraps: bool = True, *, out: Any = None) -> Tensor:
    index = _index_of("take", indices, "indices")
    if wraps:
        count = tensor_for(input.numel(), index.dtype, index.device)
        index = emit("where", emit("less", index, 0), emit("add", index, count), index)
    flat, line = input.reshape(input.numel()), index.reshape(index.numel())
    made = emit("index_select", flat, line, dim=0)
    made = made.view(*index.shape) if index.ndim else made.view(())
    return made if out is None else emit("rearrange", made, out=out)


def take(input: Tensor, indices: Tensor, *, out: Any = None) -> Tensor:
    """Elements of the flattened input, in the shape of the indices; negative ones count from the
    end.

    >>> infinicore.take(infinicore.tensor([[1, 2], [3, 4]]), infinicore.tensor([0, 3]))
    tensor([1, 4])
    """
    count = need_tensor("take", "input", input).numel()
    wraps = check_indices("take", indices, count, 0, wraps=True)
    return _take(input, indices, wraps, out=out)


@function
def _take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    index = _index_of("take_along_dim", indices, "indices")
    if dim is None:
        flat = input.reshape(input.numel())
        return emit("gather", flat, index.reshape(index.numel()), dim=0, out=out)
    at = dim_of("take_along_dim", input, dim)
    if input.ndim != index.ndim:
        raise RuntimeError(
            f"take_along_dim: indices has {index.ndim} dimensions: expected {input.ndim}"
        )
    from_end = emit("add", index, input.shape[at] if input.ndim else 1)
    index = emit("where", emit("less", index, 0), from_end, index)
    pairs = [(tuple(input.shape), tuple(index.shape))]
    one, two = ([1 if d == at else size for d, size in enumerate(shape)] for shape in pairs[0])
    shape = list(broadcast([tuple(one), tuple(two)]))
    input = input.expand(*[input.shape[at] if d == at else size for d, size in enumerate(shape)])
    index = index.expand(*[index.shape[at] if d == at else size for d, size in enumerate(shape)])
    return emit("gather", input, index, dim=at, out=out)


def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    """Like `gather`, with the other dimensions broadcast and negative indices counted from the end;
    without dim, on the flattened input.

    >>> infinicore.take_along_dim(infinicore.tensor([[3, 1]]), infinicore.tensor([[1, 0]]), 1)
    tensor([[1, 3]])
    """
    if dim is None:
        check_indices(
            "take_along_dim", indices, need_tensor("take_along_dim", "input", input).numel(), 0
        )
    check_indices_along("take_along_dim", input, dim, indices, True)
    return _take_along_dim(input, indices, dim, out=out)
