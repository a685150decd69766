"""examples/parallel: one model on several ranks, as threads and as processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import need

pytestmark = pytest.mark.requires("host")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "parallel"
SCRIPT = str(FOLDER / "llama.py")


def run(*words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "INFINI_CCL_TIMEOUT": "60", **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(said: str, ranks: int) -> None:
    assert f"{ranks} ranks" in said and "tokens/s" in said
    assert "the same tokens: right" in said, said


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_threads(ranks: int) -> None:
    """Three ranks do not divide the four key heads: one has two of them."""
    words = ("--weights", "random", "--tokens", "6", "--ranks", str(ranks))
    check(run(SCRIPT, *words), ranks)


def test_without_graphs_the_tokens_are_the_same() -> None:
    words = ("--weights", "random", "--tokens", "6", "--ranks", "2")
    said = [run(SCRIPT, *words), run(SCRIPT, *words, "--eager", "--no-check")]
    tokens = [re.findall(r"'\[(.*)\]'", each) for each in said]
    assert tokens[0] == tokens[1] and tokens[0][0].count(",") == 5


def test_processes() -> None:
    words = ("-m", "infinicore", "launch", "-n", "2", SCRIPT, "--weights", "random")
    check(run(*words, "--tokens", "6"), 2)


def test_a_file_of_weights(tmp_path: Path) -> None:
    gguf = need("gguf")
    import numpy

    path = tmp_path / "small.gguf"
    write(gguf, numpy, path)
    check(run(SCRIPT, "--weights", str(path), "--tokens", "4", "--ranks", "3"), 3)


def write(gguf: Any, numpy: Any, path: Path) -> None:
    """Six query heads for three key heads, with an output head tied to the embedding."""
    hidden, wide, vocab, layers = 48, 64, 100, 2
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(6)
    writer.add_head_count_kv(3)
    writer.add_vocab_size(vocab)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list([f"w{i}" for i in range(vocab)])
    writer.add_token_types([1] * vocab)
    numbers = numpy.random.default_rng(0)
    sizes = {
        "attn_q": (hidden, hidden),
        "attn_k": (hidden // 2, hidden),
        "attn_v": (hidden // 2, hidden),
        "attn_output": (hidden, hidden),
        "ffn_gate": (wide, hidden),
        "ffn_up": (wide, hidden),
        "ffn_down": (hidden, wide),
    }
    tensors = {"token_embd": (vocab, hidden), "output_norm": (hidden,)}
    for i in range(layers):
        tensors |= {f"blk.{i}.{name}": size for name, size in sizes.items()}
        tensors |= {f"blk.{i}.{name}": (hidden,) for name in ("attn_norm", "ffn_norm")}
    for name, size in tensors.items():
        data = numbers.standard_normal(size) / size[-1] ** 0.5 + (1 if "norm" in name else 0)
        writer.add_tensor(f"{name}.weight", data.astype(numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
