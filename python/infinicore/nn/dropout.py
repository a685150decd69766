"""Dropout: the identity unless a module is in training mode (`train()`)."""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    function: Any

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        expect(0 <= p <= 1, type(self).__name__, "p", p, "a number from 0 to 1")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        work = type(self).function
        return work(input, self.p, self.training, self.inplace)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


def _dropout(name: str, function: Any, what: str) -> Any:
    text = f"""While training, {what} dropped with probability p.

    >>> infinicore.nn.{name}(0.2)
    {name}(p=0.2, inplace=False)
    """
    body = {"function": staticmethod(function), "__doc__": text, "__module__": __name__}
    return type(name, (_Dropout,), body)


Dropout = _dropout("Dropout", F.dropout, "elements are")
Dropout1d = _dropout("Dropout1d", F.dropout1d, "whole channels [N, C, L] are")
Dropout2d = _dropout("Dropout2d", F.dropout2d, "whole channels [N, C, H, W] are")
Dropout3d = _dropout("Dropout3d", F.dropout3d, "whole channels [N, C, D, H, W] are")
AlphaDropout = _dropout("AlphaDropout", F.alpha_dropout, "elements are set to selu's limit, as if")
FeatureAlphaDropout = _dropout(
    "FeatureAlphaDropout", F.feature_alpha_dropout, "whole channels are set to selu's limit, as if"
)
