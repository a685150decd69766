"""Writing keys and values into caches."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator


@operator(
    "KVCaching(!k_cache, !v_cache, k, v, past_kv_lengths)",
    """
    inout k_cache    F         [B, H, M, D]
    inout v_cache    =k_cache  [B, H, M, D]
    k                =k_cache  [B, H, S, D]
    v                =k_cache  [B, H, S, D]
    past_kv_lengths  IDX       [B]
    """,
    kernel=True,
    public="""
        kv_caching(k_cache, v_cache, k, v, past_kv_lengths) -> tuple
            Appends keys and values [B, H, S, D] to caches [B, H, rows, D], in place: row s of
            sequence b goes to row past_kv_lengths[b] + s, or nowhere if there is no such row.
            Returns the caches.

            >>> cache = infinicore.zeros(1, 1, 2, 1)
            >>> row = infinicore.ones(1, 1, 1, 1)
            >>> past = infinicore.tensor([1])
            >>> infinicore.kv_caching(cache, cache.clone(), row, row, past)[0].flatten()
            tensor([0., 1.])
    """,
)
def kv_caching(
    k_cache: Array, v_cache: Array, k: Array, v: Array, past_kv_lengths: Array
) -> tuple[Array, Array]:
    """Appends keys and values to caches: row s of sequence b goes to row past_kv_lengths[b] + s.

    Rows that the caches do not have are skipped.
    """
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    for b, past in enumerate(past_kv_lengths.tolist()):
        for s in range(k.shape[2]):
            if 0 <= past + s < k_cache.shape[2]:
                k_cache[b, :, past + s] = k[b, :, s]
                v_cache[b, :, past + s] = v[b, :, s]
    return k_cache, v_cache


@operator(
    "PagedCaching(!k_cache_desc, !v_cache_desc, k_desc, v_desc, slot_mapping_desc)",
    """
    inout k_cache  F         [N, H, R, D]  inner1
    inout v_cache  =k_cache  [N, H, R, E]  inner1
    k              =k_cache  [T, H, D]     inner1
    v              =k_cache  [T, H, E]     inner1
    slot_mapping   I64       [T]
    """,
    kernel="kv_caching",
)
def paged_caching(
    k_cache: Array, v_cache: Array, k: Array, v: Array, slot_mapping: Array
) -> tuple[Array, Array]:
    """Writes the keys and values of tokens into the slots of a paged cache.

    Slot s is row s % block_size of block s // block_size. Tokens with a negative slot, or one that
    the cache does not have, are skipped. Of tokens with the same slot the last one wins.
    """
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    blocks, _, block_size, _ = k_cache.shape
    for token, slot in enumerate(slot_mapping.tolist()):
        if 0 <= slot < blocks * block_size:
            block, row = divmod(slot, block_size)
            k_cache[block, :, row] = k[token]
            v_cache[block, :, row] = v[token]
    return k_cache, v_cache


@operator(
    "NsaCompressPagedCache(!k_cmp_desc, !v_cmp_desc, k_cache_desc, v_cache_desc, "
    "block_tables_desc, seq_lens_desc, int nsa_block_size, int update_last_only)",
    """
    inout k_cmp   H16           [C, H, 128]     inner1
    inout v_cmp   =k_cmp        [C, H, 128]     inner1
    k_cache       =k_cmp        [N, H, R, 128]  inner1
    v_cache       =k_cmp        [N, H, R, 128]  inner1
    block_tables  I32|I64|U32   [S, M]
    seq_lens      =block_tables [S]
    """,
    where="nsa_block_size > 0; R % nsa_block_size == 0; C == N * (R // nsa_block_size)",
    kernel=True,
)
def nsa_compress_paged_cache(
    k_cmp: Array,
    v_cmp: Array,
    k_cache: Array,
    v_cache: Array,
    block_tables: Array,
    seq_lens: Array,
    *,
    nsa_block_size: int,
    update_last_only: int,
) -> tuple[Array, Array]:
    """Means of the keys and values of a paged cache over every `nsa_block_size` tokens.

    The mean of tokens in page p, from row i * nsa_block_size on, is row p * (block_size /
    nsa_block_size) + i of the results. The last block's mean is over the tokens that it has. With
    `update_last_only` only that one is written. Pages that the cache does not have are skipped.
    """
    k_cmp, v_cmp = k_cmp.copy(), v_cmp.copy()
    pages, _, block_size, _ = k_cache.shape
    for table, length in zip(block_tables.tolist(), seq_lens.tolist(), strict=True):
        length = min(length, len(table) * block_size)
        last = (length - 1) // nsa_block_size * nsa_block_size
        for begin in range(0, length, nsa_block_size):
            page, row = table[begin // block_size], begin % block_size
            if (update_last_only and begin != last) or not 0 <= page < pages:
                continue
            tokens = slice(row, row + min(nsa_block_size, length - begin))
            target = (page * block_size + row) // nsa_block_size
            k_cmp[target] = k_cache[page, :, tokens].mean(axis=1)
            v_cmp[target] = v_cache[page, :, tokens].mean(axis=1)
    return k_cmp, v_cmp
