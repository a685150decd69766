"""MLA over the keys chosen by an indexer (sparse attention, DSA)."""

from __future__ import annotations

from infinicore import _core
from infinicore._dtype import float32, int32, int64
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import counting, float32_at_least, store, with_rows


@function
def sparse_flash_mla_(
    output: Tensor,
    query: Tensor,
    kv_cache: Tensor,
    indices: Tensor,
    topk_lens: Tensor,
    scale: float,
    attn_sink: Tensor | None = None,
) -> None:
    """MLA of each token over the rows of the cache given by its first topk_lens[t] indices: query
    [tokens, heads, 576], kv_cache [..., 576], indices [tokens, 1, K] or [tokens, K], output
    [tokens, heads, 512]. `attn_sink` [heads] is an additional score whose value is zero. Invalid
    indices are skipped; a token without keys gives zeros.

    >>> output, row = infinicore.zeros(1, 1, 1), infinicore.ones(1, 1, 2)
    >>> chosen, count = infinicore.tensor([[0, -1]]), infinicore.tensor([2])
    >>> infinicore.sparse_flash_mla_(output, row, row, chosen, count, 1.0)
    >>> output
    tensor([[[1.]]])
    """
    if isinstance(kv_cache, _core.Tensor) and kv_cache.dtype._code == "U8" and attn_sink is None:
        # Entries of 656 bytes: latents in float8 with their scales.
        entries = kv_cache.reshape(-1, 1, kv_cache.shape[-1])
        chosen = indices.reshape(query.shape[0], 1, -1)
        emit("fp8_sparse_mla", query, entries, chosen, topk_lens, scale=scale, out=output)
        return
    name = "sparse_flash_mla_"
    need_tensor(name, "query", query, 3)
    tokens, heads, size = query.shape
    need_tensor(name, "output", output, 3)
    latent = output.shape[2]
    need_shape(name, "output", output, tokens, heads, latent)
    expect_shape(kv_cache.shape[-1] == size, name, "kv_cache", kv_cache, f"rows of {size}")
    cache = with_rows(kv_cache).reshape(-1, size)
    chosen = integers(name, "indices", indices, int32).reshape(tokens, -1)
    lengths = integers(name, "topk_lens", topk_lens, int32).flatten()
    need_shape(name, "topk_lens", lengths, tokens)
    if attn_sink is None:
        # The cache is treated as pages of one row, and the indices as each token's block table.
        pages = cache.view(cache.shape[0], 1, 1, size)
        values = pages[..., :latent]
        made = emit(
            "paged_attention", with_rows(query), pages, values, chosen, lengths, None, scale=scale
        )
        store(output, made)
        return
    need_shape(name, "attn_sink", attn_sink, heads)
    count = chosen.shape[1]
    places = cast_to(chosen, int64)
    rows = emit("index_select", cache, places.reshape(-1), dim=0).view(tokens, count, size)
    keys = float32_at_least(rows)
    hidden = (places < 0) | (places >= cache.shape[0])
    hidden = hidden | (counting(count, query).view(1, count) >= lengths.view(tokens, 1))
    scores = (float32_at_least(query) @ keys.transpose(1, 2)) * scale
    scores = emit("where", hidden.unsqueeze(1), float("-inf"), scores)
    # The sink is an additional score whose value is zero.
    sink = cast_to(attn_sink, float32).view(1, heads, 1).expand(tokens, heads, 1)
    top = emit("maximum", emit("amax", scores, dim=[2]).unsqueeze(2), sink)
    weights = emit("exp", scores - top)
    total = emit("sum", weights, dim=[2]).unsqueeze(2) + emit("exp", sink - top)
    store(output, (weights / total) @ keys[..., :latent])
