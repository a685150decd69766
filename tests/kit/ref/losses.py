"""Losses and distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .matrices import length
from .tensor import Tensor, define


def _reduced(loss: Any, reduction: str) -> Any:
    fold = {"none": np.asarray, "mean": np.mean, "sum": np.sum}[reduction]
    return np.asarray(fold(loss))


def _pointwise(name: str, formula: Any) -> None:
    def call(
        x: Any, target: Any, *args: Any, reduction: str = "mean", weight: Any = None, **named: Any
    ) -> Any:
        loss = formula(x, target, *args, **named)
        if weight is None:
            return _reduced(loss, reduction)
        # A mean by weights, but for Huber's.
        total = loss.size if name == "huber_loss" else np.sum(np.broadcast_to(weight, loss.shape))
        weighted = _reduced(loss * weight, "none" if reduction == "none" else "sum")
        return weighted / total if reduction == "mean" else weighted

    call.__name__ = name
    define()(call)


def _smooth_l1(x: Any, t: Any, beta: float = 1.0) -> Any:
    d = np.abs(x - t)
    return np.where(d < beta, d * d / (2 * beta) if beta else 0.0, d - beta / 2)


def _huber(x: Any, t: Any, delta: float = 1.0) -> Any:
    d = np.abs(x - t)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


_pointwise("mse_loss", lambda x, t: (x - t) ** 2)
_pointwise("l1_loss", lambda x, t: np.abs(x - t))
_pointwise("smooth_l1_loss", _smooth_l1)
_pointwise("huber_loss", _huber)
_pointwise("soft_margin_loss", lambda x, t: np.logaddexp(0, -t * x))


@define()
def kl_div(x: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    if log_target:
        loss = np.exp(target) * (target - x)
    else:
        loss = special.xlogy(target, target) - target * x
    if reduction == "batchmean":
        return np.asarray(np.sum(loss) / len(x))
    return _reduced(loss, reduction)


@define()
def binary_cross_entropy(
    x: Any, target: Any, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    yes, no = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    loss = -(target * yes + (1 - target) * no)
    return _reduced(loss if weight is None else loss * weight, reduction)


@define()
def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    loss = (1 - target) * x + scale * np.logaddexp(0, -x)
    return _reduced(loss if weight is None else loss * weight, reduction)


@define()
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    var = np.maximum(var, eps)
    loss = 0.5 * (np.log(var) + (x - target) ** 2 / var)
    return _reduced(loss + (0.5 * np.log(2 * np.pi) if full else 0), reduction)


@define()
def poisson_nll_loss(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    loss = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        stirling = special.xlogy(target, target) - target + 0.5 * np.log(2 * np.pi * target)
        loss = loss + np.where(target > 1, stirling, 0)
    return _reduced(loss, reduction)


@define()
def hinge_embedding_loss(
    x: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean"
) -> Any:
    apart = np.where(target != 1, np.maximum(margin - x, 0), 0)
    return _reduced(apart + np.where(target != -1, x, 0), reduction)


@define()
def margin_ranking_loss(
    x: Any, y: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    return _reduced(np.maximum(-target * (x - y) + margin, 0), reduction)


@define()
def cosine_embedding_loss(
    x: Any, y: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    sizes = (np.sum(x * x, -1) + 1e-12) * (np.sum(y * y, -1) + 1e-12)
    cosine = np.sum(x * y, -1) / np.sqrt(sizes)
    apart = np.where(target == -1, np.maximum(cosine - margin, 0), 0)
    return _reduced(np.where(target == 1, 1 - cosine, 0) + apart, reduction)


@define()
def multi_margin_loss(
    x: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    *,
    reduction: str = "mean",
) -> Any:
    right = np.take_along_axis(x, target[:, None], 1)
    loss = np.maximum(margin - right + x, 0) ** p
    loss = loss if weight is None else loss * weight[target][:, None]
    np.put_along_axis(loss, target[:, None], 0, 1)
    return _reduced(np.sum(loss, 1) / x.shape[1], reduction)


@define()
def multilabel_margin_loss(x: Any, target: Any, *, reduction: str = "mean") -> Any:
    def one(row: Any, labels: Any) -> Any:
        mine = [*labels[: np.argmax(np.append(labels, -1) < 0)]]
        others = [j for j in range(len(row)) if j not in mine]
        terms = (max(0.0, 1 - (row[i] - row[j])) for i in mine for j in others)
        return sum(terms) / len(row)

    if x.ndim == 1:
        return _reduced(np.asarray(one(x, target)), reduction)
    rows = zip(x, target, strict=True)
    return _reduced(np.array([one(*each) for each in rows], np.float64), reduction)


@define()
def multilabel_soft_margin_loss(
    x: Any, target: Any, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    loss = target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)
    return _reduced(np.mean(loss if weight is None else loss * weight, -1), reduction)


# ---- Distances ----------------------------------------------------------------------------------


def _distance(x: Any, y: Any, p: float = 2.0, eps: float = 1e-6) -> Any:
    return length(x - y + eps, p)


@define()
def pairwise_distance(
    x: Any, y: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    made = np.asarray(_distance(x, y, p, eps))
    return made[..., None] if keepdim else made


@define()
def cosine_similarity(x: Any, y: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    x, y = np.broadcast_arrays(x, y)
    sizes = (np.maximum(np.sqrt(np.sum(each * each, dim)), eps) for each in (x, y))
    return np.sum(x * y, dim) / np.prod([*sizes], 0)


@define()
def normalize(x: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    size = np.sum(np.abs(x) ** p, dim, keepdims=True) ** (1 / p)
    return x / np.maximum(size, eps)


def _triplet(x: Any, y: Any, z: Any, distance: Any, margin: float, swap: bool) -> Any:
    near, far = distance(x, y), distance(x, z)
    if swap:
        far = np.minimum(far, distance(y, z))
    return np.maximum(margin + near - far, 0)


@define()
def triplet_margin_loss(
    x: Any,
    y: Any,
    z: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    loss = _triplet(x, y, z, lambda a, b: _distance(a, b, p, eps), margin, swap)
    return _reduced(loss, reduction)


@define()
def triplet_margin_with_distance_loss(
    x: Any,
    y: Any,
    z: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    def distance(a: Any, b: Any) -> Any:
        if distance_function is None:
            return _distance(a, b)
        return distance_function(Tensor(a), Tensor(b)).array

    return _reduced(_triplet(x, y, z, distance, margin, swap), reduction)


# ---- Of classes ---------------------------------------------------------------------------------


def _nll(logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """Classes are dimension 1, or the only one."""
    axis = min(logs.ndim - 1, 1)
    kept = target != ignore_index
    places = np.where(kept, target, 0)
    scale = kept * (1.0 if weight is None else weight[places])
    picked = np.take_along_axis(logs, np.expand_dims(places, axis), axis).squeeze(axis)
    loss = -picked * scale
    if reduction == "mean":
        return np.asarray(np.sum(loss) / np.sum(scale))
    return _reduced(loss, reduction)


@define()
def nll_loss(
    x: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    return _nll(x, target, weight, ignore_index, reduction)


@define()
def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    axis = min(x.ndim - 1, 1)
    logs, classes = special.log_softmax(x, axis), x.shape[axis]
    share = 1.0 if weight is None else weight.reshape(-1, *[1] * (x.ndim - axis - 1))
    if target.dtype == np.float64:  # probabilities
        target = target * (1 - label_smoothing) + label_smoothing / classes
        loss = -np.sum(target * logs * share, axis)
        return _reduced(loss, reduction)
    plain = _nll(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return plain
    kept = target != ignore_index
    smooth = -np.sum(logs * share, axis) * kept
    if reduction == "mean":
        scale = kept * (1.0 if weight is None else weight[np.where(kept, target, 0)])
        smooth = np.sum(smooth) / np.sum(scale)
    else:
        smooth = _reduced(smooth, reduction)
    return np.asarray((1 - label_smoothing) * plain + label_smoothing / classes * smooth)
