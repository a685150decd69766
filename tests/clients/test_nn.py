"""Layers of infinicore::nn against NumPy in float64, and against transformers' own."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kit.cpp_layers import CODES, TYPES, Array, build_layers
from kit.requirements import need
from kit.rope_tables import HALF, SCALINGS, expected_tables, frequencies

NEOX, GPT_J = 1, 0

pytestmark = pytest.mark.requires("c++")


class Rope(ctypes.Structure):
    _fields_ = (
        ("head_dim", ctypes.c_size_t),
        ("rotary_dim", ctypes.c_size_t),
        ("max_seq_len", ctypes.c_size_t),
        ("theta", ctypes.c_double),
        ("algo", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("scaling", ctypes.c_char_p),
        ("numbers", ctypes.POINTER(ctypes.c_float)),
        ("original", ctypes.c_size_t),
        ("section", ctypes.POINTER(ctypes.c_int)),
        ("interleaved", ctypes.c_int),
    )


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    return build_layers(tmp_path_factory.mktemp("nn"))


def rope_of(
    head_dim: int,
    length: int,
    *,
    rotary_dim: int = 0,
    theta: float = 10000.0,
    algo: int = NEOX,
    dtype: str = "F32",
    scaling: tuple[str, int, list[float]] = ("", 0, []),
    section: list[int] | None = None,
    interleaved: bool = False,
) -> Rope:
    name, original, numbers = scaling
    rope = Rope(head_dim, rotary_dim or head_dim, length, theta, algo, TYPES[dtype], name.encode())
    rope.numbers = (ctypes.c_float * max(len(numbers), 1))(*numbers)
    rope.original, rope.interleaved = original, interleaved
    if section is not None:
        rope.section = (ctypes.c_int * 3)(*section)
    return rope


def tables(layers: Any, rope: Rope) -> tuple[Any, Any]:
    made = [np.zeros((rope.max_seq_len, rope.rotary_dim // 2), np.float32) for _ in range(2)]
    assert layers("rope_tables", rope, *(Array.of(each) for each in made)) == ""
    return made[0], made[1]


# ---- Tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", SCALINGS)
def test_rope_tables(layers, case):
    scaling, theta, length = SCALINGS[case]
    made = tables(layers, rope_of(2 * HALF, length, theta=theta, scaling=scaling))
    # A scale is a float32: an angle of 600 may be off by 600 * 2 ** -24.
    for table, exact in zip(made, expected_tables(scaling, theta, length), strict=True):
        assert np.abs(table - exact).max() < 1e-4


@pytest.mark.requires("transformers")
@pytest.mark.parametrize("case", [case for case in SCALINGS if "longrope" not in case])
def test_rope_like_transformers(layers, case):
    rotary = rotary_of(SCALINGS[case][0], *SCALINGS[case][1:])
    check_against(layers, rotary, *SCALINGS[case])


@pytest.mark.requires("transformers")
@pytest.mark.parametrize("original", [600, 2])
def test_longrope_like_transformers(layers, original):
    """transformers takes one list for all positions: the long one if the last is beyond the
    original context."""
    numbers = [8.0, *np.linspace(1, 3, HALF), *np.linspace(2, 40, HALF)]
    rotary = rotary_of(("longrope", original, numbers), 10000.0, 600)
    check_against(layers, rotary, ("longrope", original, numbers), 10000.0, 600, start=2)


def rotary_of(scaling: tuple[str, int, list[float]], theta: float, length: int) -> Any:
    transformers = need("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    name, original, numbers = scaling
    half = HALF
    parameters: dict[str, Any] = {"rope_type": name or "default", "rope_theta": theta}
    if name:
        parameters |= {
            "factor": float(numbers[0]),
            "original_max_position_embeddings": original,
        }
    if name == "longrope":
        parameters["short_factor"] = [float(n) for n in numbers[1 : 1 + half]]
        parameters["long_factor"] = [float(n) for n in numbers[1 + half :]]
    if name == "llama3":
        parameters |= {"low_freq_factor": numbers[1], "high_freq_factor": numbers[2]}
    if name == "yarn":
        parameters |= {"beta_fast": numbers[1], "beta_slow": numbers[2]}
        if numbers[4]:
            parameters |= {"mscale": numbers[3], "mscale_all_dim": numbers[4]}
    config = transformers.LlamaConfig(
        hidden_size=8 * half,
        num_attention_heads=4,
        head_dim=2 * half,
        max_position_embeddings=length,
        rope_parameters=parameters,
    )
    return LlamaRotaryEmbedding(config)


def check_against(
    layers: Any, rotary: Any, scaling: Any, theta: float, length: int, start: int = 0
) -> None:
    torch = need("torch")
    with torch.no_grad():
        positions = torch.arange(length)[None]
        cos, sin = rotary(torch.zeros(1, length, 2 * HALF), positions)
    made = tables(layers, rope_of(2 * HALF, length, theta=theta, scaling=scaling))
    for table, theirs in zip(made, (sin, cos), strict=True):
        # transformers' angles are float32: those of 600 are off by 600 * 2 ** -23.
        assert np.abs(table - theirs[0, :, :HALF].numpy())[start:].max() < 3e-4


# ---- Rotation ------------------------------------------------------------------------------------


def rotated(x: Any, sin: Any, cos: Any, algo: int) -> Any:
    """x [..., tokens, heads, D] with tables [..., tokens, R / 2], in float64."""
    half = sin.shape[-1]
    sin, cos = sin[..., None, :], cos[..., None, :]
    y = x.copy()
    first_of, second = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        if algo == GPT_J
        else (slice(0, half), slice(half, 2 * half))
    )
    a, b = x[..., first_of], x[..., second]
    y[..., first_of], y[..., second] = a * cos - b * sin, a * sin + b * cos
    return y


def drawn(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    import ml_dtypes  # noqa: F401 - for bfloat16

    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("algo", [GPT_J, NEOX])
@pytest.mark.parametrize("rotary_dim", [8, 4])
@pytest.mark.parametrize("shape", [(5, 3, 8), (2, 5, 3, 8), (5, 3, 12)])  # the last has gaps
def test_rope(layers, algo, rotary_dim, shape):
    rope = rope_of(8, 16, rotary_dim=rotary_dim, algo=algo)
    sin, cos = tables(layers, rope)
    x, positions = drawn(*shape), np.array([3, 0, 15, 7, 7])
    exact = rotated(x[..., :8].astype(float), sin[positions].astype(float), cos[positions], algo)
    out = np.zeros(exact.shape, np.float32)
    assert layers("rope_one", rope, Array.of(x), Array.of(positions), Array.of(out)) == ""
    assert np.abs(out - exact).max() < 1e-5


@pytest.mark.parametrize("algo", [GPT_J, NEOX])
@pytest.mark.parametrize("shape", [(5, 3, 4), (2, 5, 3, 4)])
def test_rope_of_the_rotated_part(layers, algo, shape):
    """As DeepSeek's attention calls it, which stores that part of its heads separately."""
    rope = rope_of(12, 16, rotary_dim=4, algo=algo)
    sin, cos = tables(layers, rope)
    x, positions = drawn(*shape), np.array([3, 0, 15, 7, 7])
    exact = rotated(x.astype(float), sin[positions].astype(float), cos[positions], algo)
    out = np.zeros(exact.shape, np.float32)
    assert layers("rope_one", rope, Array.of(x), Array.of(positions), Array.of(out)) == ""
    assert np.abs(out - exact).max() < 1e-5


