"""Weights in the layouts of AWQ, GPTQ, Marlin and MXFP4, packed by the formats' descriptions
(kit.ref.quantised), give x @ W. Values are chosen such that every sum is exact before it is
rounded once to the result's type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import ref
from kit.place import put
from kit.ref import quantised

ROWS, K, N = 3, 128, 128
HINTS = {"is_k_full": True, "use_atomic_add": False, "use_fp32_reduce": True, "is_zp_float": False}


def ours(array: Any) -> Any:
    return put(ref.Tensor(np.ascontiguousarray(array)))


def call(name: str, *arrays: Any, **values: Any) -> np.ndarray:
    given = [None if each is None else ours(each) for each in arrays]
    return np.asarray(ref.of(getattr(infinicore.op, name)(*given, **values)).array)


class Weights:
    """Codes, zero points and scales by group, which are powers of two."""

    def __init__(self, bits: int, groups: int, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.bits, self.groups = bits, groups
        self.codes = draw.integers(0, 2**bits, (K, N))
        self.zeros = draw.integers(1, 2**bits, (groups, N))
        self.scales = (2.0 ** draw.integers(-6, -2, (groups, N))).astype(np.float16)
        self.g_idx = (draw.permutation(K) * groups // K).astype(np.int32)
        self.x = draw.integers(-2, 3, (ROWS, K)).astype(np.float16)

    @property
    def centre(self) -> np.ndarray:
        """Zero points for types with a fixed bias."""
        return np.full((self.groups, N), 2 ** (self.bits - 1))

    def product(self, weights: np.ndarray) -> np.ndarray:
        return (self.x.astype(np.float64) @ weights).astype(np.float16)


@pytest.fixture(params=[1, 4], ids=["1 group", "4 groups"])
def groups(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_awq_weights(groups: int) -> None:
    w = Weights(4, groups, 1)
    made = call(
        "dequantize_awq", quantised.pack_awq(w.codes), w.scales, quantised.pack_awq(w.zeros)
    )
    np.testing.assert_array_equal(made, quantised.dequantise_awq(w.codes, w.zeros, w.scales))


@pytest.mark.parametrize("in_order", [True, False], ids=["groups in order", "act-order"])
def test_gptq_weights(groups: int, in_order: bool) -> None:
    w = Weights(4, groups, 2)
    g_idx = np.arange(K, dtype=np.int32) // (K // groups) if in_order else w.g_idx
    words, zeros = quantised.pack_gptq(w.codes), quantised.pack_gptq_zeros(w.zeros)
    made = call("dequantize_gptq", words, w.scales, zeros, g_idx)
    np.testing.assert_array_equal(
        made, quantised.dequantise_gptq(w.codes, w.zeros, w.scales, g_idx)
    )


@pytest.mark.parametrize("size", [5, K // 2 + 3, K + 1])
def test_gptq_groups_of_any_size(size: int) -> None:
    w = Weights(4, -(-K // size), 3)
    words, zeros = quantised.pack_gptq(w.codes), quantised.pack_gptq_zeros(w.zeros)
    g_idx = np.arange(K, dtype=np.int32) // size
    made = call("dequantize_gptq", words, w.scales, zeros, g_idx)
    np.testing.assert_array_equal(
        made, quantised.dequantise_gptq(w.codes, w.zeros, w.scales, g_idx)
    )


@pytest.mark.parametrize("bits", [4, 8])
def test_marlin_repack(bits: int) -> None:
    w = Weights(bits, 1, 3)
    wanted = quantised.pack_marlin(w.codes, bits)
    values = {"num_bits": bits, "is_a_8bit": False}
    awq = call("awq_marlin_repack", quantised.pack_awq(w.codes, bits), **values)
    np.testing.assert_array_equal(awq, wanted)
    gptq = call("gptq_marlin_repack", quantised.pack_gptq(w.codes, bits), None, **values)
    np.testing.assert_array_equal(gptq, wanted)
    order = np.argsort(w.g_idx, kind="stable").astype(np.int32)
    sorted_rows = call("gptq_marlin_repack", quantised.pack_gptq(w.codes, bits), order, **values)
    np.testing.assert_array_equal(sorted_rows, quantised.pack_marlin(w.codes[order], bits))


@pytest.mark.parametrize("bits", [4, 8])
def test_gptq_marlin_product(groups: int, bits: int) -> None:
    """Symmetric weights: the zero point is the middle of the codes."""
    w = Weights(bits, groups, 4)
    g_idx = np.arange(K) // (K // groups)
    made = call(
        "gptq_marlin_gemm",
        w.x,
        quantised.pack_marlin(w.codes, bits),
        quantised.permute_marlin_scales(w.scales, K // groups, K),
        b_q_type_id=quantised.scalar_type(bits, 2 ** (bits - 1)),
        **HINTS,
    )
    weights = quantised.dequantise_gptq(w.codes, w.centre, w.scales, g_idx)
    np.testing.assert_array_equal(made, w.product(weights))


def test_gptq_marlin_product_in_act_order() -> None:
    """Rows are sorted by group, and the activations' columns with them."""
    w = Weights(4, 4, 5)
    order = np.argsort(w.g_idx, kind="stable").astype(np.int32)
    packed = call(
        "gptq_marlin_repack", quantised.pack_gptq(w.codes), order, num_bits=4, is_a_8bit=False
    )
    made = call(
        "gptq_marlin_gemm",
        w.x,
        packed,
        quantised.permute_marlin_scales(w.scales, K // 4, K),
        *(None, None, w.g_idx[order], order),
        b_q_type_id=quantised.scalar_type(4, 8),
        **HINTS,
    )
    weights = quantised.dequantise_gptq(w.codes, w.centre, w.scales, w.g_idx)
    np.testing.assert_array_equal(made, w.product(weights))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("with_bias", [False, True], ids=["", "bias"])
def test_awq_marlin_product(groups: int, bits: int, with_bias: bool) -> None:
    """From AWQ's words, with zero points."""
    w = Weights(bits, groups, 6)
    packed = call(
        "awq_marlin_repack", quantised.pack_awq(w.codes, bits), num_bits=bits, is_a_8bit=False
    )
    bias = np.arange(N).astype(np.float16) if with_bias else None
    made = call(
        "awq_marlin_gemm",
        w.x,
        packed,
        quantised.permute_marlin_scales(w.scales, K // groups, K),
        bias,
        *(None, None),
        quantised.pack_marlin_zeros(w.zeros, bits),
        b_q_type_id=quantised.scalar_type(bits, 0),
        **HINTS,
    )
    weights = quantised.dequantise_awq(w.codes, w.zeros, w.scales)
    exact = w.x.astype(np.float64) @ weights + (0 if bias is None else bias)
    np.testing.assert_array_equal(made, exact.astype(np.float16))


# ---- MXFP4 --------------------------------------------------------------------------------------


def mxfp4(draw: np.random.Generator, *shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Packed codes, scales, and the dequantised values."""
    codes = draw.integers(0, 16, shape)
    scales = draw.integers(122, 126, (*shape[:-1], shape[-1] // 32)).astype(np.uint8)
    return quantised.pack_mxfp4(codes), scales, quantised.dequantise_mxfp4(codes, scales)


def test_mxfp4_codes() -> None:
    """Every code with every finite scale in the range of float32."""
    codes = np.tile(np.arange(32) % 16, (255, 1))
    scales = np.arange(255, dtype=np.uint8).reshape(255, 1)
    out = ours(np.zeros((255, 32), np.float32))
    infinicore.op.mxfp4_dequantize(ours(quantised.pack_mxfp4(codes)), ours(scales), out=out)
    with np.errstate(over="ignore"):
        wanted = quantised.dequantise_mxfp4(codes, scales).astype(np.float32)
    np.testing.assert_array_equal(ref.of(out).array, wanted)


def test_mxfp4_product() -> None:
    draw = np.random.default_rng(7)
    packed, scales, weights = mxfp4(draw, N, K)
    x = draw.integers(-2, 3, (ROWS, K)).astype(np.float32)
    made = call("linear_mxfp4", x, packed, scales)
    np.testing.assert_array_equal(made, (x.astype(np.float64) @ weights.T).astype(np.float32))


def test_mxfp4_experts() -> None:
    """Each token's chosen experts: down(silu(gate x) * up x), weighted. The gate's rows come
    first. The sums before the activation are exact, the rest is float32."""
    draw = np.random.default_rng(8)
    experts, inner, chosen = 4, 64, 2
    w13, s13, gate_up = mxfp4(draw, experts, 2 * inner, K)
    w2, s2, down = mxfp4(draw, experts, K, inner)
    x = draw.integers(-2, 3, (ROWS, K)).astype(np.float32)
    ids = np.array([draw.permutation(experts)[:chosen] for _ in range(ROWS)], np.int32)
    shares = draw.uniform(0.1, 1.0, (ROWS, chosen)).astype(np.float32)
    made = call("fused_moe_mxfp4", x, ids, shares, w13, s13, w2, s2, activation=1)
    wanted, sizes = np.zeros((ROWS, K)), np.zeros((ROWS, K))
    for token in range(ROWS):
        for expert, share in zip(ids[token], shares[token], strict=True):
            hidden = gate_up[expert] @ x[token].astype(np.float64)
            gate, up = hidden[:inner], hidden[inner:]
            active = gate / (1 + np.exp(-gate)) * up
            wanted[token] += float(share) * (down[expert] @ active)
            sizes[token] += float(share) * (np.abs(down[expert]) @ np.abs(active))
    # An activation is accurate to a few units in the last place, and a sum of n terms to n of them.
    bound = (inner + 8) * chosen * np.finfo(np.float32).eps * sizes
    assert np.all(np.abs(made - wanted) <= bound)
