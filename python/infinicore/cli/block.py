"""One decode step of a small Llama-type layer, eager, recorded and in torch, for the demo and the
benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import nn
from infinicore.nn import functional as F  # noqa: N812


class Layer(nn.Module):
    """Attention over a cache, then a gated feed-forward network; about 20 operators."""

    def __init__(self, hidden: int, heads: int, groups: int, wide: int, positions: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, hidden // heads
        self.positions = positions
        self.norm1 = nn.RMSNorm(hidden)
        self.q = nn.Linear(hidden, heads * self.size)
        self.k = nn.Linear(hidden, groups * self.size)
        self.v = nn.Linear(hidden, groups * self.size)
        self.o = nn.Linear(heads * self.size, hidden)
        self.norm2 = nn.RMSNorm(hidden)
        self.gate = nn.Linear(hidden, wide)
        self.up = nn.Linear(hidden, wide)
        self.down = nn.Linear(wide, hidden)
        self.rope = nn.RoPE(positions, 10000.0, self.size)
        cache = (1, groups, positions, self.size)
        self.register_buffer("k_cache", infinicore.zeros(cache), persistent=False)
        self.register_buffer("v_cache", infinicore.zeros(cache), persistent=False)

    def forward(self, x: Any, position: Any) -> Any:
        """x [1, hidden] is the token at `position` [1]; the cache takes its keys and values."""
        h = self.norm1(x)
        q = self.rope(self.q(h).view(1, self.heads, self.size), position)
        k = self.rope(self.k(h).view(1, self.groups, self.size), position)
        v = self.v(h).view(1, self.groups, self.size)
        new = (1, self.groups, 1, self.size)
        infinicore.kv_caching(self.k_cache, self.v_cache, k.view(new), v.view(new), position)
        lengths = (position + 1).to(infinicore.int32)
        seen = F.flash_attention(
            q.view(1, self.heads, 1, self.size), self.k_cache, self.v_cache, lengths
        )
        x = x + self.o(seen.view(1, self.heads * self.size))
        h = self.norm2(x)
        return x + self.down(F.swiglu(self.up(h), self.gate(h)))


class DecodeBlock:
    """The layer with random weights and an input, ready to be timed."""

    def __init__(
        self, hidden: int = 64, heads: int = 4, groups: int = 0, positions: int = 128, seed: int = 0
    ) -> None:
        infinicore.manual_seed(seed)
        self.hidden, self.positions = hidden, positions
        self.layer = Layer(hidden, heads, groups or heads, hidden * 8 // 3 // 8 * 8, positions)
        for name, parameter in self.layer.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0)
            else:
                random = infinicore.randn(tuple(parameter.shape)) / math.sqrt(parameter.shape[-1])
                parameter.copy_(random)
        self.x = infinicore.randn((1, hidden))
        self.position = infinicore.full((1,), positions // 2, dtype=infinicore.int64)

    def eager(self) -> Callable[[], Any]:
        return lambda: self.layer(self.x, self.position)

    def recorded(self) -> Callable[[], Any]:
        with infinicore.record() as made:
            self.result = self.layer(self.x, self.position)
        self.graph = made.graph
        return self.graph.run

    def torch(self) -> Callable[[], Any] | None:
        """The same layer in torch; None where torch is not installed."""
        try:
            import torch
        except ImportError:
            return None
        functional = torch.nn.functional
        layer, heads, groups, size = (
            self.layer,
            self.layer.heads,
            self.layer.groups,
            self.layer.size,
        )
        w = {name: torch.from_dlpack(p.data) for name, p in layer.named_parameters()}
        sin, cos = (torch.from_dlpack(t) for t in (layer.rope.sin_table, layer.rope.cos_table))
        keys, values = (torch.from_dlpack(t.clone()) for t in (layer.k_cache, layer.v_cache))
        x, at = torch.from_dlpack(self.x), int(self.position.item())
        position = torch.tensor([at])

        def turned(states: Any) -> Any:
            a, b = states.chunk(2, -1)
            c, s = cos[position].unsqueeze(1), sin[position].unsqueeze(1)
            return torch.cat((a * c - b * s, b * c + a * s), -1)

        def run() -> Any:
            with torch.inference_mode():
                h = functional.rms_norm(x, (self.hidden,), w["norm1.weight"], 1e-6)
                q = turned(functional.linear(h, w["q.weight"]).view(1, heads, size))
                k = turned(functional.linear(h, w["k.weight"]).view(1, groups, size))
                v = functional.linear(h, w["v.weight"]).view(1, groups, size)
                keys[0, :, position] = k.transpose(0, 1)
                values[0, :, position] = v.transpose(0, 1)
                seen = functional.scaled_dot_product_attention(
                    q.view(1, heads, 1, size),
                    keys[:, :, : at + 1],
                    values[:, :, : at + 1],
                    enable_gqa=heads != groups,
                )
                y = x + functional.linear(seen.view(1, heads * size), w["o.weight"])
                h = functional.rms_norm(y, (self.hidden,), w["norm2.weight"], 1e-6)
                gate = functional.silu(functional.linear(h, w["gate.weight"]))
                up = functional.linear(h, w["up.weight"])
                return y + functional.linear(gate * up, w["down.weight"])

        return run
