"""From the weights of a checkpoint to layers: checked, sharded, and not copied where possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import infinicore
from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.llm import quantised
from infinicore.llm.files import Checkpoint, ModelFileError, Stored
from infinicore.llm.files.gguf import BLOCKS
from infinicore.llm.layers import (
    Dense,
    Embedding,
    Gathered,
    Norm,
    Packed,
    PackedStack,
    Projections,
    Summed,
)
from infinicore.llm.stages import Stage
from infinicore.nn import functional as F  # noqa: N812


class Weights:
    """The weights below a prefix. Layers take them by name with the expected shape; weights that
    were never taken are known at the end (`untaken`)."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        device: Any,
        dtype: Any,
        comm: Any = None,
        progress: Any = None,
        stage: Stage | None = None,
    ) -> None:
        self.checkpoint, self.device, self.dtype, self.comm = checkpoint, device, dtype, comm
        self.progress, self.stage = progress, stage or Stage()
        self.prefix = ""
        self._taken: set[str] = set()
        self.ranks = 1 if comm is None else comm.ranks
        self.rank = 0 if comm is None else comm.rank

    def below(self, name: str) -> Weights:
        made = object.__new__(Weights)
        made.__dict__.update(self.__dict__)
        made.prefix = f"{self.prefix}{name}."
        return made

    def untaken(self) -> list[str]:
        return [name for name in self.checkpoint.names() if name not in self._taken]

    def leave(self, name: str) -> None:
        """Marks a weight, or all below a prefix, as belonging to another stage."""
        whole = self.prefix + name
        left = {each for each in self.checkpoint.names() if f"{each}.".startswith(f"{whole}.")}
        self._taken |= left
        for each in left:
            found = self.checkpoint.get(each)
            if self.progress is not None and found is not None:
                self.progress(found.nbytes)

    def has(self, name: str) -> bool:
        return self.checkpoint.get(self.prefix + name) is not None

    def stored(self, name: str, shape: Sequence[int]) -> Stored:
        whole = self.prefix + name
        found = self.checkpoint.get(whole)
        if found is None:
            raise ModelFileError(f"{self.checkpoint.source}: the weight {whole!r} is missing")
        if found.shape != tuple(shape):
            raise ModelFileError(
                f"{self.checkpoint.source}: the weight {whole!r} has shape {found.shape}: expected"
                f" {tuple(shape)}"
            )
        self._taken.add(whole)
        if self.progress is not None:
            self.progress(found.nbytes)
        return found

    def tensor(self, name: str, *shape: int, dtype: Any = None) -> Tensor:
        """A weight as a dense tensor on the device."""
        own = name.removesuffix(".weight")
        if own != name and len(shape) == 2:
            found = quantised.find(self, own, *shape)
            if found is not None:
                return found.dense(dtype or self.dtype)
        return self.dense(self.stored(name, shape), dtype)

    def dense(self, found: Stored, dtype: Any = None) -> Tensor:
        """The dequantized weight, on the device."""
        wanted = dtype or self.dtype
        data = found.data.to(self.device)
        if found.packed is None:
            if not found.data.is_floating_point():
                raise ModelFileError(
                    f"{self.checkpoint.source}: the weight {found.name!r} has type"
                    f" {found.data.dtype}: expected floating point, or scales beside it"
                )
            return data.to(wanted)
        return F.dequantize_gguf(data, found.packed, dtype=wanted).view(*found.shape)

    def stack(
        self, name: str, shape: tuple[int, int, int], axis: int, begin: int, size: int
    ) -> Tensor | PackedStack:
        """A part, along an axis, of matrices stored as one weight; it stays packed if it consists
        of whole blocks."""
        found = self.stored(name, shape)
        if found.packed is None:
            return self.dense(found).narrow(axis, begin, size).contiguous()
        rows = found.data.view(shape[0], shape[1], -1)
        if axis == 2 and size != shape[2]:
            _, block, bytes_ = BLOCKS[found.packed]
            if begin % block or size % block:
                return self.dense(found).narrow(axis, begin, size).contiguous()
            begin, size = begin // block * bytes_, size // block * bytes_
        elif axis == 2:
            size = rows.shape[2]
        part = rows.narrow(axis, begin, size)
        whole = part if part.is_contiguous() else part.contiguous()
        return PackedStack(whole.to(self.device), found.packed, self.dtype)

    # ---- layers -------------------------------------------------------------------------------

    def norm(self, name: str, size: int, epsilon: float, plus_one: bool = False) -> Norm:
        weight = self.tensor(f"{name}.weight", size)
        return Norm(weight + 1 if plus_one else weight, epsilon)

    def embedding(self, name: str, rows: int, width: int, scale: float = 1.0) -> Embedding:
        found = self.stored(f"{name}.weight", (rows, width))
        if found.packed is None:
            return Embedding(self.dense(found), None, self.dtype, scale)
        return Embedding(found.data.to(self.device), found.packed, self.dtype, scale)

    def linear(
        self, name: str, out_size: int, in_size: int, *, bias: bool | None = False, cut: str = ""
    ) -> nn.Module:
        """A linear layer. `bias` None: if there is one. `cut` is how it is sharded: "outputs" (each
        rank keeps its own), "inputs" (the partial sums are added up), "joined" (outputs, which are
        gathered)."""
        whole, offset = self._product(name, out_size, in_size, bias)
        if not cut or self.ranks == 1:
            return whole.layer(offset)
        if cut == "inputs":
            part = whole.inputs(*self.share(name, in_size, whole.units[1])).layer(None)
            return Summed(part, offset, self.comm)
        part = _some(whole, offset, *self.share(name, out_size, whole.units[0]))
        return Gathered(part, self.comm) if cut == "joined" else part

    def _product(
        self, name: str, out_size: int, in_size: int, bias: bool | None
    ) -> tuple[quantised.Quantised | Rows, Tensor | None]:
        """A weight, before sharding and conversion to a layer, and its bias."""
        whole: quantised.Quantised | Rows | None = quantised.find(self, name, out_size, in_size)
        if bias is None or whole is not None:  # GPTQ files have biases everywhere
            bias = self.has(f"{name}.bias")
        if whole is None:
            whole = Rows(self, self.stored(f"{name}.weight", (out_size, in_size)))
        return whole, self.tensor(f"{name}.bias", out_size) if bias else None

    def share(self, name: str, size: int, unit: int = 1) -> tuple[int, int]:
        """The start and length of this rank's shard."""
        if size % (self.ranks * unit):
            raise ModelFileError(
                f"{self.checkpoint.source}: {self.prefix}{name}: {size} cannot be shared out evenly"
                f" among {self.ranks} ranks"
            )
        each = size // self.ranks
        return self.rank * each, each

    def projections(
        self, outputs: Mapping[str, int], in_size: int, *, bias: bool | None = False
    ) -> Projections:
        """Linear layers of one input, sharded by outputs. If the weights are copied anyway they are
        joined, so that there is a single product."""
        parts = [
            self.linear(name, size, in_size, bias=bias, cut="outputs")
            for name, size in outputs.items()
        ]
        return self._joined(parts, [size // self.ranks for size in outputs.values()])

    def split(self, name: str, sizes: Sequence[int], in_size: int) -> Projections:
        """Linear layers stored as one weight, with concatenated outputs."""
        whole, offset = self._product(name, sum(sizes), in_size, False)
        parts, end = [], 0
        for size in sizes:
            first, count = self.share(name, size, whole.units[0])
            parts.append(_some(whole, offset, end + first, count))
            end += size
        return self._joined(parts, [size // self.ranks for size in sizes])

    def _joined(self, parts: list[nn.Module], sizes: Sequence[int]) -> Projections:
        kinds = {(type(part), getattr(part, "packed", None)) for part in parts}
        are_quantised = any(isinstance(part, quantised.Quantised) for part in parts)
        is_mapped = self.device.type == "cpu" and not all(
            getattr(part, "interleaved", False) for part in parts
        )
        if is_mapped or len(kinds) > 1 or are_quantised:
            return Projections(parts, sizes)
        weight = infinicore.cat([part.weight for part in parts], 0)
        biases = [part.bias for part in parts]
        bias = None
        if any(each is not None for each in biases):
            zero = infinicore.zeros(max(sizes), dtype=self.dtype, device=self.device)
            both = zip(biases, sizes, strict=True)
            bias = infinicore.cat([zero.narrow(0, 0, n) if b is None else b for b, n in both], 0)
        packed = getattr(parts[0], "packed", None)
        if packed is None:
            return Projections([Dense(weight, bias)], sizes)
        return Projections([Packed(weight, packed, bias, parts[0].interleaved)], sizes)


@dataclass(frozen=True)
class Rows:
    """A weight [outputs, inputs] as stored in the file, dense or packed. The shard of a rank is a
    view of the mapped file, or a copy of some columns."""

    weights: Weights
    found: Stored
    units = (1, 1)

    def outputs(self, begin: int, size: int) -> Rows:
        return self._with((size, self.found.shape[1]), self.found.data.narrow(0, begin, size))

    def inputs(self, begin: int, size: int) -> Rows:
        shape = (self.found.shape[0], size)
        if self.found.packed is None:
            return self._with(shape, self.found.data.narrow(1, begin, size).contiguous())
        _, block, bytes_ = BLOCKS[self.found.packed]
        if size % block:
            dense = self.weights.dense(self.found).narrow(1, begin, size).contiguous()
            return Rows(self.weights, Stored(self.found.name, shape, dense))
        begin, size = begin // block * bytes_, size // block * bytes_
        return self._with(shape, self.found.data.narrow(1, begin, size).contiguous())

    def _with(self, shape: tuple[int, int], data: Tensor) -> Rows:
        return Rows(self.weights, Stored(self.found.name, shape, data, self.found.packed))

    def layer(self, bias: Tensor | None) -> nn.Module:
        if self.found.packed is None:
            return Dense(self.weights.dense(self.found), bias)
        return Packed(self.found.data.to(self.weights.device), self.found.packed, bias)


def _some(
    whole: quantised.Quantised | Rows, bias: Tensor | None, begin: int, size: int
) -> nn.Module:
    """The layer for some of the outputs."""
    return whole.outputs(begin, size).layer(None if bias is None else bias.narrow(0, begin, size))
