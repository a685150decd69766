"""Feed-forward blocks: one, and the many of a mixture of experts.

Values between the products are rounded to the dtype of the activations, in which they are stored.
"""

from __future__ import annotations

from typing import Any

from ...language.expression import Array, rsqrt, sigmoid, tanh
from ...language.model import operator
from ...language.numeric import e2m1_values, e8m0_values, round_to, unpack_nibbles

SILU, SWIGLU, SITUGLU = 0, 1, 2  # infiniopFusedMoeActivation_t


def _activate(h: Array, kind: int) -> Array:
    if kind == SILU:
        return h * sigmoid(h)
    half = h.shape[-1] // 2
    gate, up = h[..., :half], h[..., half:]
    if kind == SWIGLU:
        return gate * sigmoid(gate) * up
    return 4 * tanh(gate / 4) * sigmoid(gate) * 25 * tanh(up / 25)


@operator(
    "FusedFFN(!out_desc, in_desc, residual_desc, norm_weight_desc, gate_up_weight_desc,"
    " down_weight_desc, float epsilon)",
    """
    out out        F    [T, D]   inner1
    x              =out [T, D]   inner1
    residual?      =out [T, D]   inner1
    norm_weight    F    [D]      dense
    gate_up_weight F    [G1, G2]
    down_weight    F    [D1, D2]
    """,
    umbrella=False,
    lowered=True,
)
def fused_ffn(
    x: Array,
    residual: Array,
    norm_weight: Array,
    gate_up_weight: Array,
    down_weight: Array,
    *,
    epsilon: float,
    dtypes: dict[str, str],
) -> Array:
    """out = down(silu(g) * u) (+ residual), where g and u are the halves of gate_up(rms_norm(in)).
    Weights are [features out, features in] or, where that does not fit, the other way round; they
    have the dtype of the activations or F32."""
    dtype = dtypes["out"]
    up = gate_up_weight if gate_up_weight.shape[1] == x.shape[1] else gate_up_weight.T
    down = down_weight if down_weight.shape == (x.shape[1], up.shape[0] // 2) else down_weight.T
    scale = rsqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
    h = round_to(round_to(x * norm_weight * scale, dtype) @ up.T, dtype)
    y = round_to(_activate(h, SWIGLU), dtype) @ down.T
    return y if residual is None else y + residual


def _experts(
    x: Array, ids: Array, scales: Array, w1: Any, w2: Any, kind: int, dtype: str, *biases: Array
) -> Array:
    """The results of each token's experts, summed with its scales. Invalid expert ids are ignored.
    `w1` and `w2` give the matrix of an expert."""
    import numpy as np

    b1, b2 = biases or (None, None)
    y = np.zeros_like(x)
    for expert in range(len(w1)):
        token, choice = np.nonzero(np.asarray(ids) == expert)
        if token.size == 0:
            continue
        h = x[token] @ w1[expert].T
        h = round_to(h if b1 is None else h + b1[expert], dtype)
        part = round_to(_activate(h, kind), dtype) @ w2[expert].T
        part = round_to(part if b2 is None else part + b2[expert], dtype)
        np.add.at(y, token, scales[token, choice, None] * part)
    return y


@operator(
    "FusedMoe(!out_desc, input_desc, token_selected_experts_desc, token_final_scales_desc, w1_desc,"
    " w2_desc, b1_desc, b2_desc, infiniopFusedMoeActivation_t activation)",
    """
    out out                F    [N, D]    dense
    input                  =out [N, D]    dense
    token_selected_experts I32  [N, K]    dense
    token_final_scales     F32  [N, K]    dense
    w1                     =out [E, C, D] dense
    w2                     =out [E, D, I] dense
    b1?                    =out [E, C]    dense
    b2?                    =out [E, D]    dense
    """,
    where="activation >= 0; activation <= 2",
    kernel=True,
    public="""
        nn.functional.fused_moe(input, token_selected_experts, token_final_scales, w1, w2, *,
            b1=None, b2=None, activation=1, out=None)
            The sum over the experts of each token of scale * (w2 @ act(w1 @ input + b1) + b2):
            input [N, D], experts and scales [N, K], w1 [E, C, D], w2 [E, D, I], b1 [E, C], b2 [E,
            D]. C is I for ACT_SILU, else 2 I with the gate first.

            >>> x, w1, w2 = (infinicore.ones(*[1] * rank) for rank in (2, 3, 3))
            >>> expert = infinicore.zeros(1, 1, dtype=infinicore.int32)
            >>> F.fused_moe(x, expert, infinicore.ones(1, 1), w1, w2, activation=F.ACT_SILU)
            tensor([[0.7311]])
    """,
)
def fused_moe(
    input: Array,
    token_selected_experts: Array,
    token_final_scales: Array,
    w1: Array,
    w2: Array,
    b1: Array,
    b2: Array,
    *,
    activation: int,
    dtypes: dict[str, str],
) -> Array:
    """The sum of scale * (w2 @ act(w1 @ x + b1) + b2) over the experts of a token. Activation 0 is
    silu, 1 is silu(g) * u of the two halves, 2 is 4 tanh(g / 4) sigmoid(g) * 25 tanh(u / 25)."""
    return _experts(
        input,
        token_selected_experts,
        token_final_scales,
        w1,
        w2,
        activation,
        dtypes["out"],
        b1,
        b2,
    )


class _Mxfp4:
    """Expert matrices in MXFP4, as values when one is asked for."""

    def __init__(self, packed: Array, scale: Array) -> None:
        self.packed, self.scale = packed, scale

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, expert: int) -> Array:
        import numpy as np

        values = e2m1_values()[unpack_nibbles(self.packed[expert])]
        return values * np.repeat(e8m0_values()[self.scale[expert]], 32, axis=-1)


