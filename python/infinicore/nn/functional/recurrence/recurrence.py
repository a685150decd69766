"""Recurrent and linear attention, with states that are kept between calls."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect


def _is_pool(name: str, first: Tensor | None, last: Tensor | None) -> bool:
    """Whether states are read from a pool and written back to it."""
    if (first is None) != (last is None):
        raise ValueError(
            f"{name}: expected both initial_state_indices and final_state_indices, or none of them"
        )
    return first is not None


def _run(
    name: str,
    state: Tensor,
    pool: bool,
    *inputs: Tensor | None,
    **values: Any,
) -> Tensor:
    """Runs the operator; a pool of states is updated in place. A new state that was not requested
    is dropped."""
    spare = None if pool else _core.empty(state.shape, state.dtype, state.device)
    result = emit(name, state, *inputs, out=[None, spare], **values)
    made: Tensor = result[0] if isinstance(result, tuple) else result
    return made


@function
def causal_conv1d(
    qkv: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
) -> Tensor:
    """A convolution of each channel of qkv [B, T, C] with the four latest values: weight [C, 1, 4],
    bias [C]. conv_state [B, C, 3] holds the values before, oldest first. With index tensors it is a
    pool, read at the initial and written at the final indices; cu_seqlens [R + 1] divides the
    tokens of a batch of 1 into requests.

    >>> x, state = infinicore.ones(1, 1, 2), infinicore.zeros(1, 2, 3)
    >>> F.causal_conv1d(x, state, infinicore.ones(2, 1, 4))
    tensor([[[1., 1.]]])
    """
    name = "causal_conv1d"
    pool = _is_pool(name, initial_state_indices, final_state_indices)
    rest = (weight, bias, cu_seqlens, initial_state_indices, final_state_indices)
    return _run(name, conv_state, pool, qkv, *rest)


@function
def recurrent_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    use_qk_l2norm: bool = False,
) -> Tensor:
    """One token of the gated delta rule: q, k [B, 1, Hk, Dk], v [B, 1, Hv, Dv], g and beta
    [B, 1, Hv], state [B, Hv, Dv, Dk], or a pool of states with both index tensors, which is
    updated. The token dimension may be omitted: q [B, Hk, Dk], g [B, Hv].

    >>> x, gate = infinicore.ones(1, 1, 1, 1), infinicore.ones(1, 1, 1)
    >>> F.recurrent_gated_delta_rule(x, x, x, gate, gate, infinicore.zeros(1, 1, 1, 1))
    tensor([[[[1.]]]])
    """
    name = "recurrent_gated_delta_rule"
    pool = _is_pool(name, initial_state_indices, final_state_indices)
    rest = (initial_state_indices, final_state_indices)
    rows = [q, k, v, g, beta]
    is_one = q.ndim == 3
    if is_one:
        ranks = tuple(each.ndim for each in rows)
        expect(
            ranks == (3, 3, 3, 2, 2), name, "the ranks", ranks, "3, 3, 3, 2, 2, as that of q is 3"
        )
        rows = [each.unsqueeze(1) for each in rows]
    made = _run(name, initial_state, pool, *rows, *rest, use_qk_l2norm=use_qk_l2norm)
    return made.squeeze(1) if is_one else made


@function
def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor,
    cu_seqlens: Tensor | None = None,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    use_qk_l2norm: bool = False,
    chunk_size: int = 64,
) -> Tensor:
    """`recurrent_gated_delta_rule` over any number of tokens; cu_seqlens [R + 1] divides those of a
    batch of 1 into requests. `chunk_size` affects only the order of the computation.

    >>> x, gate = infinicore.ones(1, 2, 1, 1), infinicore.ones(1, 2, 1)
    >>> F.chunk_gated_delta_rule(x, x, x, gate, gate, infinicore.zeros(1, 1, 1, 1)).flatten()
    tensor([1., 1.])
    """
    name = "chunk_gated_delta_rule"
    expect(chunk_size > 0, name, "chunk_size", chunk_size, "a positive number")
    pool = _is_pool(name, initial_state_indices, final_state_indices)
    return _run(
        name,
        initial_state,
        pool,
        *(q, k, v, g, beta),
        *(cu_seqlens, initial_state_indices, final_state_indices),
        use_qk_l2norm=use_qk_l2norm,
        chunk_size=chunk_size,
    )


@function
def kimi_delta_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    A_log: Tensor,
    dt_bias: Tensor,
    initial_state: Tensor,
    cu_seqlens: Tensor | None = None,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    scale: float = 1.0,
    lower_bound: float = -5.0,
    use_qk_l2norm: bool = True,
) -> Tensor:
    """The delta rule with a decay for each channel: q, k, v, g [B, T, H, D], beta [B, T, H], A_log
    [H], dt_bias [H, D], state [B, H, D, D] or a pool of states with both index tensors, which is
    updated. The decay is exp(lower_bound * sigmoid(exp(A_log) * (g + dt_bias))).

    >>> x, h = infinicore.ones(1, 1, 1, 1), infinicore.ones(1, 1, 1)
    >>> a, b, state = infinicore.ones(1), infinicore.ones(1, 1), infinicore.zeros(1, 1, 1, 1)
    >>> F.kimi_delta_attention(x, x, x, x, h, a, b, state, use_qk_l2norm=False)
    tensor([[[[0.7311]]]])
    """
    name = "kimi_delta_attention"
    pool = _is_pool(name, initial_state_indices, final_state_indices)
    return _run(
        name,
        initial_state,
        pool,
        *(q, k, v, g, beta, A_log, dt_bias),
        *(cu_seqlens, initial_state_indices, final_state_indices),
        scale=float(scale),
        lower_bound=float(lower_bound),
        use_qk_l2norm=use_qk_l2norm,
    )
