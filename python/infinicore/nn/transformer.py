"""Transformer layers, encoder, decoder, and the whole transformer."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import infinicore
from infinicore._tensor import Tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.attention import MultiheadAttention
from infinicore.nn.containers import ModuleList
from infinicore.nn.dropout import Dropout
from infinicore.nn.layers import LayerNorm, Linear
from infinicore.nn.module import Module

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


class _Layer(Module):
    """Attention and feed-forward blocks, each with a norm and a dropout."""

    attentions: ClassVar[tuple[str, ...]] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self.attentions:
            given = (d_model, nhead, dropout, bias)
            setattr(self, name, MultiheadAttention(*given, batch_first=batch_first, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kind)
        self.norm_first = norm_first
        parts = range(1, len(self.attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **kind))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    @staticmethod
    def _attend(
        attention: Any, x: Tensor, keys: Tensor, mask: Any, padding: Any, is_causal: bool
    ) -> Tensor:
        return attention(  # type: ignore[no-any-return]
            x, keys, keys, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )[0]

    def _feed(self, x: Tensor) -> Tensor:
        inside = self.dropout(self.activation(self.linear1(x)))
        last = getattr(self, f"dropout{len(self.attentions) + 1}")
        return last(self.linear2(inside))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a norm.

    >>> infinicore.nn.TransformerEncoderLayer(8, 2, 16).norm1
    LayerNorm((8,), eps=1e-05, elementwise_affine=True)
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        masks = (src_mask, src_key_padding_mask, is_causal)
        x = src
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attend(self.self_attn, y, y, *masks))
            return x + self._feed(self.norm2(x))  # type: ignore[no-any-return]
        x = self.norm1(x + self.dropout1(self._attend(self.self_attn, x, x, *masks)))
        return self.norm2(x + self._feed(x))  # type: ignore[no-any-return]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and a feed-forward network, each with a norm.

    >>> infinicore.nn.TransformerDecoderLayer(8, 2, 16).norm3
    LayerNorm((8,), eps=1e-05, elementwise_affine=True)
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attend(self.self_attn, y, y, *own))
            x = x + self.dropout2(self._attend(self.multihead_attn, self.norm2(x), memory, *other))
            return x + self._feed(self.norm3(x))  # type: ignore[no-any-return]
        x = self.norm1(x + self.dropout1(self._attend(self.self_attn, x, x, *own)))
        x = self.norm2(x + self.dropout2(self._attend(self.multihead_attn, x, memory, *other)))
        return self.norm3(x + self._feed(x))  # type: ignore[no-any-return]


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


class TransformerDecoder(Module):
    """Copies of a layer, one after the other, and a norm at the end if there is one.

    >>> layer = infinicore.nn.TransformerDecoderLayer(8, 2, 16)
    >>> infinicore.nn.TransformerDecoder(layer, 2).num_layers
    2
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder of its output.

    >>> model = infinicore.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(infinicore.zeros(5, 1, 8), infinicore.zeros(3, 1, 8)).shape
    infinicore.Size([3, 1, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        given: Any = (d_model, nhead, dim_feedforward, dropout, activation)
        given = (*given, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> Module:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **kind)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*given, **kind), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*given, **kind), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for label, each in (("src", src), ("tgt", tgt)):
            if each.shape[-1] != self.d_model:
                raise RuntimeError(
                    f"Transformer: the last size of {label} is {each.shape[-1]}: expected"
                    f" {self.d_model}"
                )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A causal mask: -inf above the diagonal, 0 elsewhere."""
        made = infinicore.full((sz, sz), -infinicore.inf, device=device, dtype=dtype)
        return made.triu(1)
