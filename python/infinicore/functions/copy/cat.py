"""Joining tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._emit import cast_to, check_out_type, emit, result_type, tensor_for
from infinicore._function import function, traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank, need_tensor
from infinicore.functions.copy.views import atleast_1d, atleast_2d, atleast_3d, meshgrid


def _put(target: Tensor, source: Tensor) -> None:
    """Copies elements to a view of a result."""
    if target.dtype.is_complex:
        source = cast_to(source, target.dtype)
    emit("cast" if target.dtype is not source.dtype else "rearrange", source, out=target)


def _checked(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise TypeError(f"{name}: tensors is {type(tensors).__name__}: expected tensors in a list")
    return [need_tensor(name, f"tensor {i}", each) for i, each in enumerate(tensors)]


@function
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Tensor:
    """Concatenates tensors along an existing dimension.

    >>> infinicore.cat([infinicore.ones(2), infinicore.zeros(1)])
    tensor([1., 1., 0.])
    """
    return _joined("cat", _checked("cat", tensors), dim, out)


def _joined(name: str, tensors: list[Tensor], dim: int, out: Any) -> Tensor:
    """Copies each tensor to its part of the result."""
    # Tensors of shape (0,) fit everything.
    given = [each for each in tensors if tuple(each.shape) != (0,)] or [tensors[0]]
    first = given[0]
    at = dim_of(name, first, dim)
    sizes = list(first.shape)
    for i, each in enumerate(given):
        rest = [*each.shape[:at], *each.shape[at + 1 :]]
        if each.ndim != first.ndim or rest != [*sizes[:at], *sizes[at + 1 :]]:
            raise RuntimeError(
                f"{name}: tensor {i} has shape {tuple(each.shape)}: expected that of the first,"
                f" {tuple(first.shape)}, but for dimension {at}"
            )
    if not first.ndim:
        raise RuntimeError(f"{name}: tensors have no dimensions: use stack")
    sizes[at] = sum(each.shape[at] for each in given)
    made = out
    if out is not None:
        check_out_type(name, out, result_type(*tensors))
    if out is None:
        made = _core.empty(sizes, result_type(*tensors), first.device)
    elif list(out.shape) != sizes:
        raise ValueError(f"{name}: out has shape {tuple(out.shape)}: expected {tuple(sizes)}")
    elif any(_core.may_overlap(out, e) or _core.out_meets(out, e) for e in given):
        made = _core.empty(sizes, out.dtype, out.device)
    start = 0
    for each in given:
        _put(made.narrow(at, start, each.shape[at]), each)
        start += each.shape[at]
    if out is not None and made is not out:
        _put(out, made)
    return out if out is not None else made


concat = concatenate = cat


@function
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Tensor:
    """Joins tensors of one shape along a new dimension.

    >>> infinicore.stack([infinicore.ones(2), infinicore.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    given = _checked("stack", tensors)
    rank = given[0].ndim + 1
    expect(-rank <= dim < rank, "stack", "dim", dim, f"{-rank} to {rank - 1}", IndexError)
    for i, each in enumerate(given):
        if each.shape != given[0].shape:
            raise RuntimeError(
                f"stack: tensor {i} has shape {tuple(each.shape)}: expected"
                f" {tuple(given[0].shape)}, that of the first"
            )
    return _joined("stack", [each.unsqueeze(dim) for each in given], dim % rank, out)


@traced
def hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joins tensors horizontally: along the second dimension, or the only one.

    >>> infinicore.hstack([infinicore.ones(1), infinicore.zeros(1)])
    tensor([1., 0.])
    """
    given = [atleast_1d(each) for each in _checked("hstack", tensors)]
    return cat(given, 0 if given[0].ndim == 1 else 1, out=out)


@traced
def vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joins tensors vertically: along the first dimension; vectors are rows.

    >>> infinicore.vstack([infinicore.ones(2), infinicore.zeros(2)]).shape
    infinicore.Size([2, 2])
    """
    return cat([atleast_2d(each) for each in _checked("vstack", tensors)], 0, out=out)


row_stack = vstack


def cartesian_prod(*tensors: Any) -> Tensor:
    """The Cartesian product of vectors: all combinations of one element of each, as rows.

    >>> infinicore.cartesian_prod(infinicore.tensor([1, 2]), infinicore.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
    given = _checked("cartesian_prod", tensors)
    for i, each in enumerate(given):
        need_rank("cartesian_prod", f"tensor {i}", each, 1)
    if len(given) == 1:
        return given[0]
    grid = meshgrid(*given)
    return stack([each.reshape(each.numel()) for each in grid], 1)


@traced
def dstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joins tensors along the third dimension.

    >>> infinicore.dstack([infinicore.ones(2), infinicore.zeros(2)]).shape
    infinicore.Size([1, 2, 2])
    """
    return cat([atleast_3d(each) for each in _checked("dstack", tensors)], 2, out=out)


@traced
def column_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joins tensors horizontally; vectors are columns.

    >>> infinicore.column_stack([infinicore.ones(2), infinicore.zeros(2)])
    tensor([[1., 0.],
            [1., 0.]])
    """
    given = _checked("column_stack", tensors)
    return cat([e.reshape(e.numel(), 1) if e.ndim < 2 else e for e in given], 1, out=out)


def block_diag(*tensors: Any) -> Tensor:
    """A block diagonal matrix.

    >>> infinicore.block_diag(infinicore.ones(1, 2), infinicore.ones(1, 1))
    tensor([[1., 1., 0.],
            [0., 0., 1.]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    return _block_diag(tensors)


@traced
def _block_diag(tensors: Any) -> Tensor:
    given = [atleast_2d(each) for each in _checked("block_diag", tensors)]
    for i, each in enumerate(given):
        if each.ndim > 2:
            raise RuntimeError(f"block_diag: tensor {i} has {each.ndim} dimensions: expected 2")
    rows, columns = (sum(each.shape[d] for each in given) for d in (0, 1))
    made = _zeros_in((rows, columns), given[0], result_type(*given))
    row = column = 0
    for each in given:
        _put(made.narrow(0, row, each.shape[0]).narrow(1, column, each.shape[1]), each)
        row, column = row + each.shape[0], column + each.shape[1]
    return made


def _zeros_in(shape: Sequence[int], like: Tensor, kind: Any = None) -> Tensor:
    """Zeros, in a body."""
    made = _core.empty(shape, kind or like.dtype, like.device)
    _put(made, tensor_for(0, made.dtype, made.device).expand(*shape))
    return made
