"""Views: other shapes of the same elements. Nothing is copied unless documented."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._device import Size
from infinicore._dtype import category
from infinicore._emit import emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank, need_tensor, size_of
from infinicore.op._shapes import broadcast


def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The tensor with another shape: a view if the strides allow it, else a copy. One size may be
    -1.

    >>> infinicore.reshape(infinicore.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    given = sizes if shape is None else (shape,)
    return need_tensor("reshape", "input", input).reshape(*given)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Like `reshape`, to the shape of another tensor.

    >>> infinicore.reshape_as(infinicore.ones(6), infinicore.zeros(2, 3)).shape
    infinicore.Size([2, 3])
    """
    return need_tensor("reshape_as", "input", input).reshape_as(other)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """A view that repeats elements, in the shape of another tensor.

    >>> infinicore.expand_as(infinicore.ones(1), infinicore.zeros(2, 3)).shape
    infinicore.Size([2, 3])
    """
    return need_tensor("expand_as", "input", input).expand_as(other)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of another tensor.

    >>> infinicore.view_as(infinicore.ones(6), infinicore.zeros(2, 3)).shape
    infinicore.Size([2, 3])
    """
    need_tensor("view_as", "input", input)
    need_tensor("view_as", "other", other)
    return input.view(*other.shape)


def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    >>> infinicore.ravel(infinicore.ones(2, 1))
    tensor([1., 1.])
    """
    return need_tensor("ravel", "input", input).contiguous().view(input.numel())


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merges adjacent dimensions into one.

    >>> infinicore.flatten(infinicore.ones(2, 3, 4), 1).shape
    infinicore.Size([2, 12])
    """
    return need_tensor("flatten", "input", input).flatten(start_dim, end_dim)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Splits one dimension into several; one of their sizes may be -1.

    >>> infinicore.unflatten(infinicore.ones(6), 0, (2, -1)).shape
    infinicore.Size([2, 3])
    """
    need_tensor("unflatten", "input", input)
    at = dim_of("unflatten", input, dim)
    sizes = list(size_of("unflatten", tuple(sizes)))
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1 or not known or input.shape[at] % known:
            raise RuntimeError(f"unflatten: sizes {tuple(sizes)} don't make up {input.shape[at]}")
        sizes[sizes.index(-1)] = input.shape[at] // known
    if math.prod(sizes) != input.shape[at]:
        raise RuntimeError(f"unflatten: sizes {tuple(sizes)} don't make up {input.shape[at]}")
    return input.view(*input.shape[:at], *sizes, *input.shape[at + 1 :])


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions exchanged.

    >>> infinicore.transpose(infinicore.ones(2, 3), 0, 1).shape
    infinicore.Size([3, 2])
    """
    return need_tensor("transpose", "input", input).transpose(dim0, dim1)


swapaxes = swapdims = transpose


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of matrices: the last two dimensions exchanged.

    >>> infinicore.adjoint(infinicore.ones(2, 3)).shape
    infinicore.Size([3, 2])
    """
    return need_tensor("adjoint", "input", input).transpose(-2, -1).conj()


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """A view with these sizes and strides, counted in elements.

    >>> infinicore.as_strided(infinicore.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    return need_tensor("as_strided", "input", input).as_strided(size, stride, storage_offset)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; with fewer dimensions, the tensor itself.

    >>> infinicore.t(infinicore.ones(2, 3)).shape
    infinicore.Size([3, 2])
    """
    return need_tensor("t", "input", input).t()


