"""Samples of categories and tokens."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dimension, expect
from infinicore.functions._operands import filled, wide_floats


@function
def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """softmax((logits + noise) / tau) with Gumbel noise: a relaxed sample of categories, or one-hot
    samples if `hard`.

    >>> F.gumbel_softmax(infinicore.zeros(2, 3), hard=True).sum()
    tensor(2.)
    """
    name = "gumbel_softmax"
    expect(tau > 0, name, "tau", tau, "a positive number")
    place = dimension(name, dim, logits.ndim)
    x = wide_floats(logits)
    draws = _core.empty(x.shape, x.dtype, x.device)
    # Excludes 0, whose logarithm is infinite.
    emit("random_uniform", out=draws, seed=0, offset=0, low=1e-7, high=1.0)
    noise = emit("neg", emit("log", emit("neg", emit("log", draws))))
    soft = emit("softmax", emit("div", emit("add", x, noise), float(tau)), axis=place)
    if not hard:
        return cast_to(soft, logits.dtype)
    best = emit("argmax", soft, dim=[place], keepdim=True)
    one = filled(best.shape, 1.0, logits.dtype, logits)
    zeros = filled(logits.shape, 0.0, logits.dtype, logits)
    return emit("scatter", zeros, best, one, axis=place)


@function
def random_sample(
    logits: Tensor,
    random_val: float,
    topp: float,
    topk: int,
    temperature: float,
    *,
    out: Any = None,
) -> Tensor:
    """The index of a token, drawn by the number random_val in [0, 1) from logits [V] with a
    temperature, among the `topk` largest and those that make up the probability `topp`. A
    zero-dimensional int32.

    >>> F.random_sample(infinicore.tensor([0.0, 5.0, 1.0]), 0.5, 0.9, 1, 1.0)
    tensor(1, dtype=infinicore.int32)
    """
    name = "random_sample"
    expect(logits.ndim == 1, name, "logits.ndim", logits.ndim, "1")
    target = _core.empty((), int32, logits.device) if out is None else out
    return emit(
        name,
        logits.contiguous(),
        out=target,
        random_val=float(random_val),
        topp=float(topp),
        topk=int(topk),
        temperature=float(temperature),
    )
