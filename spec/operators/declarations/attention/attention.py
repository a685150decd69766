"""Softmax attention: dense, paged, sparse."""

from __future__ import annotations

import math

from ...language.expression import Array
from ...language.model import operator


def softmax(scores: Array) -> Array:
    """Over the last axis; a row of nothing but -inf gives zeros."""
    import numpy as np

    top = scores.max(axis=-1, keepdims=True, initial=-math.inf)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1.0, total)


def attend(
    q: Array,
    k: Array,
    v: Array,
    scale: float,
    visible: Array = True,
    bias: Array = 0.0,
    softcap: float = 0.0,
) -> Array:
    """Attention of q [Hq, Lq, D] to k [Hkv, Lk, D] and v [Hkv, Lk, E]. Query head h uses key head
    h // (Hq / Hkv); `visible` and `bias` broadcast to [Hq, Lq, Lk]."""
    import numpy as np

    group = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
    scores = scale * (q @ k.transpose(0, 2, 1))
    if softcap > 0:
        scores = softcap * np.tanh(scores / softcap)
    return softmax(np.where(visible, scores + bias, -math.inf)) @ v


def pages(cache: Array, table: Array, length: int) -> tuple[Array, Array]:
    """Rows [H, length, D] of a sequence in a paged cache [N, H, R, D], and for each row whether the
    cache has the page that the table names."""
    import numpy as np

    blocks, _, block_size, _ = cache.shape
    place = np.arange(length)
    page = table.astype(np.int64)[place // block_size]
    known = (page >= 0) & (page < blocks)
    if blocks == 0:
        return np.zeros((cache.shape[1], length, cache.shape[3])), known
    return cache[np.where(known, page, 0), :, place % block_size].transpose(1, 0, 2), known


@operator(
    "Attention(!out_desc, q_desc, k_desc, v_desc, !k_cache_desc, !v_cache_desc, size_t pos)",
    """
    out out        F     [S, Hq, D]   dense
    q              =out  [Hq, S, D]   inner1
    k              =out  [Hkv, S, D]  inner1
    v              =out  [Hkv, S, D]  inner1
    inout k_cache  =out  [Hkv, M, D]  inner1
    inout v_cache  =out  [Hkv, N, D]  inner1
    """,
    where="Hkv > 0; D > 0; Hq % Hkv == 0; pos >= 0; M >= pos + S; N >= pos + S",
    kernel="dense_attention",
    public="""
        attention(q, k, v, k_cache, v_cache, pos)
            Stores keys and values [Hkv, S, D] into rows pos .. pos + S - 1 of the caches [Hkv,
            rows, D], then attends from queries [Hq, S, D] to all rows up to their own, with scale 1
            / sqrt(D). The result is [S, Hq, D].

            >>> q = k = v = infinicore.ones(1, 1, 2)
            >>> caches = infinicore.zeros(1, 4, 2), infinicore.zeros(1, 4, 2)
            >>> infinicore.attention(q, k, v, *caches, 0)
            tensor([[[1., 1.]]])
    """,
)
def attention(
    q: Array, k: Array, v: Array, k_cache: Array, v_cache: Array, *, pos: int
) -> tuple[Array, Array, Array]:
    """Stores keys and values into the caches from row `pos` on, then causal attention of the
    queries to all rows up to their own, with scale 1/sqrt(D)."""
    import numpy as np

    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    count, end = q.shape[1], pos + q.shape[1]
    k_cache[:, pos:end], v_cache[:, pos:end] = k, v
    visible = np.arange(end) <= pos + np.arange(count)[:, None]
    scale = 1 / math.sqrt(q.shape[2])
    out = attend(q, k_cache[:, :end], v_cache[:, :end], scale, visible)
    return out.transpose(1, 0, 2), k_cache, v_cache


@operator(
    "FlashAttention(!out_desc, q_desc, k_desc, v_desc, total_kv_len, float scale, char is_causal)",
    """
    out out        F     [B, Hq, Lq, D]
    q              =out  [B, Hq, Lq, D]
    k              =out  [B, Hkv, Lk, D]
    v              =out  [B, Hkv, Lk, D]
    total_kv_len?  I32   [B]
    """,
    where="Hkv > 0; D > 0; Hq % Hkv == 0",
    kernel="dense_attention",
)
def flash_attention(
    q: Array, k: Array, v: Array, total_kv_len: Array | None, *, scale: float, is_causal: int
) -> Array:
    """Attention of each batch entry to its first `total_kv_len` keys, or to all of them.

    With `is_causal`, query i sees the keys j <= i + total_kv_len - Lq. Queries without visible keys
    give zeros. Lengths are clamped to 0..Lk.
    """
    import numpy as np

    out = np.zeros_like(q)
    given = np.full(len(q), k.shape[2]) if total_kv_len is None else total_kv_len
    for b, total in enumerate(np.clip(given, 0, k.shape[2]).tolist()):
        query = np.arange(q.shape[2])[:, None]
        visible = np.arange(total) <= query + (total - q.shape[2]) if is_causal else True
        out[b] = attend(q[b], k[b, :, :total], v[b, :, :total], scale, visible)
    return out


@operator(
    "PagedAttention(!out_desc, q_desc, k_cache_desc, v_cache_desc, block_tables_desc, "
    "seq_lens_desc, alibi_slopes_desc, float scale)",
    """
    out out        F              [S, Hq, E]      inner1
    q              =out           [S, Hq, D]      inner1
    k_cache        =out           [N, Hkv, R, D]  inner1
    v_cache        =out           [N, Hkv, R, E]  inner1
    block_tables   I32|I64|U32    [S, M]
    seq_lens       =block_tables  [S]
    alibi_slopes?  F32            [Hq]
    """,
    where="Hkv > 0; D > 0; Hq % Hkv == 0; R > 0",
    kernel=True,
    public="""
        paged_attention(q, k_cache, v_cache, block_tables, cache_lens, alibi_slopes=None, scale=1.0)
            Attention of one query for each sequence, q [S, Hq, D], to the first cache_lens[s] keys
            of its pages: caches [pages, Hkv, block_size, D], block_tables [S, blocks]. The lengths
            count the new token. The result is [S, Hq, size of a value].

            >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
            >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
            >>> infinicore.paged_attention(q, cache, cache, table, length)
            tensor([[[1., 1.]]])
    """,
)
def paged_attention(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    alibi_slopes: Array,
    *,
    scale: float,
) -> Array:
    """Attention of one query for each sequence to the keys and values of a paged cache.

    Key t of sequence s is row t % block_size of block block_tables[s, t // block_size]. Slopes add
    slope * (t - seq_len + 1) to the scores. Keys in blocks that the cache does not have are
    skipped, lengths are limited to the size of the table, and a sequence without keys gives zeros.
    The value size may differ from the key size (512 and 576 in MLA).
    """
    import numpy as np

    out = np.zeros((*q.shape[:2], v_cache.shape[3]))
    for s, length in enumerate(_lengths(seq_lens, block_tables, k_cache)):
        k, known = pages(k_cache, block_tables[s], length)
        v, _ = pages(v_cache, block_tables[s], length)
        bias = _alibi(alibi_slopes, np.arange(length) - (length - 1))
        out[s] = attend(q[s][:, None], k, v, scale, known, bias)[:, 0]
    return out


@operator(
    "PagedAttentionPrefill(!out_desc, q_desc, k_cache_desc, v_cache_desc, block_tables_desc, "
    "seq_lens_desc, cum_seq_lens_q_desc, alibi_slopes_desc, float scale)",
    """
    out out         F            [T, Hq, E]      inner1
    q               =out         [T, Hq, D]      inner1
    k_cache         =out         [N, Hkv, R, D]  inner1
    v_cache         =out         [N, Hkv, R, E]  inner1
    block_tables    I32|I64|U32  [S, M]
    seq_lens        I32|I64|U32  [S]
    cum_seq_lens_q  I32|I64|U32  [S + 1]
    alibi_slopes?   F32          [Hq]
    """,
    where="Hkv > 0; D > 0; Hq % Hkv == 0; R > 0",
    kernel="paged_attention",
    public="""
        paged_attention_prefill(q, k_cache, v_cache, block_tables, history_lens, cu_seqlens_q,
            alibi_slopes=None, scale=1.0)
            Causal attention of the new tokens of sequences to pages that hold their keys already.
            The rows of sequence s in q [tokens, Hq, D] are cu_seqlens_q[s] up to cu_seqlens_q[s +
            1]; `history_lens` [S] count all its keys, the new ones among them. Caches are [pages,
            Hkv, block_size, D], block_tables [S, blocks]; the result is [tokens, Hq, size of a
            value].

            >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
            >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
            >>> bounds = infinicore.tensor([0, 1])
            >>> infinicore.paged_attention_prefill(q, cache, cache, table, length, bounds)
            tensor([[[1., 1.]]])
    """,
)
def paged_attention_prefill(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    cum_seq_lens_q: Array,
    alibi_slopes: Array,
    *,
    scale: float,
) -> Array:
    """Causal attention of the new tokens of several sequences to a paged cache that holds them.

    The queries of sequence s are the rows cum_seq_lens_q[s] .. cum_seq_lens_q[s + 1] - 1; seq_lens
    counts the keys with the new ones, so query r of n sees the keys t <= seq_len - n + r. Slopes
    add slope * (t - that limit). Invalid blocks and lengths are handled as in paged_attention;
    bounds of queries are clamped to 0..T and made monotonic, and rows of no sequence give zeros.
    """
    return _paged(
        q, k_cache, v_cache, block_tables, seq_lens, cum_seq_lens_q, alibi_slopes, scale, 0, 0.0
    )


@operator(
    "PagedAttentionVarlen(!out_desc, q_desc, k_cache_desc, v_cache_desc, block_tables_desc, "
    "seq_lens_desc, cum_seq_lens_q_desc, alibi_slopes_desc, float scale, int window, "
    "float softcap)",
    """
    out out          F            [T, Hq, E]      inner1
    q                =out         [T, Hq, D]      inner1
    k_cache          =out         [N, Hkv, R, D]  inner1
    v_cache          =out         [N, Hkv, R, E]  inner1
    block_tables     I32|I64|U32  [S, M]
    seq_lens         I32|I64|U32  [S]
    cum_seq_lens_q?  I32|I64|U32  [S + 1]
    alibi_slopes?    F32          [Hq]
    """,
    where="Hkv > 0; D > 0; Hq % Hkv == 0; R > 0; present(cum_seq_lens_q) or T == S; "
    "window >= 0; softcap >= 0",
    kernel="paged_attention",
    public="""
        paged_attention_varlen(q, k_cache, v_cache, block_tables, cache_lens, cu_seqlens_q=None,
            alibi_slopes=None, scale=1.0, window=0, softcap=0.0)
            Causal attention of the new tokens of sequences, some of which prefill a chunk while
            others decode one token, to pages that hold their keys already.

            The rows of sequence s in q [tokens, Hq, D] are cu_seqlens_q[s] up to cu_seqlens_q[s +
            1]; without `cu_seqlens_q` each sequence has one. `cache_lens` [S] count all its keys,
            the new ones among them. Caches are [pages, Hkv, block_size, D], block_tables [S,
            blocks]; the result is [tokens, Hq, size of a value].

            With a `window` a token sees itself and the window - 1 tokens before it (0: all of
            them). With a `softcap` scores s become softcap * tanh(s / softcap).

            >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
            >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
            >>> given = (q, cache, cache, table, length)
            >>> infinicore.paged_attention_varlen(*given, window=2, softcap=30.0)
            tensor([[[1., 1.]]])
    """,
)
def paged_attention_varlen(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    cum_seq_lens_q: Array,
    alibi_slopes: Array,
    *,
    scale: float,
    window: int,
    softcap: float,
) -> Array:
    """paged_attention_prefill for sequences with any numbers of new tokens, of which some prefill a
    chunk and others decode one token, with a sliding window and a soft cap.

    A query at place t (the last key that it sees) sees the keys > t - window; window 0: all up to
    t. Scores s become softcap * tanh(s / softcap) before slopes are added; softcap 0: they are
    unchanged. Without `cum_seq_lens_q` each sequence has one query.
    """
    import numpy as np

    bounds = np.arange(len(q) + 1) if cum_seq_lens_q is None else cum_seq_lens_q
    return _paged(
        q, k_cache, v_cache, block_tables, seq_lens, bounds, alibi_slopes, scale, window, softcap
    )


def _paged(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    bounds: Array,
    slopes: Array,
    scale: float,
    window: int,
    softcap: float,
) -> Array:
    import numpy as np

    out = np.zeros((*q.shape[:2], v_cache.shape[3]))
    rising = np.maximum.accumulate(np.clip(bounds.astype(np.int64), 0, len(q))).tolist()
    for s, length in enumerate(_lengths(seq_lens, block_tables, k_cache)):
        begin, end = rising[s], rising[s + 1]
        if begin >= end:
            continue
        k, known = pages(k_cache, block_tables[s], length)
        v, _ = pages(v_cache, block_tables[s], length)
        limit = length - (end - begin) + np.arange(end - begin)[:, None]
        distance = np.arange(length) - limit
        seen = known & (distance <= 0) & ((distance > -window) | (window == 0))
        query = q[begin:end].transpose(1, 0, 2)
        made = attend(query, k, v, scale, seen, _alibi(slopes, distance), softcap)
        out[begin:end] = made.transpose(1, 0, 2)
    return out


def _lengths(seq_lens: Array, block_tables: Array, cache: Array) -> list[int]:
    import numpy as np

    most = block_tables.shape[1] * cache.shape[2]
    return np.clip(seq_lens.astype(np.int64), 0, most).tolist()  # type: ignore[no-any-return]


def _alibi(slopes: Array, distance: Array) -> Array:
    return 0.0 if slopes is None else slopes[:, None, None] * distance


@operator(
    "NsaPagedAttention(!out_desc, q_desc, k_cmp_desc, v_cmp_desc, k_cache_desc, v_cache_desc, "
    "block_tables_desc, seq_lens_desc, gates_desc, float scale, int nsa_block_size, "
    "int window_size, int select_blocks)",
    """
    out out       H16            [S, Hq, 128]      inner1
    q             =out           [S, Hq, 128]      inner1
    k_cmp         =out           [C, Hkv, 128]     inner1
    v_cmp         =out           [C, Hkv, 128]     inner1
    k_cache       =out           [N, Hkv, R, 128]  inner1
    v_cache       =out           [N, Hkv, R, 128]  inner1
    block_tables  I32|I64|U32    [S, M]
    seq_lens      =block_tables  [S]
    gates         F              [S, 3, Hq]
    """,
    where="Hkv > 0; Hq % Hkv == 0; R > 0; nsa_block_size > 0; R % nsa_block_size == 0; "
    "C == N * (R // nsa_block_size); window_size >= 0; select_blocks >= 0; select_blocks <= 32",
    kernel=True,
)
def nsa_paged_attention(
    q: Array,
    k_cmp: Array,
    v_cmp: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    gates: Array,
    *,
    scale: float,
    nsa_block_size: int,
    window_size: int,
    select_blocks: int,
) -> Array:
    """Native sparse attention of one query for each sequence: the sum, by gates, of attention to
    the means of all blocks of `nsa_block_size` tokens (nsa_compress_paged_cache), to the tokens of
    the `select_blocks` blocks whose means score highest (the earlier of equal ones), and to the
    last `window_size` tokens. A part without keys adds nothing; pages that the cache does not have
    are skipped; gates have the dtype of the queries or F32.
    """
    import numpy as np

    out = np.zeros(q.shape)
    per_page = k_cache.shape[2] // nsa_block_size
    group = q.shape[1] // k_cache.shape[1]
    for s, length in enumerate(_lengths(seq_lens, block_tables, k_cache)):
        blocks = -(-length // nsa_block_size)
        means = k_cmp.reshape(-1, per_page, *k_cmp.shape[1:]).transpose(0, 2, 1, 3)
        mean_values = v_cmp.reshape(-1, per_page, *v_cmp.shape[1:]).transpose(0, 2, 1, 3)
        k_mean, known_mean = pages(means, block_tables[s], blocks)
        v_mean, _ = pages(mean_values, block_tables[s], blocks)
        k, known = pages(k_cache, block_tables[s], length)
        v, _ = pages(v_cache, block_tables[s], length)
        token = np.arange(length)
        for h in range(q.shape[1]):
            head = slice(h // group, h // group + 1)
            query = q[s, h][None, None]
            scores = np.where(known_mean, scale * (k_mean[head][0] @ q[s, h]), -math.inf)
            best = np.argsort(-scores, kind="stable")[:select_blocks]
            chosen = known & np.isin(token // nsa_block_size, best)
            near = known & (token >= length - window_size)
            parts = [
                attend(query, k_mean[head], v_mean[head], scale, known_mean),
                attend(query, k[head], v[head], scale, chosen),
                attend(query, k[head], v[head], scale, near),
            ]
            out[s, h] = sum(g * part[0, 0] for g, part in zip(gates[s, :, h], parts, strict=True))
    return out
