"""The common decoder. The files of the models contain their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import nn
from infinicore._tensor import Tensor
from infinicore.llm.config import ModelConfig, both_ranges, one_range
from infinicore.llm.files import ModelFileError
from infinicore.llm.step import Step
from infinicore.llm.weights import Weights
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.rope import tables
from infinicore.nn.rope_scaling import LongRopeScalingConfig

#: Activations of the feed-forward network: gate, up -> input of the down projection.
ACTIVATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "silu": lambda gate, up: F.swiglu(up, gate),
    "gelu_pytorch_tanh": lambda gate, up: F.gelu(gate, approximate="tanh") * up,
    "gelu": lambda gate, up: F.gelu(gate) * up,
}


class Rope:
    """Tables of sines and cosines, one pair for each base frequency, shared by all layers.

    LongRoPE has other frequencies for sequences longer than those of the training: their rows
    follow the others, and positions of long requests are offset to them (`config.long_from`)."""

    def __init__(self, config: ModelConfig, weights: Weights, positions: int) -> None:
        self._config, self._weights, self._positions = config, weights, positions
        self._made: dict[Any, tuple[Tensor, Tensor]] = {}
        self.pairs = F.RopeAlgo.GPT_J if config.rope_neighbours else F.RopeAlgo.GPT_NEOX
        # GGUF files of Llama 3 have the divisor of each frequency instead of the rule for it.
        self._freqs: list[float] | None = None
        if weights.has("rope_freqs.weight"):
            half = config.rotary_dim // 2
            self._freqs = weights.tensor(
                "rope_freqs.weight", half, dtype=infinicore.float32
            ).tolist()

    def table(self, theta: float, size: int, scaled: bool = True) -> tuple[Tensor, Tensor]:
        key = (theta, size, scaled)
        if key not in self._made:
            scaling = self._config.scaling if scaled else None
            if self._freqs is not None and scaled:
                scaling = one_range([1 / each for each in self._freqs])
            if isinstance(scaling, LongRopeScalingConfig):
                short, long = (self._make(theta, size, each) for each in both_ranges(scaling))
                parts = zip(short, long, strict=True)
                first = min(scaling.original_max_position_embeddings, self._positions)
                sin, cos = (infinicore.cat([s.narrow(0, 0, first), more], 0) for s, more in parts)
                self._made[key] = (sin, cos)
            else:
                self._made[key] = self._make(theta, size, scaling)
        return self._made[key]

    def _make(self, theta: float, size: int, scaling: Any) -> tuple[Tensor, Tensor]:
        w = self._weights
        return tables(self._positions, theta, size, w.device, w.dtype, scaling)

    def turn(self, x: Tensor, positions: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
        """Rotate heads x [tokens, heads, size], completely or their first part."""
        sin, cos = table
        size = 2 * sin.shape[-1]
        if size == x.shape[-1]:
            return F.rope(x, positions, sin, cos, self.pairs)
        first = F.rope(x.narrow(-1, 0, size), positions, sin, cos, self.pairs)
        return infinicore.cat([first, x.narrow(-1, size, x.shape[-1] - size)], -1)


class Attention(nn.Module):
    """Grouped-query attention over the paged cache. Heads are sharded across ranks."""

    bias: bool | None = None  # bias of q, k, v; None: if the file has one
    norms_heads = False  # queries and keys are normalised per head

    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        super().__init__()
        self.layer = layer - w.stage.layers(c.layers).start  # index among this rank's layers
        self.size, self.rope = c.head_dim, rope
        self.qkv = self.make_projections(w, c)
        self.o = w.linear("o_proj", c.hidden, c.heads * c.head_dim, bias=None, cut="inputs")
        self.heads, self.kv_heads = c.heads // w.ranks, c.kv_heads // w.ranks
        w.share("heads of keys", c.kv_heads)
        if self.norms_heads:
            self.q_norm = self.make_norm(w, "q_norm", c)
            self.k_norm = self.make_norm(w, "k_norm", c)
        self.scale = c.raw.get("attention_multiplier") or 1 / math.sqrt(c.head_dim)
        self.window, self.softcap = c.window(layer), 0.0
        self.table = rope.table(c.rope_theta, c.rotary_dim)

    def make_norm(self, w: Weights, name: str, c: ModelConfig) -> nn.Module:
        return w.norm(name, c.head_dim, c.epsilon)

    def make_projections(self, w: Weights, c: ModelConfig) -> nn.Module:
        q, kv = c.heads * c.head_dim, c.kv_heads * c.head_dim
        outputs = {"q_proj": q, "k_proj": kv, "v_proj": kv}
        return w.projections(outputs, c.hidden, bias=self.bias)

    def forward(self, x: Tensor, step: Step) -> Tensor:
        tokens = x.shape[0]
        q, k, v = self.by_heads(self.qkv(x, joins=(0, 1)), tokens, step.positions)
        seen = step.attend(self.layer, q, k, v, self.scale, self.window, self.softcap)
        made: Tensor = self.o(seen.view(tokens, self.heads * self.size))
        return made

    def by_heads(self, parts: list[Tensor], tokens: int, positions: Tensor) -> list[Tensor]:
        """Queries, keys and values by heads, the first two rotated: in one call if they are one
        tensor."""
        heads, kv_heads = self.heads, self.kv_heads
        *turning, v = parts
        v = v.view(tokens, kv_heads, self.size)
        if len(turning) == 1 and not self.norms_heads:
            both = turning[0].view(tokens, heads + kv_heads, self.size)
            both = self.rope.turn(both, positions, self.table)
            return [both.narrow(1, 0, heads), both.narrow(1, heads, kv_heads), v]
        if len(turning) == 1:
            width = heads * self.size
            q = turning[0].narrow(-1, 0, width)
            k = turning[0].narrow(-1, width, kv_heads * self.size)
        else:
            q, k = turning
        q = q.view(tokens, heads, self.size)
        k = k.view(tokens, kv_heads, self.size)
        if self.norms_heads:
            q, k = self.q_norm(q), self.k_norm(k)
        return [
            self.rope.turn(q, positions, self.table),
            self.rope.turn(k, positions, self.table),
            v,
        ]


class FeedForward(nn.Module):
    """A gated feed-forward network: gate and up, an activation, down."""

    def __init__(self, w: Weights, c: ModelConfig, wide: int | None = None) -> None:
        super().__init__()
        self.gate_up = self.make_projections(w, c, wide or c.wide)
        self.down = w.linear("down_proj", c.hidden, wide or c.wide, cut="inputs")
        if c.activation not in ACTIVATIONS:
            raise ModelFileError(
                f"{w.checkpoint.source}: hidden_act is {c.activation!r}: expected one of"
                f" {', '.join(ACTIVATIONS)}"
            )
        self.activation = ACTIVATIONS[c.activation]

    def make_projections(self, w: Weights, c: ModelConfig, wide: int) -> nn.Module:
        return w.projections({"gate_proj": wide, "up_proj": wide}, c.hidden)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x)
        made: Tensor = self.down(self.activation(gate, up))
        return made


class Layer(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)). The last sum is deferred to the next
    layer's norm, which fuses it."""

    attention_type: type[Attention] = Attention

    def __init__(self, w: Weights, c: ModelConfig, layer: int, rope: Rope) -> None:
        super().__init__()
        self.before_attention = w.norm("input_layernorm", c.hidden, c.epsilon)
        self.attention = self.attention_type(w.below("self_attn"), c, layer, rope)
        self.before_mlp = w.norm("post_attention_layernorm", c.hidden, c.epsilon)
        self.mlp = self.make_mlp(w, c, layer)

    def make_mlp(self, w: Weights, c: ModelConfig, layer: int) -> nn.Module:
        return FeedForward(w.below("mlp"), c)

    def forward(self, x: Tensor, added: Tensor | None, step: Step) -> tuple[Tensor, Tensor]:
        """`added` has yet to be added to x, like the second result."""
        if added is None:
            normed = self.before_attention(x)
        else:
            normed, x = self.before_attention.after_sum(x, added)
        normed, x = self.before_mlp.after_sum(x, self.attention(normed, step))
        return x, self.mlp(normed)


