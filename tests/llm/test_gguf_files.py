"""GGUF files: the same tokens as the folder that they were made of, in every format."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm import Engine, EngineOptions, SamplingParams, open_model
from infinicore.llm.files import ModelFileError
from infinicore.llm.files.gguf import BLOCKS
from infinicore.nn import functional as F  # noqa: N812
from tests.llm import gguf_writer as gguf

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 288,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
}


def shapes() -> dict[str, tuple[int, ...]]:
    hidden, wide, kv = 256, 256, 128
    made: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (288, hidden)}
    for i in range(2):
        layer = f"model.layers.{i}."
        made[layer + "input_layernorm.weight"] = (hidden,)
        made[layer + "post_attention_layernorm.weight"] = (hidden,)
        for name, rows, width in (
            ("self_attn.q_proj", hidden, hidden),
            ("self_attn.k_proj", kv, hidden),
            ("self_attn.v_proj", kv, hidden),
            ("self_attn.o_proj", hidden, hidden),
            ("mlp.gate_proj", wide, hidden),
            ("mlp.up_proj", wide, hidden),
            ("mlp.down_proj", hidden, wide),
        ):
            made[f"{layer}{name}.weight"] = (rows, width)
    return {**made, "model.norm.weight": (hidden,)}


def weights() -> dict[str, np.ndarray]:
    draw = np.random.RandomState(4)
    return {
        name: (draw.standard_normal(shape) * 0.06 if len(shape) > 1 else np.ones(shape)).astype(
            np.float32
        )
        for name, shape in shapes().items()
    }


def folder(path: Path, tensors: dict[str, np.ndarray], **changes: Any) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    given = {name: infinicore.from_numpy(np.ascontiguousarray(a)) for name, a in tensors.items()}
    infinicore.nn.save_safetensors(given, path / "model.safetensors")
    return path


def heads_of(name: str) -> int:
    return 4 if "q_proj" in name else 2 if "k_proj" in name else 0


def as_gguf(name: str, array: np.ndarray, kind: str) -> gguf.Tensor:
    if heads_of(name):
        array = gguf.neighbours(array, heads_of(name))
    return gguf.plain(gguf.gguf_name(name), array, kind if array.ndim > 1 else "F32")


def rounded(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "F16":
        return array.astype(np.float16).astype(np.float32)
    bits = array.view(np.uint32) + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def engine(path: Path, **changes: Any) -> Engine:
    settings = {"cache_tokens": 128, "block_size": 8, "max_batch": 2, "graphs": False, **changes}
    return Engine(open_model(path), EngineOptions(dtype="float32", **settings))


PROMPT = [5, 17, 200, 31, 90, 255, 8]


def tokens(path: Path, **changes: Any) -> list[int]:
    made = engine(path, **changes)
    request = made.add(PROMPT, SamplingParams(max_tokens=12, ignore_eos=True))
    while made.has_work:
        made.step()
    return request.output


def logits(path: Path) -> np.ndarray:
    made = engine(path)
    made.add(PROMPT)
    return made.runner.run(made.scheduler.next()).cpu().numpy()[0].copy()


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_plain_formats_give_the_tokens_of_a_folder(kind: str, tmp_path: Path) -> None:
    given = weights()
    metadata = gguf.llama_metadata(CONFIG)
    rows = [as_gguf(name, array, kind) for name, array in given.items()]
    file = gguf.write(tmp_path / "model.gguf", metadata, rows)
    if kind != "F32":
        given = {n: a if a.ndim == 1 else rounded(a, kind) for n, a in given.items()}
    wanted = tokens(folder(tmp_path / "folder", given))
    assert len(wanted) == 12 and tokens(file) == wanted


def dequantised(tensor: gguf.Tensor) -> np.ndarray:
    if tensor.kind not in BLOCKS:
        return np.frombuffer(tensor.data, np.float32).reshape(tensor.shape)
    data = np.frombuffer(tensor.data, np.uint8).reshape(tensor.shape[0], -1)
    return F.dequantize_gguf(infinicore.from_numpy(data.copy()), tensor.kind).cpu().numpy()


@pytest.mark.parametrize("kind", gguf.PACKED)
def test_packed_formats_are_near_their_numbers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.RandomState(4)
    rows = []
    for name, shape in shapes().items():
        own = gguf.gguf_name(name)
        is_norm = len(shape) == 1
        one = gguf.plain(own, np.ones(shape)) if is_norm else gguf.blocks(own, shape, kind, draw)
        rows.append(one)
    metadata = gguf.llama_metadata(CONFIG)
    file = gguf.write(tmp_path / "packed.gguf", metadata, rows)
    dense = [gguf.plain(each.name, dequantised(each)) for each in rows]
    wanted = logits(gguf.write(tmp_path / "dense.gguf", metadata, dense))
    spread = wanted.std()
    assert 0.1 < spread < 100
    assert abs(logits(file) - wanted).max() < 0.1 * spread
    exact = functools.partial(F.linear_gguf, quantize_input=False)
    monkeypatch.setattr(F, "linear_gguf", exact)
    assert abs(logits(file) - wanted).max() < 1e-3 * spread


def test_frequencies_of_llama_3(tmp_path: Path) -> None:
    """A file has the divisors of Llama 3's scaling rule, but not its parameters."""
    given = weights()
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    }
    wanted = logits(folder(tmp_path / "folder", given, rope_scaling=scaling))
    base = 10000.0 ** (-np.arange(0, 64, 2) / 64)
    turns = 32 * base / (2 * np.pi)
    kept = np.clip((turns - 1) / 3, 0, 1)
    divisors = 1 / (kept + (1 - kept) / 8)
    rows = [as_gguf(name, array, "F32") for name, array in given.items()]
    metadata = gguf.llama_metadata(CONFIG)
    plain = logits(gguf.write(tmp_path / "plain.gguf", metadata, rows))
    rows.append(gguf.plain("rope_freqs.weight", divisors))
    made = logits(gguf.write(tmp_path / "model.gguf", metadata, rows))
    np.testing.assert_allclose(made, wanted, atol=2e-4)
    assert abs(plain - wanted).max() > 1e-2


