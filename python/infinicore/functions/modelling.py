"""Functions at the top of the package that lead to those of `nn.functional`, and rows of a part of
a vocabulary."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import int64
from infinicore._emit import emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_tensor

# The first three are named when they are asked for: `nn` is built on this package.
_FUNCTIONAL = ("bilinear", "binary_cross_entropy_with_logits", "conv2d")

__all__ = [*_FUNCTIONAL, "cross_entropy", "vocab_parallel_embedding"]


@function
def vocab_parallel_embedding(
    indices: Tensor, weight: Tensor, vocab_start: int, vocab_end: int
) -> Tensor:
    """Rows of the part of a vocabulary that `weight` [rows, D] holds: weight[id - vocab_start] for
    ids from vocab_start up to vocab_end, zeros for others. indices [...], the result [..., D].

    >>> weight, out = infinicore.ones(2, 1), infinicore.zeros(3, 1)
    >>> ids = infinicore.tensor([3, 4, 5])
    >>> infinicore.vocab_parallel_embedding(ids, weight, 4, 6, out=out).flatten()
    tensor([0., 1., 1.])
    """
    name = "vocab_parallel_embedding"
    need_tensor(name, "weight", weight, 2)
    expect(vocab_start <= vocab_end, name, "vocab_end", vocab_end, f"{vocab_start} or more")
    ids = integers(name, "indices", indices, int64).reshape(-1)
    place = emit("where", ids < vocab_end, ids - vocab_start, -1)
    rows = emit("index_select", weight, place, dim=0)
    return rows.view(*indices.shape, weight.shape[1])  # type: ignore[no-any-return]


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
    """-log of the target's share in the softmax of its row: logits [..., classes], target [...] of
    integers, losses [...]; `reduction` is "none" here, "mean" or "sum". As in
    `nn.functional.cross_entropy`, classes may also be dimension 1 of [N, classes, ...], targets may
    be probabilities, classes have weights, and one index may be left out.

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
        # Classes stand last: one row for each target.
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


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONAL:
        from infinicore.nn import functional as F  # noqa: N812

        return getattr(F, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
