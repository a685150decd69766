"""Recurrences over tokens: delta rules, short convolution, selective scan, RWKV.

The delta rules and the convolution keep a state for each request. Plain: the initial state is read
at the request's number and the final state written there. Pool: with both index tensors and no
final state, the initial state is a pool that is read at `initial_state_indices` and written at
`final_state_indices`. A request whose initial index lies outside the pool gives zeros and writes no
state; one whose final index does, writes no state. With `cu_seqlens` the batch is one row of tokens
and request r has those from cu_seqlens[r] to cu_seqlens[r + 1]; bounds are clamped to what is
there, tokens of no request give zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...language.expression import Array, exp, sigmoid, where
from ...language.model import operator


def _requests(
    batch: int, tokens: int, cu_seqlens: Array, pool: int, initial: Array, final: Array
) -> Iterator[tuple[int, int, int, int, int | None]]:
    """For each request: the row of the batch, its first and last token, where its state is read and
    where it is written (None: nowhere). Requests without a state to read are left out."""
    count = batch if cu_seqlens is None else len(cu_seqlens) - 1
    for request in range(count):
        row, begin, end = request, 0, tokens
        if cu_seqlens is not None:
            row = 0
            begin = min(max(int(cu_seqlens[request]), 0), tokens)
            end = min(max(int(cu_seqlens[request + 1]), begin), tokens)
        source = request if initial is None else int(initial[request])
        target: int | None = request if final is None else int(final[request])
        if 0 <= source < pool:
            yield row, begin, end, source, target if 0 <= (target or 0) < pool else None


def _delta_rule(
    step: Callable[[int, int, int], tuple[Array, ...]],
    v: Array,
    initial_state: Array,
    requests: Iterator[tuple[int, int, int, int, int | None]],
    pooled: bool,
) -> tuple[Array, Array, Array]:
    """`step(row, token, head)` gives q, k, the decay of the state's columns, and beta."""
    import numpy as np

    out = np.zeros(v.shape)
    written = initial_state.copy()
    for row, begin, end, source, target in requests:
        for head in range(v.shape[2]):
            state = initial_state[source, head].copy()  # [Dv, Dk]
            for token in range(begin, end):
                q, k, decay, beta = step(row, token, head)
                state = state * decay
                delta = beta * (v[row, token, head] - state @ k)
                state = state + np.outer(delta, k)
                out[row, token, head] = state @ q
            if target is not None:
                written[target, head] = state
    return (out, written, None) if pooled else (out, initial_state, written)


def _normalised(x: Array, use: bool) -> Array:
    import numpy as np

    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) if use else x


def _gated(
    q: Array,
    k: Array,
    v: Array,
    g: Array,
    beta: Array,
    cu_seqlens: Array,
    pool: tuple[Array, Array, Array],
    use_qk_l2norm: bool,
) -> tuple[Array, Array, Array]:
    initial_state, initial, final = pool
    batch, tokens, heads = v.shape[:3]
    group = heads // q.shape[2]
    q = _normalised(q, use_qk_l2norm) * q.shape[-1] ** -0.5
    k = _normalised(k, use_qk_l2norm)
    decay = exp(g)

    def step(row: int, token: int, head: int) -> tuple[Array, ...]:
        at = row, token, head // group
        return q[at], k[at], decay[row, token, head], beta[row, token, head]

    requests = _requests(batch, tokens, cu_seqlens, len(initial_state), initial, final)
    return _delta_rule(step, v, initial_state, requests, final is not None)


