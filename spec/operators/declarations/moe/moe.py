"""Mixture of experts: which experts a token goes to, and the order in which experts take tokens."""

from __future__ import annotations

from ...language.expression import Array, exp, sigmoid, tanh
from ...language.model import operator
from ...language.numeric import round_to


def _softmax(x: Array) -> Array:
    shifted = exp(x - x.max(axis=-1, keepdims=True, initial=-float("inf")))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _largest(x: Array, count: int) -> Array:
    """Indices of the largest entries of each row, descending; of equal ones the first."""
    import numpy as np

    return np.argsort(-x, axis=-1, kind="stable")[..., :count]


def _pick(x: Array, indices: Array) -> Array:
    import numpy as np

    return np.take_along_axis(x, indices, axis=-1)


def _best_groups(choice: Array, groups: int, keep: int) -> Array:
    """True for the experts of the best groups; a group counts by the sum of its two best."""
    import numpy as np

    rows, experts = choice.shape
    grouped = choice.reshape(rows, groups, experts // groups)
    inside = np.sort(grouped, axis=-1)[..., -2:]
    kept = np.zeros((rows, groups), bool)
    np.put_along_axis(kept, _largest(inside.sum(axis=-1), keep), True, axis=-1)
    return np.repeat(kept, experts // groups, axis=-1)


def _by_expert(ids: Array, num_experts: int) -> list[Array]:
    """The pairs (positions in the flat list of ids) of each expert, ascending."""
    import numpy as np

    return [np.flatnonzero(ids == expert) for expert in range(num_experts)]


@operator(
    "Topksoftmax(x_desc) -> (!values=-, !indices=-, x, const size_t topk, const int norm)",
    """
    x F [N, E] inner1
    """,
    run_where="topk >= 0; topk <= E",
    kernel="moe_gate",
)
def topksoftmax(x: Array, *, topk: int, norm: int) -> tuple[Array, Array]:
    """The `topk` largest entries of each row's softmax, descending, F32, and their indices, I32;
    `norm` rescales them to the sum 1."""
    probability = _softmax(x)
    indices = _largest(probability, topk)
    values = _pick(probability, indices)
    return (values / values.sum(axis=-1, keepdims=True) if norm else values), indices


@operator(
    "Topkrouter(x_desc, correction_bias_desc) -> (!values=-, !indices=-, x, correction_bias,"
    " const float routed_scaling_factor, const size_t topk)",
    """
    x               F   [N, 256] inner1
    correction_bias F32 [256]    dense
    """,
    run_where="topk >= 0; topk <= 128",
    kernel="moe_gate",
)
def topkrouter(
    x: Array, correction_bias: Array, *, routed_scaling_factor: float, topk: int
) -> tuple[Array, Array]:
    """The gate of DeepSeek-V3: the best of the four best of eight groups, by sigmoid plus bias,
    weighted by their shares of the chosen sigmoids. Values are F32, indices I32."""
    import numpy as np

    score = sigmoid(x)
    choice = score + correction_bias
    choice = np.where(_best_groups(choice, 8, 4), choice, 0.0)
    indices = _largest(choice, topk)
    values = _pick(score, indices)
    return values * routed_scaling_factor / (1e-9 + values.sum(axis=-1, keepdims=True)), indices


def _choose(score: Array, bias: Array, count: int, renormalize: bool) -> tuple[Array, Array]:
    indices = _largest(score if bias is None else score + bias, count)
    weights = _pick(score, indices)
    return (weights / weights.sum(axis=-1, keepdims=True) if renormalize else weights), indices


@operator(
    "MoeTopkSoftmax(!topk_weights_desc, !topk_indices_desc, gating_output_desc,"
    " correction_bias_desc, bool renormalize, float moe_softcapping)",
    """
    out topk_weights F32 [T, K]
    out topk_indices I32 [T, K]
    gating_output    F   [T, E]
    correction_bias? F32 [E]
    """,
    where="K <= E",
    kernel="moe_gate",
)
def moe_topk_softmax(
    gating_output: Array,
    correction_bias: Array,
    *,
    renormalize: bool,
    moe_softcapping: float,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The largest probabilities of each row, chosen with the bias, given without it. A soft cap c
    other than 0 first takes tanh(v / c) * c."""
    if moe_softcapping:
        gating_output = tanh(gating_output / moe_softcapping) * moe_softcapping
    score = _softmax(gating_output)
    return _choose(score, correction_bias, shapes["topk_weights"][1], renormalize)


@operator(
    "MoeTopkSigmoid(!topk_weights_desc, !topk_indices_desc, gating_output_desc,"
    " correction_bias_desc, bool renormalize)",
    """
    out topk_weights F32 [T, K]
    out topk_indices I32 [T, K]
    gating_output    F   [T, E]
    correction_bias? F32 [E]
    """,
    where="K <= E",
    kernel="moe_gate",
)
def moe_topk_sigmoid(
    gating_output: Array,
    correction_bias: Array,
    *,
    renormalize: bool,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The largest sigmoids of each row, chosen with the bias, given without it."""
    score = sigmoid(gating_output)
    return _choose(score, correction_bias, shapes["topk_weights"][1], renormalize)


@operator(
    "MoeFusedGate(!topk_weights_desc, !topk_indices_desc, input_desc, bias_desc,"
    " size_t num_expert_group, size_t topk_group, size_t num_fused_shared_experts,"
    " float routed_scaling_factor, bool apply_routed_scaling_factor_on_output)",
    """
    out topk_weights F32 [T, K]
    out topk_indices I32 [T, K]
    input            F   [T, E]
    bias             F32 [E]
    """,
    where="""
    E > 0; num_expert_group > 0; E % num_expert_group == 0; E <= 32 * num_expert_group;
    topk_group > 0; topk_group <= num_expert_group; num_fused_shared_experts < K;
    (K - num_fused_shared_experts) * num_expert_group <= topk_group * E
    """,
    kernel="moe_gate",
)
def moe_fused_gate(
    input: Array,
    bias: Array,
    *,
    num_expert_group: int,
    topk_group: int,
    num_fused_shared_experts: int,
    routed_scaling_factor: float,
    apply_routed_scaling_factor_on_output: bool,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """Sigmoid gate inside the best groups, with slots at the end for experts that all tokens share.
    The number of experts is a power of two."""
    import numpy as np

    tokens, experts = input.shape
    routed = shapes["topk_weights"][1] - num_fused_shared_experts
    score = sigmoid(input)
    choice = score + bias
    choice = np.where(_best_groups(choice, num_expert_group, topk_group), choice, -np.inf)
    indices = _largest(choice, routed)
    weights = _pick(score, indices)
    total = weights.sum(axis=-1, keepdims=True)
    shared = experts + np.arange(num_fused_shared_experts)
    indices = np.concatenate([indices, np.tile(shared, (tokens, 1))], axis=-1)
    share = np.repeat(total / routed_scaling_factor, num_fused_shared_experts, axis=-1)
    weights = np.concatenate([weights, share], axis=-1) / total
    scale = routed_scaling_factor if apply_routed_scaling_factor_on_output else 1.0
    return weights * scale, indices


@operator(
    "MoeAlign(sorted_token_ids_desc, expert_ids_desc, num_tokens_post_padded_desc, topk_ids_desc,"
    " size_t num_experts, size_t block_size) -> (!sorted_token_ids, !expert_ids,"
    " !num_tokens_post_padded, topk_ids, expert_map=-?, int pad_sorted_token_ids)",
    """
    out sorted_token_ids       I32 [S]    dense
    out expert_ids             I32 [B]    dense
    out num_tokens_post_padded I32 [1]    dense
    topk_ids                   I32 [T, K] dense
    """,
    where="0 < num_experts < 2147483648; 0 < block_size < 2147483648",
    kernel=True,
    sizes={
        "S": "T * K * block_size if T * K < num_experts + 1"
        " else T * K + (num_experts + 1) * (block_size - 1)",
        "B": "-(-S // block_size)",
    },
)
def moe_align(
    topk_ids: Array,
    *,
    num_experts: int,
    block_size: int,
    pad_sorted_token_ids: int,
    shapes: dict[str, tuple[int, ...]],
    expert_map: Array = None,
) -> tuple[Array, Array, Array]:
    """Groups the pairs (token, choice) by expert in blocks of `block_size`, filled up with the
    number of pairs. Pairs with id -1 form the first group, labelled -1. Other invalid ids, and
    pairs that `expert_map` (I32 [num_experts]: local expert or -1) sends to -1, are left out.
    Entries beyond the last block are filled too, with -1 among the experts."""
    import numpy as np

    ids = np.asarray(topk_ids).reshape(-1)
    nobody = ids == -1
    if expert_map is not None:
        known = (ids >= 0) & (ids < num_experts)
        ids = np.where(known, np.asarray(expert_map)[np.where(known, ids, 0)], -1)
    pairs = np.full(shapes["sorted_token_ids"], ids.size, np.int32)
    experts = np.full(shapes["expert_ids"], -1, np.int32)
    at = 0
    groups = [np.flatnonzero(nobody), *_by_expert(np.where(nobody, -1, ids), num_experts)]
    for expert, group in enumerate(groups, -1):
        pairs[at : at + group.size] = group
        blocks = -(-group.size // block_size)
        experts[at // block_size : at // block_size + blocks] = expert
        at += blocks * block_size
    return pairs, experts, np.array([at], np.int32)


@operator(
    "PrepareMoeInput(!expert_offsets_desc, !blockscale_offsets_desc, !problem_sizes1_desc,"
    " !problem_sizes2_desc, !input_permutation_desc, !output_permutation_desc, topk_ids_desc,"
    " size_t num_experts, size_t n, size_t k)",
    """
    out expert_offsets      I32 [num_experts + 1] dense
    out blockscale_offsets? I32 [num_experts + 1] dense
    out problem_sizes1      I32 [num_experts, 3]  dense
    out problem_sizes2      I32 [num_experts, 3]  dense
    out input_permutation   I32 [P]               dense
    out output_permutation  I32 [P]               dense
    topk_ids                I32 [T, K]            dense
    """,
    where="num_experts > 0; n < 1073741824; k < 2147483648; P == T * K",
    kernel="moe_align",
)
def prepare_moe_input(
    topk_ids: Array, *, num_experts: int, n: int, k: int
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Sizes and permutations for grouped products: where each expert's rows begin, which token a
    row comes from, and which row a pair became. Invalid expert ids give no row (0 in both)."""
    import numpy as np

    ids = np.asarray(topk_ids)
    groups = _by_expert(ids.reshape(-1), num_experts)
    counts = np.array([group.size for group in groups])
    order = np.concatenate(groups)

    def starts(sizes: Array) -> Array:
        return np.concatenate([[0], np.cumsum(sizes)])

    def sizes(columns: int, depth: int) -> Array:
        return np.stack([counts, np.full_like(counts, columns), np.full_like(counts, depth)], 1)

    token, place = np.zeros(ids.size, np.int64), np.zeros(ids.size, np.int64)
    token[: order.size] = order // max(ids.shape[1], 1)
    place[order] = np.arange(order.size)
    blocks = starts((counts + 127) // 128 * 128)
    return starts(counts), blocks, sizes(2 * n, k), sizes(k, n), token, place


@operator(
    "MoeSum(!output_desc, input_desc)",
    """
    out output F       [T, D]
    input      =output [T, K, D]
    """,
    kernel=True,
)
def moe_sum(input: Array, *, dtypes: dict[str, str]) -> Array:
    """The sum of a token's rows."""
    return round_to(input.sum(axis=1), dtypes["output"])
