"""Multi-head latent attention (MLA): each token has one row with a latent and a rotary part."""

from __future__ import annotations

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_shape, need_tensor
from infinicore.functions._operands import store
from infinicore.functions.cache.mla import _joined


@function
def concat_mla_q(ql_nope: Tensor, q_pe: Tensor) -> Tensor:
    """Concatenates queries [tokens, heads, L] and their rotary parts [tokens, heads, R] to [tokens,
    heads, L + R].

    >>> infinicore.concat_mla_q(infinicore.ones(1, 1, 2), infinicore.zeros(1, 1, 1))
    tensor([[[1., 1., 0.]]])
    """
    name = "concat_mla_q"
    need_shape(name, "q_pe", q_pe, *ql_nope.shape[:-1], None)
    return _joined(ql_nope, q_pe)


@function
def _paged_attention_mla(
    output: Tensor,
    query: Tensor,
    kv_cache: Tensor,
    scale: float,
    block_tables: Tensor,
    context_lens: Tensor,
) -> Tensor:
    name = "paged_attention_mla_"
    need_tensor(name, "query", query, 3)
    need_shape(name, "kv_cache", kv_cache, None, None, query.shape[2])
    need_tensor(name, "output", output, 3)
    size = output.shape[2]
    need_shape(name, "output", output, query.shape[0], query.shape[1], size)
    expect(size <= query.shape[2], name, "output.shape", tuple(output.shape), "a part of a row")
    keys = kv_cache.unsqueeze(1)
    places = (block_tables, context_lens)
    store(output, emit("paged_attention", query, keys, keys[..., :size], *places, scale=scale))
    return output


def paged_attention_mla_(
    output: Tensor,
    query: Tensor,
    kv_cache: Tensor,
    scale: float,
    block_tables: Tensor,
    context_lens: Tensor,
    max_context_len: int | None = None,
) -> None:
    """MLA of one query for each sequence, [S, H, 576], to the first context_lens[s]
    rows of its pages in kv_cache [pages, block_size, 576]; output [S, H, 512] becomes the weighted
    sum of the rows' first elements. Other sizes are supported too. `max_context_len` is ignored.

    >>> output, row = infinicore.zeros(1, 1, 2), infinicore.ones(1, 1, 3)
    >>> tables, lengths = infinicore.tensor([[0]]), infinicore.tensor([1])
    >>> infinicore.paged_attention_mla_(output, row, row, 1.0, tables, lengths)
    >>> output
    tensor([[[1., 1.]]])
    """
    _paged_attention_mla(output, query, kv_cache, scale, block_tables, context_lens)
