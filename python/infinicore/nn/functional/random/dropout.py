"""Dropout: the identity unless `training`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

# selu's limit for small x: the value of a dropped element.
_LOWEST = -1.0507009873554805 * 1.6732632423543772


def _kept(input: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """Booleans [*shape], true with probability 1 - p."""
    draws = _core.empty(tuple(shape), input.dtype, input.device)
    emit("random_uniform", out=draws, seed=0, offset=0, low=0.0, high=1.0)
    return emit("greater_equal", draws, float(p))


def _check(name: str, input: Tensor, p: float) -> None:
    expect(0 <= p <= 1, name, "p", p, "a number from 0 to 1")


def _same(input: Tensor, out: Any) -> Tensor:
    return input if out is None else emit("rearrange", input, out=out)


def _dropped(
    name: str,
    input: Tensor,
    p: float,
    training: bool,
    inplace: bool,
    out: Any,
    shape: Sequence[int],
) -> Tensor:
    _check(name, input, p)
    target = input if inplace else out
    if not training or p == 0:
        return _same(input, target if target is not input else None)
    if p == 1:
        return emit("mul", input, 0.0, out=target)
    scaled = emit("mul", input, 1 / (1 - p))
    kept = _kept(input, p, shape)
    return emit("where", kept, scaled, 0.0, out=target)


@function
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """While training, zeroes each element with probability p and divides the others by 1 - p.
    Otherwise the input.

    >>> F.dropout(infinicore.ones(2), training=False)
    tensor([1., 1.])
    """
    return _dropped("dropout", input, p, training, inplace, out, input.shape)


def _channels(name: str, input: Tensor, spatial: int) -> tuple[int, ...]:
    """A shape with one element for each channel: the input is [N, C, *spatial] or [C, *spatial]."""
    ranks = (spatial + 1, spatial + 2)
    expect(input.ndim in ranks, name, "input.ndim", input.ndim, f"{ranks[0]} or {ranks[1]}")
    lead = input.ndim - spatial
    return (*input.shape[:lead], *[1] * spatial)


@function
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """`dropout` of whole channels of input [N, C, L] or [C, L].

    >>> F.dropout1d(infinicore.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    shape = _channels("dropout1d", input, 1)
    return _dropped("dropout1d", input, p, training, inplace, out, shape)


@function
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """`dropout` of whole channels of input [N, C, H, W] or [C, H, W].

    >>> F.dropout2d(infinicore.ones(1, 1, 2), training=False)
    tensor([[[1., 1.]]])
    """
    shape = _channels("dropout2d", input, 2) if input.ndim != 2 else (*input.shape,)
    return _dropped("dropout2d", input, p, training, inplace, out, shape)


@function
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """`dropout` of whole channels of input [N, C, D, H, W] or [C, D, H, W].

    >>> F.dropout3d(infinicore.ones(1, 1, 1, 2), training=False)
    tensor([[[[1., 1.]]]])
    """
    shape = _channels("dropout3d", input, 3)
    return _dropped("dropout3d", input, p, training, inplace, out, shape)


def _alpha(
    name: str,
    input: Tensor,
    p: float,
    training: bool,
    inplace: bool,
    out: Any,
    shape: Sequence[int],
) -> Tensor:
    _check(name, input, p)
    target = input if inplace else out
    if not training or p == 0:
        return _same(input, target if target is not input else None)
    if p == 1:
        return emit("mul", input, 0.0, out=target)
    # Dropped elements get the lowest value; then mean and variance are restored.
    scale = ((1 - p) * (1 + p * _LOWEST**2)) ** -0.5
    shift = -scale * _LOWEST * p
    mixed = emit("where", _kept(input, p, shape), input, _LOWEST)
    return emit("add", emit("mul", mixed, scale), shift, out=target)


@function
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """Dropout that preserves the mean and variance of the results of `selu`.

    >>> F.alpha_dropout(infinicore.ones(2))
    tensor([1., 1.])
    """
    return _alpha("alpha_dropout", input, p, training, inplace, out, input.shape)


@function
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False, *, out: Any = None
) -> Tensor:
    """`alpha_dropout` of whole channels of input [N, C, ...].

    >>> F.feature_alpha_dropout(infinicore.ones(1, 2))
    tensor([[1., 1.]])
    """
    fits = input.ndim >= 2 or not training
    expect(fits, "feature_alpha_dropout", "input.ndim", input.ndim, "2 or more while training")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return _alpha("feature_alpha_dropout", input, p, training, inplace, out, shape)