@operator(
    """RecurrentGatedDeltaRule(!out_desc, !initial_state_desc, !final_state_desc, q_desc, k_desc,
    v_desc, g_desc, beta_desc, initial_state_indices_desc, final_state_indices_desc,
    bool use_qk_l2norm)""",
    """
    out out                 F     [B, T, Hv, Dv]   inner1
    inout initial_state     =out  [P, Hv, Dv, Dk]  inner1
    out final_state?        =out  [P, Hv, Dv, Dk]  inner1
    q                       =out  [B, T, Hk, Dk]   inner1
    k                       =out  [B, T, Hk, Dk]   inner1
    v                       =out  [B, T, Hv, Dv]   inner1
    g                       F     [B, T, Hv]
    beta                    =g    [B, T, Hv]
    initial_state_indices?  IDX   [B]              dense
    final_state_indices?    IDX   [B]              dense
    """,
    where="T == 1; Hk > 0; Hv % Hk == 0; Dk > 0",
    kernel="delta_rule",
)
def recurrent_gated_delta_rule(
    initial_state: Array,
    q: Array,
    k: Array,
    v: Array,
    g: Array,
    beta: Array,
    initial_state_indices: Array,
    final_state_indices: Array,
    *,
    use_qk_l2norm: bool,
) -> tuple[Array, Array, Array]:
    """One token of the gated delta rule for each request: `S = exp(g) S`,
    `S += beta (v - S k) k^T`, `out = S q`, with q scaled by `Dk ** -0.5`, after q and k
    are normalised if asked."""
    pool = initial_state, initial_state_indices, final_state_indices
    return _gated(q, k, v, g, beta, None, pool, use_qk_l2norm)


@operator(
    """ChunkGatedDeltaRule(!out_desc, !initial_state_desc, !final_state_desc, q_desc, k_desc,
    v_desc, g_desc, beta_desc, cu_seqlens_desc, initial_state_indices_desc,
    final_state_indices_desc, bool use_qk_l2norm, size_t chunk_size)""",
    """
    out out                 F     [B, T, Hv, Dv]   inner1
    inout initial_state     =out  [P, Hv, Dv, Dk]  inner1
    out final_state?        =out  [P, Hv, Dv, Dk]  inner1
    q                       =out  [B, T, Hk, Dk]   inner1
    k                       =out  [B, T, Hk, Dk]   inner1
    v                       =out  [B, T, Hv, Dv]   inner1
    g                       F     [B, T, Hv]
    beta                    =g    [B, T, Hv]
    cu_seqlens?             IDX   [R1]             dense
    initial_state_indices?  IDX   [R]              dense
    final_state_indices?    IDX   [R]              dense
    """,
    where="Hk > 0; Hv % Hk == 0; Dk > 0; chunk_size > 0",
    kernel="delta_rule",
)
def chunk_gated_delta_rule(
    initial_state: Array,
    q: Array,
    k: Array,
    v: Array,
    g: Array,
    beta: Array,
    cu_seqlens: Array,
    initial_state_indices: Array,
    final_state_indices: Array,
    *,
    use_qk_l2norm: bool,
    chunk_size: int,
) -> tuple[Array, Array, Array]:
    """The gated delta rule over all tokens of each request; see recurrent_gated_delta_rule.
    `chunk_size` is a hint for blocking."""
    pool = initial_state, initial_state_indices, final_state_indices
    return _gated(q, k, v, g, beta, cu_seqlens, pool, use_qk_l2norm)


@operator(
    """KimiDeltaAttention(!out_desc, !initial_state_desc, !final_state_desc, q_desc, k_desc, v_desc,
    g_desc, beta_desc, A_log_desc, dt_bias_desc, cu_seqlens_desc, initial_state_indices_desc,
    final_state_indices_desc, float scale, float lower_bound, bool use_qk_l2norm)""",
    """
    out out                 F     [B, T, H, D]  inner1
    inout initial_state     =out  [P, H, D, D]  inner1
    out final_state?        =out  [P, H, D, D]  inner1
    q                       =out  [B, T, H, D]  inner1
    k                       =out  [B, T, H, D]  inner1
    v                       =out  [B, T, H, D]  inner1
    g                       F     [B, T, H, D]  inner1
    beta                    =g    [B, T, H]
    A_log                   F32   [H]           dense
    dt_bias                 F32   [H, D]        dense
    cu_seqlens?             IDX   [R1]          dense
    initial_state_indices?  IDX   [R]           dense
    final_state_indices?    IDX   [R]           dense
    """,
    kernel="delta_rule",
)
def kimi_delta_attention(
    initial_state: Array,
    q: Array,
    k: Array,
    v: Array,
    g: Array,
    beta: Array,
    A_log: Array,
    dt_bias: Array,
    cu_seqlens: Array,
    initial_state_indices: Array,
    final_state_indices: Array,
    *,
    scale: float,
    lower_bound: float,
    use_qk_l2norm: bool,
) -> tuple[Array, Array, Array]:
    """The delta rule with a decay for each channel of the keys:
    `exp(lower_bound * sigmoid(exp(A_log) * (g + dt_bias)))`; beta goes through a sigmoid."""
    q = _normalised(q, use_qk_l2norm) * scale
    k = _normalised(k, use_qk_l2norm)
    decay = exp(lower_bound * sigmoid(exp(A_log)[:, None] * (g + dt_bias)))
    beta = sigmoid(beta)

    def step(row: int, token: int, head: int) -> tuple[Array, ...]:
        at = row, token, head
        return q[at], k[at], decay[at], beta[at]

    batch, tokens = v.shape[:2]
    pool, initial, final = len(initial_state), initial_state_indices, final_state_indices
    requests = _requests(batch, tokens, cu_seqlens, pool, initial, final)
    return _delta_rule(step, v, initial_state, requests, final_state_indices is not None)


