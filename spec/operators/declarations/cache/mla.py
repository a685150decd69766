"""Writing latents of MLA into caches in e4m3."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from ...language.numeric import encode, round_to

LARGEST = 448.0  # of e4m3


@operator(
    "Fp8MlaRmsnormCache(!cache_desc, !vendor_cache_desc, compressed_kv_desc, norm_weight_desc, "
    "rope_desc, slot_mapping_desc, double eps)",
    """
    inout cache          U8    [N, R, 656]  dense
    inout vendor_cache?  BF16  [N, R, 576]  dense
    compressed_kv        BF16  [T, 512]     inner1
    norm_weight          F     [512]        dense
    rope                 BF16  [T, 64]      inner1
    slot_mapping         I64   [T]          dense
    """,
    workspace=False,
    kernel=True,
)
def fp8_mla_rmsnorm_cache(
    cache: Array,
    vendor_cache: Array,
    compressed_kv: Array,
    norm_weight: Array,
    rope: Array,
    slot_mapping: Array,
    *,
    eps: float,
) -> tuple[Array, Array]:
    """Normalises latents (RMS), quantises them in groups of 128 and stores them with the rotary key
    in the slots of a cache; also, as BF16 after quantisation, in `vendor_cache` if there is one.

    Tokens whose slot the cache does not have are skipped.
    """
    import numpy as np

    entries = cache.reshape(-1, 656).copy()
    plain = None if vendor_cache is None else vendor_cache.reshape(-1, 576).copy()
    mean_square = (compressed_kv**2).mean(axis=1, keepdims=True)
    latent = round_to(compressed_kv / np.sqrt(mean_square + eps) * norm_weight, "BF16")
    groups = latent.reshape(-1, 4, 128)
    scale = round_to(np.abs(groups).max(axis=2, keepdims=True) / LARGEST, "F32")
    with np.errstate(all="ignore"):
        codes = round_to(np.where(scale > 0, groups / scale, 0.0), "F32")  # as kernels divide
    codes = round_to(codes, "F8")
    values = round_to(codes * scale, "BF16")
    for token, slot in enumerate(slot_mapping.tolist()):
        if 0 <= slot < len(entries):
            entry = entries[slot]
            entry[:512] = encode(codes[token].reshape(512), "F8")
            entry[512:528] = encode(scale[token].reshape(4), "F32").view(np.uint8)
            entry[528:] = encode(rope[token], "BF16").view(np.uint8)
            if plain is not None:
                plain[slot, :512], plain[slot, 512:] = values[token].reshape(512), rope[token]
    whole = None if plain is None else plain.reshape(vendor_cache.shape)
    return entries.reshape(cache.shape), whole
