"""One run of the model: tokens of several sequences, and where their keys and values go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import infinicore
from infinicore._tensor import Tensor


class LayerCache(NamedTuple):
    """Keys [blocks, heads, block size, size] and values; values None: the first part of the keys
    (latent attention)."""

    keys: Tensor
    values: Tensor | None


@dataclass
class Step:
    """Tokens of sequence s are the rows starts[s] up to starts[s + 1]. Tokens of no sequence (a
    batch that is filled up) have the slot -1, sequences of none the length 0."""

    ids: Tensor  # int64 [tokens]
    positions: Tensor  # int64 [tokens]
    slots: Tensor  # int64 [tokens]: where keys and values go
    tables: Tensor  # int32 [sequences, blocks]
    lengths: Tensor  # int32 [sequences]: keys, the new ones among them
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
        """Keep keys and values, then attend from q [tokens, heads, size] to all that each token may
        see: [tokens, heads, size of a value]."""
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
