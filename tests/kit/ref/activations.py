"""Activations, gates and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .tensor import define

sigmoid = special.expit


def _softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0) -> Any:
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * inner))


@define()
def relu6(x: Any) -> Any:
    return np.clip(x, 0, 6)


@define()
def silu(x: Any) -> Any:
    return x * sigmoid(x)


@define()
def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


@define()
def logsigmoid(x: Any) -> Any:
    return -np.logaddexp(0, -x)


@define()
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    return np.where(x > 0, x, x * negative_slope)


@define()
def elu(x: Any, alpha: float = 1.0) -> Any:
    return _elu(x, alpha)


@define()
def celu(x: Any, alpha: float = 1.0) -> Any:
    return _elu(x, alpha, inner=1 / alpha)


@define()
def selu(x: Any) -> Any:
    return _elu(x, 1.6732632423543772, 1.0507009873554805)


@define()
def mish(x: Any) -> Any:
    return x * np.tanh(_softplus(x))


@define()
def hardswish(x: Any) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6


@define()
def hardsigmoid(x: Any) -> Any:
    return np.clip(x + 3, 0, 6) / 6


@define()
def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return np.clip(x, min_val, max_val)


@define()
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return _softplus(x, beta, threshold)


@define()
def softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


@define()
def hardshrink(x: Any, lambd: float = 0.5) -> Any:
    return np.where(np.abs(x) > lambd, x, 0.0)


@define()
def softshrink(x: Any, lambd: float = 0.5) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


@define()
def tanhshrink(x: Any) -> Any:
    return x - np.tanh(x)


@define()
def threshold(x: Any, threshold: float, value: float) -> Any:
    return np.where(x > threshold, x, value)


@define()
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3) -> Any:
    return np.where(x >= 0, x, x * (lower + upper) / 2)


@define()
def prelu(x: Any, weight: Any) -> Any:
    if weight.size > 1:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, weight * x)


@define()
def glu(x: Any, dim: int = -1) -> Any:
    value, gate = np.split(x, 2, dim)
    return value * sigmoid(gate)


@define()
def swiglu(up: Any, gate: Any) -> Any:
    return up * gate * sigmoid(gate)


@define()
def silu_and_mul(x: Any) -> Any:
    gate, up = np.split(x, 2, -1)
    return gate * sigmoid(gate) * up


def _usual(x: Any, dim: int | None) -> int | None:
    """The dimension that torch takes if none is given."""
    if x.ndim == 0:
        return None
    return dim if dim is not None else int(x.ndim not in (1, 3))


@define()
def softmax(x: Any, dim: int | None = None, dtype: Any = None) -> Any:
    return np.asarray(special.softmax(x, _usual(x, dim)))


@define()
def softmin(x: Any, dim: int | None = None) -> Any:
    return special.softmax(-x, _usual(x, dim))


@define()
def log_softmax(x: Any, dim: int | None = None) -> Any:
    return special.log_softmax(x, _usual(x, dim))


@define()
def causal_softmax(x: Any) -> Any:
    rows, columns = x.shape[-2:]
    seen = np.tri(rows, columns, columns - rows, dtype=bool)
    return special.softmax(np.where(seen, x, -np.inf), -1)
