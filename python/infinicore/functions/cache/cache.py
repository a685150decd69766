"""Writing keys and values to caches, dense and paged."""

from __future__ import annotations

from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


@function
def paged_caching(
    k_cache: Tensor,
    v_cache: Tensor,
    k: Tensor,
    v: Tensor,
    slot_mapping: Tensor,
    permute_dim_1_2: bool = False,
) -> tuple[Tensor, Tensor]:
    """Writes keys and values of tokens [tokens, Hkv, D] into slots of caches [pages, Hkv,
    block_size, D], in place: slot s is row s % block_size of page s // block_size; tokens with a
    negative slot are skipped. With `permute_dim_1_2` caches are [pages, block_size, Hkv, D].
    Returns the caches.

    >>> cache = infinicore.zeros(1, 1, 2, 1)
    >>> row, slot = infinicore.ones(1, 1, 1), infinicore.tensor([1])
    >>> infinicore.paged_caching(cache, cache.clone(), row, row, slot)[0].flatten()
    tensor([0., 1.])
    """
    name = "paged_caching"
    need_tensor(name, "k_cache", k_cache, 4)
    need_tensor(name, "v_cache", v_cache, 4)
    need_tensor(name, "k", k, 3)
    need_tensor(name, "v", v, 3)
    keys, values = k_cache, v_cache
    if permute_dim_1_2:
        keys, values = k_cache.permute(0, 2, 1, 3), v_cache.permute(0, 2, 1, 3)
    k, v = (cast_to(t, k_cache.dtype) for t in (k, v))
    emit("paged_caching", keys, values, k, v, slot_mapping)
    return k_cache, v_cache
