"""Splitting along a dimension, into views."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank, need_tensor


def _parts(input: Tensor, dim: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    made, start = [], 0
    for length in lengths:
        made.append(input.narrow(dim, start, length))
        start += length
    return tuple(made)


def split(
    input: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Splits a dimension into parts of one size (the last may be smaller), or of the sizes in a
    list.

    >>> infinicore.split(infinicore.arange(5), 2)[2]
    tensor([4])
    """
    given = split_size if split_size_or_sections is None else split_size_or_sections
    at = dim_of("split", need_tensor("split", "input", input), dim)
    whole = input.shape[at]
    if isinstance(given, (tuple, list)):
        if sum(given) != whole or any(size < 0 for size in given):
            raise RuntimeError(f"split: sizes {tuple(given)} don't add up to the size {whole}")
        return _parts(input, at, given)
    if given is None or given < 0 or (given == 0 and whole):
        raise RuntimeError(f"split: split_size is {given}: expected 1 or more")
    count = max(-(-whole // given), 1) if given else 1
    return _parts(input, at, [min(given, whole - i * given) for i in range(count)])


def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Splits a dimension into parts of these sizes.

    >>> infinicore.split_with_sizes(infinicore.arange(5), [2, 3])[1]
    tensor([2, 3, 4])
    """
    return split(input, tuple(split_sizes), dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Splits a dimension into a number of parts of one size; the last may be smaller, or some
    missing.

    >>> infinicore.chunk(infinicore.arange(5), 2)[1]
    tensor([3, 4])
    """
    expect(chunks >= 1, "chunk", "chunks", chunks, "1 or more", RuntimeError)
    at = dim_of("chunk", need_tensor("chunk", "input", input), dim)
    size = -(-input.shape[at] // chunks)
    return split(input, size, at) if size else _parts(input, at, [0] * chunks)


# In torch these bypass autograd; here there are no gradients.
unsafe_chunk, unsafe_split, unsafe_split_with_sizes = chunk, split, split_with_sizes


def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    sections: Any = None,
    indices: Any = None,
) -> tuple[Tensor, ...]:
    """Splits a dimension into a number of parts whose sizes differ by at most 1, or at given
    indices.

    >>> infinicore.tensor_split(infinicore.arange(5), 3)[0]
    tensor([0, 1])
    """
    at = dim_of("tensor_split", need_tensor("tensor_split", "input", input), dim)
    given = _one_of("tensor_split", indices_or_sections, sections, indices)
    if isinstance(given, Tensor):
        given = given.tolist()
    whole = input.shape[at]
    if isinstance(given, int):
        expect(given >= 1, "tensor_split", "sections", given, "1 or more", RuntimeError)
        return _parts(input, at, [whole // given + (i < whole % given) for i in range(given)])
    cuts = [0, *(slice(each).indices(whole)[1] for each in given), whole]
    pairs = itertools.pairwise(cuts)
    return tuple(input.narrow(at, a, max(b - a, 0)) for a, b in pairs)


def _one_of(name: str, *given: Any) -> Any:
    """Where to split, given positionally or by one of torch's two names."""
    named = [each for each in given if each is not None]
    if len(named) != 1:
        raise TypeError(f"{name}: got {len(named)} of indices, sections: expected one of them")
    return named[0]


def _cut(name: str, input: Tensor, rank: int, dim: int, *options: Any) -> tuple[Tensor, ...]:
    """Splits along a dimension, or the last one, of a tensor with a minimum number of
    dimensions."""
    need_rank(name, "input", input, rank, or_more=True)
    given, dim = _one_of(name, *options), min(dim, input.ndim - 1)
    if isinstance(given, int) and (given < 1 or input.shape[dim] % given):
        raise RuntimeError(f"{name}: {input.shape[dim]} is not divided by {given}")
    return tensor_split(input, given, dim)


def hsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Splits horizontally: along the second dimension, or the only one.

    >>> infinicore.hsplit(infinicore.arange(4), 2)[1]
    tensor([2, 3])
    """
    return _cut("hsplit", input, 1, 1, indices_or_sections, sections, indices)


def vsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Splits vertically: along the first dimension of two or more.

    >>> infinicore.vsplit(infinicore.ones(4, 1), 2)[1].shape
    infinicore.Size([2, 1])
    """
    return _cut("vsplit", input, 2, 0, indices_or_sections, sections, indices)


def dsplit(
    input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
) -> tuple[Tensor, ...]:
    """Splits depthwise: along the third dimension of three or more.

    >>> infinicore.dsplit(infinicore.ones(1, 1, 4), 2)[1].shape
    infinicore.Size([1, 1, 2])
    """
    return _cut("dsplit", input, 3, 2, indices_or_sections, sections, indices)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all indices of a dimension, which is removed.

    >>> infinicore.unbind(infinicore.tensor([[1, 2], [3, 4]]))[1]
    tensor([3, 4])
    """
    at = dim_of("unbind", need_tensor("unbind", "input", input), dim)
    need_rank("unbind", "input", input, 1, or_more=True)
    return tuple(input.select(at, i) for i in range(input.shape[at]))
