"""The names of weights and settings in GGUF files, and Hugging Face's names for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from infinicore.llm.files.stored import ModelFileError

_TOP = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "rope_freqs": "rope_freqs",
}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_exps": "mlp.experts.gate_proj",
    "ffn_up_exps": "mlp.experts.up_proj",
    "ffn_down_exps": "mlp.experts.down_proj",
}
# Gemma normalises before and after each half of a layer, under different names.
_GEMMA_LAYER = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_GEMMA_MARK = "post_ffw_norm"
# Phi-3's gate and up projections are one weight, named after the second in files.
_JOINED_LAYER = {"ffn_up": "mlp.gate_up_proj"}
#: LongRoPE's short and long factors: settings, not weights.
LONG_ROPE = {"short_factor": "rope_factors_short.weight", "long_factor": "rope_factors_long.weight"}


def names_of(tensors: Iterable[str]) -> dict[str, str]:
    """Hugging Face's names, and the file's: model.layers.3.self_attn.q_proj.weight of
    blk.3.attn_q.weight."""
    names = [name for name in tensors if name not in LONG_ROPE.values()]
    parts = _LAYER
    if any(_GEMMA_MARK in name for name in names):
        parts = {**_LAYER, **_GEMMA_LAYER}
    elif any(name.endswith(".attn_qkv.weight") for name in names):
        parts = {**_LAYER, **_JOINED_LAYER}

    def theirs(name: str) -> str:
        where, _, own = name.rpartition(".")
        if not where.startswith("blk.") or where.count(".") < 2:
            return f"{_TOP[where]}.{own}" if where in _TOP else name
        _, number, part = where.split(".", 2)
        return f"model.layers.{number}.{parts.get(part, part)}.{own}"

    made: dict[str, str] = {}
    for name in names:
        own = theirs(name)
        if own in made:
            raise ModelFileError(f"the weights {made[own]!r} and {name!r} are the same: {own!r}")
        made[own] = name
    return made


# Architecture in the file: model_type, whether rotary pairs are adjacent elements.
_ARCHITECTURES = {
    "llama": ("llama", True),
    "qwen2": ("qwen2", False),
    "qwen3": ("qwen3", False),
    "qwen3moe": ("qwen3_moe", False),
    "gemma2": ("gemma2", False),
    "gemma3": ("gemma3_text", False),
    "phi3": ("phi3", False),
}
# Setting in the file: key in config.json.
_KEYS = {
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.freq_base": "rope_theta",
    "vocab_size": "vocab_size",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
}


def config_of(
    metadata: dict[str, Any], tensors: set[str], source: str, long_rope: dict[str, list[float]]
) -> dict[str, Any]:
    """The metadata, and LongRoPE's factors if there are any, in the form of a config.json."""
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or name not in _ARCHITECTURES:
        known = ", ".join(_ARCHITECTURES)
        raise ModelFileError(f"{source}: the architecture {name!r} is not one of {known}")
    kind, neighbours = _ARCHITECTURES[name]
    if kind == "llama" and metadata.get("llama.expert_count"):
        kind = "mixtral"
    config: dict[str, Any] = {"model_type": kind, "rope_neighbours": neighbours}
    for theirs, key in _KEYS.items():
        if f"{name}.{theirs}" in metadata:
            config[key] = metadata[f"{name}.{theirs}"]
    words = metadata.get("tokenizer.ggml.tokens")
    if "vocab_size" not in config and isinstance(words, list):
        config["vocab_size"] = len(words)
    config["tie_word_embeddings"] = "output.weight" not in tensors
    config["norm_has_one"] = True  # Gemma's norms scale by 1 + weight, and files store the sum
    turned, size = metadata.get(f"{name}.rope.dimension_count"), _head_size(config)
    if isinstance(turned, int) and size and turned < size:
        config["partial_rotary_factor"] = turned / size
    scaling = metadata.get(f"{name}.rope.scaling.type")
    if long_rope or scaling in ("linear", "yarn"):
        factor = None if long_rope else metadata.get(f"{name}.rope.scaling.factor", 1.0)
        config["rope_scaling"] = {
            "rope_type": "longrope" if long_rope else scaling,
            "factor": factor,
            **long_rope,
            "original_max_position_embeddings": metadata.get(
                f"{name}.rope.scaling.original_context_length",
                config.get("max_position_embeddings", 0),
            ),
        }
    for key, where in (("eos_token_id", "eos"), ("bos_token_id", "bos")):
        config[key] = metadata.get(f"tokenizer.ggml.{where}_token_id")
    return config


def _head_size(config: dict[str, Any]) -> int | None:
    """None: it is not known, or not a number."""
    size, heads = config.get("head_dim"), config.get("num_attention_heads")
    if size is None and isinstance(config.get("hidden_size"), int) and isinstance(heads, int):
        size = config["hidden_size"] // heads if heads > 0 else None
    return size if isinstance(size, int) else None
