"""Classification losses. Half types are computed in float32."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from infinicore import _core
from infinicore._dtype import float32, float64, int64
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape
from infinicore.functions._index_checks import Made, check_targets
from infinicore.functions._operands import floats, reduced, wide_floats


def _by_class(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Checks input [N, C, ...] and target [N, ...]; the first dimension may be missing."""
    expect(input.ndim > 0, name, "input.ndim", input.ndim, "1 or more")
    if input.ndim == 1:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    wanted = (input.shape[0], *input.shape[2:])
    expect_shape(tuple(target.shape) == wanted, name, "target", target, f"{list(wanted)}")
    return input, target


def _ignored(name: str, input: Any, target: Any, ignore_index: Any) -> Any:
    """Checks the targets. Returns `ignore_index`, or None if they are known to have no such one."""
    if not isinstance(input, Tensor) or not input.ndim:
        return ignore_index
    classes = input.shape[min(input.ndim - 1, 1)]
    are_classes = check_targets(name, target, classes, ignore_index)
    is_class = isinstance(ignore_index, int) and 0 <= ignore_index < classes
    return None if are_classes and not is_class else ignore_index


def _with_checked_targets(made: Made) -> Made:
    @functools.wraps(made)
    def function(
        input: Any,
        target: Any,
        weight: Any = None,
        ignore_index: Any = -100,
        *rest: Any,
        **keywords: Any,
    ) -> Any:
        ignored = _ignored(made.__name__, input, target, ignore_index)
        return made(input, target, weight, ignored, *rest, **keywords)

    function.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]


def _check_weight(name: str, weight: Tensor | None, classes: int) -> None:
    if weight is not None:
        expect_shape(tuple(weight.shape) == (classes,), name, "weight", weight, f"[{classes}]")


def _picked(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignored: int | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Weighted losses [N, ...], the weight of each, and which of them are not ignored; None for
    weights of 1, and if all count."""
    counts = None if ignored is None else emit("not_equal", target, ignored)
    place = target if counts is None else emit("where", counts, target, 0)
    logs = emit("gather", logs, place.unsqueeze(1), dim=1).squeeze(1)
    loss = emit("neg", wide_floats(logs))
    scale = None
    if weight is not None:
        scale = emit("take", wide_floats(weight).contiguous(), place.contiguous())
        loss = emit("mul", loss, scale)
    return _counted(loss, counts), scale, counts


# Classes are compared as floats.
_MOST_CLASSES = 1 << 24


def _directly(
    x: Tensor, target: Tensor, weight: Tensor | None, ignored: int | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The same of logits, without the logarithms of all classes."""
    counts = None if ignored is None else emit("not_equal", target, ignored)
    # The loss of a target out of range is 0.
    is_class = ignored is not None and 0 <= ignored < x.shape[1]
    among = emit("where", counts, target, -1) if is_class else target
    loss = _core.empty(target.shape, float64 if x.dtype is float64 else float32, x.device)
    last = x if x.ndim == 2 else x.permute(0, *range(2, x.ndim), 1)
    emit("cross_entropy", last, among, out=loss)
    if weight is None:
        return loss, None, counts
    place = target if counts is None else emit("where", counts, target, 0)
    scale = emit("take", wide_floats(weight).contiguous(), place.contiguous())
    return _counted(emit("mul", loss, scale), counts), scale, counts


def _counted(values: Tensor, counts: Tensor | None) -> Tensor:
    return values if counts is None else emit("where", counts, values, 0.0)


def _reduced(
    name: str,
    loss: Tensor,
    scale: Tensor | None,
    counts: Tensor | None,
    reduction: str,
    input: Tensor,
) -> Tensor:
    """In the type of the input. The mean divides by the sum of the weights that count."""
    if counts is not None:
        scale = cast_to(counts, loss.dtype) if scale is None else _counted(scale, counts)
    if reduction == "mean" and scale is not None:
        return cast_to(emit("div", emit("sum", loss), emit("sum", scale)), input.dtype)
    if input.ndim == 1:
        loss = loss.view()
    return reduced(name, loss, reduction, input.dtype)


@_with_checked_targets
@function
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int | None = -100,
    reduction: str = "mean",
) -> Tensor:
    """-weight[target] * input[target]: input [N, C, ...] holds logarithms of probabilities, target
    [N, ...] classes; those equal to `ignore_index`, unless it is None, are ignored. The mean
    divides by the sum of the weights. The first dimension may be missing.

    >>> F.nll_loss(infinicore.tensor([[-0.5, -1.0]]), infinicore.tensor([1]))
    tensor(1.)
    """
    name = "nll_loss"
    x, t = _by_class(name, input, target)
    _check_weight(name, weight, x.shape[1])
    loss, scale, counts = _picked(x, cast_to(t, int64), weight, ignore_index)
    return _reduced(name, loss, scale, counts, reduction, input)


@_with_checked_targets
@function
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int | None = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss(log_softmax(input), target): input [N, C, ...] or [C]; target holds classes
    [N, ...], or probabilities of all classes in the shape of input.

    >>> F.cross_entropy(infinicore.zeros(1, 2), infinicore.tensor([1]))
    tensor(0.6931)
    """
    name = "cross_entropy"
    expect(
        0 <= label_smoothing <= 1, name, "label_smoothing", label_smoothing, "a number from 0 to 1"
    )
    if target.dtype.is_floating_point:
        return _soft(input, target, weight, reduction, label_smoothing)
    x, t = _by_class(name, input, target)
    classes = x.shape[1]
    _check_weight(name, weight, classes)
    if not label_smoothing and classes < _MOST_CLASSES:
        loss, scale, counts = _directly(floats(x), cast_to(t, int64), weight, ignore_index)
    else:
        logs = emit("log_softmax", wide_floats(x), dim=1)
        loss, scale, counts = _picked(logs, cast_to(t, int64), weight, ignore_index)
    if label_smoothing:
        all_logs = (
            logs if weight is None else emit("mul", logs, _channel(wide_floats(weight), logs.ndim))
        )
        smooth = emit("neg", emit("sum", all_logs, dim=[1], keepdim=False))
        smooth = _counted(smooth, counts)
        loss = emit(
            "add",
            emit("mul", loss, 1.0 - label_smoothing),
            emit("mul", smooth, label_smoothing / classes),
        )
    return _reduced(name, loss, scale, counts, reduction, input)


def _channel(weight: Tensor, rank: int) -> Tensor:
    return weight.view(-1, *[1] * (rank - 2))


def _soft(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """With probabilities as the target."""
    name = "cross_entropy"
    fits = tuple(target.shape) == tuple(input.shape)
    expect_shape(fits, name, "target", target, f"that of input, {tuple(input.shape)}")
    x, t = wide_floats(input), wide_floats(target)
    if input.ndim == 1:
        x, t = x.unsqueeze(0), t.unsqueeze(0)
    classes = x.shape[1]
    _check_weight(name, weight, classes)
    if smoothing:
        t = emit("add", emit("mul", t, 1.0 - smoothing), smoothing / classes)
    terms = emit("mul", t, emit("log_softmax", x, dim=1))
    if weight is not None:
        terms = emit("mul", terms, _channel(wide_floats(weight), x.ndim))
    loss = emit("neg", emit("sum", terms, dim=[1], keepdim=False))
    if input.ndim == 1:
        loss = loss.view()
    return reduced(name, loss, reduction, input.dtype)
