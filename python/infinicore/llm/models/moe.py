"""Mixtures of experts: Mixtral and Qwen3-MoE."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.llm.config import ModelConfig
from infinicore.llm.files import ModelFileError
from infinicore.llm.layers import PackedStack
from infinicore.llm.models.decoder import Decoder, FeedForward, Layer
from infinicore.llm.models.qwen3 import Qwen3Attention
from infinicore.llm.weights import Weights
from infinicore.nn import functional as F  # noqa: N812


def best(scores: Tensor, count: int, normalise: bool) -> tuple[Tensor, Tensor]:
    """The `count` best experts of each token by softmax, and their weights."""
    shares = F.softmax(scores.to(infinicore.float32), -1)
    values, experts = infinicore.topk(shares, count)
    if normalise:
        values = values / values.sum(-1, keepdim=True)
    return experts.to(infinicore.int32), values


class Experts(nn.Module):
    """The experts' weights, stacked: w1 [experts, 2 wide, hidden] (gate first), w2 [experts,
    hidden, wide]. The inner size is sharded across ranks."""

    def __init__(
        self, w: Weights, c: ModelConfig, count: int, wide: int, names: tuple[str, str, str]
    ) -> None:
        super().__init__()
        gate, up, down = names
        begin, size = w.share("experts", wide)
        self.comm = w.comm if w.ranks > 1 else None
        self.packed: list[PackedStack] | None = None
        if w.has("gate_proj.weight"):  # stacked in the file
            gates, ups = (
                w.stack(f"{name}_proj.weight", (count, wide, c.hidden), 1, begin, size)
                for name in ("gate", "up")
            )
            downs = w.stack("down_proj.weight", (count, c.hidden, wide), 2, begin, size)
            parts = [gates, ups, downs]
            stacks = [each for each in parts if isinstance(each, PackedStack)]
            if len(stacks) == len(parts):
                self.packed = stacks
                return
            gates, ups, self.w2 = (
                each.dense() if isinstance(each, PackedStack) else each for each in parts
            )
            self.w1 = infinicore.cat([gates, ups], 1)
            return
        first, second = [], []
        for expert in range(count):
            own = w.below(str(expert))
            rows = [
                own.tensor(f"{name}.weight", wide, c.hidden).narrow(0, begin, size)
                for name in (gate, up)
            ]
            first.append(infinicore.cat(rows, 0))
            columns = own.tensor(f"{down}.weight", c.hidden, wide).narrow(1, begin, size)
            second.append(columns.contiguous())
        self.w1, self.w2 = infinicore.stack(first, 0), infinicore.stack(second, 0)

    def forward(self, x: Tensor, experts: Tensor, shares: Tensor) -> Tensor:
        experts, w1, w2 = self._weights(experts)
        made = F.fused_moe(x, experts, shares, w1, w2, activation=F.ACT_SWIGLU)
        return made if self.comm is None else self.comm.all_reduce(made.contiguous())

    def _weights(self, experts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Experts [tokens, chosen], and the weights that they index. Packed weights are dequantized
        for the duration of a call: those for a few tokens, or all of the layer."""
        if self.packed is None:
            return experts, self.w1, self.w2
        pairs, few = experts.numel(), None
        if pairs < self.packed[0].weight.shape[0]:
            few = experts.reshape(-1)
            numbers = infinicore.arange(pairs, dtype=infinicore.int32, device=experts.device)
            experts = numbers.view(*experts.shape)
        gates, ups, downs = (each.dense(few) for each in self.packed)
        return experts, infinicore.cat([gates, ups], 1), downs


class Mixture(nn.Module):
    """Routes each token to its best experts."""

    names = ("gate_proj", "up_proj", "down_proj")

    def __init__(self, w: Weights, c: ModelConfig) -> None:
        super().__init__()
        count = self._setting(c, "num_experts", "num_local_experts")
        wide = self._setting(c, "moe_intermediate_size", "intermediate_size")
        self.chosen = int(c.raw.get("num_experts_per_tok", 2))
        self.normalises = bool(c.raw.get("norm_topk_prob", True))
        self.router = w.linear("gate", count, c.hidden)
        self.experts = Experts(w.below("experts"), c, count, wide, self.names)

    @staticmethod
    def _setting(c: ModelConfig, *keys: str) -> int:
        values: list[Any] = [c.raw[key] for key in keys if c.raw.get(key)]
        if not values:
            raise ModelFileError(f"config.json has none of {', '.join(keys)}")
        return int(values[0])

    def forward(self, x: Tensor) -> Tensor:
        experts, shares = best(self.router(x), self.chosen, self.normalises)
        made: Tensor = self.experts(x, experts, shares)
        return made


class MixtralMixture(Mixture):
    names = ("w1", "w3", "w2")


class MixtralLayer(Layer):
    def make_mlp(self, w: Weights, c: ModelConfig, layer: int) -> nn.Module:
        if w.has("mlp.gate.weight"):  # the layout of GGUF files
            return Mixture(w.below("mlp"), c)
        return MixtralMixture(w.below("block_sparse_moe"), c)


class Mixtral(Decoder):
    layer_type = MixtralLayer


class Qwen3MoeLayer(Layer):
    attention_type = Qwen3Attention

    def make_mlp(self, w: Weights, c: ModelConfig, layer: int) -> nn.Module:
        dense = c.raw.get("mlp_only_layers") or []
        every = c.raw.get("decoder_sparse_step") or 1
        if layer in dense or (layer + 1) % every:
            return FeedForward(w.below("mlp"), c)
        return Mixture(w.below("mlp"), c)


class Qwen3Moe(Decoder):
    layer_type = Qwen3MoeLayer
