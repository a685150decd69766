"""Layers against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from infinicore.nn import functional as F  # noqa: N812
from kit import ref


def numbers(tensor: Any) -> Any:
    return np.array(tensor.tolist())


def drawn(module: Any) -> Any:
    for parameter in module.parameters():
        parameter.copy_(infinicore.randn(tuple(parameter.shape)))
    return module


@pytest.mark.parametrize("bias", [False, True])
def test_linear(bias: bool) -> None:
    layer = drawn(nn.Linear(4, 3, bias=bias))
    x = infinicore.randn((2, 5, 4))
    shift = numbers(layer.bias) if bias else 0
    assert np.allclose(numbers(layer(x)), numbers(x) @ numbers(layer.weight).T + shift, atol=1e-5)
    layer.alpha = 0.5
    assert layer.alpha == 0.5
    assert np.allclose(
        numbers(layer(x)), 0.5 * (numbers(x) @ numbers(layer.weight).T) + shift, atol=1e-5
    )
    assert nn.Linear(4, 3).bias is None


def test_embedding() -> None:
    layer = drawn(nn.Embedding(7, 3, padding_idx=1))
    index = infinicore.tensor([[0, 6], [1, 1]])
    assert np.allclose(numbers(layer(index)), numbers(layer.weight)[index.tolist()])
    assert repr(layer) == "Embedding(7, 3, padding_idx=1)"
    weight = infinicore.ones(2, 2)
    assert nn.Embedding(2, 2, _weight=weight).weight.data_ptr() == weight.data_ptr()
    with pytest.raises(ValueError, match="Embedding: _weight has shape"):
        nn.Embedding(3, 2, _weight=weight)
    with pytest.raises(ValueError, match="are for training"):
        nn.Embedding(3, 2, sparse=True)


def test_norms() -> None:
    x = infinicore.randn((2, 6, 4))
    there = ref.of(x)
    pairs = [
        (nn.RMSNorm(4), lambda w: ref.rms_norm(there, [4], w, 1e-6)),
        (nn.RMSNorm((6, 4)), lambda w: ref.rms_norm(there, [6, 4], w, 1e-6)),
        (nn.LayerNorm(4), lambda w, b: ref.layer_norm(there, [4], w, b)),
        (nn.LayerNorm(4, bias=False), lambda w: ref.layer_norm(there, [4], w)),
        (nn.GroupNorm(3, 6), lambda w, b: ref.group_norm(there, 3, w, b)),
        (
            nn.RMSNorm(4, elementwise_affine=False),
            lambda: ref.rms_norm(there, [4], None, 1e-6),
        ),
        (nn.GroupNorm(3, 6, affine=False), lambda: ref.group_norm(there, 3)),
    ]
    for layer, expected in pairs:
        drawn(layer)
        weights = [ref.of(parameter) for parameter in layer.parameters()]
        assert np.allclose(numbers(layer(x)), expected(*weights).array, atol=1e-5), repr(layer)


def test_activations() -> None:
    x = infinicore.randn((3, 4))
    for layer, function in (
        (nn.ReLU(), F.relu),
        (nn.SiLU(), F.silu),
        (nn.Sigmoid(), F.sigmoid),
        (nn.Tanh(), F.tanh),
        (nn.GELU(), F.gelu),
        (nn.GELU("tanh"), lambda t: F.gelu(t, approximate="tanh")),
        (nn.Softmax(0), lambda t: F.softmax(t, 0)),
        (nn.Identity(1, a=2), lambda t: t),
        (nn.Dropout(0.5), lambda t: t),
    ):
        assert layer(x).tolist() == function(x).tolist()


# ---- Rotary embedding ---------------------------------------------------------------------------


def rotated(x: Any, positions: Any, theta: float, dims: int, neighbours: bool) -> Any:
    """x [..., tokens, heads, size], by NumPy in float64."""
    half = dims // 2
    angles = np.asarray(positions)[..., None] * theta ** (-2 * np.arange(half) / dims)
    s, c = np.sin(angles)[..., None, :], np.cos(angles)[..., None, :]
    made = np.array(x, dtype="float64")
    first, second = (
        (slice(0, dims, 2), slice(1, dims, 2))
        if neighbours
        else (slice(0, half), slice(half, dims))
    )
    a, b = made[..., first].copy(), made[..., second].copy()
    made[..., first], made[..., second] = a * c - b * s, a * s + b * c
    return made


@pytest.mark.parametrize("algo", list(F.RopeAlgo))
@pytest.mark.parametrize("dims", [8, 4])
def test_rope(dims: int, algo: F.RopeAlgo) -> None:
    rope = nn.RoPE(32, 10000.0, 8, rotary_dim=dims)
    assert tuple(rope.sin_table.shape) == (32, dims // 2)
    assert list(rope.state_dict()) == []
    x, positions = infinicore.randn((5, 3, 8)), [0, 31, 7, 7, 2]
    ids = infinicore.tensor(positions)
    expected = rotated(numbers(x), positions, 10000.0, dims, algo == F.RopeAlgo.GPT_J)
    out = infinicore.zeros(5, 3, 8)
    assert rope(x, ids, algo=algo, out=out) is out
    assert np.allclose(numbers(out), expected, atol=1e-5)
    q, k = rope(x, x[:, :1], ids, algo=algo)
    assert np.allclose(numbers(q), expected, atol=1e-5)
    assert np.allclose(numbers(k), expected[:, :1], atol=1e-5)
    assert rope(x, ids, algo=algo) is x
    assert np.allclose(numbers(x), expected, atol=1e-5)


def test_rope_of_a_batch() -> None:
    rope = nn.RoPE(16, 500.0, 4)
    x, positions = infinicore.randn((2, 3, 2, 4)), [[0, 1, 2], [5, 9, 15]]
    expected = rotated(numbers(x), positions, 500.0, 4, False)
    assert np.allclose(numbers(rope(x, infinicore.tensor(positions))), expected, atol=1e-5)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_in_sections(interleaved: bool) -> None:
    sections = (2, 1, 1)
    rope = nn.RoPE(16, 100.0, 8, mrope_section=sections, mrope_interleaved=interleaved)
    q, k = infinicore.randn((3, 16)), infinicore.randn((3, 8))
    same = infinicore.tensor([[4, 5, 6]] * 3)
    made_q, made_k = rope(q, k, same)
    expected = rotated(numbers(q).reshape(3, 2, 8), [4, 5, 6], 100.0, 8, False)
    assert np.allclose(numbers(made_q).reshape(3, 2, 8), expected, atol=1e-5)
    expected = rotated(numbers(k).reshape(3, 1, 8), [4, 5, 6], 100.0, 8, False)
    assert np.allclose(numbers(made_k).reshape(3, 1, 8), expected, atol=1e-5)


def test_rope_refused() -> None:
    with pytest.raises(ValueError, match="RoPE: rotary_dim is 3: expected an even number"):
        nn.RoPE(4, 10.0, 8, rotary_dim=3)
    with pytest.raises(ValueError, match="RoPE: rotary_dim is 10"):
        nn.RoPE(4, 10.0, 8, rotary_dim=10)
    assert repr(nn.RoPE(4, 10.0, 8)) == (
        "RoPE(max_position_embeddings=4, rope_theta=10.0, head_dim=8)"
    )
