"""Connectionist temporal classification (CTC) loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._dtype import int64
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_tensor
from infinicore.functions._index_checks import check_indices, is_known
from infinicore.functions._operands import wide_floats

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}  # torch.ctc_loss takes these numbers


def _lengths(argument: str, given: Any, count: int, most: int, like: Tensor) -> Tensor:
    """One length for each sequence, as a tensor on the same device as the others."""
    if isinstance(given, (int, Sequence)):
        given = [given] if isinstance(given, int) else list(given)
        given = infinicore.tensor(given, dtype=int64, device="cpu")  # so that they can be checked
    made = integers("ctc_loss", argument, given).reshape(-1)
    expect(made.numel() == count, "ctc_loss", f"the size of {argument}", made.numel(), f"{count}")
    if is_known(made) and count:
        least, largest = made.min().item(), made.max().item()
        expect(least >= 0, "ctc_loss", f"the least of {argument}", least, "0 or more")
        expect(
            largest <= most, "ctc_loss", f"the largest of {argument}", largest, f"at most {most}"
        )
    return made.to(like.device)


def _rows(targets: Tensor, lengths: Any) -> Tensor:
    """Concatenated targets as rows of equal length."""
    sizes = [lengths] if isinstance(lengths, int) else list(lengths)
    sizes = [int(each) for each in (lengths.tolist() if isinstance(lengths, Tensor) else sizes)]
    total = sum(sizes)
    expect(
        targets.shape[0] == total, "ctc_loss", "the size of targets", targets.shape[0], f"{total}"
    )
    widest = max(sizes, default=0)
    pad = infinicore.nn.functional.pad
    rows = [pad(row, (0, widest - row.shape[0])) for row in targets.split(sizes)]
    return infinicore.stack(rows)


@function
def _losses(
    log_probs: Tensor, targets: Tensor, ends: Tensor, sizes: Tensor, blank: int, zero_infinity: bool
) -> Tensor:
    loss = emit("ctc_loss", log_probs, targets, ends, sizes, blank=blank)
    return loss.masked_fill(loss == math.inf, 0.0) if zero_infinity else loss  # type: ignore[no-any-return]


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """CTC loss: -log of the total probability of all alignments of the targets in log_probs [T, N,
    C], where labels may repeat and be separated by `blank`. Targets are [N, S], or concatenated in
    one dimension. "mean" divides each loss by the length of its target first. The dimension N may
    be missing.

    >>> logs = infinicore.full((2, 1, 2), 0.5).log()
    >>> F.ctc_loss(logs, infinicore.tensor([[1]]), [2], [1]).exp()
    tensor(1.3333)
    """
    name = "ctc_loss"
    need_tensor(name, "log_probs", log_probs)
    reduction = _REDUCTIONS.get(reduction, reduction)
    if reduction not in _REDUCTIONS.values():
        raise ValueError(f"{name}: reduction is {reduction!r}: expected 'none', 'mean' or 'sum'")
    expect(log_probs.ndim in (2, 3), name, "log_probs.ndim", log_probs.ndim, "2 or 3")
    logs = wide_floats(log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1))
    steps, count, classes = logs.shape
    expect(0 <= blank < classes, name, "blank", blank, f"0 to {classes - 1}")
    expect(steps > 0, name, "the number of steps", steps, "1 or more")
    labels = integers(name, "targets", targets)
    if labels.ndim == 1 and log_probs.ndim == 3:
        labels = _rows(labels, target_lengths)
    labels = labels.reshape(count, -1)
    check_indices(name, labels, classes, 2)
    ends = _lengths("input_lengths", input_lengths, count, steps, logs)
    sizes = _lengths("target_lengths", target_lengths, count, labels.shape[1], logs)
    loss = _losses(logs, labels.to(int64), ends.to(int64), sizes.to(int64), blank, zero_infinity)
    if reduction == "mean":
        loss = (loss / sizes.clamp_min(1)).mean()
    elif reduction == "sum":
        loss = loss.sum()
    elif log_probs.ndim == 2:
        loss = loss.squeeze(0)
    return loss.to(log_probs.dtype)
