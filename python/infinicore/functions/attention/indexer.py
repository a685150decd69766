"""The indexer of sparse attention (DSA): scores of all keys, and the top k of them.

The docstrings state the assumed semantics: these functions are known only as one vendor's kernels.
Positions of keys count within their sequence; -1 means none.
"""

from __future__ import annotations

from infinicore import _core
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import (
    counting,
    filled,
    float32_at_least,
    rows_of,
    store,
    store_rows,
)


def _store_keys(name: str, k: Tensor, kv_cache: Tensor, slots: Tensor) -> None:
    """Writes keys to slots of pages [pages, block_size, D] (or with a dimension of one head)."""
    need_tensor(name, "k", k)
    need_tensor(name, "kv_cache", kv_cache)
    if kv_cache.dtype._code in ("U8", "F8"):
        raise NotImplementedError(
            f"{name}: kv_cache has type {kv_cache.dtype!r}: a cache of bytes takes its keys and"
            " their scales from lib._infinicore.fused_fp8_indexer_; here they stay as they are"
        )
    cache = kv_cache if kv_cache.ndim == 3 else kv_cache.view(*kv_cache.shape[:2], -1)
    rows = k.reshape(slots.shape[0], -1)
    need_shape(name, "k", rows, slots.shape[0], cache.shape[2])
    store_rows(name, cache, slots, rows)


@function
def indexer_k_cache_(k: Tensor, kv_cache: Tensor, slot_mapping: Tensor) -> None:
    """Writes the indexer's keys [tokens, D] into slots of kv_cache [pages, block_size, D]: row
    slot_mapping[t], if it is valid.

    >>> cache = infinicore.zeros(1, 2, 1)
    >>> infinicore.indexer_k_cache_(infinicore.ones(1, 1), cache, infinicore.tensor([1]))
    >>> cache.flatten()
    tensor([0., 1.])
    """
    name = "indexer_k_cache_"
    slots = integers(name, "slot_mapping", slot_mapping).flatten()
    _store_keys(name, k[: slots.shape[0]], kv_cache, slots)


@function
def _mqa_logits(
    logits: Tensor,
    q: Tensor,
    kv_cache: Tensor,
    bounds_q: Tensor,
    bounds_kv: Tensor,
    block_table: Tensor,
    weights: Tensor,
) -> Tensor:
    name = "compute_block_sparse_mqa_logits_"
    need_tensor(name, "q", q, 3)
    tokens, heads, size = q.shape
    need_tensor(name, "logits", logits, 2)
    columns = logits.shape[1]
    need_shape(name, "logits", logits, tokens, columns)
    need_tensor(name, "weights", weights)
    requests = block_table.shape[0]
    for argument, value in (("cu_seqlens_q", bounds_q), ("cu_seqlens_kv", bounds_kv)):
        need_shape(name, argument, value, requests + 1)
    block = kv_cache.shape[1]
    pages = rows_of(name, "kv_cache", kv_cache)
    pages = pages.reshape(pages.shape[0], -1)
    expect(pages.shape[1] == size, name, "kv_cache.shape", tuple(kv_cache.shape), f"rows of {size}")
    begins = integers(name, "cu_seqlens_q", bounds_q)
    lengths = integers(name, "cu_seqlens_kv", bounds_kv)
    lengths = lengths[1:] - lengths[:-1]
    numbers = counting(tokens, q)
    request = emit("searchsorted", begins[1:].contiguous(), numbers, right=True)
    # The last query of a request is at the position of its last key.
    pick = {"dim": 0}
    last = emit("index_select", lengths, request, **pick)
    behind = emit("index_select", begins[1:].contiguous(), request, **pick) - 1 - numbers
    position = last - 1 - behind
    keys = counting(columns, q)
    tables = integers(name, "block_table", block_table)
    own = emit("index_select", tables, request, **pick)  # [tokens, blocks]
    page_of = keys.view(1, columns) // block
    page = emit("gather", own, page_of.expand(tokens, columns).contiguous(), dim=1)
    inside = page_of < tables.shape[1]
    known = inside & (page >= 0) & (page < kv_cache.shape[0])
    row = page * block + (keys % block).view(1, columns)
    found = emit("index_select", pages, row.reshape(-1), **pick).view(tokens, columns, size)
    dots = float32_at_least(q) @ float32_at_least(found).transpose(1, 2)  # [tokens, heads, columns]
    parts = emit("relu", dots) * float32_at_least(weights.reshape(tokens, heads, 1))
    total = emit("sum", parts, dim=[1])
    seen = known & (keys.view(1, columns) <= position.view(tokens, 1))
    seen = seen & (request < requests).view(tokens, 1)
    store(logits, emit("where", seen, total, float("-inf")))
    return logits


