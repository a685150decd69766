"""Models, by the `model_type` of their configuration."""

from __future__ import annotations

import importlib

from infinicore.llm.files import ModelFileError
from infinicore.llm.models.decoder import Decoder

#: model_type: module and class.
MODELS = {
    "llama": ("llama", "Llama"),
    "mistral": ("llama", "Llama"),
    "qwen2": ("llama", "Llama"),
    "qwen3": ("qwen3", "Qwen3"),
    "qwen3_moe": ("moe", "Qwen3Moe"),
    "mixtral": ("moe", "Mixtral"),
    "gemma2": ("gemma", "Gemma2"),
    "gemma3_text": ("gemma", "Gemma3"),
    "gemma3": ("gemma", "Gemma3"),
    "phi3": ("phi3", "Phi3"),
    "deepseek_v2": ("deepseek", "DeepseekV2"),
    "deepseek_v3": ("deepseek", "DeepseekV3"),
}


def model_type(name: str, source: str) -> type[Decoder]:
    """The class for a `model_type`."""
    if name not in MODELS:
        raise ModelFileError(
            f"{source}: model_type is {name!r}: expected one of {', '.join(MODELS)}"
        )
    module, own = MODELS[name]
    found: type[Decoder] = getattr(importlib.import_module(f"infinicore.llm.models.{module}"), own)
    return found
