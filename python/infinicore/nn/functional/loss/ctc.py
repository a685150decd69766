"""Connectionist temporal classification (CTC) loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._dtype import int64
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


# Labels are the leading dimension of what follows, so that neighbouring labels are dense lines.


@function
def _prepared(log_probs: Tensor, targets: Tensor, blank: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log probabilities [T, L, N] of the targets with blanks around each, a mask that forbids
    skipping a blank, and the initial log probabilities."""
    steps, count, classes = log_probs.shape
    blanks = infinicore.full_like(targets, blank)
    labels = infinicore.stack([blanks, targets], 2).reshape(count, -1)
    labels = infinicore.nn.functional.pad(labels, (0, 1), value=blank).T.contiguous()
    size = labels.shape[0]
    places = labels + infinicore.arange(count, device=targets.device) * classes
    lines = log_probs.reshape(steps, count * classes)
    probabilities = lines.index_select(1, places.reshape(-1)).view(steps, size, count)
    before = infinicore.nn.functional.pad(labels, (0, 0, 2, 0), value=blank).narrow(0, 0, size)
    may_jump = labels != before  # torch checks nothing else, even with blanks in targets
    jump = infinicore.zeros_like(probabilities[0]).masked_fill(~may_jump, -math.inf)
    first = infinicore.arange(size, device=targets.device).unsqueeze(1) < 2
    start = probabilities[0].masked_fill(~first, -math.inf)
    return probabilities, jump, start


@function
def _advanced(known: Tensor, probabilities: Tensor, jump: Tensor, is_over: Tensor) -> Tensor:
    """One time step: each label stays, or follows the previous one, or the one before that."""
    size = known.shape[0]
    before = infinicore.nn.functional.pad(known, (0, 0, 2, 0), value=-math.inf)
    one, two = before.narrow(0, 1, size), before.narrow(0, 0, size) + jump
    made = known.logaddexp(one).logaddexp(two) + probabilities
    return infinicore.where(is_over, known, made)


@function
def _finished(known: Tensor, lengths: Tensor, zero_infinity: bool) -> Tensor:
    """-log of the sum over the last label and the blank after it."""
    last = lengths.unsqueeze(0) * 2
    end = known.gather(0, last)
    before = known.gather(0, (last - 1).clamp_min(0)).masked_fill(last == 0, -math.inf)
    loss = -end.logaddexp(before).squeeze(0)
    return loss.masked_fill(loss == math.inf, 0.0) if zero_infinity else loss


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
    probabilities, jump, known = _prepared(logs, labels.contiguous(), blank)
    is_over = infinicore.arange(steps, device=logs.device).reshape(-1, 1, 1) >= ends
    is_over = is_over.expand(*probabilities.shape).contiguous()
    for step in range(1, steps):
        known = _advanced(known, probabilities[step], jump, is_over[step])
    loss = _finished(known, sizes, bool(zero_infinity))
    if reduction == "mean":
        loss = (loss / sizes.clamp_min(1)).mean()
    elif reduction == "sum":
        loss = loss.sum()
    elif log_probs.ndim == 2:
        loss = loss.squeeze(0)
    return loss.to(log_probs.dtype)
