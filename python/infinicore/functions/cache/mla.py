"""Writing latents and rotary keys to MLA caches."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import ALL, int8
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_shape, need_tensor
from infinicore.functions._operands import float32_at_least, store_rows, with_rows
from infinicore.functions.copy.cat import cat

_E4M3 = ALL["F8"]


def _joined(first: Tensor, second: Tensor) -> Tensor:
    """Two tensors concatenated in the last dimension."""
    return cat([first, second], -1)


def _flat(name: str, argument: str, x: Any, tokens: int) -> Tensor:
    """The rows of tokens; there may be a dimension of one head in between."""
    need_tensor(name, argument, x)
    expect(x.ndim >= 2 and x.shape[0] == tokens, name, f"{argument}.shape", tuple(x.shape), "rows")
    return x.reshape(tokens, x.shape[-1])  # type: ignore[no-any-return]


@function
def concat_and_cache_mla(
    kv_c: Tensor,
    k_pe: Tensor,
    kv_cache: Tensor,
    slot_mapping: Tensor,
    kv_cache_dtype: str = "auto",
    scale: Tensor | None = None,
) -> Tensor:
    """Writes latents kv_c [tokens, L] and rotary keys k_pe [tokens, R] into slots of kv_cache
    [pages, block_size, L + R], in place: row slot_mapping[t], if it is valid. With
    `kv_cache_dtype` "fp8" the cache is of float8, and the values are divided by scale[0]. Returns
    the cache.

    >>> cache, slots = infinicore.zeros(1, 2, 3), infinicore.tensor([1])
    >>> infinicore.concat_and_cache_mla(infinicore.ones(1, 2), infinicore.ones(1, 1), cache, slots)
    tensor([[[0., 0., 0.],
             [1., 1., 1.]]])
    """
    name = "concat_and_cache_mla"
    need_tensor(name, "kv_cache", kv_cache, 3)
    slots = integers(name, "slot_mapping", slot_mapping).flatten()
    tokens = slots.shape[0]
    latent, rotary = kv_c[:tokens], k_pe[:tokens]  # graphs may have padding rows
    latent, rotary = _flat(name, "kv_c", latent, tokens), _flat(name, "k_pe", rotary, tokens)
    size = latent.shape[1] + rotary.shape[1]
    need_shape(name, "kv_cache", kv_cache, None, None, size)
    if kv_cache_dtype == "auto":
        if kv_cache.dtype._code in ("F16", "BF16", "F32") and with_rows(kv_cache) is kv_cache:
            parts = (slice(0, latent.shape[1]), slice(latent.shape[1], size))
            caches = (kv_cache[..., part].unsqueeze(1) for part in parts)
            rows = (cast_to(t, kv_cache.dtype).unsqueeze(1) for t in (latent, rotary))
            emit("paged_caching", *caches, *rows, slots)
            return kv_cache
    elif kv_cache_dtype in ("fp8", "fp8_e4m3"):
        if kv_cache.dtype is not _E4M3:
            raise TypeError(f"{name}: kv_cache has type {kv_cache.dtype!r}: expected float8")
        if scale is None:
            raise TypeError(f"{name}: scale is None: expected a tensor, as the cache is of float8")
        factor = float32_at_least(scale).reshape(-1)[:1]
        latent, rotary = float32_at_least(latent) / factor, float32_at_least(rotary) / factor
    else:
        expect(False, name, "kv_cache_dtype", repr(kv_cache_dtype), "'auto' or 'fp8'")
    store_rows(name, kv_cache, slots, _joined(latent, rotary))
    return kv_cache


@function
def _concat_and_cache_mla_int8(
    kv_c: Tensor,
    kv_scale: Tensor,
    k_pe: Tensor,
    pe_scale: Tensor,
    kv_cache: Tensor,
    kv_cache_scale: Tensor,
    slot_mapping: Tensor,
) -> Tensor:
    name = "concat_and_cache_mla_int8"
    slots = integers(name, "slot_mapping", slot_mapping).flatten()
    tokens = slots.shape[0]
    latent = _flat(name, "kv_c_int8", kv_c[:tokens], tokens)
    rotary = _flat(name, "k_pe_int8", k_pe[:tokens], tokens)
    need_shape(name, "kv_cache", kv_cache, None, None, latent.shape[1] + rotary.shape[1])
    need_shape(name, "kv_cache_scale", kv_cache_scale, *kv_cache.shape[:2], 2)
    for argument, value in (("kv_c_int8", kv_c), ("k_pe_int8", k_pe), ("kv_cache", kv_cache)):
        if value.dtype is not int8:
            raise TypeError(f"{name}: {argument} has type {value.dtype!r}: expected int8")
    store_rows(name, kv_cache, slots, _joined(latent, rotary))
    scales = [given.reshape(-1)[:tokens].unsqueeze(1) for given in (kv_scale, pe_scale)]
    store_rows(name, kv_cache_scale, slots, _joined(*scales))
    return kv_cache


def concat_and_cache_mla_int8(
    kv_c_int8: Tensor,
    kv_c_scale: Tensor,
    k_pe_int8: Tensor,
    k_pe_scale: Tensor,
    kv_cache: Tensor,
    kv_cache_scale: Tensor,
    slot_mapping: Tensor,
) -> tuple[Tensor, Tensor]:
    """Like concat_and_cache_mla for int8, with the scale of each token's latent and rotary key in
    the same slot of kv_cache_scale [pages, block_size, 2]. Returns both caches.

    >>> cache = infinicore.zeros(1, 1, 3, dtype=infinicore.int8)
    >>> scales, row = infinicore.zeros(1, 1, 2), infinicore.ones(1, 2, dtype=infinicore.int8)
    >>> one, slot = infinicore.ones(1), infinicore.tensor([0])
    >>> given = (row, one, row[:, :1], one, cache, scales, slot)
    >>> infinicore.concat_and_cache_mla_int8(*given)[0]
    tensor([[[1, 1, 1]]], dtype=infinicore.int8)
    """
    _concat_and_cache_mla_int8(
        kv_c_int8, kv_c_scale, k_pe_int8, k_pe_scale, kv_cache, kv_cache_scale, slot_mapping
    )
    return kv_cache, kv_cache_scale
