"""The preparation of new tokens for the indexer of sparse attention (DSA), in one call."""

from __future__ import annotations

from infinicore._dtype import float32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import float32_at_least, store
from infinicore.functions.attention.indexer import _store_keys
from infinicore.functions.rope.rope import _angles_of, _rotate_first


@function
def fused_deepseek_v2_indexer_postprocess_(
    q_out: Tensor,
    k_out: Tensor,
    weights_out: Tensor,
    kv_cache: Tensor | None,
    slot_mapping: Tensor | None,
    q: Tensor,
    kw: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    positions: Tensor,
    cos_sin_cache: Tensor,
    num_cache_tokens: int,
    is_neox: bool,
    eps: float,
    weights_scale: float,
) -> None:
    """The queries, keys and weights of an indexer. q [tokens, heads, D] is rotated into q_out. A
    row of kw [tokens, D + heads] is a key and the weights of the heads: the key goes through
    LayerNorm (norm_weight, norm_bias [D], eps) and rotation into k_out [tokens, D], and for the
    first `num_cache_tokens` tokens also into the slots of kv_cache [pages, block_size, D]; the
    weights times `weights_scale` into weights_out [tokens, heads]. A row of cos_sin_cache
    [positions, R] has cosines, then sines; the first R elements are rotated, as in
    fused_rotary_embedding_.

    >>> q_out, k_out, weights = (infinicore.zeros(1, n) for n in (2, 2, 1))
    >>> one, zero = infinicore.ones(2), infinicore.zeros(2)
    >>> infinicore.fused_deepseek_v2_indexer_postprocess_(
    ...     q_out, k_out, weights, None, None, infinicore.ones(1, 1, 2),
    ...     infinicore.tensor([[1.0, -1.0, 4.0]]), one, zero, infinicore.tensor([0]),
    ...     infinicore.tensor([[1.0, 0.0]]), 0, True, 0.0, 0.5,
    ... )
    >>> k_out, weights
    (tensor([[ 1., -1.]]), tensor([[2.]]))
    """
    name = "fused_deepseek_v2_indexer_postprocess_"
    need_tensor(name, "kw", kw, 2)
    need_tensor(name, "norm_weight", norm_weight, 1)
    tokens, size = kw.shape[0], norm_weight.shape[0]
    heads = kw.shape[1] - size
    expect(heads >= 0, name, "kw.shape", tuple(kw.shape), f"a key of {size} and weights in a row")
    need_shape(name, "norm_bias", norm_bias, size)
    expect_shape(q.numel() == tokens * heads * size, name, "q", q, f"({tokens}, {heads}, {size})")
    queries = float32_at_least(q).reshape(tokens, heads, size)
    angles = _angles_of(name, cos_sin_cache, positions, queries)
    expect(
        angles.shape == (tokens, angles.shape[1]) and angles.shape[1] <= size,
        name,
        "cos_sin_cache.shape",
        tuple(cos_sin_cache.shape),
        f"at most {size} columns, and {tokens} positions",
    )
    turned = emit("rearrange", queries)
    _rotate_first(turned, angles, is_neox)
    store(q_out, turned.view(*q_out.shape))
    key = float32_at_least(kw[:, :size])
    centred = key - emit("mean", key, dim=[1], keepdim=True)
    spread = emit("mean", centred * centred, dim=[1], keepdim=True)
    key = centred * emit("rsqrt", spread + eps)
    key = key * cast_to(norm_weight, float32) + cast_to(norm_bias, float32)
    whole = emit("rearrange", key.view(tokens, 1, size))
    _rotate_first(whole, angles, is_neox)
    key = cast_to(whole.view(tokens, size), k_out.dtype)
    store(k_out, key.view(*k_out.shape))
    store(weights_out, (float32_at_least(kw[:, size:]) * weights_scale).view(*weights_out.shape))
    if kv_cache is not None and slot_mapping is not None and num_cache_tokens:
        slots = integers(name, "slot_mapping", slot_mapping).flatten()[:num_cache_tokens]
        _store_keys(name, key[: slots.shape[0]], kv_cache, slots)
