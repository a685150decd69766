"""Attention with several heads, and the layers of a transformer made of it."""

from __future__ import annotations

import copy
from typing import Any

from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.containers import ModuleList
from infinicore.nn.layers import LayerNorm, Linear, new_parameter
from infinicore.nn.module import Module


class MultiheadAttention(Module):
    """Attention of several heads, with projections of queries, keys, values and the result.

    >>> infinicore.nn.MultiheadAttention(8, 2).head_dim
    4
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim is {embed_dim}: expected a multiple of {num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim, self.batch_first = embed_dim // num_heads, batch_first
        self.add_zero_attn = add_zero_attn
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self._same = self.kdim == embed_dim and self.vdim == embed_dim
        kind = (device, dtype)
        if self._same:
            self.in_proj_weight = new_parameter((3 * embed_dim, embed_dim), *kind)
        else:
            self.q_proj_weight = new_parameter((embed_dim, embed_dim), *kind)
            self.k_proj_weight = new_parameter((embed_dim, self.kdim), *kind)
            self.v_proj_weight = new_parameter((embed_dim, self.vdim), *kind)
        if bias:
            self.in_proj_bias = new_parameter((3 * embed_dim,), *kind)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            made = new_parameter((1, 1, embed_dim), *kind) if add_bias_kv else None
            self.register_parameter(name, made)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result and, if wanted, the weights."""
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (each.transpose(0, 1) for each in (query, key, value))
        separate: dict[str, Any] = {}
        if not self._same:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            separate = {name: getattr(self, name) for name in names}
        made, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight if self._same else None,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._same,
            **separate,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (made.transpose(0, 1) if turned else made), weights


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself and a network for each element, each with a norm.

    >>> infinicore.nn.TransformerEncoderLayer(8, 2, 16).norm1
    LayerNorm((8,), eps=1e-05, elementwise_affine=True)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, **kind
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)
        self.norm_first = norm_first
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._feed(self.norm2(x))
        x = self.norm1(x + self._attend(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._feed(x))  # type: ignore[no-any-return]

    def _attend(self, x: Tensor, mask: Any, padding: Any, is_causal: bool) -> Tensor:
        return self.self_attn(  # type: ignore[no-any-return]
            x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )[0]

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.activation(self.linear1(x)))  # type: ignore[no-any-return]


class TransformerEncoder(Module):
    """Copies of a layer, one after the other, and a norm at the end if there is one."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)
