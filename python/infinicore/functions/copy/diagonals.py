"""Diagonals and triangles, and copies with parts replaced."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import float32, int32
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_rank, need_tensor
from infinicore.functions.copy.cat import _put, _zeros_in
from infinicore.functions.copy.views import diagonal


@function
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension as their diagonal, and zeros elsewhere.

    >>> infinicore.diag_embed(infinicore.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    need_rank("diag_embed", "input", input, 1, or_more=True)
    size, rank = input.shape[-1] + abs(offset), input.ndim + 1
    one, two = dim1 % rank, dim2 % rank
    if one == two or not all(-rank <= each < rank for each in (dim1, dim2)):
        raise RuntimeError(
            f"diag_embed: dim1 and dim2 are {dim1} and {dim2}: expected two of {rank}"
        )
    rest = iter(input.shape[:-1])
    sizes = [size if d in (one, two) else next(rest) for d in range(rank)]
    made = _zeros_in(sizes, input)
    _put(diagonal(made, offset, one, two), input)
    return made


@function
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as the diagonal of a matrix, or the diagonal of a matrix as a vector.

    >>> infinicore.diag(infinicore.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag: input has {input.ndim} dimensions: expected 1 or 2")
    return emit("rearrange", _diagonal(input, diagonal))


_diagonal = diagonal


@function
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal.

    >>> infinicore.diagflat(infinicore.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(input.reshape(input.numel()), offset)


def _in_order(input: Tensor) -> Tensor:
    """A copy, with the strides of the input if its elements fill its memory, as in torch."""
    steps, step = input.stride(), 1
    for dim in sorted(range(input.ndim), key=lambda dim: (steps[dim], input.shape[dim])):
        if input.shape[dim] > 1 and steps[dim] != step:
            return emit("rearrange", input)  # type: ignore[no-any-return]
        step *= input.shape[dim]
    made = _core.empty(input.shape, input.dtype, input.device, steps)
    return emit("rearrange", input, out=made)  # type: ignore[no-any-return]


def _replaced(name: str, input: Tensor, src: Tensor, part: Any) -> Tensor:
    made = _in_order(input)
    view = part(made)
    if tuple(view.shape) != tuple(src.shape):
        raise RuntimeError(
            f"{name}: src has shape {tuple(src.shape)}: expected {tuple(view.shape)}"
        )
    _put(view, src)
    return made


@function
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with the diagonal replaced.

    >>> infinicore.diagonal_scatter(infinicore.zeros(2, 2), infinicore.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _replaced(
        "diagonal_scatter", input, src, lambda made: diagonal(made, offset, dim1, dim2)
    )


@function
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with one index of a dimension replaced.

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


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy with the elements of a strided view replaced.

    >>> infinicore.as_strided_scatter(infinicore.zeros(4), infinicore.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    need_tensor("as_strided_scatter", "input", input)
    # Recipes are shared by inputs of any offset.
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return _as_strided_scatter(input, src, size, stride, start)


@function
def _as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, start: int) -> Tensor:
    # The copy has the strides of the input, unless elements of it share memory.
    steps = input.stride()
    shares = any(size > 1 and step == 0 for size, step in zip(input.shape, steps, strict=True))
    made = _core.empty(input.shape, input.dtype, input.device, None if shares else steps)
    _put(made, input)
    view = made.as_strided(size, stride, start)
    if tuple(view.shape) != tuple(src.shape):
        raise RuntimeError(
            f"as_strided_scatter: src has shape {tuple(src.shape)}: expected {tuple(view.shape)}"
        )
    _put(view, src)
    return made


_CPU = device("cpu")
_EXACT = 1 << 24  # float32 holds integers up to this


def _triangle(input: Tensor, keeps: str, diagonal: int, out: Any) -> Tensor:
    need_rank(keeps, "input", input, 2, or_more=True)
    rows, columns = input.shape[-2:]
    above = max(-rows, min(diagonal, columns))
    # Row and column indices in one range: that of a row is offset by `above` from that of its
    # column.
    row, column = max(above, 0), max(-above, 0)
    size = max(row + rows, column + columns)
    if input.device is _CPU and input.dtype is int32 and size <= _EXACT:
        # Comparisons of 32-bit integers would be made in 64 bits.
        if out is None:
            return _triangle(input.view(float32), keeps, diagonal, None).view(int32)
        if out.dtype is int32:
            _triangle(input.view(float32), keeps, diagonal, out.view(float32))
            return out  # type: ignore[no-any-return]
    places = emit("arange", out=_core.empty((size,), int32, input.device), start=0, step=1)
    kept = emit(
        "less_equal" if keeps == "tril" else "greater_equal",
        places.narrow(0, column, columns),
        places.narrow(0, row, rows).unsqueeze(1),
    )
    zero = tensor_for(0, input.dtype, input.device)
    return emit("where", kept, input, zero, out=out)


@function
def tril(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The lower triangles of matrices, with zeros above; `diagonal` is the last one kept.

    >>> infinicore.tril(infinicore.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _triangle(input, "tril", diagonal, out)


@function
def triu(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The upper triangles of matrices, with zeros below; `diagonal` is the first one kept.

    >>> infinicore.triu(infinicore.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return _triangle(input, "triu", diagonal, out)