def compute_block_sparse_mqa_logits_(
    logits: Tensor,
    q: Tensor,
    kv_cache: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_kv: Tensor,
    block_table: Tensor,
    weights: Tensor,
    max_q_len: int | None = None,
    max_kv_len: int | None = None,
    max_context_len: int | None = None,
) -> None:
    """The indexer's scores: logits[t, p] becomes the sum over heads of weights[t, h] * relu(q[t, h]
    . k) for key p of the request of token t, and -inf for keys behind the token and those without a
    page. logits [tokens, columns], q [tokens, heads, D], kv_cache [pages, block_size, D], weights
    [tokens, heads]; cu_seqlens [requests + 1] bound the queries and count the keys of requests. The
    last query of a request is at the position of its last key. The trailing length arguments are
    ignored.

    >>> logits, one = infinicore.zeros(1, 2), infinicore.ones(1, 1, 1)
    >>> bounds, table = infinicore.tensor([0, 1]), infinicore.tensor([[0]])
    >>> infinicore.compute_block_sparse_mqa_logits_(logits, one, one, bounds, bounds, table, one[0])
    >>> logits
    tensor([[  1., -inf]])
    """
    _mqa_logits(logits, q, kv_cache, cu_seqlens_q, cu_seqlens_kv, block_table, weights)


def _select(name: str, chosen: Tensor, logits: Tensor, begins: Tensor | None, ends: Tensor) -> None:
    """The indices of the largest of columns begins .. ends - 1, relative to begins; then -1."""
    need_tensor(name, "logits", logits, 2)
    rows, columns = logits.shape
    wanted = chosen.reshape(rows, -1) if rows else chosen
    count = min(wanted.shape[1], columns)
    places = counting(columns, logits).view(1, columns)
    open_ = places < ends.view(rows, 1)
    if begins is not None:
        open_ = open_ & (places >= begins.view(rows, 1))
    masked = emit("where", open_, float32_at_least(logits), float("-inf"))
    shape = (rows, count)
    results = (
        _core.empty(shape, masked.dtype, logits.device),
        _core.empty(shape, int64, logits.device),
    )
    _, indices = emit("topk", masked, dim=1, k=count, largest=True, sorted=True, out=results)
    # Excluded columns are as small as those with -inf, so the chosen indices are checked again.
    valid = indices < ends.view(rows, 1)
    if begins is not None:
        valid = valid & (indices >= begins.view(rows, 1))
        indices = indices - begins.view(rows, 1)
    indices = emit("where", valid, indices, -1)
    target = chosen if chosen.ndim == 2 else chosen.view(rows, -1)
    store(target[:, :count], indices)
    if count < target.shape[1]:
        rest = (rows, target.shape[1] - count)
        store(target[:, count:], filled(rest, -1, target.dtype, target))


@function
def select_decode_topk_block_indices_(
    topk_indices: Tensor, logits: Tensor, seq_lens: Tensor
) -> None:
    """The positions of the largest logits [rows, columns] of each row among the first
    seq_lens[row], descending, written to topk_indices [rows, K]; -1 where there are too few. If a
    request has n rows, its last one sees seq_lens keys, and each earlier one sees one key less.

    >>> chosen = infinicore.zeros(1, 2, dtype=infinicore.int32)
    >>> logits, lengths = infinicore.tensor([[1.0, 3.0, 9.0]]), infinicore.tensor([2])
    >>> infinicore.select_decode_topk_block_indices_(chosen, logits, lengths)
    >>> chosen
    tensor([[1, 0]], dtype=infinicore.int32)
    """
    name = "select_decode_topk_block_indices_"
    need_tensor(name, "logits", logits, 2)
    lengths = integers(name, "seq_lens", seq_lens).flatten()
    rows, requests = logits.shape[0], lengths.shape[0]
    fits = requests > 0 and rows % requests == 0
    expect_shape(fits, name, "seq_lens", seq_lens, f"a divisor of {rows}, the number of rows")
    each = rows // requests
    ends = (lengths.view(requests, 1) - (each - 1) + counting(each, logits)).view(rows)
    _select(name, topk_indices, logits, None, ends)


@function
def select_prefill_topk_block_indices_(
    topk_indices: Tensor, logits: Tensor, cu_seqlen_ks: Tensor, cu_seqlen_ke: Tensor
) -> None:
    """The indices of the largest logits [rows, columns] of each row among the columns
    cu_seqlen_ks[r] .. cu_seqlen_ke[r] - 1, descending, written to topk_indices [rows, K]; -1 where
    there are too few. They are relative to cu_seqlen_ks[r], where the keys of the row's request
    begin.

    >>> chosen = infinicore.zeros(1, 1, dtype=infinicore.int32)
    >>> begin, end = infinicore.tensor([1]), infinicore.tensor([3])
    >>> logits = infinicore.tensor([[9.0, 1.0, 3.0]])
    >>> infinicore.select_prefill_topk_block_indices_(chosen, logits, begin, end)
    >>> chosen
    tensor([[1]], dtype=infinicore.int32)
    """
    name = "select_prefill_topk_block_indices_"
    need_tensor(name, "logits", logits, 2)
    first = integers(name, "cu_seqlen_ks", cu_seqlen_ks).flatten()
    last = integers(name, "cu_seqlen_ke", cu_seqlen_ke).flatten()
    for argument, value in (("cu_seqlen_ks", first), ("cu_seqlen_ke", last)):
        need_shape(name, argument, value, logits.shape[0])
    _select(name, topk_indices, logits, first, last)


