"""AWQ, GPTQ and W8A8 folders against the same model with dense, dequantised weights."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.llm import Engine, EngineOptions, ModelFileError, SamplingParams, open_model
from infinicore.llm.quantised import Awq, Gptq, Int8, Quantised
from infinicore.nn import save_safetensors
from kit.ref import quantised as layouts
from tests.llm import tiny

GROUPS = 4
PROMPT = [3, 77, 140, 9, 21, 250]
Packed = tuple[dict[str, np.ndarray], np.ndarray]


def awq(weight: np.ndarray, draw: np.random.Generator) -> Packed:
    codes, zeros, scales = _codes(weight, draw)
    made = {
        "qweight": layouts.pack_awq(codes),
        "qzeros": layouts.pack_awq(zeros),
        "scales": scales,
    }
    return made, layouts.dequantise_awq(codes, zeros, scales).T


def gptq(weight: np.ndarray, draw: np.random.Generator) -> Packed:
    codes, zeros, scales = _codes(weight, draw)
    order = (draw.permutation(len(codes)) * GROUPS // len(codes)).astype(np.int32)
    made = {
        "qweight": layouts.pack_gptq(codes),
        "qzeros": layouts.pack_gptq_zeros(zeros),
        "scales": scales,
        "g_idx": order,
    }
    return made, ((codes - zeros[order]) * scales[order].astype(np.float64)).T


def int8(weight: np.ndarray, draw: np.random.Generator) -> Packed:
    scale = abs(weight).max(1, keepdims=True) / 127
    codes = np.round(weight / scale).astype(np.int8)
    return {"weight": codes, "weight_scale": scale.astype(np.float32)}, codes * scale


def _codes(
    weight: np.ndarray, draw: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes [inputs, outputs], zeros and scales [groups, outputs]."""
    shape = (GROUPS, weight.shape[0])
    scales = (0.03 * (1 + draw.random(shape))).astype(np.float16)
    return draw.integers(0, 16, weight.T.shape), draw.integers(6, 10, shape), scales


KINDS: dict[str, tuple[Any, type[Quantised], dict[str, Any]]] = {
    "awq": (awq, Awq, {"quant_method": "awq", "bits": 4, "group_size": 16, "version": "gemm"}),
    "gptq": (gptq, Gptq, {"quant_method": "gptq", "bits": 4, "desc_act": True}),
    "int8": (int8, Int8, {"quant_method": "compressed-tensors", "format": "int-quantized"}),
}


