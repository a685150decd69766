"""Tiny decoder-only models with random weights, computed in float64 and without a cache."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class Model:
    """The names of the fields are those of the engine's Config."""

    vocab: int = 97
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    intermediate: int = 96
    max_positions: int = 64
    rope_theta: float = 10000.0
    eps: float = 1e-6
    qkv_bias: bool = False
    qk_norm: bool = False
    experts: int = 0
    experts_per_token: int = 0

    def fields(self) -> dict[str, Any]:
        return asdict(self)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All parameters, under the names of Hugging Face's models."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (self.vocab, self.hidden)}
        for layer in (f"layers.{i}." for i in range(self.layers)):
            for name, rows in (("q", q), ("k", kv), ("v", kv)):
                shapes[f"{layer}self_attn.{name}_proj.weight"] = (rows, self.hidden)
                if self.qkv_bias:
                    shapes[f"{layer}self_attn.{name}_proj.bias"] = (rows,)
                if self.qk_norm and name != "v":
                    shapes[f"{layer}self_attn.{name}_norm.weight"] = (self.head_dim,)
            shapes[f"{layer}self_attn.o_proj.weight"] = (self.hidden, q)
            shapes[f"{layer}input_layernorm.weight"] = (self.hidden,)
            shapes[f"{layer}post_attention_layernorm.weight"] = (self.hidden,)
            if self.experts:
                shapes[f"{layer}mlp.gate.weight"] = (self.experts, self.hidden)
            networks = [f"experts.{i}." for i in range(self.experts)] or [""]
            for network in networks:
                for name in ("gate", "up"):
                    shapes[f"{layer}mlp.{network}{name}_proj.weight"] = (
                        self.intermediate,
                        self.hidden,
                    )
                shapes[f"{layer}mlp.{network}down_proj.weight"] = (self.hidden, self.intermediate)
        shapes["norm.weight"] = (self.hidden,)
        shapes["lm_head.weight"] = (self.vocab, self.hidden)
        return shapes

    def weights(self, seed: int) -> Weights:
        random = np.random.default_rng(seed)
        made = {}
        for name, shape in self.shapes().items():
            values = random.standard_normal(shape)
            if "norm" in name:
                values = 1 + 0.1 * values
            elif len(shape) == 2 and "embed" not in name:
                values *= 1.5 / np.sqrt(shape[1])
            made[name] = values.astype(np.float32)
        return made


MODELS = {
    "llama": Model(),
    "qwen2": Model(qkv_bias=True, rope_theta=1e6),
    "qwen3": Model(qk_norm=True, head_dim=32, rope_theta=1e6),
    "mixture": Model(qk_norm=True, experts=6, experts_per_token=2, intermediate=32),
}


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def rotate(x: np.ndarray, theta: float) -> np.ndarray:
    """x [tokens, heads, size]: element i is paired with i + size / 2."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half)
    sin, cos = np.sin(angles)[:, None], np.cos(angles)[:, None]
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def attention(model: Model, w: Weights, prefix: str, x: np.ndarray) -> np.ndarray:
    def project(name: str, heads: int) -> np.ndarray:
        y = x @ w[f"{prefix}{name}_proj.weight"].T + w.get(f"{prefix}{name}_proj.bias", 0)
        y = y.reshape(len(x), heads, model.head_dim)
        if name != "v":
            if model.qk_norm:
                y = rms_norm(y, w[f"{prefix}{name}_norm.weight"], model.eps)
            y = rotate(y, model.rope_theta)
        return y.transpose(1, 0, 2)

    groups = model.heads // model.kv_heads
    q = project("q", model.heads)
    k, v = (np.repeat(project(name, model.kv_heads), groups, 0) for name in "kv")
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(model.head_dim)
    hidden = np.triu(np.ones(scores.shape[1:], bool), 1)
    y = softmax(np.where(hidden, -np.inf, scores)) @ v
    return y.transpose(1, 0, 2).reshape(len(x), -1) @ w[prefix + "o_proj.weight"].T


def network(w: Weights, prefix: str, x: np.ndarray) -> np.ndarray:
    gate, up, down = (w[f"{prefix}{name}_proj.weight"].T for name in ("gate", "up", "down"))
    return (silu(x @ gate) * (x @ up)) @ down


def feed_forward(model: Model, w: Weights, prefix: str, x: np.ndarray) -> np.ndarray:
    if not model.experts:
        return network(w, prefix, x)
    shares = softmax(x @ w[prefix + "gate.weight"].T)
    y = np.zeros_like(x)
    for token, share in enumerate(shares):
        chosen = np.argsort(-share)[: model.experts_per_token]
        for expert in chosen:
            part = network(w, f"{prefix}experts.{expert}.", x[token])
            y[token] += share[expert] / share[chosen].sum() * part
    return y


def logits(model: Model, w: Weights, tokens: list[int]) -> np.ndarray:
    """The logits of the last token."""
    x = w["embed_tokens.weight"][tokens]
    for i in range(model.layers):
        layer = f"layers.{i}."
        y = rms_norm(x, w[layer + "input_layernorm.weight"], model.eps)
        x = x + attention(model, w, layer + "self_attn.", y)
        y = rms_norm(x, w[layer + "post_attention_layernorm.weight"], model.eps)
        x = x + feed_forward(model, w, layer + "mlp.", y)
    return rms_norm(x[-1], w["norm.weight"], model.eps) @ w["lm_head.weight"].T


def generate(
    model: Model, weights: Weights, prompt: list[int], count: int
) -> tuple[list[int], list[np.ndarray]]:
    """The most likely tokens after a prompt, and the logits that each was chosen from."""
    w = {name: values.astype(np.float64) for name, values in weights.items()}
    tokens, chosen_from = list(prompt), []
    for _ in range(count):
        chosen_from.append(logits(model, w, tokens))
        tokens.append(int(chosen_from[-1].argmax()))
    return tokens[len(prompt) :], chosen_from
