"""Gemma 2 and 3: norms before and after each half of a layer, scaled by 1 + weight; scores and
logits with soft caps (2); heads that are normalised and two base frequencies (3)."""

from __future__ import annotations

import math

from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.llm.config import ModelConfig
from infinicore.llm.models.decoder import Attention, Decoder, FeedForward, Layer, Rope
from infinicore.llm.step import Step
from infinicore.llm.weights import Weights


def _plus_one(c: ModelConfig) -> bool:
    return not c.raw.get("norm_has_one")


class Gemma2Attention(Attention):
    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        super().__init__(w, c, layer, rope)
        self.scale = 1 / math.sqrt(c.raw.get("query_pre_attn_scalar") or c.head_dim)
        self.softcap = float(c.raw.get("attn_logit_softcapping") or 0.0)


class Gemma3Attention(Gemma2Attention):
    norms_heads = True

    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        super().__init__(w, c, layer, rope)
        if self.window:  # sliding-window layers have their own base frequency, without scaling
            local = (c.raw.get("rope_parameters") or {}).get("sliding_attention") or {}
            theta = local.get("rope_theta") or c.raw.get("rope_local_base_freq") or 10000.0
            self.table = rope.table(float(theta), c.rotary_dim, scaled=False)

    def make_norm(self, w: Weights, name: str, c: ModelConfig) -> nn.Module:
        return w.norm(name, c.head_dim, c.epsilon, _plus_one(c))


class Gemma2Layer(Layer):
    attention_type: type[Attention] = Gemma2Attention

    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        nn.Module.__init__(self)
        norms = [
            w.norm(name, c.hidden, c.epsilon, _plus_one(c))
            for name in (
                "input_layernorm",
                "post_attention_layernorm",
                "pre_feedforward_layernorm",
                "post_feedforward_layernorm",
            )
        ]
        self.before_attention, self.after_attention, self.before_mlp, self.after_mlp = norms
        self.attention = self.attention_type(w.below("self_attn"), c, layer, rope)
        self.mlp = FeedForward(w.below("mlp"), c)

    def forward(self, x: Tensor, added: Tensor | None, step: Step) -> tuple[Tensor, Tensor]:
        if added is None:
            normed = self.before_attention(x)
        else:
            normed, x = self.before_attention.after_sum(x, added)
        seen = self.after_attention(self.attention(normed, step))
        normed, x = self.before_mlp.after_sum(x, seen)
        return x, self.after_mlp(self.mlp(normed))


class Gemma3Layer(Gemma2Layer):
    attention_type = Gemma3Attention


class Gemma2(Decoder):
    layer_type = Gemma2Layer

    def scale_of_embedding(self, c: ModelConfig) -> float:
        return math.sqrt(c.hidden)

    def plus_one(self, c: ModelConfig) -> bool:
        return _plus_one(c)


class Gemma3(Gemma2):
    layer_type = Gemma3Layer
