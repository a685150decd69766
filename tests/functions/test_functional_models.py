"""Functions of specific models, against references of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.bounds import UNITS, assert_within, bound
from kit.functions import laid_out

silu, softplus = ref.silu, ref.softplus
KINDS = [ref.float32, ref.float16, ref.bfloat16]
LAYOUTS = ["contiguous", "transposed", "stepped"]
LENGTH = 64  # the most dependent operations of a result


def ours(tensor: ref.Tensor | None, layout: str = "contiguous") -> Any:
    return None if tensor is None else laid_out(tensor, layout)[1]


def same(got: Any, expected: ref.Tensor) -> None:
    assert_within(ref.of(got), expected, bound(expected, LENGTH))


def random(*shape: int, kind: Any = ref.float32, scale: float = 1.0) -> ref.Tensor:
    return (ref.randn(shape) * scale).to(kind)


def rotated(x: Any, positions: Any, sin: Any, cos: Any, neighbours: bool) -> ref.Tensor:
    s, c = sin[positions].unsqueeze(-2).float(), cos[positions].unsqueeze(-2).float()
    half = x.shape[-1] // 2
    a, b = (x[..., ::2], x[..., 1::2]) if neighbours else (x[..., :half], x[..., half:])
    a, b = a.float(), b.float()
    pair = a * c - b * s, a * s + b * c
    made = ref.stack(pair, -1).flatten(-2) if neighbours else ref.cat(pair, -1)
    return made.to(x.dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algo", list(F.RopeAlgo))
def test_rope(algo: F.RopeAlgo, kind: Any, layout: str) -> None:
    x, sin, cos = random(5, 3, 8, kind=kind), random(9, 4, kind=kind), random(9, 4, kind=kind)
    positions = ref.tensor([3, 0, 8, 8, 1])
    expected = rotated(x, positions, sin, cos, algo == F.RopeAlgo.GPT_J)
    given = (ours(positions), ours(sin, layout), ours(cos, layout), algo)
    same(F.rope(ours(x, layout), *given), expected)
    for to in LAYOUTS:
        out = ours(ref.zeros_like(x), to)
        assert F.rope(ours(x, layout), *given, out=out) is out
        same(out, expected)
    here = ours(x, layout)
    same(F.rope(here, *given, out=here), expected)
    batch = x.expand(2, *x.shape)
    same(F.rope(ours(batch), *given), expected.expand(2, *x.shape))


def test_rope_by_name() -> None:
    x, table = infinicore.ones(1, 1, 2), infinicore.ones(1, 1)
    positions = infinicore.zeros(1, dtype=infinicore.int64)
    for algo in ("gpt_j", "GPT_NEOX", 0, 1):
        F.rope(x, positions, table, table, algo)
    with pytest.raises(ValueError, match="rope: algo is 2"):
        F.rope(x, positions, table, table, 2)


# ---- Recurrences --------------------------------------------------------------------------------


def convolved(x: Any, state: Any, weight: Any, bias: Any) -> tuple[ref.Tensor, ref.Tensor]:
    """One request: x [T, C], state [C, 3]."""
    history = ref.cat([state.T, x]).float()
    taps = [history[j : j + len(x)] * weight[:, 0, j].float() for j in range(4)]
    made = sum(taps) + (0 if bias is None else bias.float())
    return made.to(x.dtype), history[len(x) :].T.to(x.dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_causal_conv1d(with_bias: bool, kind: Any, layout: str) -> None:
    x, state, weight = (random(*s, kind=kind) for s in ((2, 5, 3), (2, 3, 3), (3, 1, 4)))
    bias = random(3, kind=kind) if with_bias else None
    made = F.causal_conv1d(*(ours(t, layout) for t in (x, state, weight, bias)))
    expected = ref.stack([convolved(x[i], state[i], weight, bias)[0] for i in range(2)])
    same(made, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_causal_conv1d_with_a_pool(layout: str) -> None:
    x, pool, weight = random(1, 7, 3), random(4, 3, 3), random(3, 1, 4)
    held = ours(pool, layout)
    made = F.causal_conv1d(
        ours(x),
        held,
        ours(weight),
        cu_seqlens=ours(ref.tensor([0, 4, 7])),
        initial_state_indices=ours(ref.tensor([2, 0])),
        final_state_indices=ours(ref.tensor([2, 3])),
    )
    parts = [convolved(x[0, :4], pool[2], weight, None), convolved(x[0, 4:], pool[0], weight, None)]
    same(made, ref.cat([part[0] for part in parts]).unsqueeze(0))
    expected = pool.clone()
    expected[2], expected[3] = parts[0][1], parts[1][1]
    same(held, expected)


def delta_rule(
    q: Any, k: Any, v: Any, decay: Any, beta: Any, state: Any, norm: bool, scale: float
) -> tuple[ref.Tensor, ref.Tensor]:
    """One request: q, k [T, Hk, Dk], v [T, Hv, Dv], decay [T, Hv, Dk], beta [T, Hv]."""
    kind, heads = v.dtype, v.shape[1] // k.shape[1]
    q, k = (x.float().repeat_interleave(heads, 1) for x in (q, k))
    if norm:
        q, k = (x / ref.sqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    q, s, out = q * scale, state.float().clone(), []
    for t in range(len(q)):
        s = s * decay[t].float().unsqueeze(-2)
        delta = beta[t].float()[:, None] * (v[t].float() - ref.einsum("hvk,hk->hv", s, k[t]))
        s = s + delta[:, :, None] * k[t][:, None, :]
        out.append(ref.einsum("hvk,hk->hv", s, q[t]))
    return ref.stack(out).to(kind), s.to(kind)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("tokens", [1, 5])
def test_gated_delta_rule(tokens: int, norm: bool, kind: Any, layout: str) -> None:
    q, k = (random(2, tokens, 2, 8, kind=kind, scale=0.5) for _ in range(2))
    v, state = random(2, tokens, 4, 6, kind=kind), random(2, 4, 6, 8, kind=kind, scale=0.5)
    g, beta = -ref.rand(2, tokens, 4), ref.rand(2, tokens, 4)
    parts = [
        delta_rule(
            q[i],
            k[i],
            v[i],
            ref.exp(g[i])[..., None].expand(-1, -1, 8),
            beta[i],
            state[i],
            norm,
            8**-0.5,
        )
        for i in range(2)
    ]
    expected = ref.stack([part[0] for part in parts])
    given = [ours(t, layout) for t in (q, k, v, g, beta)]
    same(F.chunk_gated_delta_rule(*given, ours(state), use_qk_l2norm=norm), expected)
    if tokens > 1:
        return
    same(F.recurrent_gated_delta_rule(*given, ours(state, layout), use_qk_l2norm=norm), expected)
    one = F.recurrent_gated_delta_rule(
        *(each.squeeze(1) for each in given), ours(state, layout), use_qk_l2norm=norm
    )
    same(one, expected[:, 0])
    pool = ref.cat([ref.zeros_like(state[:1]), state])
    held, places = ours(pool, layout), ours(ref.tensor([1, 2]))
    made = F.recurrent_gated_delta_rule(
        *given,
        held,
        initial_state_indices=places,
        final_state_indices=places,
        use_qk_l2norm=norm,
    )
    same(made, expected)
    same(held, ref.cat([pool[:1], ref.stack([part[1] for part in parts])]))


def test_delta_rule_of_requests() -> None:
    q, k, v = (random(1, 6, 2, 4, scale=0.5) for _ in range(3))
    g, beta, pool = -ref.rand(1, 6, 2), ref.rand(1, 6, 2), random(3, 2, 4, 4, scale=0.5)
    bounds, first, last = ref.tensor([0, 2, 6]), ref.tensor([0, 2]), ref.tensor([1, 2])
    held = ours(pool)
    made = F.chunk_gated_delta_rule(
        *(ours(t) for t in (q, k, v, g, beta)), held, ours(bounds), ours(first), ours(last)
    )
    parts = [
        delta_rule(
            *(t[0, lo:hi] for t in (q, k, v, ref.exp(g)[..., None].expand(-1, -1, -1, 4), beta)),
            pool[i],
            False,
            4**-0.5,
        )
        for lo, hi, i in ((0, 2, 0), (2, 6, 2))
    ]
    same(made, ref.cat([part[0] for part in parts]).unsqueeze(0))
    same(held, ref.stack([pool[0], parts[0][1], parts[1][1]]))
    with pytest.raises(ValueError, match="chunk_gated_delta_rule: expected both"):
        F.chunk_gated_delta_rule(
            *(ours(t) for t in (q, k, v, g, beta)), held, initial_state_indices=ours(first)
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [False, True])
def test_kimi_delta_attention(norm: bool, kind: Any) -> None:
    q, k, v = (random(2, 4, 3, 8, kind=kind, scale=0.5) for _ in range(3))
    g, beta = random(2, 4, 3, 8), random(2, 4, 3)
    a_log, bias, state = random(3), random(3, 8), random(2, 3, 8, 8, kind=kind, scale=0.5)
    made = F.kimi_delta_attention(
        *(ours(t) for t in (q, k, v, g, beta, a_log, bias, state)),
        scale=0.5,
        lower_bound=-4.0,
        use_qk_l2norm=norm,
    )
    decay = ref.exp(-4.0 * ref.sigmoid(ref.exp(a_log)[:, None] * (g + bias)))
    parts = [
        delta_rule(q[i], k[i], v[i], decay[i], ref.sigmoid(beta[i]), state[i], norm, 0.5)
        for i in range(2)
    ]
    same(made, ref.stack([part[0] for part in parts]))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_mamba_selective_scan(kind: Any, layout: str) -> None:
    x, dt, gate = (random(2, 5, 3, kind=kind) for _ in range(3))
    b, c = (random(2, 5, 4, kind=kind) for _ in range(2))
    a_log, d, bias, state = (
        random(3, 4, kind=kind),
        random(3, kind=kind),
        random(3, kind=kind),
        random(2, 3, 4),
    )
    held = ours(state, layout)
    made = F.mamba_selective_scan(
        *(ours(t, layout) for t in (x, dt, b, c, a_log, d, gate, bias)), held
    )
    s, rows = state.clone(), []
    for t in range(5):
        step = softplus(dt[:, t].float() + bias.float())
        s = ref.exp(-ref.exp(a_log.float()) * step[..., None]) * s
        s = s + step[..., None] * b[:, t].float()[:, None] * x[:, t].float()[..., None]
        y = (s * c[:, t].float()[:, None]).sum(-1) + d.float() * x[:, t].float()
        rows.append(y * silu(gate[:, t].float()))
    same(made, ref.stack(rows, 1).to(kind))
    same(held, s)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_gates(kind: Any, layout: str) -> None:
    a_log, bias = random(4, kind=kind), random(4, kind=kind)
    a, b = random(2, 3, 4, kind=kind), random(2, 3, 4, kind=kind)
    given = [ours(t, layout) for t in (a_log, a, b, bias)]
    g, beta = F.fused_gated_delta_net_gating(*given, beta=0.5, threshold=10.0)
    expected = -ref.exp(a_log.float()) * softplus(a.float() + bias.float(), 0.5, 10.0)
    same(g, expected)
    same(beta, ref.sigmoid(b.float()))
    out = [ours(ref.zeros(2, 3, 4)), ours(ref.zeros(2, 3, 4))]
    F.fused_gated_delta_net_gating(*given, beta=0.5, threshold=10.0, out=out)
    same(out[0], expected)


# ---- Experts and quantised weights --------------------------------------------------------------


def acted(x: ref.Tensor, activation: int) -> ref.Tensor:
    if activation == F.ACT_SILU:
        return silu(x)
    gate, up = x.chunk(2, -1)
    if activation == F.ACT_SWIGLU:
        return silu(gate) * up
    return 4 * ref.tanh(gate / 4) * ref.sigmoid(gate) * 25 * ref.tanh(up / 25)


def acted_size(x: ref.Tensor, activation: int) -> ref.Tensor:
    """Rounding the argument, its halves and the result to the element type changes the result by at
    most two units of this: activations are no larger than it, and no steeper than 1.1."""
    if activation == F.ACT_SILU:
        return x.abs()
    gate, up = x.chunk(2, -1)
    return (gate * up).abs()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", [0, 1, 2])
@pytest.mark.parametrize("with_bias", [False, True])
def test_fused_moe(with_bias: bool, activation: int, kind: Any, layout: str) -> None:
    wide = 6 if activation == F.ACT_SILU else 12
    x, w1, w2 = (
        random(5, 8, kind=kind),
        random(4, wide, 8, kind=kind, scale=0.3),
        random(4, 8, 6, kind=kind, scale=0.3),
    )
    b1, b2 = (random(4, wide, kind=kind), random(4, 8, kind=kind)) if with_bias else (None, None)
    experts, scales = ref.randint(0, 4, (5, 2), dtype=ref.int32), ref.rand(5, 2)
    made = F.fused_moe(
        *(ours(t, layout) for t in (x, experts, scales, w1, w2)),
        b1=ours(b1, layout),
        b2=ours(b2, layout),
        activation=activation,
    )
    expected, between = ref.zeros(5, 8), ref.zeros(5, 8)
    for n in range(5):
        for e, scale in zip(experts[n].tolist(), scales[n].tolist(), strict=True):
            h = w1[e].float() @ x[n].float() + (0 if b1 is None else b1[e].float())
            y = w2[e].float() @ acted(h, activation) + (0 if b2 is None else b2[e].float())
            expected[n] += scale * y
            between[n] += scale * (w2[e].float().abs() @ acted_size(h, activation) + y.abs())
    expected = expected.to(kind)
    allowed = bound(expected, LENGTH) + 2 * UNITS[kind] * between.array
    assert_within(ref.of(made), expected, allowed)


VALUES = ref.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def unpacked(packed: ref.Tensor, scale: ref.Tensor) -> ref.Tensor:
    codes = ref.stack([packed & 15, packed >> 4], -1).flatten(-2).long()
    values = VALUES[codes & 7] * ref.where(codes > 7, -1.0, 1.0)
    return values * ref.exp2(scale.float() - 127).repeat_interleave(32, -1)


def quantised(*shape: int) -> tuple[ref.Tensor, ref.Tensor]:
    packed = ref.randint(0, 256, (*shape[:-1], shape[-1] // 2), dtype=ref.uint8)
    return packed, ref.randint(122, 126, (*shape[:-1], shape[-1] // 32), dtype=ref.uint8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_mxfp4(with_bias: bool, kind: Any) -> None:
    x, (packed, scale) = random(2, 3, 64, kind=kind), quantised(5, 64)
    bias = random(5, kind=kind) if with_bias else None
    expected = 0.5 * (x.float() @ unpacked(packed, scale).T) + (0 if bias is None else bias.float())
    given = [ours(packed), ours(scale), ours(bias)]
    same(F.linear_mxfp4(ours(x, "transposed"), *given, alpha=0.5), expected.to(kind))
    same(F.linear_mxfp4(ours(x[0, 0]), *given, alpha=0.5), expected[0, 0].to(kind))
    out = ours(ref.zeros(2, 3, 5, dtype=kind), "stepped")
    assert F.linear_mxfp4(ours(x), *given, 0.5, out) is out
    same(out, expected.to(kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", [1, 2])
def test_fused_moe_mxfp4(activation: int, kind: Any) -> None:
    x, (w13, s13), (w2, s2) = random(3, 32, kind=kind), quantised(4, 128, 32), quantised(4, 32, 64)
    experts, scales = ref.randint(0, 4, (3, 2), dtype=ref.int32), ref.rand(3, 2)
    made = F.fused_moe_mxfp4(
        *(ours(t) for t in (x, experts, scales, w13, s13, w2, s2)), activation=activation
    )
    up, down = unpacked(w13, s13), unpacked(w2, s2)
    expected, terms = ref.zeros(3, 32), ref.zeros(3, 32)
    for n in range(3):
        for e, scale in zip(experts[n].tolist(), scales[n].tolist(), strict=True):
            h = acted((up[e] @ x[n].float()).to(kind).float(), activation).to(kind).float()
            expected[n] += scale * (down[e] @ h)
            terms[n] += scale * (down[e].abs() @ h.abs())
    # Both roundings between the products may go to the other neighbour.
    between = 2 * UNITS[kind] * terms.array
    rounded = expected.to(kind)
    assert_within(ref.of(made), rounded, bound(rounded, LENGTH, terms.array) + between)


@pytest.mark.parametrize("kind", [ref.float16, ref.bfloat16])
def test_moe_fused_dense(kind: Any) -> None:
    x, w13, w2 = (
        random(5, 8, kind=kind),
        random(4, 12, 8, kind=kind, scale=0.3),
        random(4, 8, 6, kind=kind, scale=0.3),
    )
    ids, weights = ref.stack([ref.randperm(4)[:2] for _ in range(5)]).int(), ref.rand(5, 2)
    order, experts = [], []
    for e in range(4):  # what moe_align makes, with blocks of 4
        mine = [i for i, each in enumerate(ids.flatten().tolist()) if each == e]
        mine += [10] * (-len(mine) % 4)
        order += mine
        experts += [e] * (len(mine) // 4)
    count = ref.tensor([len(order)], dtype=ref.int32)
    made = F.moe_fused_dense(
        *(ours(t) for t in (x, w13, w2, weights, ids)),
        ours(ref.tensor(order, dtype=ref.int32)),
        ours(ref.tensor(experts, dtype=ref.int32)),
        ours(count),
    )
    expected, between = ref.zeros(5, 8), ref.zeros(5, 8)
    for n in range(5):
        for e, weight in zip(ids[n].tolist(), weights[n].tolist(), strict=True):
            h = w13[e].float() @ x[n].float()
            y = w2[e].float() @ acted(h, 1)
            expected[n] += weight * y
            between[n] += weight * (w2[e].float().abs() @ acted_size(h, 1) + y.abs())
    expected = expected.to(kind)
    allowed = bound(expected, LENGTH) + 2 * UNITS[kind] * between.array
    assert_within(ref.of(made), expected, allowed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_w8a8i8(with_bias: bool, kind: Any) -> None:
    x, scale = random(2, 3, 16, kind=kind), ref.rand(5) * 0.1
    weight = ref.randint(-127, 128, (5, 16), dtype=ref.int8)
    bias = random(5, kind=kind) if with_bias else None
    made = F.linear_w8a8i8(ours(x, "transposed"), ours(weight), ours(scale), ours(bias))
    step = x.float().abs().amax(-1, keepdim=True) / 127
    codes = x.float() / step
    expected = (ref.round(codes) @ weight.float().T) * step * scale
    expected = (expected + (0 if bias is None else bias.float())).to(kind)
    # A number halfway between two codes may have either.
    halfway = ((codes - codes.floor() - 0.5).abs() < 127 * UNITS[ref.float32]).float()
    either = (halfway @ weight.float().abs().T) * step * scale
    assert_within(ref.of(made), expected, bound(expected, LENGTH) + either.array)


def test_random_sample() -> None:
    logits = ref.tensor([0.5, 3.0, 1.0, 2.0])
    given = ours(logits)
    for random_val, topp, topk, temperature in ((0.0, 0.9, 4, 1.0), (0.5, 0.9, 1, 1.0)):
        made = F.random_sample(given, random_val, topp, topk, temperature)
        assert made.item() == 1
        assert made.dtype is infinicore.int32
        assert made.shape == ()
    order = ref.argsort(logits, descending=True)
    sums = ref.cumsum(ref.exp((logits[order] - 3.0) / 0.8), 0)
    for random_val in (0.1, 0.5, 0.8, 0.95):
        bound = random_val * min(0.95 * sums[-1], sums[2])
        expected = order[int((sums >= bound).int().argmax())]
        made = F.random_sample(given, random_val, 0.95, 3, 0.8)
        assert made.item() == expected
    out = infinicore.zeros((), dtype=infinicore.int64)
    assert F.random_sample(given, 0.0, 1.0, 1, 1.0, out=out) is out
    assert out.item() == 1


def test_operands_and_states_of_any_strides() -> None:
    """The operators require contiguous tensors: copies are used, and updated ones are copied
    back."""
    inputs = [infinicore.randn(2, 3, 4) for _ in range(3)]
    weights = [infinicore.randn(2, 2) for _ in range(2)]
    state = infinicore.randn(2, 2, 2, 2)
    wanted = state.clone()
    expected = F.rwkv5_wkv(*inputs, *weights, wanted)
    for kind, apart in ((infinicore.float32, 1e-6), (infinicore.float16, 0.1)):
        strided = infinicore.zeros(2, 2, 2, 4, dtype=kind)[..., ::2]
        strided.copy_(state)
        spread = [infinicore.stack([x, x], -1)[..., 0] for x in (*inputs, *weights)]
        room = infinicore.zeros(2, 3, 8)[..., ::2]
        assert F.rwkv5_wkv(*spread, strided, out=room) is room
        assert infinicore.allclose(room, expected, atol=apart)
        assert infinicore.allclose(strided.to(infinicore.float32), wanted, atol=apart)
