"""Layers over weights as they are stored: dense, or packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812


class Dense(nn.Module):
    """x @ weight.T + bias"""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Packed(nn.Module):
    """x @ weight.T + bias, with a weight in a block format of GGUF, which stays packed. On a CPU
    its rows are copied and interleaved, which makes products with few rows take two thirds of the
    time."""

    def __init__(
        self, weight: Tensor, packed: int, bias: Tensor | None, interleaved: bool = False
    ) -> None:
        super().__init__()
        if not interleaved and weight.device.type == "cpu" and weight.shape[0] % 8 == 0:
            weight, interleaved = F.interleave_gguf(weight, packed), True
        self.weight, self.packed, self.bias = weight, packed, bias
        self.interleaved = interleaved

    def forward(self, x: Tensor) -> Tensor:
        return F.linear_gguf(x, self.weight, self.packed, self.bias, interleaved=self.interleaved)


class Summed(nn.Module):
    """A product whose inputs are sharded across ranks; the partial sums are added up."""

    def __init__(self, part: nn.Module, bias: Tensor | None, comm: Any) -> None:
        super().__init__()
        self.part, self.bias, self.comm = part, bias, comm

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.comm.all_reduce(self.part(x).contiguous())
        return total if self.bias is None else total + self.bias


class Gathered(nn.Module):
    """A product whose outputs are sharded across ranks; the shards are gathered."""

    def __init__(self, part: nn.Module, comm: Any) -> None:
        super().__init__()
        self.part, self.comm = part, comm

    def forward(self, x: Tensor) -> Tensor:
        here = self.part(x).contiguous()
        every = self.comm.all_gather(here).view(self.comm.ranks, *here.shape)
        made: Tensor = every.permute(1, 0, 2).contiguous().view(here.shape[0], -1)
        return made


class Projections(nn.Module):
    """Several products of one input: one after the other, or a single one whose result is split."""

    def __init__(self, parts: Sequence[nn.Module], sizes: Sequence[int]) -> None:
        super().__init__()
        self.parts, self.sizes = nn.ModuleList(parts), list(sizes)

    def forward(self, x: Tensor, joins: tuple[int, int] | None = None) -> list[Tensor]:
        """The results. `joins`: two consecutive ones that may be returned unsplit."""
        if len(self.parts) == len(self.sizes):
            return [part(x) for part in self.parts]
        sizes = self.sizes
        if joins is not None:
            first, last = joins
            sizes = [*sizes[:first], sum(sizes[first : last + 1]), *sizes[last + 1 :]]
        whole, begin, made = self.parts[0](x), 0, []
        for size in sizes:
            made.append(whole.narrow(-1, begin, size))
            begin += size
        return made


class Embedding(nn.Module):
    """Rows of a dense or packed table. `first` is the first row that this rank has."""

    def __init__(self, weight: Tensor, packed: int | None, dtype: Any, scale: float = 1.0) -> None:
        super().__init__()
        self.weight, self.packed, self.dtype, self.scale = weight, packed, dtype, scale

    def forward(self, ids: Tensor) -> Tensor:
        rows = F.embedding(ids, self.weight)
        if self.packed is not None:
            rows = F.dequantize_gguf(rows, self.packed, dtype=self.dtype)
        return rows if self.scale == 1.0 else rows * self.scale


class PackedStack(nn.Module):
    """Matrices of one shape in a block format: bytes [matrices, rows, bytes of a row]."""

    def __init__(self, weight: Tensor, packed: int, dtype: Any) -> None:
        super().__init__()
        self.weight, self.packed, self.dtype = weight, packed, dtype

    def dense(self, chosen: Tensor | None = None) -> Tensor:
        """All matrices dequantized, or those with the given indices."""
        part = self.weight if chosen is None else self.weight.index_select(0, chosen)
        return F.dequantize_gguf(part, self.packed, dtype=self.dtype)


class Norm(nn.Module):
    """Root mean square normalisation of the last dimension, times the weight."""

    def __init__(self, weight: Tensor, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = weight, epsilon

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)

    def after_sum(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The norm of x + y, and x + y."""
        made = infinicore.add_rms_norm(x, y, self.weight, self.epsilon)
        return made[0], made[1]