def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """A view with permuted dimensions.

    >>> infinicore.permute(infinicore.ones(2, 3, 4), (2, 0, 1)).shape
    infinicore.Size([4, 2, 3])
    """
    given = order if dims is None else (dims,)
    return need_tensor("permute", "input", input).permute(*given)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Moves dimensions to other positions; the others keep their order.

    >>> infinicore.movedim(infinicore.ones(2, 3, 4), 0, -1).shape
    infinicore.Size([3, 4, 2])
    """
    need_tensor("movedim", "input", input)
    if type(source) is int and type(destination) is int:
        order = [*range(input.ndim)]
        at = dim_of("movedim", input, source, "source")
        to = dim_of("movedim", input, destination, "destination")
        if order:
            order.insert(to, order.pop(at))
        return input.permute(*order)
    pairs = [
        [
            dim_of("movedim", input, each, name)
            for each in (given if isinstance(given, (tuple, list)) else (given,))
        ]
        for name, given in (("source", source), ("destination", destination))
    ]
    if len(pairs[0]) != len(pairs[1]) or any(len(set(each)) != len(each) for each in pairs):
        raise RuntimeError("movedim: expected as many sources as destinations, none twice")
    taken = dict(zip(pairs[1], pairs[0], strict=True))
    rest = iter(d for d in range(input.ndim) if d not in pairs[0])
    return input.permute(*(taken[d] if d in taken else next(rest) for d in range(input.ndim)))


moveaxis = movedim


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Removes dimensions of size 1: all, one, or several.

    >>> infinicore.squeeze(infinicore.ones(1, 3, 1), 0).shape
    infinicore.Size([3, 1])
    """
    need_tensor("squeeze", "input", input)
    if dim is None:
        return input.squeeze()
    given = dim if isinstance(dim, (tuple, list)) else (dim,)
    for at in sorted({dim_of("squeeze", input, each) for each in given}, reverse=True):
        input = input.squeeze(at) if input.ndim else input
    return input


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Inserts a dimension of size 1 at this position.

    >>> infinicore.unsqueeze(infinicore.ones(3), 0).shape
    infinicore.Size([1, 3])
    """
    return need_tensor("unsqueeze", "input", input).unsqueeze(dim)


def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A part of a dimension: `length` elements from `start` on.

    >>> infinicore.narrow(infinicore.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if isinstance(start, Tensor) and (start.ndim or category(start.dtype) != 1):
        raise TypeError(
            f"narrow: start is a tensor of {start.ndim} dimensions and type {start.dtype!r}:"
            " expected one integer"
        )
    return need_tensor("narrow", "input", input).narrow(dim, int(start), length)


@function
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of a part of a dimension.

    >>> infinicore.narrow_copy(infinicore.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    return emit("rearrange", input.narrow(dim, start, length))


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index of a dimension, which is removed.

    >>> infinicore.select(infinicore.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    return need_tensor("select", "input", input).select(dim, int(index))


def expand(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """A view that repeats elements along dimensions of size 1; -1 keeps a size.

    >>> infinicore.expand(infinicore.ones(1, 2), 3, -1).shape
    infinicore.Size([3, 2])
    """
    given = sizes if size is None else (size,)
    return need_tensor("expand", "input", input).expand(*given)


def broadcast_to(input: Tensor, size: Any, *, out: Any = None) -> Tensor:
    """A view broadcast to a larger shape; with `out` a copy.

    >>> infinicore.broadcast_to(infinicore.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    sizes = size_of("broadcast_to", tuple(size))
    made = need_tensor("broadcast_to", "input", input).expand(*sizes)
    return made if out is None else write("broadcast_to", out, made)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that several shapes broadcast to.

    >>> infinicore.broadcast_shapes((2, 1), (3,))
    infinicore.Size([2, 3])
    """
    given = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    return Size(broadcast(given) if given else ())


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of all tensors, broadcast to their common shape.

    >>> infinicore.broadcast_tensors(infinicore.ones(2, 1), infinicore.ones(3))[0].shape
    infinicore.Size([2, 3])
    """
    given = _listed("broadcast_tensors", tensors)
    shape = broadcast([tuple(each.shape) for each in given]) if given else ()
    return tuple(each.expand(*shape) if shape else each for each in given)


def _listed(name: str, tensors: tuple[Any, ...]) -> list[Tensor]:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    return [need_tensor(name, f"tensor {i}", each) for i, each in enumerate(tensors)]


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids: a view of each vector, broadcast to the shape of the grid. With
    `indexing` "xy" the first two dimensions are exchanged.

    >>> infinicore.meshgrid(infinicore.arange(2), infinicore.arange(3))[0].shape
    infinicore.Size([2, 3])
    """
    expect(indexing in ("ij", "xy"), "meshgrid", "indexing", repr(indexing), "'ij' or 'xy'")
    lines = _listed("meshgrid", tensors)
    for each in lines:
        if each.ndim > 1:
            raise RuntimeError(f"meshgrid: a tensor has {each.ndim} dimensions: expected 0 or 1")
    shape = [each.numel() for each in lines]
    made = []
    for i, each in enumerate(lines):
        ones = [1] * len(lines)
        ones[i] = each.numel()
        made.append(each.reshape(*ones).expand(*shape))
    if indexing == "xy" and len(lines) > 1:
        made = [each.transpose(0, 1) for each in made]
    return tuple(made)


def contiguous(input: Tensor) -> Tensor:
    """The tensor itself if it is contiguous, else a contiguous copy.

    >>> infinicore.contiguous(infinicore.ones(2, 3).T).stride()
    (2, 1)
    """
    return need_tensor("contiguous", "input", input).contiguous()


def _at_least(rank: int, tensors: tuple[Any, ...]) -> Any:
    made = []
    for each in _listed(f"atleast_{rank}d", tensors):
        if each.ndim == 0:
            each = each.view(*(1,) * rank)
        elif each.ndim == 1 and rank > 1:
            each = each.unsqueeze(0)
        if each.ndim == 2 and rank > 2:
            each = each.unsqueeze(-1)
        made.append(each)
    return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(made)


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension.

    >>> infinicore.atleast_1d(infinicore.ones(())).shape
    infinicore.Size([1])
    """
    return _at_least(1, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: a vector becomes a row.

    >>> infinicore.atleast_2d(infinicore.ones(())).shape
    infinicore.Size([1, 1])
    """
    return _at_least(2, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions.

    >>> infinicore.atleast_3d(infinicore.ones(())).shape
    infinicore.Size([1, 1, 1])
    """
    return _at_least(3, tensors)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view with the diagonal of two dimensions as the last one; a positive `offset` is above the
    main diagonal.

    >>> infinicore.diagonal(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    need_rank("diagonal", "input", input, 2, or_more=True)
    one, two = dim_of("diagonal", input, dim1, "dim1"), dim_of("diagonal", input, dim2, "dim2")
    if one == two:
        raise RuntimeError(f"diagonal: dim1 and dim2 are both {one}")
    sizes, steps = list(input.shape), list(input.stride())
    rows, columns = sizes[one] + min(offset, 0), sizes[two] - max(offset, 0)
    count = max(min(rows, columns), 0)
    start = offset * steps[two] if offset > 0 else -offset * steps[one]
    step = steps[one] + steps[two]
    for d in (max(one, two), min(one, two)):
        del sizes[d], steps[d]
    return _core.view_as(
        input,
        [*sizes, count],
        [*steps, step],
        (start if count and input.numel() else 0) * input.itemsize,
        input.dtype,
    )