def test_rotated_part_of_a_head(tmp_path: Path) -> None:
    given = weights()
    metadata = {**gguf.llama_metadata(CONFIG), "llama.rope.dimension_count": 32}
    rows = []
    for name, array in given.items():
        if heads := heads_of(name):  # only the first half of a head is in another order
            parts = array.reshape(heads, 64, -1)
            first = gguf.neighbours(parts[:, :32].reshape(heads * 32, -1), heads)
            both = [first.reshape(heads, 32, -1), parts[:, 32:]]
            array = np.concatenate(both, 1).reshape(array.shape)
        rows.append(gguf.plain(gguf.gguf_name(name), array))
    file = gguf.write(tmp_path / "model.gguf", metadata, rows)
    wanted = logits(folder(tmp_path / "folder", given, partial_rotary_factor=0.5))
    np.testing.assert_allclose(logits(file), wanted, atol=2e-4)


def experts_file(path: Path, rows: list[gguf.Tensor]) -> Path:
    metadata = gguf.llama_metadata(CONFIG)
    metadata |= {"llama.expert_count": 4, "llama.expert_used_count": 2}
    return gguf.write(path, metadata, rows)


@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "Q6_K"])
def test_experts_stay_packed(kind: str, tmp_path: Path) -> None:
    draw = np.random.RandomState(4)
    rows = []
    for name, shape in shapes().items():
        own = gguf.gguf_name(name)
        if "ffn_" in own and len(shape) == 2:
            own = own.replace(".weight", "_exps.weight")
            rows.append(gguf.blocks(own, (4, *shape), kind, draw))
        else:
            values = np.ones(shape) if len(shape) == 1 else draw.standard_normal(shape) * 0.06
            rows.append(gguf.plain(own, values))
    for layer in range(2):
        router = draw.standard_normal((4, 256))
        rows.append(gguf.plain(f"blk.{layer}.ffn_gate_inp.weight", router))
    packed = experts_file(tmp_path / "packed.gguf", rows)
    dense = []
    for each in rows:
        flat = each._replace(shape=(int(np.prod(each.shape[:-1])), each.shape[-1]))
        values = dequantised(flat if each.kind in BLOCKS else each).reshape(each.shape)
        dense.append(gguf.plain(each.name, values))
    wanted_file = experts_file(tmp_path / "dense.gguf", dense)
    made = engine(packed)
    kinds = {name: w.dtype for name, w in _experts_of(made)}
    assert kinds and set(kinds.values()) == {infinicore.uint8}
    np.testing.assert_allclose(logits(packed), logits(wanted_file), rtol=1e-3, atol=1e-3)
    assert tokens(packed) == tokens(wanted_file)  # a token at a time: a few experts of them
    assert tokens(packed, graphs=True) == tokens(wanted_file)


