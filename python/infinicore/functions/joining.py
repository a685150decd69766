"""Tensors put together, repeated, turned; parts replaced."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._dtype import int64
from infinicore._emit import emit, result_type, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._dims import dim_of, needs_tensor, size_of
from infinicore.functions.shapes import atleast_1d, atleast_2d, atleast_3d, diagonal

__all__ = [
    "block_diag",
    "cat",
    "column_stack",
    "combinations",
    "concat",
    "concatenate",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal_scatter",
    "dstack",
    "flip",
    "fliplr",
    "flipud",
    "hstack",
    "repeat",
    "repeat_interleave",
    "roll",
    "rot90",
    "select_scatter",
    "slice_scatter",
    "stack",
    "tile",
    "tril",
    "triu",
    "vstack",
]


def put(target: Tensor, source: Tensor) -> None:
    """Elements into a view of a result."""
    emit("cast" if target.dtype is not source.dtype else "rearrange", source, out=target)


def _checked(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise TypeError(f"{name}: tensors is {type(tensors).__name__}: expected tensors in a list")
    return [needs_tensor(name, each, f"tensor {i}") for i, each in enumerate(tensors)]


@function
def _cat(tensors: Any, dim: int, *, out: Any = None) -> Tensor:
    # Tensors of shape (0,) fit everything.
    given = [each for each in tensors if tuple(each.shape) != (0,)] or [tensors[0]]
    first = given[0]
    at = dim_of("cat", first, dim)
    sizes = list(first.shape)
    for i, each in enumerate(given):
        rest = [*each.shape[:at], *each.shape[at + 1 :]]
        if each.ndim != first.ndim or rest != [*sizes[:at], *sizes[at + 1 :]]:
            raise RuntimeError(
                f"cat: tensor {i} has shape {tuple(each.shape)}: expected that of the first,"
                f" {tuple(first.shape)}, but for dimension {at}"
            )
    if not first.ndim:
        raise RuntimeError("cat: tensors have no dimensions: use stack")
    sizes[at] = sum(each.shape[at] for each in given)
    made = out
    if out is None:
        made = _core.empty(sizes, result_type(*tensors), first.device)
    elif list(out.shape) != sizes:
        raise ValueError(f"cat: out has shape {tuple(out.shape)}: expected {tuple(sizes)}")
    elif any(_core.may_overlap(out, each) for each in given):
        made = _core.empty(sizes, out.dtype, out.device)
    start = 0
    for each in given:
        put(made.narrow(at, start, each.shape[at]), each)
        start += each.shape[at]
    if out is not None and made is not out:
        put(out, made)
    return out if out is not None else made


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """Tensors one behind the other along a dimension that they have.

    >>> infinicore.cat([infinicore.ones(2), infinicore.zeros(1)])
    tensor([1., 1., 0.])
    """
    return _cat(_checked("cat", tensors), dim, out=out)


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """Tensors of one shape along a new dimension.

    >>> infinicore.stack([infinicore.ones(2), infinicore.zeros(2)])
    tensor([[1., 1.],
            [0., 0.]])
    """
    given = _checked("stack", tensors)
    rank = given[0].ndim + 1
    if not -rank <= dim < rank:
        raise IndexError(f"stack: dim is {dim}: expected {-rank} to {rank - 1}")
    for i, each in enumerate(given):
        if each.shape != given[0].shape:
            raise RuntimeError(
                f"stack: tensor {i} has shape {tuple(each.shape)}: expected"
                f" {tuple(given[0].shape)}, that of the first"
            )
    return _cat([each.unsqueeze(dim) for each in given], dim % rank, out=out)


def hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Tensors side by side: along the second dimension, or the only one.

    >>> infinicore.hstack([infinicore.ones(1), infinicore.zeros(1)])
    tensor([1., 0.])
    """
    given = [atleast_1d(each) for each in _checked("hstack", tensors)]
    return _cat(given, 0 if given[0].ndim == 1 else 1, out=out)


def vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Tensors one below the other: along the first dimension; vectors are rows.

    >>> infinicore.vstack([infinicore.ones(2), infinicore.zeros(2)]).shape
    infinicore.Size([2, 2])
    """
    return _cat([atleast_2d(each) for each in _checked("vstack", tensors)], 0, out=out)


def dstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Tensors along the third dimension."""
    return _cat([atleast_3d(each) for each in _checked("dstack", tensors)], 2, out=out)


