"""Hugging Face folders: sound ones in all their forms, and damaged ones."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm import LLM, Engine, EngineOptions, ModelFileError, SamplingParams, open_model
from infinicore.nn import read_safetensors, save_safetensors
from kit import seed
from tests.llm import small_llama
from tests.llm.tiny import expected, write

pytestmark = pytest.mark.requires("host")

PROMPT = [3, 77, 140, 9, 21]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_llama.make_folder(tmp_path_factory.mktemp("sound") / "m", layers=1)


@pytest.fixture
def folder(tmp_path: Path, sound: Path) -> Path:
    """A copy, to be damaged."""
    made = tmp_path / "m"
    made.mkdir()
    for file in sound.iterdir():
        (made / file.name).write_bytes(file.read_bytes())
    return made


def engine(path: Path, **changes: Any) -> Engine:
    settings = {"cache_tokens": 64, "block_size": 8, "graphs": False, **changes}
    return Engine(open_model(path), EngineOptions(**settings))


def tokens(path: Path, **changes: Any) -> list[int]:
    made = engine(path, **changes)
    request = made.add(PROMPT, SamplingParams(max_tokens=8, ignore_eos=True))
    while made.has_work:
        made.step()
    return request.output


def configure(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def tensors(folder: Path) -> dict[str, Any]:
    read = read_safetensors(folder / "model.safetensors")
    return {name: infinicore.from_numpy(each.numpy().copy()) for name, each in read.items()}


def shards(folder: Path) -> dict[str, str]:
    """Splits the weights into two files with an index; returns its map."""
    every = tensors(folder)
    names = sorted(every)
    places = {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"model-{i}.safetensors"
        save_safetensors({name: every[name] for name in part}, folder / file)
        places.update(dict.fromkeys(part, file))
    (folder / "model.safetensors").unlink()
    index(folder, places)
    return places


def index(folder: Path, places: Any) -> None:
    file = folder / "model.safetensors.index.json"
    file.write_text(json.dumps({"metadata": {}, "weight_map": places}))


# ---- weights --------------------------------------------------------------------------------


def test_missing_extra_and_misshaped_weights_are_named(folder: Path) -> None:
    every = tensors(folder)
    file = folder / "model.safetensors"
    name = "model.layers.0.mlp.up_proj.weight"
    save_safetensors({n: t for n, t in every.items() if n != name}, file)
    with pytest.raises(ModelFileError, match=f"the weight '{name}' is missing"):
        engine(folder)
    save_safetensors({**every, name: infinicore.zeros(64, 31)}, file)
    with pytest.raises(
        ModelFileError, match=rf"'{name}' has shape \(64, 31\): expected \(64, 32\)"
    ):
        engine(folder)
    save_safetensors({**every, "model.layers.7.x.weight": infinicore.zeros(3)}, file)
    with pytest.raises(
        ModelFileError, match=r"1 weights have no place.*model\.layers\.7\.x\.weight"
    ):
        engine(folder)
    save_safetensors({**every, "model.layers.0.self_attn.rotary_emb.inv_freq": every[name]}, file)
    engine(folder)


def test_several_files(folder: Path, sound: Path) -> None:
    places = shards(folder)
    assert tokens(folder) == tokens(sound)
    (folder / "model.safetensors.index.json").unlink()
    assert tokens(folder) == tokens(sound)
    index(folder, {**places, "lm_head.weight": "model-9.safetensors"})
    with pytest.raises(ModelFileError, match=r"model-9\.safetensors is missing, which .*index"):
        engine(folder)


@pytest.mark.parametrize(
    "name", ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "..", "", ".", 5, None, []]
)
def test_an_index_names_files_beside_it(name: Any, folder: Path) -> None:
    places = shards(folder)
    (folder.parent / "secret.safetensors").write_bytes(
        (folder / "model-0.safetensors").read_bytes()
    )
    index(folder, {**places, "lm_head.weight": name})
    with pytest.raises(ModelFileError, match="index"):
        engine(folder)


@pytest.mark.parametrize("places", [None, [], "a", 3])
def test_an_index_without_a_map(places: Any, folder: Path) -> None:
    index(folder, places)
    with pytest.raises(ModelFileError, match="weight_map"):
        engine(folder)


def test_a_weight_in_two_files(folder: Path) -> None:
    save_safetensors(
        {"lm_head.weight": tensors(folder)["lm_head.weight"]}, folder / "z.safetensors"
    )
    with pytest.raises(ModelFileError, match=r"two files have a weight 'lm_head\.weight'"):
        engine(folder)


def test_random_damage_of_weights(folder: Path) -> None:
    draw = seed.chance("safetensors damage")
    good = (folder / "model.safetensors").read_bytes()
    length = 8 + int.from_bytes(good[:8], "little")
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(draw.choice((1, 2, 4))):
            bad[draw.randrange(length)] = draw.choice((draw.randrange(256), *b'0123456789-[]{},"'))
        if draw.randrange(4) == 0:
            del bad[draw.randrange(length) :]
        (folder / "model.safetensors").write_bytes(bad)
        try:
            open_model(folder)
        except ValueError:
            continue


@pytest.mark.parametrize(
    "header",
    [
        [],
        "a",
        {"a": 1},
        {"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}},
        {"a": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 6]}},
        {"a": {"dtype": "F32", "shape": "aa", "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [0, 1 << 63], "data_offsets": [0, 0]}},
        {"a": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": ["0", "4"]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0.0, 4.0]}},
        {"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [1 << 62], "data_offsets": [0, 1 << 64]}},
        {"a": {"dtype": "F32", "shape": None, "data_offsets": [0, 4]}},
    ],
    ids=str,
)
def test_hostile_headers(header: Any, folder: Path) -> None:
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(64)
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        open_model(folder)


# ---- forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision(kind: str, folder: Path, sound: Path) -> None:
    dtype = getattr(infinicore, kind)
    half = {name: each.to(dtype) for name, each in tensors(folder).items()}
    save_safetensors(half, folder / "model.safetensors")
    wide = {name: each.to(infinicore.float32) for name, each in half.items()}
    configure(folder, torch_dtype=kind)
    made = engine(folder)
    assert made.dtype == dtype and made.add(PROMPT) and made.step()
    in_full = tokens(folder, dtype="float32")
    save_safetensors(wide, folder / "model.safetensors")
    assert tokens(folder, dtype="float32") == in_full


def test_the_dtype_of_a_file_is_one_of_computation(folder: Path) -> None:
    for name in ("zeros", "float8", "int8", 5, None, ["float32"]):
        configure(folder, torch_dtype=name)
        assert engine(folder).dtype == infinicore.float32
    with pytest.raises(ValueError, match="dtype is 'int8': expected one of float32"):
        engine(folder, dtype="int8")


def test_tied_weights(folder: Path, sound: Path) -> None:
    every = tensors(folder)
    every["lm_head.weight"] = every["model.embed_tokens.weight"]
    save_safetensors(every, folder / "model.safetensors")
    wanted = tokens(folder)
    del every["lm_head.weight"]
    save_safetensors(every, folder / "model.safetensors")
    with pytest.raises(ModelFileError, match=r"'lm_head\.weight' is missing"):
        engine(folder)
    configure(folder, tie_word_embeddings=True)
    assert tokens(folder) == wanted


def test_models_that_also_see(folder: Path, sound: Path) -> None:
    """The settings and the weights of the text model are one level down; the rest is ignored."""
    every = {f"language_model.{name}": each for name, each in tensors(folder).items()}
    every["vision_tower.patch.weight"] = infinicore.zeros(3, 3)
    save_safetensors(every, folder / "model.safetensors")
    text = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({"model_type": "seer", "text_config": text}))
    assert tokens(folder) == tokens(sound)


@pytest.mark.parametrize("ends", [5, [5], [7, 5], None])
def test_ends_of_the_generation_config(ends: Any, folder: Path) -> None:
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    made = engine(folder).end_tokens
    assert made == ((257,) if ends is None else tuple(ends) if isinstance(ends, list) else (ends,))


@pytest.mark.parametrize("ends", ["a", [None], -1, [1.5], {"a": 1}])
def test_bad_ends(ends: Any, folder: Path) -> None:
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    with pytest.raises(ModelFileError, match="eos_token_id is"):
        engine(folder)


# ---- files ----------------------------------------------------------------------------------


def test_no_model(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing: no such file or folder"):
        open_model(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match=r"no config\.json"):
        open_model(tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match=r"no \*\.safetensors"):
        open_model(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"a": NaN', b"\xff\xfe{}", "[" * 100000])
def test_bad_json(text: Any, folder: Path) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    for name in (
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
    ):
        kept = (folder / name).read_bytes() if (folder / name).exists() else b"{}"
        (folder / name).write_bytes(data)
        with pytest.raises(ModelFileError, match=name.replace(".", r"\.")):
            _ = engine(folder).tokenizer
        (folder / name).write_bytes(kept)


def test_without_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    llm = LLM(folder, cache_tokens=64, block_size=8)
    assert len(llm.engine.add(PROMPT).prompt) == 5
    with pytest.raises(ModelFileError, match=r"no tokenizer\.json"):
        llm.generate("text")


# ---- settings -------------------------------------------------------------------------------

NUMBERS = ["hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size"]
NUMBERS += ["num_hidden_layers", "vocab_size", "head_dim"]
BAD: list[tuple[str, Any]] = [
    *((key, bad) for key in NUMBERS for bad in (0, -1, 1.5, "8", True, [4], 1 << 62)),
    *((key, None) for key in ("hidden_size", "num_hidden_layers", "vocab_size")),
    ("num_hidden_layers", 10**9),
    ("max_position_embeddings", 0),
    ("head_dim", 7),
    ("model_type", "unknown"),
    ("model_type", None),
    ("model_type", ["llama"]),
    ("rms_norm_eps", 0),
    ("rms_norm_eps", math.nan),
    ("rms_norm_eps", "a"),
    *(("rope_theta", bad) for bad in (0, -1, math.nan, math.inf, "a")),
    *(("partial_rotary_factor", bad) for bad in (0, 2, -1, 0.1, "a", math.nan)),
    *(("sliding_window", bad) for bad in (-1, 1.5, "a", [3])),
    ("layer_types", 5),
    ("layer_types", []),
    ("hidden_act", "cubic"),
    ("hidden_act", ["silu"]),
    ("final_logit_softcapping", -1),
    ("attention_multiplier", math.nan),
    ("rope_scaling", "yarn"),
    ("rope_scaling", {"rope_type": "spiral"}),
    ("rope_scaling", {"rope_type": ["yarn"]}),
    ("rope_scaling", {"rope_type": "linear"}),
    ("rope_scaling", {"rope_type": "linear", "factor": 0}),
    ("rope_scaling", {"rope_type": "yarn", "factor": "a"}),
    ("rope_scaling", {"rope_type": "llama3", "factor": 8}),
    ("rope_scaling", {"rope_type": "yarn", "factor": 2, "beta_fast": -1}),
    ("rope_scaling", {"type": "longrope", "short_factor": [1], "long_factor": [1, 2]}),
    ("rope_scaling", {"type": "longrope", "short_factor": [1], "long_factor": [1]}),
    ("rope_scaling", {"type": "longrope", "short_factor": 1, "long_factor": 1}),
    ("rope_parameters", [1]),
    ("rope_parameters", {"rope_theta": 0}),
    ("rope_parameters", {"full_attention": {"rope_type": "linear"}}),
]


@pytest.mark.parametrize(("key", "value"), BAD, ids=str)
def test_impossible_settings(key: str, value: Any, folder: Path) -> None:
    configure(folder, **{key: value})
    with pytest.raises(ValueError, match=r"\w") as caught:
        engine(folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("original_max_position_embeddings", bad) for bad in (0, 1, "x", -5, 2.5)),
        *(("factor", bad) for bad in ("x", -1, math.inf)),
        ("short_factor", 1),
        ("long_factor", [1.0, 1e-320, 1.0, 1.0]),
    ],
    ids=str,
)
def test_longrope_names_what_is_wrong(key: str, value: Any, folder: Path) -> None:
    long = {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "factor": 2.0}
    configure(folder, rope_scaling={**long, key: value})
    with pytest.raises(ValueError, match=rf"rope_scaling: LongRopeScalingConfig: {key}"):
        engine(folder)


EXPERTS: list[tuple[str, str, Any]] = [
    ("mixtral", "num_local_experts", 0),
    ("mixtral", "num_experts_per_tok", 5),
    ("mixtral", "num_experts_per_tok", 0),
    ("qwen3_moe", "num_experts", -1),
    ("qwen3_moe", "moe_intermediate_size", 0),
    ("qwen3_moe", "num_experts_per_tok", "2"),
    ("qwen3_moe", "decoder_sparse_step", 0),
    ("qwen3_moe", "mlp_only_layers", 3),
    ("gemma3", "sliding_window_pattern", 0),
    ("gemma2", "query_pre_attn_scalar", 0),
    ("deepseek_v3", "kv_lora_rank", None),
    ("deepseek_v3", "qk_rope_head_dim", 0),
    ("deepseek_v3", "n_group", 3),
    ("deepseek_v3", "topk_group", 5),
    ("deepseek_v3", "num_experts_per_tok", 9),
    ("deepseek_v3", "first_k_dense_replace", -1),
    ("deepseek_v2", "moe_intermediate_size", None),
]


@pytest.mark.parametrize(("name", "key", "value"), EXPERTS, ids=str)
def test_impossible_settings_of_other_models(
    name: str, key: str, value: Any, tmp_path: Path
) -> None:
    folder = write(tmp_path, name, expected()[name]["shapes"], **{key: value})
    with pytest.raises(ModelFileError, match=key):
        engine(folder)


def test_weights_are_not_copied(sound: Path) -> None:
    checkpoint = open_model(sound)
    first, again = (checkpoint.get("lm_head.weight") for _ in range(2))
    assert first is not None and again is not None
    assert first.data.data_ptr() == again.data.data_ptr()
    weight = engine(sound).model.head.weight
    assert np.array_equal(weight.numpy(), first.data.numpy())
