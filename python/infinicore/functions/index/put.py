"""Elements written by flat indices, along a diagonal, and by masks."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._function import traced
from infinicore._indexing import _scatter
from infinicore._tensor import Methods, Tensor
from infinicore.functions._checks import need_tensor
from infinicore.functions._index_checks import check_indices
from infinicore.functions.index.masks import masked_scatter
from infinicore.functions.index.scatter import _index_of


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements of source written at flat indices; with `accumulate` they are added.

    >>> infinicore.put(infinicore.zeros(2, 2), infinicore.tensor([3]), infinicore.ones(1))
    tensor([[0., 0.],
            [0., 1.]])
    """
    wraps = _check_put("put", need_tensor("put", "input", input), index, source)
    return _put(input, index, source, accumulate, wraps)


def _check_put(name: str, input: Tensor, index: Any, source: Any) -> bool:
    """Returns whether some indices may be negative."""
    _index_of(name, index)
    if need_tensor(name, "source", source).dtype is not input.dtype:
        raise TypeError(
            f"{name}: source has type {source.dtype!r}: expected that of the tensor,"
            f" {input.dtype!r}"
        )
    if source.numel() != index.numel():
        raise ValueError(
            f"{name}: source has {source.numel()} elements: expected {index.numel()}, as index"
        )
    return check_indices(name, index, input.numel(), 0, wraps=True)


@traced
def _put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool, wraps: bool) -> Tensor:
    made = input.clone()
    flat, line = made.view(made.numel()), _index_of("put", index).reshape(index.numel())
    _scatter(flat, (line,), (0,), 0, source.reshape(source.numel()), wraps, accumulate)
    return made


class _Methods(Methods):
    def put_(self, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Writes elements of source at flat indices; with `accumulate` they are added."""
        wraps = _check_put("put_", self, index, source)
        overlaps = _core.may_overlap(self, source) or _core.may_overlap(self, index)
        if overlaps or not self.is_contiguous():
            return self.copy_(_put(self, index, source, accumulate, wraps))
        flat, line = self.view(self.numel()), _index_of("put_", index).reshape(index.numel())
        _scatter(flat, (line,), (0,), 0, source.reshape(source.numel()), wraps, accumulate)
        return self

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Writes the elements of source, in order, where the mask is true."""
        return self.copy_(masked_scatter(self, mask, source))

    def fill_diagonal_(self, fill_value: Any, wrap: bool = False) -> Tensor:
        """Fills the main diagonal with one value. With `wrap`, it restarts below each square of a
        matrix with more rows than columns.

        >>> infinicore.zeros(2, 3).fill_diagonal_(1)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
        """
        sizes = tuple(self.shape)
        if len(sizes) < 2:
            raise RuntimeError(
                f"fill_diagonal_: the tensor has {len(sizes)} dimensions: expected 2 or more"
            )
        if len(sizes) > 2 and len(set(sizes)) > 1:
            raise RuntimeError(
                f"fill_diagonal_: the tensor has shape {sizes}: expected sizes that are all equal"
            )
        step, count = sum(self.stride()), min(sizes)
        starts = [0]
        if wrap and len(sizes) == 2 and sizes[0] > sizes[1]:
            # Squares are one row apart.
            starts = list(range(0, sizes[0], sizes[1] + 1))
        for row in starts:
            length = min(count, sizes[0] - row)
            place = row * self.stride(0) * self.itemsize
            _core.view_as(self, (length,), (step,), place, self.dtype).fill_(fill_value)
        return self
