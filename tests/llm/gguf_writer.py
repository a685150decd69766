"""Writes GGUF files: metadata, tokenizers, and weights in every format; damaged ones too."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ALIGNMENT = 32
#: Name: number, elements of a block, bytes of a block, and a scale that makes weights small.
FORMATS = {
    "F32": (0, 1, 4, 0.0),
    "F16": (1, 1, 2, 0.0),
    "BF16": (30, 1, 2, 0.0),
    "Q4_0": (2, 32, 18, 0.013),
    "Q4_1": (3, 32, 20, 0.013),
    "Q5_0": (6, 32, 22, 0.0065),
    "Q5_1": (7, 32, 24, 0.0065),
    "Q8_0": (8, 32, 34, 8e-4),
    "Q4_K": (12, 256, 144, 4e-4),
    "Q5_K": (13, 256, 176, 2e-4),
    "Q6_K": (14, 256, 210, 4.5e-5),
}
PACKED = [name for name in FORMATS if "Q" in name]
# Where a block has its minimum (times the scale, so that weights are around 0).
_MINIMA = {"Q4_1": -7.5, "Q5_1": -15.5, "Q4_K": 7.5, "Q5_K": 15.5}


class Kind(NamedTuple):
    """A metadata value with an explicit GGUF type."""

    number: int
    code: str
    value: Any


class Tensor(NamedTuple):
    name: str
    shape: tuple[int, ...]  # the last dimension is the innermost
    kind: int
    data: bytes
    offset: int | None = None  # instead of the correct one


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value(given: Any) -> bytes:
    """Type and value."""
    if isinstance(given, Kind):
        return struct.pack("<I" + given.code, given.number, given.value)
    if isinstance(given, bytes):  # as it is
        return given
    if isinstance(given, bool):
        return struct.pack("<I?", 7, given)
    if isinstance(given, int):
        return struct.pack("<II" if given >= 0 else "<Ii", 4 if given >= 0 else 5, given)
    if isinstance(given, float):
        return struct.pack("<If", 6, given)
    if isinstance(given, str):
        return struct.pack("<I", 8) + text(given)
    rows = [value(each) for each in given] or [struct.pack("<I", 4)]
    kind = rows[0][:4]
    return (
        struct.pack("<I", 9)
        + kind
        + struct.pack("<Q", len(given))
        + b"".join(row[4:] for row in rows)
    )


def head(
    metadata: dict[str, Any], tensors: list[Tensor], counts: tuple[int, int] | None = None
) -> bytes:
    keys = list(metadata.items())
    made = b"GGUF" + struct.pack("<I", 3)
    made += struct.pack("<QQ", *(counts or (len(tensors), len(keys))))
    for key, each in keys:
        made += text(key) + value(each)
    offset = 0
    for tensor in tensors:
        made += text(tensor.name) + struct.pack("<I", len(tensor.shape))
        made += b"".join(struct.pack("<Q", size) for size in reversed(tensor.shape))
        own = offset if tensor.offset is None else tensor.offset
        made += struct.pack("<IQ", tensor.kind, own)
        offset += -(-len(tensor.data) // ALIGNMENT) * ALIGNMENT
    return made


def pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)


def file_bytes(metadata: dict[str, Any], tensors: list[Tensor]) -> bytes:
    made = [pad(head(metadata, tensors)), *(pad(each.data) for each in tensors)]
    return b"".join(made)


def plain(name: str, array: np.ndarray, kind: str = "F32") -> Tensor:
    if kind == "BF16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        data = ((bits + 0x8000) >> 16).astype(np.uint16)
    else:
        data = array.astype(np.float32 if kind == "F32" else np.float16)
    return Tensor(name, array.shape, FORMATS[kind][0], data.tobytes())


def blocks(name: str, shape: tuple[int, ...], kind: str, draw: np.random.RandomState) -> Tensor:
    """Random weights of a block format, around 0."""
    number, elements, size, scale = FORMATS[kind]
    count = int(np.prod(shape)) // elements
    data = draw.randint(0, 256, (count, size)).astype(np.uint8)
    halves = np.full((count, 2), scale, np.float16)
    halves[:, 1] *= np.float16(_MINIMA.get(kind, 0.0))
    parts = halves.view(np.uint8)
    if kind == "Q6_K":
        data[:, -2:] = parts[:, :2]
    elif kind in _MINIMA:
        data[:, :4] = parts
    else:
        data[:, :2] = parts[:, :2]
    return Tensor(name, shape, number, data.tobytes())


_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def gguf_name(name: str) -> str:
    own, _, last = name.rpartition(".")
    if own in _TOP:
        return f"{_TOP[own]}.{last}"
    _, _, layer, part = own.split(".", 3)
    return f"blk.{layer}.{_NAMES[part]}.{last}"


def neighbours(array: np.ndarray, heads: int) -> np.ndarray:
    """Rows of queries or keys in the order of Llama's GGUF files: rotated pairs are adjacent."""
    rows = array.reshape(heads, 2, array.shape[0] // heads // 2, -1)
    return rows.swapaxes(1, 2).reshape(array.shape)


def llama_metadata(config: dict[str, Any]) -> dict[str, Any]:
    return {
        "general.architecture": "llama",
        "general.alignment": ALIGNMENT,
        "llama.block_count": config["num_hidden_layers"],
        "llama.context_length": config["max_position_embeddings"],
        "llama.embedding_length": config["hidden_size"],
        "llama.feed_forward_length": config["intermediate_size"],
        "llama.attention.head_count": config["num_attention_heads"],
        "llama.attention.head_count_kv": config["num_key_value_heads"],
        "llama.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "llama.rope.freq_base": config["rope_theta"],
        "llama.vocab_size": config["vocab_size"],
    }


def bytes_alphabet() -> list[str]:
    """Characters that represent the 256 bytes, as in GPT-2."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [each for each in range(256) if each not in kept]
    return [chr(256 + others.index(i)) if i in others else chr(i) for i in range(256)]


def gpt2_metadata(vocab: int, pre: str = "smollm") -> dict[str, Any]:
    """Words are bytes, a few merges, one control token at the end; `vocab` in all."""
    pairs = [("h", "e"), ("l", "l"), ("he", "ll"), ("\u0120", "w")]
    words = bytes_alphabet() + ["".join(pair) for pair in pairs]
    words += [f"<unused{i}>" for i in range(vocab - len(words) - 1)] + ["<|end|>"]
    kinds = [1] * (vocab - 1) + [3]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": words[-vocab:],
        "tokenizer.ggml.token_type": [Kind(5, "i", kind) for kind in kinds],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in pairs],
        "tokenizer.ggml.eos_token_id": vocab - 1,
    }


def sentence_metadata(**changes: Any) -> dict[str, Any]:
    """A SentencePiece vocabulary: unknown, begin and end, 256 bytes, letters, some words by
    score."""
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    pieces = ["\u2581", *"helowrd", "he", "ll", "hell", "hello", "\u2581hello", "\u2581w"]
    words = ["<unk>", "<s>", "</s>", *bytes_, *pieces]
    scores = [0.0] * (259 + 8) + [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * len(pieces)],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        **changes,
    }


def write(path: Path, metadata: dict[str, Any], tensors: list[Tensor]) -> Path:
    path.write_bytes(file_bytes(metadata, tensors))
    return path
