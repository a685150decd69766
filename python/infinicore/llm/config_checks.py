"""Checks of settings that only some models have."""

from __future__ import annotations

import math
from typing import Any

from infinicore.llm.files import ModelFileError

MOST = 1 << 31

# Whole numbers, and the smallest valid value.
_WHOLE = {
    "sliding_window": 0,
    "sliding_window_pattern": 1,
    "num_experts": 0,
    "num_local_experts": 0,
    "n_routed_experts": 0,
    "n_shared_experts": 0,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 1,
    "decoder_sparse_step": 1,
    "first_k_dense_replace": 0,
    "n_group": 1,
    "topk_group": 1,
    "q_lora_rank": 1,
    "kv_lora_rank": 1,
    "qk_nope_head_dim": 1,
    "qk_rope_head_dim": 2,
    "v_head_dim": 1,
    "original_max_position_embeddings": 2,
}
_POSITIVE = (
    "attention_multiplier",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "rope_local_base_freq",
    "routed_scaling_factor",
    "partial_rotary_factor",
    "rope_theta",
)
_LATENT = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_NEEDED = {"deepseek_v2": _LATENT, "deepseek_v3": _LATENT}


def is_whole(value: Any, least: int) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and least <= value < MOST


def is_positive(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and value > 0 and math.isfinite(value)


def check_settings(raw: dict[str, Any], layers: int, source: str) -> None:
    """Raises ModelFileError for the first setting that is missing or invalid."""

    def refuse(key: str, expected: str) -> ModelFileError:
        return ModelFileError(f"{source}: {key} is {raw.get(key)!r}: expected {expected}")

    for key in _NEEDED.get(str(raw.get("model_type")), ()):
        if raw.get(key) is None:
            raise refuse(key, "a whole number")
    for key, least in _WHOLE.items():
        if raw.get(key) is not None and not is_whole(raw[key], least):
            raise refuse(key, f"a whole number from {least} on")
    for key in _POSITIVE:
        if raw.get(key) is not None and not is_positive(raw[key]):
            raise refuse(key, "a number above 0")
    for key in ("rope_scaling", "rope_parameters"):
        if not isinstance(raw.get(key) or {}, dict):
            raise refuse(key, "an object")
    kinds = raw.get("layer_types")
    if kinds is not None and (not isinstance(kinds, list) or len(kinds) < layers):
        raise ModelFileError(f"{source}: layer_types: expected a list with {layers} entries")
    if not isinstance(raw.get("mlp_only_layers") or [], list):
        raise refuse("mlp_only_layers", "a list of layers")
    _check_experts(raw, source)


def _check_experts(raw: dict[str, Any], source: str) -> None:
    keys = ("n_routed_experts", "num_experts", "num_local_experts")
    experts = next((raw[key] for key in keys if raw.get(key)), 0)
    if not experts:
        return
    chosen = raw.get("num_experts_per_tok", 2 if raw.get("num_local_experts") else None)
    if chosen is None:
        raise ModelFileError(f"{source}: num_experts_per_tok is missing")
    if chosen > experts:
        raise ModelFileError(
            f"{source}: num_experts_per_tok is {chosen}: expected at most {experts}, the number of"
            " experts"
        )
    if raw.get("n_routed_experts"):
        if raw.get("moe_intermediate_size") is None:
            raise ModelFileError(f"{source}: moe_intermediate_size is missing")
        groups, kept = raw.get("n_group") or 1, raw.get("topk_group") or 1
        if experts % groups or kept > groups or (chosen or 1) > kept * (experts // groups):
            raise ModelFileError(
                f"{source}: n_group is {groups}, topk_group {kept}: expected groups of equal size,"
                f" out of {experts} experts, that have {chosen} to choose from"
            )