def test_rope_of_heads_side_by_side(layers):
    rope = rope_of(8, 16)
    sin, cos = tables(layers, rope)
    q, k, positions = drawn(5, 24), drawn(5, 8, seed=1), np.array([3, 0, 15, 7, 7])
    outs = [np.zeros_like(q), np.zeros_like(k)]
    given = [Array.of(each) for each in (q, k, positions, *outs)]
    assert layers("rope_two", rope, *given) == ""
    for x, out in zip((q, k), outs, strict=True):
        exact = rotated(x.reshape(5, -1, 8).astype(float), sin[positions], cos[positions], NEOX)
        assert np.abs(out.reshape(exact.shape) - exact).max() < 1e-5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rope_of_halves(layers, dtype):
    rope = rope_of(8, 16, algo=NEOX, dtype=CODES[dtype])
    positions = np.array([[1, 2], [3, 4]], np.int32)
    x = drawn(2, 2, 3, 8, dtype=dtype)
    out = np.zeros_like(x)
    assert layers("rope_one", rope, Array.of(x), Array.of(positions), Array.of(out)) == ""
    angles = positions[..., None] * frequencies(8, 10000.0)
    exact = rotated(x.astype(float), np.sin(angles), np.cos(angles), NEOX)
    step = 2.0**-10 if dtype == "float16" else 2.0**-7
    assert np.abs(out.astype(float) - exact).max() < 4 * step * np.abs(exact).max()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotary_dim", [16, 12])
