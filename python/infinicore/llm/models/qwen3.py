"""Qwen3: queries and keys are normalised per head."""

from __future__ import annotations

from infinicore.llm.models.decoder import Attention, Decoder, Layer


class Qwen3Attention(Attention):
    norms_heads = True


class Qwen3Layer(Layer):
    attention_type = Qwen3Attention


class Qwen3(Decoder):
    layer_type = Qwen3Layer