@operator(
    """CausalConv1d(!out_desc, !conv_state_desc, !final_conv_state_desc, qkv_desc, weight_desc,
    bias_desc, cu_seqlens_desc, initial_state_indices_desc, final_state_indices_desc)""",
    """
    out out                 F     [B, T, C]  inner1
    inout conv_state        =out  [P, C, 3]
    out final_conv_state?   =out  [P, C, 3]
    qkv                     =out  [B, T, C]  inner1
    weight                  =out  [C, 1, 4]
    bias?                   =out  [C]
    cu_seqlens?             IDX   [R1]       dense
    initial_state_indices?  IDX   [R]        dense
    final_state_indices?    IDX   [R]        dense
    """,
    kernel=True,
)
def causal_conv1d(
    conv_state: Array,
    qkv: Array,
    weight: Array,
    bias: Array,
    cu_seqlens: Array,
    initial_state_indices: Array,
    final_state_indices: Array,
) -> tuple[Array, Array, Array]:
    """Depthwise causal convolution of width 4. The state holds the last three inputs of each
    channel, oldest first."""
    import numpy as np

    out = np.zeros(qkv.shape)
    written = conv_state.copy()
    batch, tokens = qkv.shape[:2]
    pool, initial, final = len(conv_state), initial_state_indices, final_state_indices
    requests = _requests(batch, tokens, cu_seqlens, pool, initial, final)
    for row, begin, end, source, target in requests:
        history = np.concatenate([conv_state[source].T, qkv[row, begin:end]])
        for token in range(begin, end):
            window = history[token - begin : token - begin + 4]
            out[row, token] = (weight[:, 0, :].T * window).sum(0) + (0 if bias is None else bias)
        if target is not None:
            written[target] = history[-3:].T
    if final_state_indices is not None:
        return out, written, None
    return out, conv_state, written


@operator(
    """MambaSelectiveScan(!out_desc, x_desc, dt_desc, b_desc, c_desc, a_log_desc, d_desc, gate_desc,
    dt_bias_desc, !state_desc)""",
    """
    out out      F     [B, T, I]  dense
    x            =out  [B, T, I]  dense
    dt           =out  [B, T, I]  dense
    b            =out  [B, T, N]  dense
    c            =out  [B, T, N]  dense
    a_log        =out  [I, N]     dense
    d            =out  [I]        dense
    gate         =out  [B, T, I]  dense
    dt_bias      =out  [I]        dense
    inout state  F32   [P, I, N]  dense
    """,
    where="P >= B",
    kernel=True,
    public="""
        nn.functional.mamba_selective_scan(x, dt, b, c, a_log, d, gate, dt_bias, state)
            The scan of a state space layer: x, dt, gate [B, T, I]; b, c [B, T, N]; a_log [I, N]; d,
            dt_bias [I]; state float32 [B, I, N], which is updated.

            >>> x, one, two = infinicore.zeros(1, 1, 1), infinicore.ones(1), infinicore.ones(1, 1)
            >>> F.mamba_selective_scan(x, x, x, x, two, one, x, one, infinicore.zeros(1, 1, 1))
            tensor([[[0.]]])
    """,
)
def mamba_selective_scan(
    x: Array,
    dt: Array,
    b: Array,
    c: Array,
    a_log: Array,
    d: Array,
    gate: Array,
    dt_bias: Array,
    state: Array,
) -> tuple[Array, Array]:
    """The selective scan of Mamba, with the gate: `s = exp(-exp(a_log) dt) s + dt b x`,
    `out = (s . c + d x) silu(gate)`, where dt is `softplus(dt + dt_bias)`."""
    import numpy as np

    dt = dt + dt_bias
    dt = where(dt > 20, dt, np.log1p(np.exp(np.minimum(dt, 20))))
    rate = -exp(a_log)
    out, state = np.zeros(x.shape), state.copy()
    for row in range(x.shape[0]):
        s = state[row]
        for t in range(x.shape[1]):
            step = dt[row, t, :, None]
            s = exp(rate * step) * s + step * b[row, t] * x[row, t, :, None]
            y = (s * c[row, t]).sum(-1) + d * x[row, t]
            out[row, t] = y * gate[row, t] * sigmoid(gate[row, t])
        state[row] = s
    return out, state


