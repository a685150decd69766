"""Softmax over many classes, most of which are rare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._index_checks import check_indices
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.containers import ModuleList, Sequential
from infinicore.nn.layers import Linear
from infinicore.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class AdaptiveOutput(NamedTuple):
    """log(p) of each target, and the loss: the mean of -log(p)."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """`log_softmax` over many classes: a head for the frequent classes and the clusters of the
    others, and for each cluster a tail, with fewer features for rarer classes.

    >>> infinicore.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).head_size
    7
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = [0, *cutoffs, n_classes]
        if len(ends) < 3 or any(b <= a for a, b in itertools.pairwise(ends)):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs is {list(cutoffs)}: expected growing integers"
                f" from 1 to {n_classes - 1}"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, ends[1:]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = ends[1], len(ends) - 2
        self.head_size = self.shortlist_size + self.n_clusters
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inside = int(in_features // div_value ** (i + 1))
            first = Linear(in_features, inside, False, **kind)
            second = Linear(inside, self.cutoffs[i + 1] - self.cutoffs[i], False, **kind)
            self.tail.append(Sequential(first, second))

    def forward(self, input_: Tensor, target_: Tensor) -> AdaptiveOutput:
        if target_.ndim > 1 or input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: input has {input_.ndim} dimensions and target"
                f" {target_.ndim}: expected 2 and 1, or 1 and 0"
            )
        check_indices("AdaptiveLogSoftmaxWithLoss", target_, self.n_classes, 1)
        x = input_ if target_.ndim else input_.unsqueeze(0)
        target = target_.to(infinicore.int64).reshape(-1, 1)
        if x.shape[0] != target.shape[0]:
            raise RuntimeError("AdaptiveLogSoftmaxWithLoss: input and target differ in their size")
        made = self.log_prob(x).gather(1, target).squeeze(1)
        loss = -made.mean()
        return AdaptiveOutput(made if target_.ndim else made.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """log(p) of all classes [N, n_classes]."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head.narrow(1, 0, self.shortlist_size)]
        for i, tail in enumerate(self.tail):
            cluster = head.narrow(1, self.shortlist_size + i, 1)
            parts.append(F.log_softmax(tail(input), 1) + cluster)
        return infinicore.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row: from a tail if the head prefers its cluster."""
        head = self.head(input).argmax(1)
        whole = self.log_prob(input).argmax(1)
        return infinicore.where(head < self.shortlist_size, head, whole)  # type: ignore[no-any-return]