def column_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Tensors side by side; vectors are columns."""
    given = _checked("column_stack", tensors)
    return _cat([e.reshape(e.numel(), 1) if e.ndim < 2 else e for e in given], 1, out=out)


def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of one large matrix; 0 elsewhere.

    >>> infinicore.block_diag(infinicore.ones(1, 2), infinicore.ones(1, 1))
    tensor([[1., 1., 0.],
            [0., 0., 1.]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    given = [atleast_2d(each) for each in _checked("block_diag", tensors)]
    for i, each in enumerate(given):
        if each.ndim > 2:
            raise RuntimeError(f"block_diag: tensor {i} has {each.ndim} dimensions: expected 2")
    return _block_diag(given)


@function
def _block_diag(tensors: Any) -> Tensor:
    rows, columns = (sum(each.shape[d] for each in tensors) for d in (0, 1))
    made = zeros_in((rows, columns), tensors[0], result_type(*tensors))
    row = column = 0
    for each in tensors:
        put(made.narrow(0, row, each.shape[0]).narrow(1, column, each.shape[1]), each)
        row, column = row + each.shape[0], column + each.shape[1]
    return made


def zeros_in(shape: Sequence[int], like: Tensor, kind: Any = None) -> Tensor:
    """Zeros, in a body."""
    made = _core.empty(shape, kind or like.dtype, like.device)
    put(made, tensor_for(0, made.dtype, made.device).expand(*shape))
    return made


# ---- Repeated -----------------------------------------------------------------------------------


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
    return made.view(*(a * b for a, b in zip(times, sizes, strict=True))) if rank else made  # type: ignore[no-any-return]


def tile(input: Tensor, *dims: Any, **keywords: Any) -> Tensor:
    """The tensor repeated along its dimensions, so many times each.

    >>> infinicore.tile(infinicore.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    given = dims or (keywords.pop("dims"),)
    return _tile(needs_tensor("tile", input), size_of("tile", given), **keywords)


def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along its dimensions; more repeats than dimensions add some in front.

    >>> infinicore.repeat(infinicore.tensor([1, 2]), 2, 1).shape
    infinicore.Size([2, 2])
    """
    times = size_of("repeat", repeats)
    if len(times) < input.ndim:
        raise RuntimeError(f"repeat: {len(times)} repeats for {input.ndim} dimensions")
    return _tile(input, times)


@function
def _repeat_each(input: Tensor, repeats: int, dim: int) -> Tensor:
    sizes = list(input.shape)
    spread = [*sizes[: dim + 1], repeats, *sizes[dim + 1 :]]
    made = emit("rearrange", input.unsqueeze(dim + 1).expand(*spread))
    sizes[dim] *= repeats
    return made.view(*sizes)  # type: ignore[no-any-return]


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated in place: all equally often, or as often as a tensor says.

    >>> infinicore.repeat_interleave(infinicore.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
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
    from infinicore.functions.indexing import index_select

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
    from infinicore.functions.indexing import take

    return take(input, tensor(rows, dtype=int64, device=input.device))


# ---- Turned -------------------------------------------------------------------------------------


@function
def _flip(input: Tensor, dims: Any) -> Tensor:
    at = [dim_of("flip", input, each, "dims") for each in dims]
    if len(set(at)) != len(at):
        raise RuntimeError(f"flip: dims is {tuple(dims)}: a dimension appears twice")
    if not at or not input.ndim:
        return emit("rearrange", input)  # type: ignore[no-any-return]
    return emit("flip", input, dim=at)  # type: ignore[no-any-return]


def flip(input: Tensor, *dims: Any, **keywords: Any) -> Tensor:
    """The order along dimensions reversed.

    >>> infinicore.flip(infinicore.arange(3), (0,))
    tensor([2, 1, 0])
    """
    given = dims or (keywords.pop("dims"),)
    return _flip(input, size_of("flip", given), **keywords)


def fliplr(input: Tensor, *, out: Any = None) -> Tensor:
    """Left and right exchanged: the second dimension reversed."""
    if input.ndim < 2:
        raise RuntimeError(f"fliplr: input has {input.ndim} dimensions: expected 2 or more")
    return _flip(input, (1,), out=out)


def flipud(input: Tensor, *, out: Any = None) -> Tensor:
    """Up and down exchanged: the first dimension reversed."""
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
        return emit("flip", input, dim=[one, two])  # type: ignore[no-any-return]
    if turns:
        flipped = emit("flip", input, dim=[two if turns == 1 else one])
        return emit("rearrange", flipped.transpose(one, two))  # type: ignore[no-any-return]
    return emit("rearrange", input)  # type: ignore[no-any-return]


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
        return flat.view(*input.shape) if input.ndim else flat.view(())  # type: ignore[no-any-return]
    given = list(dims) if isinstance(dims, (tuple, list)) else [dims]
    if len(given) != len(steps):
        raise RuntimeError(f"roll: {len(steps)} shifts for {len(given)} dims")
    at = [dim_of("roll", input, each, "dims") for each in given]
    if len(set(at)) == len(at):
        return emit("roll", input, shifts=steps, dim=at)  # type: ignore[no-any-return]
    for step, d in zip(steps, at, strict=True):
        input = emit("roll", input, shifts=[step], dim=[d])
    return input


# ---- Diagonals ----------------------------------------------------------------------------------


@function
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension as the diagonal of matrices of zeros.

    >>> infinicore.diag_embed(infinicore.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if not input.ndim:
        raise RuntimeError("diag_embed: input has no dimensions: expected one or more")
    size, rank = input.shape[-1] + abs(offset), input.ndim + 1
    one, two = dim1 % rank, dim2 % rank
    if one == two or not all(-rank <= each < rank for each in (dim1, dim2)):
        raise RuntimeError(
            f"diag_embed: dim1 and dim2 are {dim1} and {dim2}: expected two of {rank}"
        )
    rest = iter(input.shape[:-1])
    sizes = [size if d in (one, two) else next(rest) for d in range(rank)]
    made = zeros_in(sizes, input)
    put(diagonal(made, offset, one, two), input)
    return made


@function
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.

    >>> infinicore.diag(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)  # type: ignore[no-any-return]
    if input.ndim != 2:
        raise RuntimeError(f"diag: input has {input.ndim} dimensions: expected 1 or 2")
    return emit("rearrange", _diagonal(input, diagonal))  # type: ignore[no-any-return]


_diagonal = diagonal


@function
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """All elements as the diagonal of a matrix.

    >>> infinicore.diagflat(infinicore.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.reshape(input.numel()), offset)  # type: ignore[no-any-return]


def _replaced(name: str, input: Tensor, src: Tensor, part: Any) -> Tensor:
    made = emit("rearrange", input)
    view = part(made)
    if tuple(view.shape) != tuple(src.shape):
        raise RuntimeError(
            f"{name}: src has shape {tuple(src.shape)}: expected {tuple(view.shape)}"
        )
    put(view, src)
    return made  # type: ignore[no-any-return]


@function
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with another diagonal.

    >>> infinicore.diagonal_scatter(infinicore.zeros(2, 2), infinicore.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _replaced(
        "diagonal_scatter", input, src, lambda made: diagonal(made, offset, dim1, dim2)
    )


@function
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with one place of a dimension replaced.

    >>> infinicore.select_scatter(infinicore.zeros(2, 2), infinicore.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _replaced("select_scatter", input, src, lambda made: made.select(dim, index))


@function
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with a slice of a dimension replaced.

    >>> infinicore.slice_scatter(infinicore.zeros(4), infinicore.ones(2), start=0, step=2)
    tensor([1., 0., 1., 0.])
    """
    at = dim_of("slice_scatter", input, dim)
    key = (*(slice(None),) * at, slice(start, end, step))
    return _replaced("slice_scatter", input, src, lambda made: made[key])


def _triangle(input: Tensor, keeps: str, diagonal: int, out: Any) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError(f"{keeps}: input has {input.ndim} dimensions: expected 2 or more")
    rows, columns = (
        emit("arange", out=_core.empty((size,), int64, input.device), start=0, step=1)
        for size in input.shape[-2:]
    )
    distance = emit("sub", columns, rows.unsqueeze(1))
    kept = emit("less_equal" if keeps == "tril" else "greater_equal", distance, diagonal)
    zero = tensor_for(0, input.dtype, input.device)
    return emit("where", kept, input, zero, out=out)  # type: ignore[no-any-return]


@function
def tril(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The lower triangles of matrices, 0 above; `diagonal` is the last one kept.

    >>> infinicore.tril(infinicore.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _triangle(input, "tril", diagonal, out)


@function
def triu(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The upper triangles of matrices, 0 below; `diagonal` is the first one kept.

    >>> infinicore.triu(infinicore.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _triangle(input, "triu", diagonal, out)