@operator(
    """Rwkv5Wkv(!out_desc, receptance_desc, key_desc, value_desc, time_decay_desc, time_faaaa_desc,
    !state_desc)""",
    """
    out out      F     [B, T, H * S]  dense
    receptance   =out  [B, T, H * S]  dense
    key          =out  [B, T, H * S]  dense
    value        =out  [B, T, H * S]  dense
    time_decay   =out  [H, S]         dense
    time_faaaa   =out  [H, S]         dense
    inout state  F32   [P, H, S, S]   dense
    """,
    where="P >= B",
    kernel=True,
    public="""
        nn.functional.rwkv5_wkv(receptance, key, value, time_decay, time_faaaa, state)
            The time mixing of RWKV-5: receptance, key, value [B, T, H * S]; time_decay, time_faaaa
            [H, S]; state float32 [B or more, H, S, S], which is updated.

            >>> x, w = infinicore.ones(1, 1, 2), infinicore.ones(1, 2)
            >>> F.rwkv5_wkv(x, x, x, w, w, infinicore.zeros(1, 1, 2, 2))
            tensor([[[2., 2.]]])
    """,
)
def rwkv5_wkv(
    receptance: Array,
    key: Array,
    value: Array,
    time_decay: Array,
    time_faaaa: Array,
    state: Array,
) -> tuple[Array, Array]:
    """RWKV-5's time mixing for each head: `out = r (diag(u) k v^T + S)`, then
    `S = k v^T + diag(exp(-exp(decay))) S`; rows of the state are key channels."""
    import numpy as np

    batch, tokens, _ = receptance.shape
    heads, size = time_decay.shape
    r, k, v = (x.reshape(batch, tokens, heads, size) for x in (receptance, key, value))
    decay = exp(-exp(time_decay))[..., None]
    out, state = np.zeros(r.shape), state.copy()
    for row in range(batch):
        for t in range(tokens):
            kv = k[row, t, :, :, None] * v[row, t, :, None, :]
            mixed = time_faaaa[..., None] * kv + state[row]
            out[row, t] = (r[row, t, :, :, None] * mixed).sum(1)
            state[row] = kv + decay * state[row]
    return out.reshape(receptance.shape), state


@operator(
    "CTCLoss(!loss, log_probs, targets, input_lengths, target_lengths, int64_t blank)",
    """
    out loss        F32|F64  [N]
    log_probs       =loss    [T, N, C]
    targets         I64      [N, S]
    input_lengths   I64      [N]
    target_lengths  I64      [N]
    """,
    where="blank >= 0; blank < C",
    kernel=True,
)
def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    *,
    blank: int,
) -> Array:
    """-log of the total probability of all alignments of each target, where labels may repeat and
    be separated by `blank`. Lengths and labels are limited to valid ones."""
    import numpy as np

    steps, count, classes = log_probs.shape
    loss = np.empty(count)
    for n in range(count):
        size = np.clip(target_lengths[n], 0, targets.shape[1])
        labels = np.full(2 * size + 1, blank)
        labels[1::2] = np.clip(targets[n, :size], 0, classes - 1)
        skips = np.append([False, False], labels[2:] != labels[:-2])[: labels.size]
        known = np.full(labels.size + 2, -np.inf)  # of each label, after two that are none
        known[2] = 0
        for t in range(np.clip(input_lengths[n], 0, steps)):
            skipped = np.where(skips, known[:-2], -np.inf)
            reached = np.logaddexp(np.logaddexp(known[2:], known[1:-1]), skipped)
            known[2:] = reached + log_probs[t, n, labels]
        loss[n] = -np.logaddexp(known[-1], known[-2])
    return loss
