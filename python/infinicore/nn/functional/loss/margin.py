"""Losses with margins. Half types are computed in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from infinicore._complex_parts import real_type
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, same_shape
from infinicore.functions._index_checks import check_indices, check_targets, with_check
from infinicore.functions._operands import counting, reduced, wide_floats
from infinicore.nn.functional.loss.regression import _pair, _softplus_of
from infinicore.nn.functional.reduce.distance import _distance


@function
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1.

    >>> F.hinge_embedding_loss(infinicore.tensor([2.0, 0.25]), infinicore.tensor([1.0, -1.0]))
    tensor(1.3750)
    """
    x, t = _pair("hinge_embedding_loss", input, target)
    hinge = emit("maximum", emit("sub", float(margin), x), 0.0)
    loss = emit(
        "add",
        emit("where", emit("not_equal", t, 1.0), hinge, 0.0),
        emit("where", emit("not_equal", t, -1.0), x, 0.0),
    )
    return reduced("hinge_embedding_loss", loss, reduction, result_type(input, target))


@function
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin), with targets 1 and -1.

    >>> one = infinicore.ones(1)
    >>> F.margin_ranking_loss(one, 3 * one, one)
    tensor(2.)
    """
    name = "margin_ranking_loss"
    same_shape(name, input1, input2, "input2")
    same_shape(name, input1, target)
    gap = emit("mul", emit("sub", wide_floats(input2), wide_floats(input1)), wide_floats(target))
    loss = emit("maximum", emit("add", gap, float(margin)), 0.0)
    return reduced(name, loss, reduction, result_type(input1, input2, target, 0.0))


@function
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1, with the cosine between rows
    of input1 and input2, which are [N, D] (target [N]) or [D] (target []).

    >>> x = infinicore.tensor([[1.0, 0.0]])
    >>> F.cosine_embedding_loss(x, x, infinicore.tensor([-1.0]), margin=0.5)
    tensor(0.5000)
    """
    name = "cosine_embedding_loss"
    same_shape(name, input1, input2, "input2")
    expect(target.ndim <= 1, name, "target.ndim", target.ndim, "0 or 1")
    expect(input1.ndim == target.ndim + 1, name, "input1.ndim", input1.ndim, f"{target.ndim + 1}")
    a, b, t = wide_floats(input1), wide_floats(input2), wide_floats(target)
    dims = [target.ndim]

    def along(x: Tensor, y: Tensor) -> Tensor:
        return emit("sum", emit("mul", x, y), dim=dims, keepdim=False)

    small = 1e-12
    lengths = emit("mul", emit("add", along(a, a), small), emit("add", along(b, b), small))
    cosine = emit("div", along(a, b), emit("sqrt", lengths))
    zero = 0.0
    alike = emit("where", emit("equal", t, 1.0), emit("sub", 1.0, cosine), zero)
    unlike = emit("maximum", emit("sub", cosine, float(margin)), zero)
    loss = emit("add", alike, emit("where", emit("equal", t, -1.0), unlike, zero))
    return reduced(name, loss, reduction, result_type(input1, input2, 0.0))