@functools.cache
def weights(name: str, kind: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The packed weights, and their values."""
    pack = KINDS[kind][0]
    draw = np.random.default_rng(2)
    packed: dict[str, np.ndarray] = {}
    dense: dict[str, np.ndarray] = {}
    for own, shape in tiny.expected()[name]["shapes"].items():
        weight = tiny.weight(name, own, tuple(shape))
        if not own.endswith("_proj.weight"):
            packed[own] = dense[own] = weight
            continue
        parts, numbers = pack(weight, draw)
        base = own.removesuffix(".weight")
        packed.update({f"{base}.{part}": each for part, each in parts.items()})
        dense[own] = numbers.astype(np.float16 if kind != "int8" else np.float32)
        dense[own] = dense[own].astype(np.float32)
    return packed, dense


def make(path: Path, name: str, kind: str) -> tuple[Path, Path]:
    """A folder with packed weights, and one with their numbers."""
    packed, dense = weights(name, kind)
    made = []
    for folder, tensors in ((path / "packed", packed), (path / "dense", dense)):
        folder.mkdir()
        extra = {"quantization_config": KINDS[kind][2]} if folder.name == "packed" else {}
        (folder / "config.json").write_text(json.dumps({**tiny.config(name), **extra}))
        save(folder, tensors)
        made.append(folder)
    return made[0], made[1]


def save(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    given = {name: infinicore.from_numpy(np.ascontiguousarray(a)) for name, a in tensors.items()}
    save_safetensors(given, folder / "model.safetensors")


def read(folder: Path) -> dict[str, np.ndarray]:
    found = infinicore.nn.read_safetensors(folder / "model.safetensors")
    return {name: each.numpy().copy() for name, each in found.items()}


def engine(folder: Path, **changes: Any) -> Engine:
    settings = {"cache_tokens": 64, "block_size": 8, "max_batch": 2, **changes}
    return Engine(open_model(folder), EngineOptions(**settings))


def logits(folder: Path, **changes: Any) -> np.ndarray:
    made = engine(folder, graphs=False, **changes)
    made.add(PROMPT)
    return made.runner.run(made.scheduler.next()).cpu().numpy()[0].copy()


def tokens(folder: Path) -> list[int]:
    made = engine(folder)
    request = made.add(PROMPT, SamplingParams(max_tokens=8))
    while made.has_work:
        made.step()
    return request.output


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("awq", name) for name in ("llama", "phi3")),
        *(("gptq", name) for name in ("llama", "qwen2")),
        *(("int8", name) for name in ("llama", "qwen2", "phi3", "qwen3_moe")),
    ],
)
def test_packed_weights_give_the_logits_of_their_numbers(
    kind: str, name: str, tmp_path: Path
) -> None:
    packed, dense = make(tmp_path, name, kind)
    wanted, made = logits(dense), logits(packed)
    spread = wanted.std()
    # W8A8 rounds the inputs too, which may lead to other experts.
    near = 2e-3 if kind != "int8" else 0.3 if "moe" in name else 0.1
    assert abs(made - wanted).max() < near * spread
    if kind != "int8":
        assert tokens(packed) == tokens(dense)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_stay_packed(kind: str, tmp_path: Path) -> None:
    packed, _ = make(tmp_path, "llama", kind)
    layer = engine(packed).model.layers[0]
    products = [*layer.attention.qkv.parts, layer.attention.o, *layer.mlp.gate_up.parts]
    assert all(type(each) is KINDS[kind][1] for each in (*products, layer.mlp.down))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision(kind: str, dtype: str, tmp_path: Path) -> None:
    packed, dense = make(tmp_path, "llama", kind)
    wanted = logits(dense)
    assert abs(logits(packed, dtype=dtype) - wanted).max() < 0.2 * wanted.std()
    assert len(tokens(packed)) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_ranks(kind: str, tmp_path: Path) -> None:
    """Concatenated outputs, and sums over slices of the inputs, are the whole product."""
    packed, _ = make(tmp_path, "llama", kind)
    whole = engine(packed).model.layers[0].attention.o
    x = infinicore.from_numpy(np.random.default_rng(3).standard_normal((3, 64)).astype(np.float32))
    numbers = whole.dense(infinicore.float32).cpu().numpy()
    wanted = x.cpu().numpy() @ numbers.T
    near = {"atol": 0.05 if kind == "int8" else 1e-4}
    np.testing.assert_allclose(whole(x).cpu().numpy(), wanted, **near)
    parts = [whole.outputs(begin, 32)(x).cpu().numpy() for begin in (0, 32)]
    np.testing.assert_allclose(np.concatenate(parts, 1), wanted, **near)
    halves = [whole.inputs(b, 32)(x.narrow(1, b, 32).contiguous()).cpu().numpy() for b in (0, 32)]
    np.testing.assert_allclose(sum(halves), wanted, **near)


@pytest.mark.parametrize("kind", ["awq", "gptq"])
def test_groups_of_32_are_multiplied_packed(kind: str) -> None:
    """GPTQ's groups may have their inputs in any order."""
    rng = np.random.default_rng(7)
    parts, numbers = KINDS[kind][0](rng.standard_normal((48, 32 * GROUPS)), rng)
    ours = {name: infinicore.from_numpy(np.ascontiguousarray(a)) for name, a in parts.items()}
    given = [ours["qweight"], ours["scales"], ours["qzeros"]]
    layer = Awq(*given) if kind == "awq" else Gptq(*given, ours["g_idx"])
    x = rng.standard_normal((3, 32 * GROUPS)).astype(np.float32)
    made = layer(infinicore.from_numpy(x)).cpu().numpy()
    assert layer._blocks is not None and not hasattr(layer, "qweight")
    wanted = x @ numbers.T.astype(np.float64)
    assert abs(made - wanted).max() < 4e-3 * wanted.std()  # scale * zero is rounded to float16


def test_biases_and_missing_group_numbers_of_gptq(tmp_path: Path) -> None:
    packed, _ = make(tmp_path, "llama", "gptq")
    bias = np.linspace(-1, 1, 96).astype(np.float32)
    name = "model.layers.0.mlp.up_proj"
    given = read(packed)
    before = logits(packed)
    save(packed, {**given, f"{name}.bias": bias})
    assert abs(logits(packed) - before).max() > 1e-3
    # Without group indices the groups are in the order of the inputs.
    save(packed, {n: a for n, a in given.items() if not n.endswith("g_idx")})
    made = logits(packed)
    ordered = {
        n: (np.arange(len(a)) * GROUPS // len(a)).astype(np.int32) if n.endswith("g_idx") else a
        for n, a in given.items()
    }
    save(packed, ordered)
    np.testing.assert_array_equal(logits(packed), made)


def test_one_scale_for_all_outputs(tmp_path: Path) -> None:
    packed, dense = make(tmp_path, "llama", "int8")
    name = "model.layers.0.mlp.up_proj"
    given, numbers = read(packed), read(dense)
    for shape in ((), (1,), (1, 1)):
        save(packed, {**given, f"{name}.weight_scale": np.full(shape, 0.004, np.float32)})
        weight = given[f"{name}.weight"].astype(np.float32) * np.float32(0.004)
        save(dense, {**numbers, f"{name}.weight": weight})
        wanted = logits(dense)
        assert abs(logits(packed) - wanted).max() < 0.1 * wanted.std()


DAMAGE: list[tuple[str, str, Any, str]] = [
    ("awq", "qweight", np.zeros((64, 11), np.int32), "qweight' has shape"),
    ("awq", "qweight", np.zeros((64, 12), np.float32), "qweight' has type"),
    ("awq", "qzeros", None, "qzeros' is missing"),
    ("awq", "qzeros", np.zeros((3, 12), np.int32), "qzeros' has shape"),
    ("awq", "scales", None, "scales' is missing"),
    ("awq", "scales", np.zeros((5, 96), np.float16), "5 groups of 64 inputs"),
    ("awq", "scales", np.zeros((96,), np.float16), "scales' has shape"),
    ("awq", "g_idx", np.zeros(64, np.int32), "have no place"),
    ("gptq", "qweight", np.zeros((9, 96), np.int32), "qweight' has shape"),
    ("gptq", "g_idx", np.full(64, 4, np.int32), "expected groups from 0 to 3"),
    ("gptq", "g_idx", np.full(64, -1, np.int32), "expected groups from 0 to 3"),
    ("gptq", "g_idx", np.zeros(63, np.int32), "g_idx' has shape"),
    ("int8", "weight_scale", np.zeros(7, np.float32), "weight_scale' has shape"),
    ("int8", "weight_scale", None, "expected floating point"),
    ("int8", "weight", np.zeros((96, 64), np.float32), "weight' has type"),
    ("int8", "input_scale", np.zeros(1, np.float32), "have no place"),
]


@pytest.mark.parametrize(
    ("kind", "part", "value", "problem"),
    DAMAGE,
    ids=[f"{row[0]} {row[1]} {i}" for i, row in enumerate(DAMAGE)],
)
def test_damaged_weights_are_named(
    kind: str, part: str, value: Any, problem: str, tmp_path: Path
) -> None:
    packed, _ = make(tmp_path, "llama", kind)
    name = f"model.layers.1.mlp.up_proj.{part}"
    given = read(packed)
    given.pop(name, None)
    save(packed, given if value is None else {**given, name: value})
    with pytest.raises(ModelFileError, match=problem) as caught:
        engine(packed)
    assert "up_proj" in str(caught.value)


CHANGES = [{"bits": 8}, {"bits": 3}, {"w_bit": 8}, {"checkpoint_format": "gptq_v2"}]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_other_formats_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    packed, _ = make(tmp_path, "llama", "gptq")
    file = packed / "config.json"
    config = json.loads(file.read_text())
    config["quantization_config"].update(changes)
    file.write_text(json.dumps(config))
    with pytest.raises(ModelFileError, match=rf"quantization_config: {next(iter(changes))} is"):
        engine(packed)
