"""Losses. `reduction` 0 gives one for each element or row, 1 the mean, 2 the sum."""

from __future__ import annotations

import math

from ...language import expression as fn
from ...language.expression import Array
from ...language.folds import fold_any, fold_max, fold_mean, fold_sum, position
from ...language.model import operator
from ...language.views import expand

REDUCTION = "reduction >= 0; reduction <= 2"
CASES = {"reduction": (0, 1, 2)}


def _reduced(loss: Array, reduction: int) -> Array:
    if reduction == 0:
        return loss
    return fold_mean(loss, axis="all") if reduction == 1 else fold_sum(loss, axis="all")


# ---- Element by element -------------------------------------------------------------------------


@operator(
    "BCEWithLogits(!out, logits, target, weight, pos_weight, infiniopReduction_t reduction)",
    """
    out out     F+   [*S, /reduction]
    logits      =out [*S]
    target      =out [*S]
    weight?     =out [~S]
    pos_weight? =out [~S]
    """,
    where=REDUCTION,
    cases=CASES,
)
def binary_cross_entropy_with_logits(
    logits: Array,
    target: Array,
    weight: Array | None,
    pos_weight: Array | None,
    *,
    reduction: int,
) -> Array:
    """The cross entropy of a target in [0, 1] and sigmoid(logits). `pos_weight` multiplies the
    part of the target, `weight` all of it; both are broadcast."""
    # -log(sigmoid(x)) = log(1 + e^-|x|) + max(-x, 0), and -log(1 - sigmoid(x)) is that plus x.
    positive = fn.log1p(fn.exp(-fn.absolute(logits))) + fn.maximum(-logits, 0.0)
    share = 1.0 if pos_weight is None else 1.0 + (pos_weight - 1.0) * target
    loss = (1.0 - target) * logits + share * positive
    return _reduced(loss if weight is None else loss * weight, reduction)


@operator(
    "GaussianNllLoss(!y, input, target, var, int full, double eps, int reduction)",
    """
    out y  F+ [*S, /reduction]
    input  =y [*S]
    target =y [*S]
    var    =y [*S]
    """,
    where=REDUCTION,
    cases=CASES,
    umbrella=False,
)
def gaussian_nll_loss(
    input: Array, target: Array, var: Array, *, full: int, eps: float, reduction: int
) -> Array:
    """-log of the density at the target of a normal distribution around the input; `full` adds the
    constant, log(2 pi) / 2. The variance is at least eps."""
    variance = fn.maximum(var, eps)
    away = input - target
    constant = fn.where(fn.equal(full, 0), 0.0, 0.5 * math.log(2.0 * math.pi))
    return _reduced(0.5 * (fn.log(variance) + away * away / variance) + constant, reduction)


@operator(
    "HingeEmbeddingLoss(!y, input, target, double margin, int reduction)",
    """
    out y  F+ [*S, /reduction]
    input  =y [*S]
    target =y [*S]
    """,
    where=REDUCTION,
    cases=CASES,
)
def hinge_embedding_loss(input: Array, target: Array, *, margin: float, reduction: int) -> Array:
    """The input where the target is 1, max(0, margin - input) where it is -1, and the sum of both
    elsewhere."""
    near = fn.where(fn.equal(target, -1.0), 0.0, input)
    far = fn.where(fn.equal(target, 1.0), 0.0, fn.maximum(margin - input, 0.0))
    return _reduced(near + far, reduction)


@operator(
    "HuberLoss(!output, input, target, float delta, int reduction)",
    """
    out output F+      [*S, /reduction]
    input      =output [*S]
    target     =output [*S]
    """,
    where=REDUCTION,
    cases=CASES,
)
def huber_loss(input: Array, target: Array, *, delta: float, reduction: int) -> Array:
    """Half the squared difference below delta, and linear from there on."""
    away = fn.absolute(input - target)
    line = delta * (away - 0.5 * delta)
    return _reduced(fn.where(away < delta, 0.5 * away * away, line), reduction)


@operator(
    "Huber(!y, input, target, double delta, double scale)",
    """
    out y  F+ [*S]
    input  =y [*S]
    target =y [*S]
    """,
    umbrella=False,
)
def huber(input: Array, target: Array, *, delta: float, scale: float) -> Array:
    """The huber loss of each element times scale; the numbers are exact for F64, too."""
    away = fn.absolute(input - target)
    line = delta * (away - 0.5 * delta)
    return scale * fn.where(away < delta, 0.5 * away * away, line)