def _experts_of(made: Engine) -> list[tuple[str, Any]]:
    found = []
    for name, module in made.runner.model.named_modules():
        for stack in getattr(module, "packed", None) or []:
            found.append((name, stack.weight))
    return found


def phi3_files(tmp_path: Path, **scaling: Any) -> tuple[Path, Path]:
    """The same model as a folder and as a file, with LongRoPE's factors."""
    draw = np.random.RandomState(4)
    hidden, wide, kv = 256, 256, 128
    own: dict[str, np.ndarray] = {"model.embed_tokens.weight": draw.standard_normal((288, hidden))}
    names = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
    }
    for i in range(2):
        layer = f"model.layers.{i}."
        for name, part, shape in (
            ("input_layernorm", "attn_norm", (hidden,)),
            ("post_attention_layernorm", "ffn_norm", (hidden,)),
            ("self_attn.qkv_proj", "attn_qkv", (hidden + 2 * kv, hidden)),
            ("self_attn.o_proj", "attn_output", (hidden, hidden)),
            ("mlp.gate_up_proj", "ffn_up", (2 * wide, hidden)),
            ("mlp.down_proj", "ffn_down", (hidden, wide)),
        ):
            own[f"{layer}{name}.weight"] = draw.standard_normal(shape)
            names[f"{layer}{name}.weight"] = f"blk.{i}.{part}.weight"
    own["model.norm.weight"] = np.ones(hidden)
    own = {
        name: np.ones(a.shape, np.float32) if a.ndim == 1 else (a * 0.06).astype(np.float32)
        for name, a in own.items()
    }
    rope = {"type": "longrope", "original_max_position_embeddings": 4, **scaling}
    made = folder(tmp_path / "folder", own, model_type="phi3", rope_scaling=rope)
    metadata = {
        key.replace("llama.", "phi3."): "phi3" if value == "llama" else value
        for key, value in gguf.llama_metadata(CONFIG).items()
    }
    metadata["phi3.rope.scaling.original_context_length"] = 4
    rows = [gguf.plain(names[name], array) for name, array in own.items()]
    rows += [
        gguf.plain(f"rope_factors_{which}.weight", np.array(scaling[f"{which}_factor"]))
        for which in ("long", "short")
    ]
    return made, gguf.write(tmp_path / "model.gguf", metadata, rows)


def test_long_rope_of_phi3(tmp_path: Path) -> None:
    factors = {
        "short_factor": [1.0 + 0.1 * i for i in range(32)],
        "long_factor": [2.0 + 0.2 * i for i in range(32)],
    }
    wanted, file = phi3_files(tmp_path, **factors)
    np.testing.assert_allclose(logits(file), logits(wanted), atol=2e-4)
    assert tokens(file) == tokens(wanted)
    config = open_model(file).config
    assert config["rope_scaling"]["long_factor"] == pytest.approx(factors["long_factor"])
    damaged = tmp_path / "other"
    damaged.mkdir()
    with pytest.raises(ModelFileError, match="32 short and 31 long factors"):
        open_model(phi3_files(damaged, **{**factors, "long_factor": [2.0] * 31})[1])
