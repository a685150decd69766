"""Damaged and hostile GGUF files: an error that says why, never a crash, a hang or much memory."""

from __future__ import annotations

import math
import resource
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infinicore.llm import Engine, EngineOptions, ModelFileError, open_model
from infinicore.llm.config import read_config
from kit import seed
from tests.llm import gguf_writer as gguf

pytestmark = pytest.mark.requires("host")

CONFIG: dict[str, Any] = {
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "vocab_size": 272,
}


def tensors() -> list[gguf.Tensor]:
    draw = np.random.RandomState(1)

    def row(name: str, *shape: int) -> gguf.Tensor:
        if len(shape) == 1:
            return gguf.plain(f"{name}.weight", np.ones(shape))
        return gguf.blocks(f"{name}.weight", shape, "Q8_0", draw)

    return [
        row("token_embd", 272, 32),
        row("blk.0.attn_norm", 32),
        row("blk.0.attn_q", 32, 32),
        row("blk.0.attn_k", 16, 32),
        row("blk.0.attn_v", 16, 32),
        row("blk.0.attn_output", 32, 32),
        row("blk.0.ffn_norm", 32),
        row("blk.0.ffn_gate", 32, 32),
        row("blk.0.ffn_up", 32, 32),
        row("blk.0.ffn_down", 32, 32),
        row("output_norm", 32),
    ]