def _rows(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input [C] or [] and its target as a batch of one."""
    expect(input.ndim <= 2, name, "input.ndim", input.ndim, "0 to 2")
    _check_classes(name, input)
    if input.ndim == 2:
        return input, target
    if input.ndim == 0:
        return input.view(1, 1), target.reshape(target.numel())
    return input.unsqueeze(0), target if target.ndim == 1 and target.numel() == 1 else (
        target.unsqueeze(0)
    )


def _check_classes(name: str, input: Tensor) -> None:
    expect_shape(input.ndim == 0 or input.shape[-1] > 0, name, "input", input, "one class or more")


def _check_class(input: Any = None, target: Any = None, *_: Any, **__: Any) -> None:
    if isinstance(input, Tensor) and input.ndim:
        check_indices("multi_margin_loss", target, input.shape[-1], 1)


def _check_labels(input: Any = None, target: Any = None, *_: Any, **__: Any) -> None:
    if isinstance(input, Tensor) and input.ndim:
        check_targets("multilabel_margin_loss", target, input.shape[-1], -1)


@with_check(_check_class)
@function
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over classes c other than target of max(0, margin - input[target] + input[c]) ** p *
    weight[target], divided by the number of classes. input is [N, C] or [C], target [N] or [].

    >>> F.multi_margin_loss(infinicore.tensor([[0.0, 0.5]]), infinicore.tensor([0]))
    tensor(0.7500)
    """
    name = "multi_margin_loss"
    expect(p in (1, 2), name, "p", p, "1 or 2")
    x, t = _rows(name, input, target)
    rows, classes = x.shape
    expect(tuple(t.shape) == (rows,), name, "target.shape", tuple(target.shape), f"[{rows}]")
    if weight is not None:
        expect_shape(tuple(weight.shape) == (classes,), name, "weight", weight, f"[{classes}]")
    x, t = wide_floats(x), integers(name, "target", t)
    at_target = emit("gather", x, t.unsqueeze(1), dim=1)
    term = emit("maximum", emit("add", emit("sub", x, at_target), float(margin)), 0.0)
    if p == 2:
        term = emit("mul", term, term)
    others = emit("not_equal", counting(classes, x), t.unsqueeze(1))
    loss = emit("sum", emit("where", others, term, 0.0), dim=[1], keepdim=False)
    loss = emit("div", loss, float(classes))
    if weight is not None:
        loss = emit("mul", loss, emit("take", wide_floats(weight).contiguous(), t.contiguous()))
    if reduction == "none" and input.ndim <= 1 and target.ndim == 0:
        loss = loss.view()
    return reduced(name, loss, reduction, input.dtype)


@with_check(_check_labels)
@function
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """For each row the sum over its labels y and over classes c that are no label of
    max(0, 1 - input[y] + input[c]), divided by the number of classes. input and target are [N, C]
    or [C]; a row of target holds labels up to the first -1.

    >>> F.multilabel_margin_loss(infinicore.tensor([0.5, 0.0]), infinicore.tensor([0, -1]))
    tensor(0.2500)
    """
    name = "multilabel_margin_loss"
    fits = tuple(input.shape) == tuple(target.shape)
    expect_shape(fits, name, "target", target, f"that of input, {tuple(input.shape)}")
    expect(input.ndim <= 2, name, "input.ndim", input.ndim, "0 to 2")
    _check_classes(name, input)
    x, t = wide_floats(input), integers(name, "target", target)
    if input.ndim < 2:
        x, t = x.reshape(1, x.numel()), t.reshape(1, t.numel())
    classes = x.shape[1]
    ended = emit("cumsum", cast_to(emit("less", t, 0), int64), dim=1)
    is_label = emit("equal", ended, 0)
    at_label = emit("gather", x, emit("maximum", t, 0), dim=1)
    # Whether each class is a label of its row; what is no label goes to a column behind them.
    column = emit("where", is_label, t, classes)
    taken = tensor_for(0.0, x.dtype, x.device).expand(x.shape[0], classes + 1)
    one = tensor_for(1.0, x.dtype, x.device).expand(*t.shape)
    taken = emit("scatter", taken, column, one, axis=1, reduction=0).narrow(1, 0, classes)
    # What is not counted is -inf, and like torch only terms above 0 are, so that NaN is not.
    low = tensor_for(-math.inf, x.dtype, x.device)
    others = emit("where", emit("equal", taken, 0.0), x, low)
    labels = emit("where", is_label, emit("sub", 1.0, at_label), low)
    term = emit("add", others.unsqueeze(1), labels.unsqueeze(2))  # [rows, labels, classes]
    term = emit("where", emit("greater", term, 0.0), term, 0.0)
    loss = emit("sum", term, dim=[2], keepdim=False)
    loss = emit("div", emit("sum", loss, dim=[1], keepdim=False), float(max(classes, 1)))
    if input.ndim < 2:
        loss = loss.view()
    return reduced(name, loss, reduction, input.dtype)


@function
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over the last dimension of -(target * log(sigmoid(input)) + (1 - target) *
    log(sigmoid(-input))), times weight.

    >>> F.multilabel_soft_margin_loss(infinicore.zeros(1, 2), infinicore.ones(1, 2))
    tensor(0.6931)
    """
    name = "multilabel_soft_margin_loss"
    x, t = _pair(name, input, target)
    yes, no = _softplus_of(emit("neg", x)), _softplus_of(x)
    loss = emit("add", emit("mul", t, yes), emit("mul", emit("sub", 1.0, t), no))
    if weight is not None:
        same_shape(name, input, weight, "weight")
        loss = emit("mul", loss, wide_floats(weight))
    loss = emit("mean", loss, dim=[loss.ndim - 1], keepdim=False)
    return reduced(name, loss, reduction, result_type(input, target))


def _triplet(
    name: str, near: Tensor, far: Tensor, margin: float, reduction: str, kind: Any
) -> Tensor:
    expect(margin > 0, name, "margin", margin, "more than 0")
    loss = emit("maximum", emit("add", emit("sub", near, far), float(margin)), 0.0)
    return reduced(name, loss, reduction, kind)


@function
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin), with p-norms along
    the last dimension; `swap` takes the distance of positive and negative if that is smaller.

    >>> a = infinicore.zeros(1, 2)
    >>> F.triplet_margin_loss(a, a, a + 3, margin=5)
    tensor(0.7574)
    """
    name = "triplet_margin_loss"
    same_shape(name, anchor, positive, "positive")
    same_shape(name, anchor, negative, "negative")
    a, b, c = wide_floats(anchor), wide_floats(positive), wide_floats(negative)
    near, far = _distance(a, b, p, eps), _distance(a, c, p, eps)
    if swap:
        far = emit("minimum", far, _distance(b, c, p, eps))
    kind = real_type(result_type(anchor, positive, negative, 0.0))
    return _triplet(name, near, far, margin, reduction, kind)


@function
def _with_distances(
    near: Tensor, far: Tensor, other: Tensor | None, margin: float, reduction: str
) -> Tensor:
    a, b = wide_floats(near), wide_floats(far)
    if other is not None:
        b = emit("minimum", b, wide_floats(other))
    name = "triplet_margin_with_distance_loss"
    return _triplet(name, a, b, margin, reduction, near.dtype)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    out: Any = None,
) -> Tensor:
    """As `triplet_margin_loss`, with any function of two tensors as the distance.

    >>> a = infinicore.zeros(1, 2)
    >>> F.triplet_margin_with_distance_loss(a, a, a + 3, margin=5)
    tensor(0.7574)
    """
    name = "triplet_margin_with_distance_loss"
    if distance_function is None:
        result = triplet_margin_loss(anchor, positive, negative, margin, 2, 1e-6, swap, reduction)
    else:
        near = distance_function(anchor, positive)
        far = distance_function(anchor, negative)
        other = distance_function(positive, negative) if swap else None
        result = _with_distances(near, far, other, margin, reduction)
    if out is None:
        return result
    made: Tensor = write(name, out, result)
    return made