@operator(
    "SmoothL1Loss(!output, input, target, float beta, int reduction)",
    """
    out output F+      [*S, /reduction]
    input      =output [*S]
    target     =output [*S]
    """,
    where=REDUCTION,
    cases=CASES,
)
def smooth_l1_loss(input: Array, target: Array, *, beta: float, reduction: int) -> Array:
    """The huber loss divided by beta; with beta = 0 the absolute difference."""
    away = fn.absolute(input - target)
    return _reduced(fn.where(away < beta, 0.5 * away * away / beta, away - 0.5 * beta), reduction)


# ---- Row by row ---------------------------------------------------------------------------------


@operator(
    "CrossEntropy(!y_desc, x_desc, target_desc)",
    """
    out y  F+  [*B]
    x      F+  [*B, V]
    target IDX [*B]
    """,
)
def cross_entropy(x: Array, target: Array) -> Array:
    """-log of the target's softmax among its row; 0 where the target is out of range."""
    shifted = x - fold_max(x)
    here = fn.equal(position(x), expand(target))
    loss = fn.log(fold_sum(fn.exp(shifted))) - fold_sum(fn.where(here, shifted, 0.0))
    return fn.where(fold_any(here), loss, 0.0)


@operator(
    "MultiMarginLoss(!output, input, target, weight, int p, float margin, int reduction)",
    """
    out output F+      [N, /reduction]
    input      =output [N, C]
    target     I64     [N]
    weight?    =output [C]
    """,
    where=f"p >= 1; p <= 2; {REDUCTION}",
    cases={"p": (1, 2), **CASES},
)
def multi_margin_loss(
    input: Array, target: Array, weight: Array | None, *, p: int, margin: float, reduction: int
) -> Array:
    """The sum over all columns c but the target t of max(0, margin - x_t + x_c)^p, divided by the
    number of columns, times the target's weight; 0 where the target is out of range."""
    here = fn.equal(position(input), expand(target))
    excess = fn.maximum(margin - fold_sum(fn.where(here, input, 0.0)) + input, 0.0)
    loss = fold_mean(fn.where(here, 0.0, excess if p == 1 else excess * excess))
    if weight is not None:
        loss = loss * fold_sum(fn.where(here, weight, 0.0))
    return _reduced(fn.where(fold_any(here), loss, 0.0), reduction)


def _triplet(near: Array, far: Array, other: Array, margin: float, swap: int) -> Array:
    """From the distances anchor-positive, anchor-negative and positive-negative."""
    return fn.maximum(near - fn.where(fn.equal(swap, 0), far, fn.minimum(far, other)) + margin, 0.0)


@operator(
    "TripletMarginLoss(!output, anchor, positive, negative, float margin, int p, float eps,"
    " int swap, int reduction)",
    """
    out output F+      [N, /reduction]
    anchor     =output [N, *R]
    positive   =output [N, *R]
    negative   =output [N, *R]
    """,
    where=f"p >= 1; {REDUCTION}",
    cases=CASES,
)
def triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    margin: float,
    p: int,
    eps: float,
    swap: int,
    reduction: int,
) -> Array:
    """How much nearer the anchor should be to the positive than to the negative, at least by the
    margin. Distances are p-norms over all dimensions but the first, eps added to each difference;
    `swap` takes the positive's distance to the negative if that is smaller."""

    def distance(a: Array, b: Array) -> Array:
        return fn.power(fold_sum(fn.power(fn.absolute(a - b + eps), p), axis="1:"), 1.0 / p)

    near, far = distance(anchor, positive), distance(anchor, negative)
    return _reduced(_triplet(near, far, distance(positive, negative), margin, swap), reduction)


@operator(
    "TripletMarginWithDistanceLoss(!output, anchor, positive, negative, float margin, int swap,"
    " int reduction)",
    """
    out output F+      [*B, /reduction]
    anchor     =output [*B, D]
    positive   =output [*B, D]
    negative   =output [*B, D]
    """,
    where=REDUCTION,
    cases=CASES,
)
def triplet_margin_with_distance_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    *,
    margin: float,
    swap: int,
    reduction: int,
) -> Array:
    """As `triplet_margin_loss` with the Euclidean distance over the last dimension, eps = 1e-6."""

    def distance(a: Array, b: Array) -> Array:
        away = a - b + 1e-6
        return fn.sqrt(fold_sum(away * away))

    near, far = distance(anchor, positive), distance(anchor, negative)
    return _reduced(_triplet(near, far, distance(positive, negative), margin, swap), reduction)
