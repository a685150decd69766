"""Reshaping, moving and repeating elements, without arithmetic."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .tensor import FUNCTIONS, Tensor, alias, cast, raw, result_type


def _sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(given[0]) if given and isinstance(given[0], (tuple, list)) else given


@raw
def reshape(x: Any, *shape: Any) -> Any:
    return x.reshape(_sizes(shape))


def reshape_named(x: Tensor, *shape: Any, **named: Any) -> Tensor:
    return reshape(x, *shape, *named.values())


FUNCTIONS["reshape"] = reshape_named


@raw
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    end = end_dim % max(x.ndim, 1)
    return x.reshape(*x.shape[:start_dim], -1, *x.shape[end + 1 :])


@raw
def ravel(x: Any) -> Any:
    return x.reshape(-1)


@raw
def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


@raw
def transpose(x: Any, dim0: int, dim1: int) -> Any:
    return x.swapaxes(dim0, dim1)


alias("transpose", "swapdims")


@raw
def t(x: Any) -> Any:
    return x.T


@raw
def adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def permute(x: Tensor, *order: Any, dims: Any = None) -> Tensor:
    return Tensor(x.array.transpose(_sizes(order) if dims is None else dims))


FUNCTIONS["permute"] = permute


@raw
def movedim(x: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(x, source, destination)


@raw
def squeeze(x: Any, dim: Any = None) -> Any:
    if dim is None:
        return x.squeeze()
    dims = dim if isinstance(dim, tuple) else (dim,)
    return x.squeeze(tuple(d for d in dims if x.shape[d] == 1))


@raw
def unsqueeze(x: Any, dim: int) -> Any:
    return np.expand_dims(x, dim)


def _slice(ndim: int, dim: int, part: Any) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * ndim
    key[dim] = part
    return tuple(key)


@raw
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    return x[_slice(x.ndim, dim, slice(start, start + length))]


alias("narrow", "narrow_copy")


@raw
def select(x: Any, dim: int, index: int) -> Any:
    return x[_slice(x.ndim, dim, index)]


@raw
def broadcast_to(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, shape).copy()


@raw
def expand(x: Any, *sizes: Any) -> Any:
    sizes = _sizes(sizes)
    kept = (1,) * (len(sizes) - x.ndim) + x.shape
    whole = [old if new == -1 else new for old, new in zip(kept, sizes, strict=True)]
    return np.broadcast_to(x, whole)


@raw
def as_strided(x: Any, size: Any, stride: Any, storage_offset: int = 0) -> Any:
    steps = [step * x.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(x.reshape(-1)[storage_offset:], size, steps).copy()


@raw
def broadcast_tensors(*tensors: Any) -> Any:
    return tuple(each.copy() for each in np.broadcast_arrays(*tensors))


@raw
def meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    return tuple(np.meshgrid(*tensors, indexing=indexing))


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):

    def _least(x: Any, name: str = _name) -> Any:
        return getattr(np, name)(x)

    _least.__name__ = _name
    raw(_least)


@raw
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(x, offset, dim1, dim2).copy()


# ---- Parts --------------------------------------------------------------------------------------


def _cut(x: Any, bounds: Any, dim: int) -> Any:
    return tuple(np.split(x, list(bounds), axis=dim))


@raw
def split(x: Any, size: Any, dim: int = 0) -> Any:
    if isinstance(size, int):
        return _cut(x, range(size, x.shape[dim], size), dim)
    return _cut(x, itertools.accumulate(size[:-1]), dim)


@raw
def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    size = -(-x.shape[dim] // chunks)
    return _cut(x, range(size, x.shape[dim], size), dim)


@raw
def tensor_split(x: Any, parts: Any, dim: int = 0) -> Any:
    return tuple(np.array_split(x, parts, axis=dim))


@raw
def hsplit(x: Any, parts: Any) -> Any:
    return tuple(np.hsplit(x, parts))


@raw
def vsplit(x: Any, parts: Any) -> Any:
    return tuple(np.vsplit(x, parts))


@raw
def dsplit(x: Any, parts: Any) -> Any:
    return tuple(np.dsplit(x, parts))


@raw
def unbind(x: Any, dim: int = 0) -> Any:
    return tuple(np.moveaxis(x, dim, 0))


# ---- Together -----------------------------------------------------------------------------------


def _joined(name: str, join: Any) -> None:
    def call(tensors: Any, *where: Any, **named: Any) -> Tensor:
        kind = result_type(*tensors)
        arrays = [cast(each.array, kind) for each in tensors]
        return Tensor(join(arrays, *where, **named))

    FUNCTIONS[name] = call


def _cat(arrays: Any, dim: int = 0) -> Any:
    filled = [a for a in arrays if a.shape != (0,)]
    return np.concatenate(filled or arrays, dim)


_joined("cat", _cat)
_joined("stack", lambda arrays, dim=0: np.stack(arrays, dim))
for _name in ("hstack", "vstack", "dstack", "column_stack"):
    _joined(_name, getattr(np, _name))
alias("vstack", "row_stack")


@raw
def block_diag(*tensors: Any) -> Any:
    blocks = [np.atleast_2d(each) for each in tensors]
    made = np.zeros(np.sum([b.shape for b in blocks], 0), blocks[0].dtype)
    row = column = 0
    for block in blocks:
        made[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return made


@raw
def cartesian_prod(*tensors: Any) -> Any:
    return np.stack([each.reshape(-1) for each in np.meshgrid(*tensors, indexing="ij")], -1)


@raw
def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return x[np.array(list(pick(range(len(x)), r)))]


@raw
def tile(x: Any, times: Any) -> Any:
    return np.tile(x, tuple(times))


@raw
def repeat(x: Any, *times: int) -> Any:
    return np.tile(x, times)


@raw
def repeat_interleave(x: Any, repeats: Any, dim: int | None = None) -> Any:
    return np.repeat(x, repeats, dim)


# ---- Moves --------------------------------------------------------------------------------------


@raw
def flip(x: Any, *dims: Any) -> Any:
    return np.flip(x, _sizes(dims)).copy()


def flip_named(x: Tensor, *order: Any, dims: Any = None) -> Tensor:
    return flip(x, *(order if dims is None else (dims,)))


FUNCTIONS["flip"] = flip_named


@raw
def fliplr(x: Any) -> Any:
    return np.fliplr(x).copy()


@raw
def flipud(x: Any) -> Any:
    return np.flipud(x).copy()


@raw
def rot90(x: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    return np.rot90(x, k, dims).copy()


@raw
def roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    return np.roll(x, shifts, dims)


@raw
def diag(x: Any, diagonal: int = 0) -> Any:
    return np.diag(x, diagonal).copy()


@raw
def diagflat(x: Any, offset: int = 0) -> Any:
    return np.diagflat(x, offset)


@raw
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    size = x.shape[-1] + abs(offset)
    made = np.zeros((*x.shape[:-1], size, size), x.dtype)
    i = np.arange(x.shape[-1])
    made[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@raw
def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    made = x.copy()
    moved = np.moveaxis(made, (dim1, dim2), (-2, -1))
    i = np.arange(src.shape[-1])
    moved[..., i + max(-offset, 0), i + max(offset, 0)] = src
    return made


@raw
def select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    made = x.copy()
    made[_slice(x.ndim, dim, index)] = src
    return made


@raw
def slice_scatter(
    x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    made = x.copy()
    made[_slice(x.ndim, dim, slice(start, end, step))] = src
    return made


@raw
def tril(x: Any, diagonal: int = 0) -> Any:
    return np.tril(x, diagonal)


@raw
def triu(x: Any, diagonal: int = 0) -> Any:
    return np.triu(x, diagonal)


@raw
def unravel_index(x: Any, shape: Any) -> Any:
    return tuple(np.unravel_index(x, shape))
