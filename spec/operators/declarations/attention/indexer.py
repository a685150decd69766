"""Sparse attention over caches in e4m3: the indexer that selects keys, and MLA over them.

Two layouts of cache entries. The indexer's pages [block_size, 132] hold block_size * 128 bytes of
e4m3, then a F32 scale for each row. A latent entry has 656 bytes: 512 of e4m3, 4 F32 scales for
groups of 128, and 64 BF16 of rotary key.
"""

from __future__ import annotations

import math

from ...language.expression import Array
from ...language.model import operator
from ...language.numeric import decode, encode, round_to
from ..rope.rope import rotate, rows
from .attention import attend

LARGEST = 448.0  # of e4m3


def quantise(x: Array) -> tuple[Array, Array]:
    """Rows in e4m3 and their scales, the least powers of two that let them fit."""
    import numpy as np

    amax = np.maximum(np.abs(x).max(axis=-1, initial=0.0), 1e-4)
    fraction, exponent = np.frexp(amax / LARGEST)
    scale = np.ldexp(1.0, np.where(fraction == 0.5, exponent - 1, exponent))
    return round_to(np.clip(x / scale[..., None], -LARGEST, LARGEST), "F8"), scale


def rotate_pairs(x: Array, table: Array, positions: Array) -> Array:
    """Rotary embedding of x [T, H, 128]: pairs (2i, 2i + 1), on as many elements as the table's
    rows have; these hold cosines, then sines."""
    x = x.copy()
    size = table.shape[1]
    angles = rows(table, positions)[:, None]
    cos, sin = angles[..., : size // 2], angles[..., size // 2 :]
    x[..., 0:size:2], x[..., 1:size:2] = rotate(
        x[..., 0:size:2].copy(), x[..., 1:size:2].copy(), sin, cos
    )
    return x


@operator(
    "Fp8IndexerQuant(!q_fp8_desc, !weights_fp32_desc, q_desc, weights_desc)",
    """
    out q_fp8         F8   [T, H, D]  dense
    out weights_fp32  F32  [T, H]     dense
    q                 H16  [T, H, D]  dense
    weights           F    [T, H]     dense
    """,
    workspace=False,
    kernel=True,
)
def fp8_indexer_quant(q: Array, weights: Array) -> tuple[Array, Array]:
    """Queries in e4m3, with the scale of each row, a power of two, multiplied into its weight."""
    quantised, scale = quantise(q)
    return quantised, weights * scale


@operator(
    "FusedFp8Indexer(!q_fp8_desc, !weights_fp32_desc, !k_cache_desc, q_raw_desc, k_weights_desc, "
    "norm_weight_desc, norm_bias_desc, positions_desc, cos_sin_cache_desc, slot_mapping_desc, "
    "uint64_t rope_dim, double eps, double weights_scale)",
    """
    out q_fp8         F8      [T, H, 128]    dense
    out weights_fp32  F32     [T, H]         dense
    inout k_cache     U8      [N, R, 132]    dense
    q_raw             H16     [T, H, 128]    dense
    k_weights         =q_raw  [T, 128 + H]   dense
    norm_weight       F       [128]          dense
    norm_bias         F       [128]          dense
    positions         I64     [T]            dense
    cos_sin_cache     F       [P, rope_dim]  dense
    slot_mapping      I64     [T]            dense
    """,
    where="P > 0; rope_dim % 2 == 0; rope_dim <= 128",
    header="fp8_indexer_quant",
    workspace=False,
    kernel=True,
)
def fused_fp8_indexer(
    k_cache: Array,
    q_raw: Array,
    k_weights: Array,
    norm_weight: Array,
    norm_bias: Array,
    positions: Array,
    cos_sin_cache: Array,
    slot_mapping: Array,
    *,
    rope_dim: int,
    eps: float,
    weights_scale: float,
    dtypes: dict[str, str],
) -> tuple[Array, Array, Array]:
    """The preparation of new tokens for the indexer: queries rotated and in e4m3, their weights
    with the scales, and keys after LayerNorm and rotation in e4m3 in the slots of the cache.

    Tokens whose slot the cache does not have store no key. Positions that the table does not have
    use row 0.
    """
    import numpy as np

    dtype = dtypes["q_raw"]
    k_cache = k_cache.copy()
    pages, page_size, _ = k_cache.shape
    rotated = round_to(rotate_pairs(q_raw, cos_sin_cache, positions), dtype)
    q_fp8, q_scale = quantise(rotated)
    weights = round_to(k_weights[:, 128:] * weights_scale, dtype) * q_scale

    key = k_weights[:, :128]
    mean, variance = key.mean(axis=1, keepdims=True), key.var(axis=1, keepdims=True)
    key = (key - mean) / np.sqrt(variance + eps) * norm_weight + norm_bias
    key = round_to(rotate_pairs(key[:, None], cos_sin_cache, positions)[:, 0], dtype)
    k_fp8, k_scale = quantise(key)
    for token, slot in enumerate(slot_mapping.tolist()):
        if 0 <= slot < pages * page_size:
            page, row = k_cache[slot // page_size].reshape(-1), slot % page_size
            at = page_size * 128 + row * 4
            page[row * 128 : row * 128 + 128] = encode(k_fp8[token], "F8")
            page[at : at + 4] = encode(k_scale[token : token + 1], "F32").view(np.uint8)
    return q_fp8, weights, k_cache


@operator(
    "Fp8IndexerLogits(!logits_desc, q_fp8_desc, kv_cache_desc, block_tables_desc, "
    "weights_fp32_desc, positions_desc, request_ids_desc)",
    """
    out logits    F32  [T, C]        dense
    q_fp8         F8   [T, H, 128]   dense
    kv_cache      U8   [N, 64, 132]  dense
    block_tables  I32  [R, M]        dense
    weights_fp32  F32  [T, H]        dense
    positions     I64  [T]           dense
    request_ids   I32  [T]           dense
    """,
    workspace=False,
    kernel=True,
)
def fp8_indexer_logits(
    q_fp8: Array,
    kv_cache: Array,
    block_tables: Array,
    weights_fp32: Array,
    positions: Array,
    request_ids: Array,
    *,
    shapes: dict[str, tuple[int, ...]],
) -> Array:
    """The indexer's score of every key p <= position for each token: the sum over heads of
    weight * relu(q . k_p * scale_p).

    All that is not such a key is -inf: later ones, pages or requests that do not exist.
    """
    import numpy as np

    logits = np.full(shapes["logits"], -math.inf)
    pages = len(kv_cache)
    flat = kv_cache.reshape(pages, 64 * 132)
    keys = decode(flat[:, : 64 * 128], "F8").reshape(pages, 64, 128)
    scales = decode(flat[:, 64 * 128 :].copy().view(np.float32), "F32").reshape(pages, 64)
    requests, most = block_tables.shape
    for token, (position, request) in enumerate(zip(positions, request_ids, strict=True)):
        if not 0 <= request < requests:
            continue
        for p in range(min(int(position) + 1, logits.shape[1], most * 64)):
            page = block_tables[request, p // 64]
            if 0 <= page < pages:
                score = q_fp8[token] @ keys[page, p % 64] * scales[page, p % 64]
                logits[token, p] = np.maximum(score, 0) @ weights_fp32[token]
    return logits


@operator(
    "Fp8SparseMla(!output_desc, query_desc, kv_cache_desc, indices_desc, topk_lens_desc, "
    "float scale)",
    """
    out output  BF16  [T, H, 512]  inner1
    query       BF16  [T, H, 576]  inner1
    kv_cache    U8    [N, 1, 656]  inner1
    indices     I32   [T, 1, K]
    topk_lens   I32   [T]
    """,
    kernel=True,
)
def fp8_sparse_mla(
    query: Array, kv_cache: Array, indices: Array, topk_lens: Array, *, scale: float
) -> Array:
    """MLA of each token over the entries given by its first `topk_lens` indices, 512 of
    latent and 64 of rotary key; the result is the weighted latent.

    Indices outside the cache are skipped; without any entries the result is zeros.
    """
    import numpy as np

    entries = np.ascontiguousarray(kv_cache[:, 0])
    codes = decode(entries[:, :512], "F8").reshape(-1, 4, 128)
    scales = decode(entries[:, 512:528].copy().view(np.float32), "F32").reshape(-1, 4, 1)
    latent = (codes * scales).reshape(-1, 512)
    rotary = decode(entries[:, 528:].copy().view(np.uint16), "BF16").reshape(-1, 64)
    keys = np.concatenate([latent, rotary], axis=1)
    output = np.zeros((*query.shape[:2], 512))
    for token, count in enumerate(topk_lens.tolist()):
        chosen = indices[token, 0, : max(count, 0)]
        chosen = chosen[(chosen >= 0) & (chosen < len(keys))]
        heads = query[token][:, None]
        output[token] = attend(heads, keys[chosen][None], latent[chosen][None], scale)[:, 0]
    return output
