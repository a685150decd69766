"""Elements written by flat indices, along a diagonal, and by masks."""

from __future__ import annotations

from typing import Any

from infinicore import _core
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
    made = need_tensor("put", "input", input).clone()
    return made.put_(index, source, accumulate)


class _Methods(Methods):
    def put_(self, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Writes elements of source at flat indices; with `accumulate` they are added."""
        index = _index_of("put_", index)
        if need_tensor("put_", "source", source).dtype is not self.dtype:
            raise TypeError(
                f"put_: source has type {source.dtype!r}: expected that of the tensor,"
                f" {self.dtype!r}"
            )
        if source.numel() != index.numel():
            raise ValueError(
                f"put_: source has {source.numel()} elements: expected {index.numel()}, as index"
            )
        if not index.numel():
            return self
        check_indices("put_", index, self.numel(), 0, wraps=True)
        flat = self.reshape(self.numel())
        given = (index.reshape(index.numel()),)
        flat.index_put_(given, source.reshape(source.numel()), accumulate)
        return self if _core.may_overlap(self, flat) else self.copy_(flat.view(*self.shape))

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
