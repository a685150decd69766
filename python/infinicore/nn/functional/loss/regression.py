"""Regression losses. Half types are computed in float32."""

from __future__ import annotations

import math
from typing import Any

from infinicore._complex_parts import real_type
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, same_shape
from infinicore.functions._index_checks import check_range, with_check
from infinicore.functions._operands import reduced, wide_floats


def _pair(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    same_shape(name, input, target)
    return wide_floats(input), wide_floats(target)


def _gap(name: str, input: Tensor, target: Tensor) -> Tensor:
    a, b = _pair(name, input, target)
    return emit("sub", a, b)


def _weighted(name: str, loss: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None:
        return loss
    same_shape(name, loss, weight, "weight")
    return emit("mul", loss, wide_floats(weight))


@function
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """(input - target) ** 2, times weight.

    >>> F.mse_loss(infinicore.zeros(2), infinicore.tensor([1.0, 3.0]))
    tensor(5.)
    """
    gap = _gap("mse_loss", input, target)
    loss = _weighted("mse_loss", emit("mul", gap, gap), weight)
    return _settled("mse_loss", loss, reduction, weight, result_type(input, target))


def _settled(name: str, loss: Tensor, reduction: str, weight: Tensor | None, kind: Any) -> Tensor:
    """With weights, the mean divides by their sum."""
    if weight is None or reduction != "mean":
        return reduced(name, loss, reduction, kind)
    total = emit("sum", wide_floats(weight).expand(*loss.shape))
    return cast_to(emit("div", emit("sum", loss), total), kind)


@function
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """abs(input - target), times weight.

    >>> F.l1_loss(infinicore.zeros(2), infinicore.tensor([1.0, 3.0]))
    tensor(2.)
    """
    loss = _weighted("l1_loss", emit("abs", _gap("l1_loss", input, target)), weight)
    kind = real_type(result_type(input, target))
    return _settled("l1_loss", loss, reduction, weight, kind)


@function
def smooth_l1_loss(
    input: Tensor, target: Tensor, beta: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """d ** 2 / (2 beta) where d = abs(input - target) is below beta, d - beta / 2 elsewhere.

    >>> F.smooth_l1_loss(infinicore.zeros(2), infinicore.tensor([1.0, 3.0]))
    tensor(1.5000)
    """
    expect(beta >= 0, "smooth_l1_loss", "beta", beta, "0 or more")
    a, b = _pair("smooth_l1_loss", input, target)
    if beta:
        loss = emit("huber", a, b, delta=float(beta), scale=1 / beta)
    else:
        loss = emit("abs", emit("sub", a, b))
    return reduced("smooth_l1_loss", loss, reduction, result_type(input, target))


@function
def huber_loss(
    input: Tensor,
    target: Tensor,
    delta: float = 1.0,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """d ** 2 / 2 where d = abs(input - target) is at most delta, delta * (d - delta / 2) elsewhere.

    >>> F.huber_loss(infinicore.zeros(2), infinicore.tensor([1.0, 3.0]))
    tensor(1.5000)
    """
    expect(delta > 0, "huber_loss", "delta", delta, "a positive number")
    a, b = _pair("huber_loss", input, target)
    loss = emit("huber", a, b, delta=float(delta), scale=1.0)
    loss = _weighted("huber_loss", loss, weight)
    return reduced("huber_loss", loss, reduction, result_type(input, target))


@function
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target * (log(target) - input), with logarithms of probabilities as input, and as target too
    if `log_target`. `reduction="batchmean"` divides the sum by the first size.

    >>> F.kl_div(infinicore.zeros(2), infinicore.ones(2))
    tensor(0.)
    """
    x, t = _pair("kl_div", input, target)
    if log_target:
        loss = emit("mul", emit("exp", t), emit("sub", t, x))
    else:
        logs = emit("where", emit("equal", t, 0.0), 0.0, emit("mul", t, emit("log", t)))
        loss = emit("sub", logs, emit("mul", t, x))
    kind = result_type(input, target)
    if reduction == "batchmean":
        rows = input.shape[0] if input.ndim else 1
        return cast_to(emit("div", emit("sum", loss), float(rows)), kind)
    return reduced("kl_div", loss, reduction, kind)


def _check_probabilities(input: Any = None, target: Any = None, *_: Any, **__: Any) -> None:
    check_range("binary_cross_entropy", "input", input, 0, 1)
    check_range("binary_cross_entropy", "target", target, 0, 1)


@with_check(_check_probabilities)
@function
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), times weight; logarithms are clamped
    to -100.

    >>> F.binary_cross_entropy(infinicore.tensor([0.5]), infinicore.ones(1))
    tensor(0.6931)
    """
    name = "binary_cross_entropy"
    x, t = _pair(name, input, target)
    yes = emit("maximum", emit("log", x), -100.0)
    no = emit("maximum", emit("log1p", emit("neg", x)), -100.0)
    # (t - 1) * no - t * yes
    loss = emit("sub", emit("mul", emit("sub", t, 1.0), no), emit("mul", t, yes))
    return reduced(name, _weighted(name, loss, weight), reduction, input.dtype)


@function
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """binary_cross_entropy(sigmoid(input), target), without overflow; the term of `target` is times
    pos_weight, which is broadcast, and all of it times weight.

    >>> F.binary_cross_entropy_with_logits(infinicore.zeros(1), infinicore.ones(1))
    tensor(0.6931)
    """
    name = "binary_cross_entropy_with_logits"
    x, t = _pair(name, input, target)
    # log(1 + exp(-x)), which is -log(sigmoid(x)).
    tail = emit("log1p", emit("exp", emit("neg", emit("abs", x))))
    negative = emit("add", tail, emit("maximum", emit("neg", x), 0.0))
    if pos_weight is not None:
        same_shape(name, input, pos_weight, "pos_weight")
        more = emit("add", emit("mul", emit("sub", wide_floats(pos_weight), 1.0), t), 1.0)
        negative = emit("mul", more, negative)
    loss = emit("add", emit("mul", emit("sub", 1.0, t), x), negative)
    return reduced(name, _weighted(name, loss, weight), reduction, result_type(input, target))


@function
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Operand,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(v) + (input - target) ** 2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if
    `full`. var is a number, or has the shape of input, in which the last size may be 1 or missing.

    >>> F.gaussian_nll_loss(infinicore.zeros(1), infinicore.ones(1), infinicore.ones(1))
    tensor(0.5000)
    """
    name = "gaussian_nll_loss"
    expect(eps > 0, name, "eps", eps, "a positive number")
    spread: Any = var  # numbers are zero-dimensional tensors here
    if spread.ndim and tuple(spread.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(spread.shape):
            spread = spread.unsqueeze(-1)
        else:
            fits = tuple(spread.shape) == (*input.shape[:-1], 1)
            expect_shape(fits, name, "var", spread, f"that of input, {tuple(input.shape)}")
    gap = _gap(name, input, target)
    spread = emit("maximum", wide_floats(spread), float(eps))
    loss = emit("add", emit("log", spread), emit("div", emit("mul", gap, gap), spread))
    loss = emit("mul", loss, 0.5)
    if full:
        loss = emit("add", loss, 0.5 * math.log(2 * math.pi))
    return reduced(name, loss, reduction, result_type(input, target))


@function
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps) without `log_input`; `full`
    adds Stirling's term for targets above 1.

    >>> F.poisson_nll_loss(infinicore.zeros(1), infinicore.ones(1))
    tensor(1.)
    """
    name = "poisson_nll_loss"
    x, t = _pair(name, input, target)
    if log_input:
        loss = emit("sub", emit("exp", x), emit("mul", t, x))
    else:
        loss = emit("sub", x, emit("mul", t, emit("log", emit("add", x, float(eps)))))
    if full:
        term = emit("sub", emit("mul", t, emit("log", t)), t)
        term = emit("add", term, emit("mul", emit("log", emit("mul", t, 2 * math.pi)), 0.5))
        loss = emit("add", loss, emit("where", emit("greater", t, 1.0), term, 0.0))
    return reduced(name, loss, reduction, result_type(input, target, 0.0))


@function
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), with targets 1 and -1.

    >>> F.soft_margin_loss(infinicore.zeros(1), infinicore.ones(1))
    tensor(0.6931)
    """
    x, t = _pair("soft_margin_loss", input, target)
    loss = _softplus_of(emit("neg", emit("mul", t, x)))
    return reduced("soft_margin_loss", loss, reduction, result_type(input, target))


def _softplus_of(x: Tensor) -> Tensor:
    """log(1 + exp(x)), exact for large x."""
    tail = emit("log1p", emit("exp", emit("neg", emit("abs", x))))
    return emit("add", tail, emit("maximum", x, 0.0))