@operator(
    "FusedMoeMxfp4(!output_desc, input_desc, selected_experts_desc, routing_weights_desc,"
    " w13_packed_desc, w13_scale_desc, w2_packed_desc, w2_scale_desc,"
    " infiniopFusedMoeActivation_t activation)",
    """
    out output       F       [N, D]          dense
    input            =output [N, D]          dense
    selected_experts I32     [N, K]          dense
    routing_weights  F32     [N, K]          dense
    w13_packed       U8      [E, C, D // 2]  dense
    w13_scale        U8      [E, C, D // 32] dense
    w2_packed        U8      [E, D, J]       dense
    w2_scale         U8      [E, D, S]       dense
    """,
    where="activation >= 1; activation <= 2; D % 32 == 0; C == 4 * J; J == 16 * S",
    kernel=True,
    public="""
        nn.functional.fused_moe_mxfp4(input, selected_experts, routing_weights, w13_packed,
            w13_scale, w2_packed, w2_scale, activation=1, out=None)
            `fused_moe` with weights in MXFP4: w13_packed [E, 2 I, D / 2] and w13_scale [E, 2 I, D /
            32], w2_packed [E, D, I / 2] and w2_scale [E, D, I / 32], all of bytes.

            >>> x, expert = infinicore.ones(1, 32), infinicore.zeros(1, 1, dtype=infinicore.int32)
            >>> w13 = [infinicore.zeros(1, 64, n, dtype=infinicore.uint8) for n in (16, 1)]
            >>> w2 = [infinicore.zeros(1, 32, n, dtype=infinicore.uint8) for n in (16, 1)]
            >>> F.fused_moe_mxfp4(x, expert, infinicore.ones(1, 1), *w13, *w2).sum()
            tensor(0.)
    """,
)
def fused_moe_mxfp4(
    input: Array,
    selected_experts: Array,
    routing_weights: Array,
    w13_packed: Array,
    w13_scale: Array,
    w2_packed: Array,
    w2_scale: Array,
    *,
    activation: int,
    dtypes: dict[str, str],
) -> Array:
    """fused_moe with gate and up, and down, in MXFP4: two codes a byte, a scale for 32 of a row."""
    return _experts(
        input,
        selected_experts,
        routing_weights,
        _Mxfp4(w13_packed, w13_scale),
        _Mxfp4(w2_packed, w2_scale),
        activation,
        dtypes["output"],
    )