def test_rope_of_three_positions(layers, interleaved, rotary_dim):
    section = [4, 2, 2] if rotary_dim == 16 else [2, 2, 2]
    rope = rope_of(16, 32, rotary_dim=rotary_dim, section=section, interleaved=interleaved)
    sin, cos = tables(layers, rope)
    positions = np.random.default_rng(1).integers(0, 32, (3, 6))
    pairs = np.arange(rotary_dim // 2)
    if interleaved:
        axis = np.zeros(len(pairs), int)
        axis[1 : 3 * section[1] : 3] = 1
        axis[2 : 3 * section[2] : 3] = 2
    else:
        axis = np.repeat([0, 1, 2], section)
    place = positions[axis].T  # [tokens, pairs]
    q, k = drawn(6, 4, 16), drawn(6, 2, 16, seed=1)
    outs = [np.zeros_like(q), np.zeros_like(k)]
    given = [Array.of(each) for each in (q, k, positions, *outs)]
    assert layers("rope_two", rope, *given) == ""
    exact = [
        rotated(each.astype(float), sin[place, pairs].astype(float), cos[place, pairs], NEOX)
        for each in (q, k)
    ]
    for out, reference in zip(outs, exact, strict=True):
        assert np.abs(out - reference).max() < 1e-5
    alone = np.zeros_like(q)
    assert layers("rope_one", rope, Array.of(q), Array.of(positions), Array.of(alone)) == ""
    assert np.array_equal(alone, outs[0])
    # One position for each token is the same as three equal ones.
    same, flat = np.ascontiguousarray(positions[:1]), np.zeros_like(q)
    three = np.ascontiguousarray(np.broadcast_to(same, (3, 6)))
    for each, out in ((same, flat), (three, alone)):
        assert layers("rope_one", rope, Array.of(q), Array.of(each), Array.of(out)) == ""
    assert np.abs(flat - alone).max() < 1e-6


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"rotary_dim": 6, "head_dim": 4}, "RoPE: rotary_dim is 6: expected an even number"),
        ({"section": [1, 1, 1]}, "RoPE: mrope_section is [1, 1, 1]"),
        ({"section": [2, 1, 1], "algo": GPT_J}, "RoPE: algo is GPT_J: expected GPT_NEOX"),
        ({"scaling": ("llama3", 8, [8.0, 4.0, 1.0])}, "Llama3RopeScalingConfig: high_freq_factor"),
        ({"scaling": ("yarn", 8, [0.0, 32, 1, 1, 0])}, "YarnRopeScalingConfig: factor is 0"),
    ],
)
def test_rope_refuses(layers, changes, text):
    rope = rope_of(**({"head_dim": 8, "length": 4} | changes))
    made = [np.zeros((4, rope.rotary_dim // 2), np.float32) for _ in range(2)]
    assert text in layers("rope_tables", rope, *(Array.of(each) for each in made))


def test_rope_refuses_positions(layers):
    x, positions = drawn(5, 3, 8), np.zeros(4, np.int64)
    said = layers("rope_one", rope_of(8, 4), Array.of(x), Array.of(positions), Array.of(x.copy()))
    assert "the positions have shape [4]: expected one for each of the tokens [5]" in said


# ---- Norms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["rms", "rms in place", "layer"])
def test_norms(layers, kind, dtype):
    x, residual = drawn(3, 5, 16, dtype=dtype), drawn(3, 5, 16, dtype=dtype, seed=1)
    weight, bias = drawn(16, dtype=dtype, seed=2), drawn(16, dtype=dtype, seed=3)
    exact, total = x.astype(float), (x.astype(float) + residual.astype(float))
    if kind == "rms in place":
        exact = total
    if kind == "layer":
        exact = exact - exact.mean(-1, keepdims=True)
    exact = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-6) * weight.astype(float)
    if kind == "layer":
        exact += bias.astype(float)
    given = [Array.of(each) for each in (x, residual, weight, bias)]
    assert layers("norm", kind.encode(), ctypes.c_double(1e-6), *given) == ""
    step = {"float32": 2.0**-20, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    assert np.abs(x.astype(float) - exact).max() <= 2 * step * np.abs(exact).max()
    if kind == "rms in place":
        assert np.abs(residual.astype(float) - total).max() <= step * np.abs(total).max()


# ---- Like transformers ---------------------------------------------------------------------------


@pytest.mark.requires("transformers")
def test_rms_norm_like_transformers(layers):
    torch = need("torch")
    need("transformers")
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    x, weight = drawn(3, 16), drawn(16, seed=1)
    theirs = LlamaRMSNorm(16, eps=1e-5)
    with torch.no_grad():
        theirs.weight.copy_(torch.from_numpy(weight))
        expected = theirs(torch.from_numpy(x)).numpy()
    given = [Array.of(each) for each in (x, x, weight, weight)]
    assert layers("norm", b"rms", ctypes.c_double(1e-5), *given) == ""
    assert np.abs(x - expected).max() < 1e-5


@pytest.mark.requires("transformers")
@pytest.mark.parametrize("interleaved", [False, True])
def test_three_positions_like_transformers(layers, interleaved):
    """Sections as Qwen2.5-VL has them, interleaved ones as Qwen3-VL has them."""
    torch = need("torch")
    need("transformers")
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen2_5
    from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3

    section = [4, 2, 2]
    rope = rope_of(16, 32, section=section, interleaved=interleaved)
    parameters = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": section}
    sizes: Any = {"hidden_size": 64, "num_attention_heads": 4, "rope_parameters": parameters}
    if interleaved:
        theirs, config = qwen3, qwen3.Qwen3VLTextConfig(head_dim=16, **sizes)
        rotary = qwen3.Qwen3VLTextRotaryEmbedding(config)
    else:
        theirs, config = qwen2_5, qwen2_5.Qwen2_5_VLTextConfig(**sizes)
        rotary = qwen2_5.Qwen2_5_VLRotaryEmbedding(config)
    positions = np.random.default_rng(3).integers(0, 32, (3, 6))
    q, k = drawn(6, 4, 16), drawn(6, 2, 16, seed=1)
    heads = [torch.from_numpy(each).transpose(0, 1)[None] for each in (q, k)]
    tables_of = rotary(heads[0], torch.from_numpy(positions)[:, None])
    expected = theirs.apply_rotary_pos_emb(*heads, *tables_of)
    outs = [np.zeros_like(q), np.zeros_like(k)]
    given = [Array.of(each) for each in (q, k, positions, *outs)]
    assert layers("rope_two", rope, *given) == ""
    for out, exact in zip(outs, expected, strict=True):
        assert np.abs(out - exact[0].transpose(0, 1).numpy()).max() < 1e-5
