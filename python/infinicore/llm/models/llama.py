"""Llama, and models that differ only in settings: SmolLM2, Mistral (a window), Qwen2 (biases)."""

from __future__ import annotations

from infinicore.llm.models.decoder import Decoder


class Llama(Decoder):
    """The unmodified decoder."""
