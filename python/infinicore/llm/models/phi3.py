"""Phi-3: queries, keys and values in one weight, as well as gate and up."""

from __future__ import annotations

from infinicore import nn
from infinicore.llm.config import ModelConfig
from infinicore.llm.models.decoder import Attention, Decoder, FeedForward, Layer
from infinicore.llm.weights import Weights


class Phi3Attention(Attention):
    def make_projections(self, w: Weights, c: ModelConfig) -> nn.Module:
        q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim
        return w.split("qkv_proj", (q, kv, kv), c.hidden)


class Phi3FeedForward(FeedForward):
    def make_projections(self, w: Weights, c: ModelConfig, wide: int) -> nn.Module:
        return w.split("gate_up_proj", (wide, wide), c.hidden)


class Phi3Layer(Layer):
    attention_type = Phi3Attention

    def make_mlp(self, w: Weights, c: ModelConfig, layer: int) -> nn.Module:
        return Phi3FeedForward(w.below("mlp"), c)


class Phi3(Decoder):
    layer_type = Phi3Layer
