"""DeepSeek-V2 and V3: multi-head latent attention (MLA) and group-limited expert routing.

Keys and values of all heads are projections of one short latent vector, which is all that the cache
stores. Instead of expanding it for every token, queries are projected to the latent space
("absorbed" weights)."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.llm.config import ModelConfig
from infinicore.llm.models.decoder import Attention, Decoder, FeedForward, Layer, Rope
from infinicore.llm.models.moe import Experts
from infinicore.llm.step import Step
from infinicore.llm.weights import Weights
from infinicore.nn import functional as F  # noqa: N812


class LatentAttention(Attention):
    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        nn.Module.__init__(self)
        r = c.raw
        self.layer, self.rope = layer - w.stage.layers(c.layers).start, rope
        self.plain, self.rotated = int(r["qk_nope_head_dim"]), int(r["qk_rope_head_dim"])
        self.latent, self.value = int(r["kv_lora_rank"]), int(r["v_head_dim"])
        w.share("heads", c.heads)
        self.heads = c.heads // w.ranks
        width = c.heads * (self.plain + self.rotated)
        rank = r.get("q_lora_rank")
        self.q_down: nn.Module | None = None
        if rank:
            self.q_down = w.linear("q_a_proj", int(rank), c.hidden, bias=None)
            self.q_norm = w.norm("q_a_layernorm", int(rank), c.epsilon)
            self.q = w.linear("q_b_proj", width, int(rank), cut="outputs")
        else:
            self.q = w.linear("q_proj", width, c.hidden, cut="outputs")
        self.kv_down = w.linear(
            "kv_a_proj_with_mqa", self.latent + self.rotated, c.hidden, bias=None
        )
        self.kv_norm = w.norm("kv_a_layernorm", self.latent, c.epsilon)
        rows = c.heads * (self.plain + self.value)
        begin, size = w.share("kv_b_proj", rows)
        up = w.tensor("kv_b_proj.weight", rows, self.latent).narrow(0, begin, size)
        up = up.view(self.heads, self.plain + self.value, self.latent)
        # [heads, plain, latent] projects queries down, [heads, latent, value] projects results up.
        self.down = up.narrow(1, 0, self.plain).contiguous()
        self.up = up.narrow(1, self.plain, self.value).transpose(1, 2).contiguous()
        self.o = w.linear("o_proj", c.hidden, c.heads * self.value, bias=None, cut="inputs")
        self.scale = 1 / math.sqrt(self.plain + self.rotated) * self._magnitude(c)
        self.table = rope.table(c.rope_theta, self.rotated)
        # V2 and V3 rotate adjacent pairs, unless the file says that it has been reordered.
        neighbours = bool(r.get("rope_interleave", True))
        self.pairs = F.RopeAlgo.GPT_J if neighbours else F.RopeAlgo.GPT_NEOX

    @staticmethod
    def _magnitude(c: ModelConfig) -> float:
        scaling: dict[str, Any] = c.raw.get("rope_scaling") or c.raw.get("rope_parameters") or {}
        every = scaling.get("mscale_all_dim") or 0
        factor = scaling.get("factor") or 1
        if not every or factor <= 1:
            return 1.0
        return (0.1 * every * math.log(factor) + 1) ** 2

    def forward(self, x: Tensor, step: Step) -> Tensor:
        tokens = x.shape[0]
        q = self.q(x if self.q_down is None else self.q_norm(self.q_down(x)))
        q = q.view(tokens, self.heads, self.plain + self.rotated)
        sin, cos = self.table
        turn = q.narrow(-1, self.plain, self.rotated)
        turn = F.rope(turn.contiguous(), step.positions, sin, cos, self.pairs)
        short = q.narrow(-1, 0, self.plain).permute(1, 0, 2).contiguous() @ self.down
        query = infinicore.cat([short.permute(1, 0, 2), turn], -1)

        both = self.kv_down(x)
        latent = self.kv_norm(both.narrow(-1, 0, self.latent).contiguous())
        key = both.narrow(-1, self.latent, self.rotated).contiguous()
        key = F.rope(key.view(tokens, 1, self.rotated), step.positions, sin, cos, self.pairs)
        latent = latent.view(tokens, 1, self.latent)
        kept = infinicore.cat([latent, key], -1)
        seen = step.attend(self.layer, query, kept, latent, self.scale)
        out = seen.permute(1, 0, 2).contiguous() @ self.up
        flat = out.permute(1, 0, 2).contiguous().view(tokens, self.heads * self.value)
        made: Tensor = self.o(flat)
        return made


class GroupedMixture(nn.Module):
    """The best experts of the best groups, plus shared experts for every token."""

    def __init__(self, w: Weights, c: ModelConfig, sigmoid: bool) -> None:
        super().__init__()
        r = c.raw
        count, wide = int(r["n_routed_experts"]), int(r["moe_intermediate_size"])
        self.count, self.chosen, self.sigmoid = count, int(r["num_experts_per_tok"]), sigmoid
        self.groups, self.kept = int(r.get("n_group") or 1), int(r.get("topk_group") or 1)
        self.grouped = sigmoid or r.get("topk_method") == "group_limited_greedy"
        self.normalises = bool(r.get("norm_topk_prob", sigmoid)) and (sigmoid or self.chosen > 1)
        self.factor = float(r.get("routed_scaling_factor") or 1.0)
        self.router = w.tensor("gate.weight", count, c.hidden, dtype=infinicore.float32)
        self.correction = (
            w.tensor("gate.e_score_correction_bias", count, dtype=infinicore.float32)
            if sigmoid
            else None
        )
        names = ("gate_proj", "up_proj", "down_proj")
        self.experts = Experts(w.below("experts"), c, count, wide, names)
        shared = int(r.get("n_shared_experts") or 0)
        self.shared = FeedForward(w.below("shared_experts"), c, shared * wide) if shared else None

    def _choose(self, x: Tensor) -> tuple[Tensor, Tensor]:
        scores = F.linear(x.to(infinicore.float32), self.router)
        scores = infinicore.sigmoid(scores) if self.sigmoid else F.softmax(scores, -1)
        choice = scores if self.correction is None else scores + self.correction
        if self.grouped and self.groups > 1:
            grouped = choice.view(-1, self.groups, self.count // self.groups)
            if self.sigmoid:  # a group is scored by its two best experts
                ranked = infinicore.topk(grouped, 2)[0].sum(-1)
            else:
                ranked = grouped.max(-1)[0]
            best = infinicore.topk(ranked, self.kept)[1]
            mask = infinicore.zeros_like(ranked).scatter(1, best, infinicore.ones_like(ranked))
            mask = mask.unsqueeze(-1).expand(*grouped.shape).contiguous().view(*choice.shape)
            choice = infinicore.where(mask > 0, choice, infinicore.zeros_like(choice))
        experts = infinicore.topk(choice, self.chosen)[1]
        shares = infinicore.gather(scores, 1, experts)
        if self.normalises:
            shares = shares / (shares.sum(-1, keepdim=True) + 1e-20)
        return experts.to(infinicore.int32), shares * self.factor

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.experts(x, *self._choose(x))
        return made if self.shared is None else made + self.shared(x)


class DeepseekLayer(Layer):
    attention_type = LatentAttention
    sigmoid = False

    def make_mlp(self, w: Weights, c: ModelConfig, layer: int) -> nn.Module:
        dense = int(c.raw.get("first_k_dense_replace") or 0)
        if not c.raw.get("n_routed_experts") or layer < dense:
            return FeedForward(w.below("mlp"), c)
        return GroupedMixture(w.below("mlp"), c, self.sigmoid)


class DeepseekV3Layer(DeepseekLayer):
    sigmoid = True


class DeepseekV2(Decoder):
    layer_type: type[Layer] = DeepseekLayer

    def cache_shapes(self, ranks: int) -> list[tuple[tuple[int, int], tuple[int, int] | None]]:
        r = self.config.raw
        latent = int(r["kv_lora_rank"])
        return [((1, latent + int(r["qk_rope_head_dim"])), None)] * len(self.layers)


class DeepseekV3(DeepseekV2):
    layer_type = DeepseekV3Layer
