"""Cross entropy with classes in the last dimension."""

from __future__ import annotations

from typing import Any

from infinicore._function import write
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "none",
    label_smoothing: float = 0.0,
    out: Any = None,
) -> Tensor:
    """-log of the target's softmax probability: logits [..., classes], target [...] of
    integers, losses [...]; `reduction` is "none" here, "mean" or "sum". As in
    `nn.functional.cross_entropy`, classes may also be dimension 1 of [N, classes, ...], targets may
    be probabilities, classes have weights, and one index may be ignored.

    >>> infinicore.cross_entropy(infinicore.zeros(1, 2), infinicore.tensor([1]))
    tensor([0.6931])
    """
    from infinicore.nn import functional as F  # noqa: N812

    name = "cross_entropy"
    need_tensor(name, "logits", logits)
    need_tensor(name, "target", target)
    rows, shape = logits, None
    last = tuple(target.shape) == tuple(logits.shape[:-1])
    if logits.ndim > 2 and last and not target.dtype.is_floating_point:
        # Classes in the last dimension: one row for each target.
        shape = target.shape
        rows, target = logits.reshape(-1, logits.shape[-1]), target.reshape(-1)
    left_out = -100 if ignore_index is None else ignore_index
    loss: Tensor = F.cross_entropy(
        rows,
        target,
        weight,
        ignore_index=left_out,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
    if shape is not None and reduction == "none":
        loss = loss.view(*shape)
    return loss if out is None else write(name, out, loss)