@operator(
    "MoeFusedDense(!output_desc, hidden_states_desc, w13_desc, w2_desc, topk_weights_desc,"
    " topk_ids_desc, sorted_token_ids_desc, expert_ids_desc, num_tokens_post_padded_desc)",
    """
    out output             F       [T, D]    dense
    hidden_states          =output [T, D]    dense
    w13                    =output [E, C, D] dense
    w2                     =output [E, D, I] dense
    topk_weights           F32     [T, K]    dense
    topk_ids               I32     [T, K]    dense
    sorted_token_ids       I32     [S]       dense
    expert_ids             I32     [B]       dense
    num_tokens_post_padded I32     [1]       dense
    """,
    where="C == 2 * I",
    kernel="fused_moe",
    public="""
        nn.functional.moe_fused_dense(hidden_states, w13, w2, topk_weights, topk_ids,
            sorted_token_ids, expert_ids, num_tokens_post_padded)
            The sum over the experts of each token of weight * w2 @ (silu(gate) * up), over what
            `moe_align` gives: hidden_states [T, D], w13 [E, 2 I, D] (gate first), w2 [E, D, I];
            float16 or bfloat16.

            >>> ones = lambda *sizes: infinicore.ones(*sizes, dtype=infinicore.float16)
            >>> ints = lambda *values: infinicore.tensor(values, dtype=infinicore.int32)
            >>> share, expert = infinicore.ones(1, 1), ints(0).view(1, 1)
            >>> w13, w2 = ones(1, 2, 1), ones(1, 1, 1)
            >>> F.moe_fused_dense(ones(1, 1), w13, w2, share, expert, ints(0), ints(0), ints(1))
            tensor([[0.7310]], dtype=infinicore.float16)
    """,
)
def moe_fused_dense(
    hidden_states: Array,
    w13: Array,
    w2: Array,
    topk_weights: Array,
    topk_ids: Array,
    sorted_token_ids: Array,
    expert_ids: Array,
    num_tokens_post_padded: Array,
    *,
    dtypes: dict[str, str],
) -> Array:
    """SwiGLU experts over what moe_align gave: a position of the sorted pairs goes through the
    expert of its block. Positions that hold no pair, and blocks without an expert, give nothing."""
    import numpy as np

    size = max(1, -(-sorted_token_ids.size // max(1, expert_ids.size)))
    used = min(max(int(num_tokens_post_padded[0]), 0), sorted_token_ids.size)
    ids = np.full(topk_ids.size, -1)
    for position, pair in enumerate(np.asarray(sorted_token_ids)[:used]):
        if 0 <= pair < ids.size:
            ids[pair] = expert_ids[position // size]
    ids = ids.reshape(topk_ids.shape)
    return _experts(hidden_states, ids, topk_weights, w13, w2, SWIGLU, dtypes["output"])


@operator(
    "DeepseekMoe(out_desc, hidden_desc, topk_indices_desc, topk_weights_desc,"
    " size_t intermediate_size, size_t num_experts) -> (!out, hidden, topk_indices, topk_weights,"
    " const void *const *gate_weights[num_experts]=-,"
    " const void *const *up_weights[num_experts]=-,"
    " const void *const *down_weights[num_experts]=-)",
    """
    out out      F    [T, D] dense
    hidden       =out [T, D] dense
    topk_indices I32  [T, K] dense
    topk_weights F32  [T, K] dense
    """,
    variants=(
        "DeepseekMoeWithDevicePtrs(!out, hidden, topk_indices, topk_weights,"
        " gate_weight_ptrs=-, up_weight_ptrs=-, down_weight_ptrs=-)",
    ),
    where="0 < intermediate_size < 1099511627776; 0 < num_experts < 2147483648",
    kernel="fused_moe",
)
def deepseek_moe(
    hidden: Array,
    topk_indices: Array,
    topk_weights: Array,
    *,
    gate_weights: list[Array],
    up_weights: list[Array],
    down_weights: list[Array],
    intermediate_size: int,
    num_experts: int,
    dtypes: dict[str, str],
) -> Array:
    """SwiGLU experts with a matrix each for gate and up [intermediate_size, D] and down
    [D, intermediate_size], given as pointers. The weight of a choice goes into the activation."""
    import numpy as np

    dtype = dtypes["out"]
    y = np.zeros_like(hidden)
    for expert in range(num_experts):
        token, choice = np.nonzero(np.asarray(topk_indices) == expert)
        if token.size == 0:
            continue
        gate = round_to(hidden[token] @ gate_weights[expert].T, dtype)
        up = round_to(hidden[token] @ up_weights[expert].T, dtype)
        act = gate * sigmoid(gate) * up * topk_weights[token, choice, None]
        np.add.at(y, token, round_to(round_to(act, dtype) @ down_weights[expert].T, dtype))
    return y
