"""A Llama with random weights in a Hugging Face folder: small enough to be made by each run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import infinicore

VOCAB = 264
END = 257  # <|im_end|>
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_folder(path: Path, *, positions: int = 512, hidden: int = 32, layers: int = 2) -> Path:
    """config.json, model.safetensors, tokenizer.json: tokens are bytes."""
    path.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": VOCAB,
        "max_position_embeddings": positions,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "eos_token_id": END,
        "torch_dtype": "float32",
        "tie_word_embeddings": False,
    }
    (path / "config.json").write_text(json.dumps(config))
    infinicore.nn.save_safetensors(_weights(hidden, layers), path / "model.safetensors")
    _tokenizer().save(str(path / "tokenizer.json"))
    settings = {"eos_token": "<|im_end|>", "chat_template": _TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path


def _weights(hidden: int, layers: int) -> dict[str, Any]:
    draw = np.random.default_rng(7)
    made: dict[str, Any] = {}

    def add(name: str, *shape: int) -> None:
        values = draw.standard_normal(shape) * (2.0 / shape[-1] ** 0.5)
        made[f"{name}.weight"] = infinicore.from_numpy(values.astype(np.float32))

    def ones(name: str) -> None:
        made[f"{name}.weight"] = infinicore.from_numpy(np.ones(hidden, np.float32))

    size = hidden // 4
    add("model.embed_tokens", VOCAB, hidden)
    for i in range(layers):
        layer = f"model.layers.{i}"
        ones(f"{layer}.input_layernorm")
        ones(f"{layer}.post_attention_layernorm")
        for name, rows in (("q", 4 * size), ("k", 2 * size), ("v", 2 * size)):
            add(f"{layer}.self_attn.{name}_proj", rows, hidden)
        add(f"{layer}.self_attn.o_proj", hidden, 4 * size)
        add(f"{layer}.mlp.gate_proj", 2 * hidden, hidden)
        add(f"{layer}.mlp.up_proj", 2 * hidden, hidden)
        add(f"{layer}.mlp.down_proj", hidden, 2 * hidden)
    ones("model.norm")
    add("lm_head", VOCAB, hidden)
    # The most probable tokens are letters that can be read.
    head = made["lm_head.weight"].numpy().copy()
    head[[i for i, letter in enumerate(_letters()) if not letter.isascii()]] = 0
    head[256:] = 0
    made["lm_head.weight"] = infinicore.from_numpy(head)
    return made


def _letters() -> list[str]:
    """The 256 bytes, as GPT-2 represents them."""
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _tokenizer() -> Any:
    """Bytes, nothing merged, and two special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(_letters())}, []))
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made