class Decoder(nn.Module):
    """Tokens to hidden states, and hidden states to logits."""

    layer_type: type[Layer] = Layer

    def __init__(self, w: Weights, config: ModelConfig, positions: int) -> None:
        super().__init__()
        c = config
        self.config, self.dtype, self.stage = c, w.dtype, w.stage
        rope = Rope(c, w, positions)
        body = w.below("model")
        if self.stage.is_first:
            scale = self.scale_of_embedding(c)
            self.embedding = body.embedding("embed_tokens", c.vocab, c.hidden, scale)
        else:
            body.leave("embed_tokens")
        own = self.stage.layers(c.layers)
        self.layers = nn.ModuleList(
            [self.layer_type(body.below(f"layers.{i}"), c, i, rope) for i in own]
        )
        for i in range(c.layers):
            if i not in own:
                body.leave(f"layers.{i}")
        if self.stage.is_last:
            self.norm = body.norm("norm", c.hidden, c.epsilon, self.plus_one(c))
            self.head = self._make_head(w, c)
        else:
            body.leave("norm")
            w.leave("lm_head")
        self.softcap = float(c.raw.get("final_logit_softcapping") or 0.0)

    @staticmethod
    def _make_head(w: Weights, c: ModelConfig) -> nn.Module:
        cut = "joined" if c.vocab % w.ranks == 0 else ""
        if c.tied and not w.has("lm_head.weight"):
            return w.below("model").linear("embed_tokens", c.vocab, c.hidden, cut=cut)
        return w.linear("lm_head", c.vocab, c.hidden, bias=None, cut=cut)

    def scale_of_embedding(self, c: ModelConfig) -> float:
        return 1.0

    def plus_one(self, c: ModelConfig) -> bool:
        return False

    def cache_shapes(self, ranks: int) -> list[tuple[tuple[int, int], tuple[int, int] | None]]:
        """(heads, size) of the keys and of the values of each layer; values None: they are the
        first part of the keys."""
        c = self.config
        each = (c.kv_heads // ranks, c.head_dim)
        return [(each, each)] * len(self.layers)

    def forward(self, step: Step) -> Tensor:
        """Normalised hidden states of all tokens of a step; meaningless before the last stage."""
        x: Tensor
        added: Tensor | None = None
        if self.stage.is_first:
            x = self.embedding(step.ids)
        else:
            x, added = self.stage.receive(step.ids.shape[0], self.config.hidden, self.dtype)
        for layer in self.layers:
            x, added = layer(x, added, step)
        assert added is not None
        if not self.stage.is_last:
            self.stage.send(x, added)
            return x
        return self.norm.after_sum(x, added)[0]

    def logits(self, hidden: Tensor) -> Tensor:
        """float32 [rows, vocab]; before the last stage [rows, 0]."""
        if not self.stage.is_last:
            return hidden.narrow(-1, 0, 0)
        made: Tensor = self.head(hidden).to(infinicore.float32)
        if self.softcap:
            made = infinicore.tanh(made / self.softcap) * self.softcap
        return made

    def best(self, logits: Tensor) -> Tensor:
        """The most probable tokens int64 [rows]: the leader's, on all ranks, since the logits of
        others may differ in the last bits."""
        if self.stage.is_last:
            return self.stage.from_leader(infinicore.argmax(logits, -1))
        given = infinicore.empty(logits.shape[:1], dtype=infinicore.int64, device=logits.device)
        return self.stage.from_leader(given)
