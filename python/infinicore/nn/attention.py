"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.layers import Linear, new_parameter
from infinicore.nn.module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Multi-head attention, with projections of queries, keys, values and the result.

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
        """The result and, if `need_weights`, the attention weights."""
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
