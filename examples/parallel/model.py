"""A decoder of the Llama type whose weights are shared out among ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import infinicore
from infinicore import ccl, nn
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    VocabParallelEmbedding,
)


@dataclass(frozen=True)
class Config:
    """The configuration of a checkpoint; the defaults are small."""

    layers: int = 4
    hidden: int = 256
    heads: int = 8
    kv_heads: int = 4  # each serves heads / kv_heads heads of queries
    head_dim: int = 32
    wide: int = 704
    vocab: int = 1000
    rope_theta: float = 10000.0
    epsilon: float = 1e-5
    # Which elements of a head are rotated together: neighbours, or one of each half.
    neighbours: bool = False


class Attention(nn.Module):
    """Each rank has some key/value heads, and all query heads that attend to them."""

    def __init__(self, config: Config, positions: int, comm: ccl.Communicator | None) -> None:
        super().__init__()
        c = config
        self.size = c.head_dim
        served = c.heads // c.kv_heads * c.head_dim  # weights that are split by key heads
        self.q = ColumnParallelLinear(c.hidden, c.heads * c.head_dim, comm=comm, unit=served)
        self.k = ColumnParallelLinear(c.hidden, c.kv_heads * c.head_dim, comm=comm, unit=c.head_dim)
        self.v = ColumnParallelLinear(c.hidden, c.kv_heads * c.head_dim, comm=comm, unit=c.head_dim)
        self.o = RowParallelLinear(c.heads * c.head_dim, c.hidden, comm=comm, unit=served)
        self.heads = self.q.share.length // c.head_dim
        self.kv_heads = self.k.share.length // c.head_dim
        self.pairs = F.RopeAlgo.GPT_J if c.neighbours else F.RopeAlgo.GPT_NEOX
        device = self.q.weight.device
        self.rope = nn.RoPE(positions, c.rope_theta, c.head_dim, device=device)
        sizes = (1, self.kv_heads, positions, c.head_dim)
        for name in ("keys", "values"):
            cache = infinicore.zeros(sizes, device=device)
            self.register_buffer(name, cache, persistent=False)

    def forward(self, x: Any, positions: Any) -> Any:
        """x [tokens, hidden] at `positions`, which are consecutive and follow the cached ones."""
        tokens = x.shape[0]
        q = self.rope(self.q(x).view(tokens, self.heads, self.size), positions, algo=self.pairs)
        k = self.rope(self.k(x).view(tokens, self.kv_heads, self.size), positions, algo=self.pairs)
        v = self.v(x).view(tokens, self.kv_heads, self.size)
        q, k, v = (each.permute(1, 0, 2).unsqueeze(0) for each in (q, k, v))
        infinicore.kv_caching(self.keys, self.values, k, v, positions.narrow(0, 0, 1))
        lengths = (positions.narrow(0, tokens - 1, 1) + 1).to(infinicore.int32)
        seen = F.flash_attention(q, self.keys, self.values, lengths, is_causal=True)
        seen = seen.squeeze(0).permute(1, 0, 2).contiguous()
        return self.o(seen.view(tokens, self.heads * self.size))


class FeedForward(nn.Module):
    def __init__(self, config: Config, comm: ccl.Communicator | None) -> None:
        super().__init__()
        self.gate = ColumnParallelLinear(config.hidden, config.wide, comm=comm)
        self.up = ColumnParallelLinear(config.hidden, config.wide, comm=comm)
        self.down = RowParallelLinear(config.wide, config.hidden, comm=comm)

    def forward(self, x: Any) -> Any:
        return self.down(F.swiglu(self.up(x), self.gate(x)))


class Layer(nn.Module):
    def __init__(self, config: Config, positions: int, comm: ccl.Communicator | None) -> None:
        super().__init__()
        self.attention = Attention(config, positions, comm)
        self.feed_forward = FeedForward(config, comm)
        device = self.attention.keys.device
        self.attention_norm = nn.RMSNorm(config.hidden, config.epsilon, device=device)
        self.feed_forward_norm = nn.RMSNorm(config.hidden, config.epsilon, device=device)

    def forward(self, x: Any, positions: Any) -> Any:
        x = x + self.attention(self.attention_norm(x), positions)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    """ids [tokens] at positions [tokens] -> logits [tokens, vocab], the same on every rank. Two
    sums over the ranks in each layer, one for the embedding; the head's parts are gathered."""

    def __init__(self, config: Config, positions: int, comm: ccl.Communicator | None) -> None:
        super().__init__()
        c = config
        self.embedding = VocabParallelEmbedding(c.vocab, c.hidden, comm=comm)
        self.layers = nn.ModuleList([Layer(c, positions, comm) for _ in range(c.layers)])
        self.norm = nn.RMSNorm(c.hidden, c.epsilon, device=self.embedding.weight.device)
        self.head = ColumnParallelLinear(c.hidden, c.vocab, comm=comm, gather_output=True)

    def forward(self, ids: Any, positions: Any) -> Any:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(self.norm(x))
