"""Tiny models of every kind with random weights, and the tokens that transformers generates with
them.

tests/expectations/llm.json has each model's weights (names and shapes) and tokens;
`python -m tests.llm.tiny` writes it, and needs torch and transformers."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import infinicore
from infinicore import nn

EXPECTED = Path(__file__).parent.parent / "expectations" / "llm.json"
TOKENS = 16

_BASE: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
}
_LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 24,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "head_dim": 8,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
    "n_group": 4,
    "topk_group": 2,
}
_ROPE = {"factor": 4.0, "original_max_position_embeddings": 64}
_GEMMA: dict[str, Any] = {"head_dim": 16, "sliding_window": 16, "query_pre_attn_scalar": 16}
_GEMMA["hidden_activation"] = "gelu_pytorch_tanh"

#: Name: what differs from `_BASE`.
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "llama_tied": {"model_type": "llama", "tie_word_embeddings": True},
    "llama_linear": {
        "model_type": "llama",
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    },
    "llama_llama3": {
        "model_type": "llama",
        "rope_scaling": {
            "rope_type": "llama3",
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            **_ROPE,
        },
    },
    "llama_yarn": {"model_type": "llama", "rope_scaling": {"rope_type": "yarn", **_ROPE}},
    "mistral": {"model_type": "mistral", "sliding_window": 16},
    "qwen2": {"model_type": "qwen2"},
    "qwen3": {"model_type": "qwen3", "head_dim": 16},
    "qwen3_moe": {
        "model_type": "qwen3_moe",
        "head_dim": 16,
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "norm_topk_prob": True,
    },
    "mixtral": {
        "model_type": "mixtral",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": None,
    },
    "gemma2": {
        "model_type": "gemma2",
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        **_GEMMA,
    },
    "gemma3": {
        "model_type": "gemma3_text",
        "num_hidden_layers": 7,
        "rope_local_base_freq": 1000.0,
        **_GEMMA,
    },
    "phi3": {"model_type": "phi3", "sliding_window": 20, "pad_token_id": 0},
    "phi3_long": {
        "model_type": "phi3",
        "sliding_window": None,
        "pad_token_id": 0,
        "original_max_position_embeddings": 64,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1.0 + 0.1 * i for i in range(8)],
            "long_factor": [2.0 + 0.2 * i for i in range(8)],
        },
    },
    "deepseek_v2": {
        "model_type": "deepseek_v2",
        "topk_method": "group_limited_greedy",
        "routed_scaling_factor": 1.5,
        **_LATENT,
    },
    "deepseek_v3": {
        "model_type": "deepseek_v3",
        "routed_scaling_factor": 2.5,
        "norm_topk_prob": True,
        **_LATENT,
    },
}


def config(name: str) -> dict[str, Any]:
    return {**_BASE, **MODELS[name], "eos_token_id": None, "bos_token_id": None}


def prompts() -> list[list[int]]:
    """Of ragged lengths; the longest is longer than windows and than LongRoPE's original length."""
    draw = np.random.RandomState(3)
    return [draw.randint(1, 256, size).tolist() for size in (1, 5, 17, 33, 70)]


def weight(model: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The same values everywhere: RandomState's stream is frozen."""
    draw = np.random.RandomState(zlib.crc32(f"{model} {name}".encode()))
    made = draw.standard_normal(math.prod(shape)).reshape(shape).astype(np.float32)
    if len(shape) > 1:
        return made * 0.12
    # Norms are near 1, which Gemma adds itself; biases are near 0.
    is_norm = "norm" in name and not model.startswith("gemma")
    return made * 0.1 + (1.0 if is_norm else 0.0)


def expected() -> dict[str, Any]:
    return json.loads(EXPECTED.read_text())


def write(folder: Path, name: str, shapes: dict[str, list[int]], **changes: Any) -> Path:
    """A Hugging Face folder of one of the models."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**config(name), **changes}
    (folder / "config.json").write_text(json.dumps(settings))
    tensors = {
        each: infinicore.from_numpy(weight(name, each, tuple(shape)), device="cpu")
        for each, shape in shapes.items()
    }
    nn.save_safetensors(tensors, folder / "model.safetensors")
    return folder


def make() -> None:
    """Write the expectations."""
    import tempfile

    made = {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as scratch:
            shapes = _shapes(name)
            made[name] = {
                "shapes": shapes,
                "tokens": transformers_tokens(write(Path(scratch), name, shapes)),
            }
            print(name, made[name]["tokens"][2][:6])
    EXPECTED.write_text(json.dumps(made, separators=(",", ":")) + "\n")


def _shapes(name: str) -> dict[str, list[int]]:
    """The tensors of the file that transformers saves."""
    import tempfile

    from transformers import AutoConfig, AutoModelForCausalLM

    settings = config(name)
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(settings.pop("model_type"), **settings)
    )
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        tensors = nn.read_safetensors(Path(scratch) / "model.safetensors")
        return {each: list(tensor.shape) for each, tensor in tensors.items()}


def transformers_tokens(folder: Path) -> list[list[int]]:
    """Greedy, prompt by prompt and without a cache."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    model = model.float().eval()
    made = []
    for prompt in prompts():
        ids = torch.tensor([prompt])
        with torch.no_grad():
            for _ in range(TOKENS):
                best = model(ids, use_cache=False).logits[:, -1:].argmax(-1)
                ids = torch.cat([ids, best], 1)
        made.append(ids[0, len(prompt) :].tolist())
    return made


if __name__ == "__main__":
    make()
