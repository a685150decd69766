"""Products with weights, tables, norms, dropout and attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .tensor import FUNCTIONS, Tensor, cast, define, raw, widened

# ---- Products and tables ------------------------------------------------------------------------


@define()
def linear(x: Any, weight: Any, bias: Any = None, alpha: float = 1.0) -> Any:
    product = alpha * (x @ weight.T)
    return np.asarray(product if bias is None else product + bias)


@define()
def bilinear(a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    made = np.einsum("...i,oij,...j->...o", a, weight, b)
    return made if bias is None else made + bias


@raw
def embedding(index: Any, weight: Any) -> Any:
    return weight[index]


@define()
def embedding_bag(
    index: Any,
    weight: Any,
    offsets: Any = None,
    *,
    mode: str = "mean",
    per_sample_weights: Any = None,
) -> Any:
    fold = {"mean": np.mean, "sum": np.sum, "max": np.max}[mode]
    if offsets is not None:
        bags = np.split(weight[index], offsets[1:])
        none = np.zeros(weight.shape[1])
        return np.stack([fold(bag, axis=0) if len(bag) else none for bag in bags])
    rows = weight[index]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[..., None]
    return fold(rows, axis=1)


# ---- Norms --------------------------------------------------------------------------------------


def _whole(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _normal(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    mean, variance = np.mean(x, axes, keepdims=True), np.var(x, axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


def _channels(values: Any, x: Any) -> Any:
    """Of a value for each channel: the shape that broadcasts to x."""
    return None if values is None else values.reshape(-1, *[1] * (x.ndim - 2))


@define()
def rms_norm(x: Any, shape: Any, weight: Any = None, eps: float = 1e-5, epsilon: Any = None) -> Any:
    axes = tuple(range(-len(shape), 0))
    added = eps if epsilon is None else epsilon
    return _whole(x / np.sqrt(np.mean(x * x, axes, keepdims=True) + added), weight, None)


@define()
def layer_norm(
    x: Any,
    shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    epsilon: Any = None,
) -> Any:
    axes = tuple(range(-len(shape), 0))
    return _whole(_normal(x, axes, eps if epsilon is None else epsilon), weight, bias)


@define()
def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    split = x.reshape(len(x), groups, -1)
    made = _normal(split, (-1,), eps).reshape(x.shape)
    return _whole(made, _channels(weight, x), _channels(bias, x))


@define()
def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    count = x.shape[1]
    squares = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (x.ndim - 2)])
    around = sum(squares[:, i : i + count] for i in range(size))
    return x / (k + alpha * around / size) ** beta


def _update(running: Any, value: Any, momentum: float) -> None:
    if running is not None:
        old = widened(running.array)
        running.array[...] = cast((1 - momentum) * old + momentum * value, running.dtype)


def batch_norm(
    x: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    wide = widened(x.array)
    w, b, m, v = (
        None if each is None else _channels(widened(each.array), wide)
        for each in (weight, bias, running_mean, running_var)
    )
    if not training:
        return Tensor(cast(_whole((wide - m) / np.sqrt(v + eps), w, b), x.dtype))
    axes = (0, *range(2, wide.ndim))
    _update(running_mean, np.mean(wide, axes), momentum)
    _update(running_var, np.var(wide, axes, ddof=1), momentum)
    return Tensor(cast(_whole(_normal(wide, axes, eps), w, b), x.dtype))


def instance_norm(
    x: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    wide = widened(x.array)
    axes = tuple(range(2, wide.ndim))
    _update(running_mean, np.mean(np.mean(wide, axes), 0), momentum)
    _update(running_var, np.mean(np.var(wide, axes, ddof=1), 0), momentum)
    w, b = (
        None if each is None else _channels(widened(each.array), wide) for each in (weight, bias)
    )
    return Tensor(cast(_whole(_normal(wide, axes, eps), w, b), x.dtype))


FUNCTIONS |= {"batch_norm": batch_norm, "instance_norm": instance_norm}

# ---- Dropout: what does not depend on chance ----------------------------------------------------

for _name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"):

    def _dropout(x: Any, p: float = 0.5, training: bool = True) -> Any:
        assert not training or p in (0.0, 1.0), "the result is random"
        return x * 0 if training and p == 1 else x

    _dropout.__name__ = _name
    raw(_dropout)
FUNCTIONS["feature_alpha_dropout"] = FUNCTIONS["alpha_dropout"]

# ---- Attention ----------------------------------------------------------------------------------


@define()
def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if enable_gqa:
        k, v = (np.repeat(each, q.shape[-3] // each.shape[-3], -3) for each in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if attn_mask is not None and attn_mask.dtype == bool:
        scores = np.where(attn_mask, scores, -np.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return np.nan_to_num(special.softmax(scores, -1)) @ v
