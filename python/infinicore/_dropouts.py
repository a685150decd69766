"""Dropout under torch's low-level names, and `native_channel_shuffle`."""

from __future__ import annotations

from infinicore import _core
from infinicore._dtype import bool_
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.nn import functional as F  # noqa: N812

__all__ = ["feature_dropout", "native_channel_shuffle", "native_dropout"]

native_channel_shuffle = F.channel_shuffle


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """While training, zero each channel of input [N, C, ...] with probability p.

    >>> infinicore.feature_dropout(infinicore.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    need_tensor("feature_dropout", "input", input)
    expect(input.ndim >= 2, "feature_dropout", "input.ndim", input.ndim, "2 or more")
    if not train:
        return input
    channels = _core.empty(input.shape[:2], input.dtype, input.device).fill_(1)
    kept: Tensor = F.dropout(channels, p, True)
    return input * kept.view(*input.shape[:2], *(1,) * (input.ndim - 2))


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`nn.functional.dropout`, and a mask of the elements that it keeps.

    >>> infinicore.native_dropout(infinicore.ones(2), 0.5, False)[1]
    tensor([True, True])
    """
    need_tensor("native_dropout", "input", input)
    ones = _core.empty(input.shape, input.dtype, input.device).fill_(1)
    scale: Tensor = F.dropout(ones, p, train is not False)
    return input * scale, scale.to(bool_)
