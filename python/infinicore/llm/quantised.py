"""Layers of quantised Hugging Face models: AWQ, GPTQ (4 bits) and W8A8 (int8).

Weights stay packed. AWQ's and GPTQ's are converted to blocks of 32 inputs with a scale and a
minimum each, which linear_gguf reads directly; if groups are not multiples of 32 they are
dequantized for each product. W8A8 products use integers, with inputs quantised per token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import infinicore
from infinicore import nn
from infinicore._emit import emit
from infinicore._tensor import Tensor
from infinicore.llm.files import ModelFileError
from infinicore.nn import functional as F  # noqa: N812

_PER_WORD = 8  # values of 4 bits in a word
_AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # order of the outputs in a word
_Q4_1 = 3  # GGML type number


class Quantised(nn.Module, ABC):
    """x @ weight.T + bias. `units` are the granularities of outputs and inputs for sharding."""

    units = (1, 1)
    bias: Tensor | None = None

    def layer(self, bias: Tensor | None) -> Quantised:
        """The layer itself, with a bias."""
        self.bias = bias
        return self

    @abstractmethod
    def outputs(self, begin: int, size: int) -> Quantised:
        """The layer for some of the outputs, without bias."""

    @abstractmethod
    def inputs(self, begin: int, size: int) -> Quantised:
        """The layer for some of the inputs, without bias."""

    @abstractmethod
    def dense(self, dtype: Any) -> Tensor:
        """The dequantized weight [outputs, inputs]."""


class _FourBits(Quantised):
    """A weight scale * (code - zero): codes of 4 bits, scales and zeros for groups of inputs."""

    scales: Tensor
    _blocks: Tensor | None = None
    _order: Tensor | None = None  # order of the inputs in the blocks; None: unchanged
    _is_ready = False

    @abstractmethod
    def expanded(self) -> Tensor:
        """float16 [inputs, outputs]"""

    @abstractmethod
    def codes(self) -> tuple[Tensor, Tensor]:
        """The codes of the weight [inputs, outputs], and the zeros [groups, outputs]."""

    @abstractmethod
    def group_numbers(self) -> list[int]:
        """The group of each input."""

    def dense(self, dtype: Any) -> Tensor:
        return self.expanded().to(dtype).transpose(0, 1).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        if not self._is_ready:  # deferred until ranks have taken their shards
            self._make_blocks()
        if self._blocks is None:
            made = infinicore.matmul(x, self.expanded().to(x.dtype))
            return made if self.bias is None else made + self.bias
        x = x if self._order is None else x.index_select(-1, self._order)
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear_gguf(x, self._blocks, _Q4_1, bias, quantize_input=False)

    def _make_blocks(self) -> None:
        """Blocks of Q4_1: a scale, a minimum, and codes of 32 inputs of one group."""
        self._is_ready = True
        numbers = self.group_numbers()
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        blocks = [{numbers[i] for i in order[at : at + 32]} for at in range(0, len(order), 32)]
        if len(order) % 32 or any(len(each) > 1 for each in blocks):
            return
        device = self.scales.device
        codes, zeros = self.codes()
        if order != list(range(len(order))):
            self._order = infinicore.tensor(order, dtype=infinicore.int64, device=device)
            codes = codes.index_select(0, self._order)
        owners = [each.pop() for each in blocks]
        groups = infinicore.tensor(owners, dtype=infinicore.int64, device=device)
        outputs, count = codes.shape[1], len(owners)
        halves = codes.transpose(0, 1).contiguous().view(outputs, count, 2, 16)
        pairs = (halves.select(2, 0) + halves.select(2, 1) * 16).to(infinicore.uint8)
        minima = -(self.scales.to(infinicore.float32) * zeros).to(infinicore.float16)
        parts = [_bytes_of(each.index_select(0, groups)) for each in (self.scales, minima)]
        self._blocks = infinicore.cat([*parts, pairs], 2).view(outputs, count * 20)
        self._drop()

    @abstractmethod
    def _drop(self) -> None:
        """Free the tensors that the blocks were built from."""


class Awq(_FourBits):
    """AWQ: eight outputs in a word; scales and zeros for groups of consecutive inputs."""

    def __init__(self, qweight: Tensor, scales: Tensor, zeros: Tensor) -> None:
        super().__init__()
        self.qweight, self.scales, self.zeros = qweight, scales, zeros
        self.units = (_PER_WORD, qweight.shape[0] // scales.shape[0])

    def expanded(self) -> Tensor:
        made: Tensor = emit("dequantize_awq", self.qweight, self.scales, self.zeros)
        return made

    def codes(self) -> tuple[Tensor, Tensor]:
        return _unpacked(self.qweight, _AWQ_ORDER), _unpacked(self.zeros, _AWQ_ORDER)

    def group_numbers(self) -> list[int]:
        return [i // self.units[1] for i in range(self.qweight.shape[0])]

    def _drop(self) -> None:
        del self.qweight, self.zeros

    def outputs(self, begin: int, size: int) -> Awq:
        words = (begin // _PER_WORD, size // _PER_WORD)
        parts = [_part(each, 1, *words) for each in (self.qweight, self.zeros)]
        return Awq(parts[0], _part(self.scales, 1, begin, size), parts[1])

    def inputs(self, begin: int, size: int) -> Awq:
        groups = (begin // self.units[1], size // self.units[1])
        scales, zeros = (_part(each, 0, *groups) for each in (self.scales, self.zeros))
        return Awq(_part(self.qweight, 0, begin, size), scales, zeros)


class Gptq(_FourBits):
    """GPTQ: eight inputs in a word; each input has the index of its group of scales and zeros."""

    units = (_PER_WORD, _PER_WORD)

    def __init__(self, qweight: Tensor, scales: Tensor, zeros: Tensor, groups: Tensor) -> None:
        super().__init__()
        self.qweight, self.scales, self.zeros, self.groups = qweight, scales, zeros, groups

    def expanded(self) -> Tensor:
        given = (self.qweight, self.scales, self.zeros, self.groups)
        made: Tensor = emit("dequantize_gptq", *given)
        return made

    def codes(self) -> tuple[Tensor, Tensor]:
        words, outputs = self.qweight.shape
        along_outputs = _unpacked(self.qweight, range(_PER_WORD)).view(words, outputs, _PER_WORD)
        codes = along_outputs.permute(0, 2, 1).reshape(words * _PER_WORD, outputs)
        return codes, _unpacked(self.zeros, range(_PER_WORD)) + 1  # files store the zeros minus one

    def group_numbers(self) -> list[int]:
        return [int(each) for each in self.groups.tolist()]

    def _drop(self) -> None:
        del self.qweight, self.zeros, self.groups

    def outputs(self, begin: int, size: int) -> Gptq:
        qweight, scales = (_part(each, 1, begin, size) for each in (self.qweight, self.scales))
        zeros = _part(self.zeros, 1, begin // _PER_WORD, size // _PER_WORD)
        return Gptq(qweight, scales, zeros, self.groups)

    def inputs(self, begin: int, size: int) -> Gptq:
        qweight = _part(self.qweight, 0, begin // _PER_WORD, size // _PER_WORD)
        return Gptq(qweight, self.scales, self.zeros, _part(self.groups, 0, begin, size))


class Int8(Quantised):
    """W8A8: int8 [outputs, inputs] with a scale for each output."""

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.weight, self.scale = weight, scale

    def dense(self, dtype: Any) -> Tensor:
        return (self.weight.to(infinicore.float32) * self.scale.unsqueeze(1)).to(dtype)

    def outputs(self, begin: int, size: int) -> Int8:
        return Int8(_part(self.weight, 0, begin, size), _part(self.scale, 0, begin, size))

    def inputs(self, begin: int, size: int) -> Int8:
        return Int8(_part(self.weight, 1, begin, size), self.scale)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear_w8a8i8(x, self.weight, self.scale, self.bias)


def _unpacked(words: Tensor, order: Iterable[int]) -> Tensor:
    """Unpacks [rows, words] of int32 to [rows, 8 * words] 4-bit numbers, in the given order within
    words."""
    places = [4 * each for each in order]
    shifts = infinicore.tensor(places, dtype=infinicore.int32, device=words.device)
    made: Tensor = (words.unsqueeze(-1) >> shifts) & 15
    return made.view(words.shape[0], words.shape[1] * _PER_WORD)


def _bytes_of(numbers: Tensor) -> Tensor:
    """float16 [blocks, outputs] as bytes [outputs, blocks, 2]."""
    turned = numbers.transpose(0, 1).contiguous()
    made: Tensor = turned.view(infinicore.uint8).view(*turned.shape, 2)
    return made


def _part(tensor: Tensor, axis: int, begin: int, size: int) -> Tensor:
    return tensor.narrow(axis, begin, size).contiguous()


def find(w: Any, name: str, out_size: int, in_size: int) -> Quantised | None:
    """The layer for a quantised weight, recognized by the stored names; `w` are the `Weights`.
    None: it is not quantised."""
    if w.has(f"{name}.qweight"):
        return _four_bits(w, name, out_size, in_size)
    if not w.has(f"{name}.weight_scale"):
        return None
    weight = w.stored(f"{name}.weight", (out_size, in_size))
    _need(w, name, "weight", weight.data, infinicore.int8)
    found = w.checkpoint.get(f"{w.prefix}{name}.weight_scale")
    scale = w.tensor(f"{name}.weight_scale", *found.shape, dtype=infinicore.float32)
    if scale.numel() not in (1, out_size):
        raise ModelFileError(
            f"{w.checkpoint.source}: the weight {w.prefix + name + '.weight_scale'!r} has shape"
            f" {found.shape}: expected one number, or one for each of {out_size} outputs"
        )
    scale = scale.reshape(-1).expand(out_size).contiguous()
    return Int8(weight.data.to(w.device), scale)


def _four_bits(w: Any, name: str, out_size: int, in_size: int) -> Quantised:
    source, whole = w.checkpoint.source, w.prefix + name
    settings = w.checkpoint.config.get("quantization_config")
    settings = settings if isinstance(settings, dict) else {}
    for key, only in (("bits", 4), ("w_bit", 4), ("checkpoint_format", "gptq")):
        if settings.get(key, only) != only:
            raise ModelFileError(
                f"{source}: quantization_config: {key} is {settings[key]!r}: expected {only!r}"
            )
    words = -(-out_size // _PER_WORD)
    shape = w.checkpoint.get(f"{whole}.qweight").shape
    is_awq = shape == (in_size, words)
    rows = in_size if is_awq else in_size // _PER_WORD
    qweight = w.stored(f"{name}.qweight", (rows, words if is_awq else out_size))
    _need(w, name, "qweight", qweight.data, infinicore.int32)
    found = w.checkpoint.get(f"{whole}.scales")
    groups = found.shape[0] if found is not None and len(found.shape) == 2 else 1
    if not groups or in_size % groups or out_size % _PER_WORD:
        raise ModelFileError(
            f"{source}: {whole!r}: {groups} groups of {in_size} inputs, {out_size} outputs:"
            f" expected groups of equal size and a multiple of {_PER_WORD} outputs"
        )
    scales = w.tensor(f"{name}.scales", groups, out_size, dtype=infinicore.float16)
    zeros = w.stored(f"{name}.qzeros", (groups, words))
    _need(w, name, "qzeros", zeros.data, infinicore.int32)
    packed, offsets = qweight.data.to(w.device), zeros.data.to(w.device)
    if is_awq:
        return Awq(packed, scales, offsets)
    return Gptq(packed, scales, offsets, _groups(w, name, in_size, groups))


def _groups(w: Any, name: str, in_size: int, groups: int) -> Tensor:
    """The group of each input: from the file, else consecutive."""
    if not w.has(f"{name}.g_idx"):
        each = in_size // groups
        return infinicore.tensor(
            [i // each for i in range(in_size)], dtype=infinicore.int32, device=w.device
        )
    found = w.stored(f"{name}.g_idx", (in_size,))
    _need(w, name, "g_idx", found.data, infinicore.int32)
    values: Tensor = found.data.to(w.device)
    if not 0 <= int(values.min()) <= int(values.max()) < groups:
        raise ModelFileError(
            f"{w.checkpoint.source}: the weight {w.prefix + name + '.g_idx'!r}: expected groups"
            f" from 0 to {groups - 1}"
        )
    return values


def _need(w: Any, name: str, own: str, data: Tensor, dtype: Any) -> None:
    if data.dtype != dtype:
        raise ModelFileError(
            f"{w.checkpoint.source}: the weight {w.prefix + name + '.' + own!r} has type"
            f" {data.dtype}: expected {dtype}"
        )
