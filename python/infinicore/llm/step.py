"""One step of the model: tokens of several sequences, and the cache slots of their keys and
values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import infinicore
from infinicore._tensor import Tensor


class LayerCache(NamedTuple):
    """Keys [blocks, heads, block size, size] and values; values None: the first part of the keys
    (MLA)."""

    keys: Tensor
    values: Tensor | None


@dataclass
class Step:
    """Tokens of sequence s are the rows starts[s] up to starts[s + 1]. Padding tokens have the slot
    -1, padding sequences the length 0."""

    ids: Tensor  # int64 [tokens]
    positions: Tensor  # int64 [tokens]
    slots: Tensor  # int64 [tokens]: cache slots of keys and values
    tables: Tensor  # int32 [sequences, blocks]
    lengths: Tensor  # int32 [sequences]: numbers of keys, including the new ones
    starts: Tensor  # int32 [sequences + 1]
    caches: list[LayerCache]
    is_decode: bool  # one token of each sequence

    def attend(
        self,
        layer: int,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        scale: float,
        window: int = 0,
        softcap: float = 0.0,
    ) -> Tensor:
        """Write keys and values to the cache, then compute attention of q [tokens, heads, size]
        over all keys visible to each token: [tokens, heads, size of a value]."""
        cache = self.caches[layer]
        if cache.values is not None:
            infinicore.paged_caching(cache.keys, cache.values, k, v, self.slots)
            values = cache.values
        else:
            first, rest = v.shape[-1], k.shape[-1] - v.shape[-1]
            values = cache.keys.narrow(-1, 0, first)
            other = cache.keys.narrow(-1, first, rest)
            infinicore.paged_caching(values, other, v, k.narrow(-1, first, rest), self.slots)
        return infinicore.paged_attention_varlen(
            q,
            cache.keys,
            values,
            self.tables,
            self.lengths,
            None if self.is_decode else self.starts,
            scale=scale,
            window=window,
            softcap=softcap,
        )
