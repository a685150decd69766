"""Llama, and what differs in nothing but settings: SmolLM2, Mistral (a window), Qwen2 (biases)."""

from __future__ import annotations

from infinicore.llm.models.decoder import Decoder


class Llama(Decoder):
    """The decoder as it is."""
