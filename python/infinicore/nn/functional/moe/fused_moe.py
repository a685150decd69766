"""Mixtures of experts."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import float32, int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import is_dense, run_into

__all__ = [
    "ACT_SILU",
    "ACT_SITUGLU",
    "ACT_SWIGLU",
    "fused_moe",
    "fused_moe_mxfp4",
    "moe_fused_dense",
]

ACT_SILU = 0

ACT_SWIGLU = 1

ACT_SITUGLU = 2

_ACTIVATIONS = {ACT_SILU: "silu", ACT_SWIGLU: "swiglu", ACT_SITUGLU: "situglu"}


def _activation(name: str, activation: Any) -> str:
    if isinstance(activation, str) and activation in _ACTIVATIONS.values():
        return activation
    if activation not in _ACTIVATIONS:
        raise ValueError(
            f"{name}: activation is {activation!r}: expected ACT_SILU, ACT_SWIGLU or ACT_SITUGLU"
        )
    return _ACTIVATIONS[activation]


def _dense(*tensors: Tensor | None) -> list[Tensor | None]:
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


@function
def fused_moe(
    input: Tensor,
    token_selected_experts: Tensor,
    token_final_scales: Tensor,
    w1: Tensor,
    w2: Tensor,
    *,
    b1: Tensor | None = None,
    b2: Tensor | None = None,
    activation: Any = ACT_SWIGLU,
    out: Any = None,
) -> Tensor:
    """The sum over the experts of each token of scale * (w2 @ act(w1 @ input + b1) + b2): input
    [N, D], experts and scales [N, K], w1 [E, C, D], w2 [E, D, I], b1 [E, C], b2 [E, D]. C is I for
    ACT_SILU, else 2 I with the gate first.

    >>> x, w1, w2 = infinicore.ones(1, 1), infinicore.ones(1, 1, 1), infinicore.ones(1, 1, 1)
    >>> expert = infinicore.zeros(1, 1, dtype=infinicore.int32)
    >>> F.fused_moe(x, expert, infinicore.ones(1, 1), w1, w2, activation=F.ACT_SILU)
    tensor([[0.7311]])
    """
    chosen = (input, token_selected_experts, token_final_scales)
    return _fused("fused_moe", *chosen, (w1, w2, b1, b2), activation, out)


def _fused(
    name: str,
    input: Tensor,
    experts: Tensor,
    scales: Tensor,
    weights: tuple[Tensor | None, ...],
    activation: Any,
    out: Any,
) -> Tensor:
    act = _activation(name, activation)
    given = _dense(input, cast_to(experts, int32), cast_to(scales, float32), *weights)
    return run_into(name, out, is_dense(out), lambda to: emit(name, *given, activation=act, out=to))


@function
def fused_moe_mxfp4(
    input: Tensor,
    selected_experts: Tensor,
    routing_weights: Tensor,
    w13_packed: Tensor,
    w13_scale: Tensor,
    w2_packed: Tensor,
    w2_scale: Tensor,
    activation: Any = ACT_SWIGLU,
    out: Any = None,
) -> Tensor:
    """`fused_moe` with weights in MXFP4: w13_packed [E, 2 I, D / 2] and w13_scale [E, 2 I, D / 32],
    w2_packed [E, D, I / 2] and w2_scale [E, D, I / 32], all of bytes.

    >>> x, expert = infinicore.ones(1, 32), infinicore.zeros(1, 1, dtype=infinicore.int32)
    >>> w13 = [infinicore.zeros(1, 64, n, dtype=infinicore.uint8) for n in (16, 1)]
    >>> w2 = [infinicore.zeros(1, 32, n, dtype=infinicore.uint8) for n in (16, 1)]
    >>> F.fused_moe_mxfp4(x, expert, infinicore.ones(1, 1), *w13, *w2).sum()
    tensor(0.)
    """
    weights = (w13_packed, w13_scale, w2_packed, w2_scale)
    chosen = (input, selected_experts, routing_weights)
    return _fused("fused_moe_mxfp4", *chosen, weights, activation, out)


@function
def moe_fused_dense(
    hidden_states: Tensor,
    w13: Tensor,
    w2: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    sorted_token_ids: Tensor,
    expert_ids: Tensor,
    num_tokens_post_padded: Tensor,
) -> Tensor:
    """The sum over the experts of each token of weight * w2 @ (silu(gate) * up), over what
    `moe_align` gives: hidden_states [T, D], w13 [E, 2 I, D] (gate first), w2 [E, D, I]; float16 or
    bfloat16.

    >>> ones = lambda *sizes: infinicore.ones(*sizes, dtype=infinicore.float16)
    >>> ints = lambda *values: infinicore.tensor(values, dtype=infinicore.int32)
    >>> share, expert = infinicore.ones(1, 1), ints(0).view(1, 1)
    >>> w13, w2 = ones(1, 2, 1), ones(1, 1, 1)
    >>> F.moe_fused_dense(ones(1, 1), w13, w2, share, expert, ints(0), ints(0), ints(1))
    tensor([[0.7310]], dtype=infinicore.float16)
    """
    given = _dense(
        hidden_states,
        w13,
        w2,
        cast_to(topk_weights, float32),
        cast_to(topk_ids, int32),
        cast_to(sorted_token_ids, int32),
        cast_to(expert_ids, int32),
        cast_to(num_tokens_post_padded, int32),
    )
    return emit("moe_fused_dense", *given)