METADATA = {**gguf.llama_metadata(CONFIG), **gguf.gpt2_metadata(272)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def load(file: Path, *, whole: bool = True) -> None:
    checkpoint = open_model(file)
    read_config(checkpoint.config, checkpoint.source)
    if not whole:
        return
    engine = Engine(checkpoint, EngineOptions(cache_tokens=64, block_size=8, graphs=False))
    if engine.config.vocab > 0:
        engine.add([0])
        engine.step()
    _ = engine.tokenizer.encode("hello world")


def test_the_file_is_sound(file: Path) -> None:
    load(gguf.write(file, METADATA, tensors()))


def test_every_truncation(file: Path) -> None:
    whole = gguf.file_bytes(METADATA, tensors())
    begin = len(gguf.pad(gguf.head(METADATA, tensors())))
    # The last weight is not followed by padding.
    for size in (*range(0, begin, 7), *range(begin, len(whole), 211), len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            open_model(file)


NUMBERS = [0, 1, 7, 255, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63]
NUMBERS += [(1 << 64) - 1, (1 << 64) // 34]


def damaged(whole: bytes, begin: int, draw: Any) -> bytes:
    """Some bytes of the header are changed, or a number is extreme, or bytes are missing."""
    made = bytearray(whole)
    for _ in range(draw.choice((1, 1, 2, 4, 8))):
        place = draw.randrange(4, begin - 8)
        action = draw.randrange(4)
        if action < 2:
            made[place] = draw.randrange(256)
        elif action == 2:
            made[place : place + 8] = struct.pack("<Q", draw.choice(NUMBERS))
        else:
            made[place] = made[place] ^ (1 << draw.randrange(8))
    if draw.randrange(8) == 0:
        cut = draw.randrange(8, begin)
        del made[cut : cut + draw.randrange(1, 40)]
    return bytes(made)


def test_random_damage(file: Path) -> None:
    """Any damaged file is either read or rejected with a ValueError."""
    draw = seed.chance("gguf damage")
    short = {key: each for key, each in METADATA.items() if "tokenizer" not in key}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for metadata, tries, whole in ((short, 2000, False), (short, 100, True), (METADATA, 60, True)):
        good = gguf.file_bytes(metadata, tensors())
        begin = len(gguf.head(metadata, tensors()))
        for _ in range(tries):
            bad = damaged(good, begin, draw)
            file.write_bytes(bad)
            try:
                load(file, whole=whole)
            except ValueError:
                refused += 1
            except BaseException:
                file.with_suffix(".failed").write_bytes(bad)
                raise
    assert refused > 1000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200 << 10, f"{grown >> 10} MiB more"


def array(kind: int, count: int, data: bytes = b"") -> bytes:
    return struct.pack("<IIQ", 9, kind, count) + data


def nested(depth: int) -> bytes:
    return struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * depth + struct.pack("<IQ", 4, 0)


HEADS: dict[str, Any] = {
    "2^63 weights": gguf.head({}, [], (1 << 63, 0)),
    "2^63 keys": gguf.head({}, [], (0, 1 << 63)),
    "a key of 2^63 bytes": gguf.head({}, [], (0, 1)) + struct.pack("<Q", 1 << 63),
    "2^63 strings": gguf.head({"a": array(8, 1 << 63)}, []),
    "2^40 strings": gguf.head({"a": array(8, 1 << 40, b"\0" * 64)}, []),
    "2^63 numbers": gguf.head({"a": array(4, 1 << 63)}, []),
    "2^61 doubles": gguf.head({"a": array(12, 1 << 61)}, []),
    "2^63 arrays": gguf.head({"a": array(9, 1 << 63)}, []),
    "arrays in arrays": gguf.head({"a": nested(2000)}, []),
    "an array of an unknown type": gguf.head({"a": array(99, 1, b"\0" * 8)}, []),
    "an unknown type": gguf.head({"a": struct.pack("<IQ", 13, 0)}, []),
    "a key that is not UTF-8": gguf.head({}, [], (0, 1)) + gguf.text(b"\xff\xfe") + bytes(12),
    "a text that is not UTF-8": gguf.head({"a": struct.pack("<I", 8) + gguf.text(b"\xc3")}, []),
    "a key twice": gguf.head({}, [], (0, 2)) + 2 * (gguf.text("a") + gguf.value(1)),
    "version 1": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "nothing": b"",
    "only its name": b"GGUF",
    "something else": b"PK\3\4" + bytes(100),
}


@pytest.mark.parametrize("name", HEADS)
def test_hostile_heads(name: str, file: Path) -> None:
    file.write_bytes(HEADS[name])
    with pytest.raises(ModelFileError, match=r"model\.gguf"):
        open_model(file)


def weight(shape: tuple[int, ...], kind: int = 0, offset: int | None = None) -> gguf.Tensor:
    return gguf.Tensor("token_embd.weight", shape, kind, bytes(64), offset)


HUGE = 1 << 63
WEIGHTS: dict[str, list[gguf.Tensor]] = {
    "too many dimensions": [weight((1,) * 5)],
    "huge": [weight((HUGE,))],
    "a product that wraps": [weight((1 << 32, 1 << 32))],
    "none of something huge": [weight((0, HUGE))],
    "none of something huge, packed": [weight((HUGE, 0), 8)],
    "no whole block": [weight((2, 33), 8)],
    "packed without dimensions": [weight((), 8)],
    "an unknown format": [weight((8,), 77)],
    "a format that is not supported": [weight((256,), 10)],
    "behind the end": [weight((16,), 0, 1 << 20)],
    "far behind the end": [weight((16,), 0, (1 << 64) - 32)],
    "not aligned": [weight((16,), 0, 1)],
    "the same name twice": [weight((16,)), weight((16,))],
    "two names of one weight": [
        weight((16,)),
        gguf.Tensor("model.embed_tokens.weight", (16,), 0, bytes(64)),
    ],
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_hostile_weights(name: str, file: Path) -> None:
    gguf.write(file, METADATA, WEIGHTS[name])
    with pytest.raises(ModelFileError, match=r"token_embd|model.gguf"):
        open_model(file)


def test_overlapping_and_empty_weights_are_only_read(file: Path) -> None:
    rows = tensors()
    rows[2] = rows[2]._replace(offset=0)
    load(gguf.write(file, METADATA, rows))
    extra = [*rows, gguf.Tensor("more.weight", (0, 4), 0, b"")]
    with pytest.raises(ModelFileError, match=r"1 weights have no place.*more\.weight"):
        load(gguf.write(file, METADATA, extra))


SETTINGS: list[tuple[str, Any]] = [
    ("general.architecture", "gpt9"),
    ("general.architecture", 3),
    ("general.architecture", ["llama"]),
    ("general.alignment", 0),
    ("general.alignment", 3),
    ("general.alignment", "a"),
    ("llama.block_count", 0),
    ("llama.block_count", -1),
    ("llama.block_count", 10**9),
    ("llama.block_count", 2.5),
    ("llama.block_count", True),
    ("llama.embedding_length", 0),
    ("llama.embedding_length", 33),
    ("llama.attention.head_count", 0),
    ("llama.attention.head_count", 3),
    ("llama.attention.head_count", [4, 4]),
    ("llama.attention.head_count_kv", 0),
    ("llama.attention.head_count_kv", 3),
    ("llama.attention.head_count_kv", gguf.Kind(10, "Q", 1 << 63)),
    ("llama.attention.key_length", 0),
    ("llama.attention.key_length", 7),
    ("llama.attention.layer_norm_rms_epsilon", 0.0),
    ("llama.attention.layer_norm_rms_epsilon", math.nan),
    ("llama.attention.layer_norm_rms_epsilon", math.inf),
    ("llama.attention.sliding_window", -1),
    ("llama.attention.sliding_window", 1.5),
    ("llama.attention.sliding_window", "wide"),
    ("llama.rope.freq_base", 0.0),
    ("llama.rope.freq_base", -1.0),
    ("llama.rope.freq_base", math.nan),
    ("llama.rope.freq_base", "a"),
    ("llama.rope.dimension_count", 0),
    ("llama.rope.dimension_count", 3),
    ("llama.context_length", 0),
    ("llama.vocab_size", 0),
    ("llama.vocab_size", 300),
    ("llama.feed_forward_length", 64),
    ("tokenizer.ggml.eos_token_id", "a"),
    ("tokenizer.ggml.tokens", [1, 2]),
    ("tokenizer.ggml.tokens", "a"),
    ("tokenizer.ggml.token_type", [1]),
    ("tokenizer.ggml.token_type", "a"),
    ("tokenizer.ggml.merges", [1, 2]),
    ("tokenizer.ggml.merges", "a b"),
    ("tokenizer.ggml.model", "bert"),
    ("tokenizer.ggml.model", "llama"),
    ("tokenizer.ggml.model", [1]),
    ("tokenizer.ggml.pre", [1]),
    ("tokenizer.chat_template", 5),
]


@pytest.mark.parametrize(("key", "value"), SETTINGS, ids=str)
def test_impossible_settings(key: str, value: Any, file: Path) -> None:
    gguf.write(file, {**METADATA, key: value}, tensors())
    if key in ("tokenizer.ggml.pre", "tokenizer.chat_template"):
        load(file)  # as if it were missing
        return
    with pytest.raises(ModelFileError) as caught:
        load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["linear", "yarn", "other", 5])
@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, "a", 2.0])
def test_scaling_of_positions(kind: Any, factor: Any, file: Path) -> None:
    changes = {"llama.rope.scaling.type": kind, "llama.rope.scaling.factor": factor}
    gguf.write(file, {**METADATA, **changes}, tensors())
    if factor == 2.0 or kind not in ("linear", "yarn"):
        load(file)
        return
    with pytest.raises(ModelFileError, match="rope_scaling"):
        load(file)