@function
def _request_block_indices(
    name: str,
    output: Tensor,
    req_id: Tensor,
    block_table: Tensor,
    token_indices: Tensor,
    block_size: int,
    workspace_ids: Tensor | None,
    workspace_starts: Tensor | None,
) -> Tensor:
    expect(block_size > 0, name, "block_size", block_size, "1 or more")
    requests = integers(name, "req_id", req_id).flatten()
    rows = requests.shape[0]
    tables = integers(name, "block_table", block_table)
    need_tensor(name, "block_table", block_table, 2)
    places = integers(name, "token_indices", token_indices).reshape(rows, -1)
    expect_shape(output.numel() == places.numel(), name, "output", output, "that of token_indices")
    own = emit("index_select", tables, requests, dim=0)
    block = places // block_size
    page = emit("gather", own, block, dim=1)
    known = (places >= 0) & (block < tables.shape[1]) & (page >= 0)
    known = known & ((requests >= 0) & (requests < tables.shape[0])).view(rows, 1)
    slot = page * block_size + (places - block * block_size)
    if workspace_ids is not None and workspace_starts is not None:
        ids = integers(name, "prefill_workspace_request_ids", workspace_ids).flatten()
        starts = integers(name, "prefill_workspace_starts", workspace_starts).flatten()
        start = emit("index_select", starts, ids, dim=0).view(rows, 1)
        packed = (ids >= 0).view(rows, 1).expand(*places.shape)
        slot = emit("where", packed, start + places, slot)
        known = (known & ~packed) | (packed & (places >= 0))
    store(output, emit("where", known, slot, -1).view(*output.shape))
    return output


def map_decode_request_block_indices_(
    output: Tensor, req_id: Tensor, block_table: Tensor, token_indices: Tensor, block_size: int
) -> None:
    """Converts positions of keys within requests to rows of the cache: output[t, k] becomes page *
    block_size + offset, with the page of block_table[req_id[t]] that holds position
    token_indices[t, k]; -1 stays -1, and also marks positions without a page.

    >>> output = infinicore.zeros(1, 2, dtype=infinicore.int32)
    >>> table, places = infinicore.tensor([[7]]), infinicore.tensor([[3, -1]])
    >>> request = infinicore.tensor([0])
    >>> infinicore.map_decode_request_block_indices_(output, request, table, places, 4)
    >>> output
    tensor([[31, -1]], dtype=infinicore.int32)
    """
    name = "map_decode_request_block_indices_"
    _request_block_indices(name, output, req_id, block_table, token_indices, block_size, None, None)


def map_prefill_request_block_indices_(
    output: Tensor,
    req_id: Tensor,
    block_table: Tensor,
    token_indices: Tensor,
    block_size: int,
    has_prefill_workspace: bool = False,
    prefill_workspace_request_ids: Tensor | None = None,
    prefill_workspace_starts: Tensor | None = None,
) -> None:
    """Like map_decode_request_block_indices_. With `has_prefill_workspace` the keys of some
    requests are packed: where prefill_workspace_request_ids[t] is not negative, it is the index
    into prefill_workspace_starts of the row that the positions of token t are relative to.

    >>> output = infinicore.zeros(1, 1, dtype=infinicore.int32)
    >>> zero, places = infinicore.tensor([0]), infinicore.tensor([[3]])
    >>> table, starts = infinicore.tensor([[7]]), infinicore.tensor([100])
    >>> infinicore.map_prefill_request_block_indices_(
    ...     output, zero, table, places, 4, True, zero, starts
    ... )
    >>> output
    tensor([[103]], dtype=infinicore.int32)
    """
    name = "map_prefill_request_block_indices_"
    ids, starts = prefill_workspace_request_ids, prefill_workspace_starts
    if not has_prefill_workspace:
        ids = starts = None
    elif ids is None or starts is None:
        raise TypeError(
            f"{name}: has_prefill_workspace is set: expected"
            " prefill_workspace_request_ids and prefill_workspace_starts"
        )
    _request_block_indices(
        name, output, req_id, block_table, token_indices, block_size, ids, starts
    )


@function
def topk_indices_context_lens_(topk_lens: Tensor, indices: Tensor) -> None:
    """Counts the indices [rows, ..., K] of each row that are not -1, into topk_lens [rows].

    >>> count = infinicore.zeros(1, dtype=infinicore.int32)
    >>> infinicore.topk_indices_context_lens_(count, infinicore.tensor([[4, 2, -1]]))
    >>> count
    tensor([2], dtype=infinicore.int32)
    """
    need_tensor("topk_indices_context_lens_", "topk_lens", topk_lens)
    need_tensor("topk_indices_context_lens_", "indices", indices)
    name = "topk_indices_context_lens_"
    rows = topk_lens.numel()
    places = integers(name, "indices", indices).reshape(rows, -1)
    store(topk_lens, emit("sum", cast_to(places >= 0, int64), dim=[1]).view(*topk_lens.shape))
