"""The models of `reference` as `transformers` computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.requirements import need

from .reference import Model, Weights

CLASSES = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "mixture": "Qwen3Moe"}


def load(name: str, model: Model, weights: Weights) -> Any:
    torch, transformers = need("torch"), need("transformers")
    more: dict[str, Any] = {}
    if model.experts:
        more = {
            "num_experts": model.experts,
            "num_experts_per_tok": model.experts_per_token,
            "moe_intermediate_size": model.intermediate,
            "norm_topk_prob": True,
        }
    config = getattr(transformers, f"{CLASSES[name]}Config")(
        vocab_size=model.vocab,
        hidden_size=model.hidden,
        intermediate_size=model.intermediate,
        num_hidden_layers=model.layers,
        num_attention_heads=model.heads,
        num_key_value_heads=model.kv_heads,
        head_dim=model.head_dim,
        max_position_embeddings=model.max_positions,
        rms_norm_eps=model.eps,
        rope_parameters={"rope_type": "default", "rope_theta": model.rope_theta},
        tie_word_embeddings=False,
        **more,
    )
    made = getattr(transformers, f"{CLASSES[name]}ForCausalLM")(config).eval()
    named = {
        (key if key.startswith("lm_head") else f"model.{key}"): torch.from_numpy(values)
        for key, values in _joined(model, weights).items()
    }
    made.load_state_dict(named, strict=True)
    return made


def _joined(model: Model, weights: Weights) -> Weights:
    """transformers has one tensor for each kind of expert weight."""
    made = {key: values for key, values in weights.items() if ".experts." not in key}
    experts = range(model.experts)
    for layer in (f"layers.{i}.mlp.experts." for i in range(model.layers) if experts):
        gate, up, down = (
            np.stack([weights[f"{layer}{i}.{kind}_proj.weight"] for i in experts])
            for kind in ("gate", "up", "down")
        )
        made[f"{layer}gate_up_proj"] = np.concatenate([gate, up], 1)
        made[f"{layer}down_proj"] = down
    return made


def generate(made: Any, prompt: list[int], count: int) -> list[int]:
    """The most likely tokens after a prompt."""
    torch = need("torch")
    tokens = list(prompt)
    with torch.no_grad():
        for _ in range(count):
            scores = made(torch.tensor([tokens]), use_cache=False).logits[0, -1]
            tokens.append(int(scores.argmax()))
    return tokens[len(prompt) :]
