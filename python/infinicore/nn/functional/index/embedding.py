"""Rows of a table, their sums, and one-hot rows."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore import _core
from infinicore._device import device
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._index_checks import check_indices, class_count, is_known, with_check
from infinicore.functions._operands import counting, filled, wide, wide_floats


@function
def _limit_norms(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of weight that are selected to norms of at most max_norm, in place. All are
    read before one is written, so that rows selected twice are scaled once."""
    if not index.numel():
        return weight
    line = index.reshape(index.numel())
    rows = wide(emit("index_select", weight, line, dim=0))
    norms = infinicore.norm(rows, norm_type, 1, True)
    scaled = rows * (max_norm / (norms + 1e-7))
    rows = cast_to(emit("where", norms > max_norm, scaled, rows), weight.dtype)
    line = line.unsqueeze(1).expand(*rows.shape)
    emit("scatter", weight, line, rows, out=weight, axis=0, reduction=0)
    return weight


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Rows of weight [rows, width] selected by the indices in input; the result is [*input.shape,
    width]. Selected rows whose `norm_type`-norm exceeds `max_norm` are first scaled to it, in
    place. `padding_idx`, `scale_grad_by_freq` and `sparse` affect only gradients and are ignored.

    >>> F.embedding(infinicore.tensor([1, 0]), infinicore.tensor([[0.0, 1.0], [2.0, 3.0]]))
    tensor([[2., 3.],
            [0., 1.]])
    """
    if isinstance(weight, Tensor) and weight.ndim == 2:
        check_indices("embedding", input, weight.shape[0], 0)
        if max_norm is not None:
            _limit_norms(weight, input, float(max_norm), float(norm_type))
    rows: Tensor = _embedding(input, weight, out=out)
    return rows


_CPU = device("cpu")
_FEW = 6  # indices of a bag whose rows are added in one map


@function
def _embedding(input: Tensor, weight: Tensor, *, out: Any = None) -> Tensor:
    expect(weight.ndim == 2, "embedding", "weight.ndim", weight.ndim, "2")
    return emit("embedding", input, weight, out=out)  # type: ignore[no-any-return]


@function
def _one_hot(input: Tensor, classes: int) -> Tensor:
    hit = emit("equal", cast_to(input, int64).unsqueeze(-1), counting(classes, input))
    return cast_to(hit, int64)


def one_hot(tensor: Tensor, num_classes: int = -1, *, out: Any = None) -> Tensor:
    """One-hot encoding of classes [*shape]: [*shape, num_classes], with a 1 at each class. With -1
    the number of classes is the largest one plus 1, which is read from the tensor.

    >>> F.one_hot(infinicore.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    need_tensor("one_hot", "tensor", tensor)
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise TypeError(f"one_hot: tensor has type {tensor.dtype!r}: expected integers")
    is_open = num_classes == -1
    if is_open:
        _core.refuse_while_recording("one_hot without num_classes")
        expect(tensor.numel() > 0, "one_hot", "tensor", "empty", "some elements, or num_classes")
        num_classes = class_count("one_hot", tensor)
    expect(num_classes >= 1, "one_hot", "num_classes", num_classes, "1 or more, or -1")
    if not is_open:
        check_indices("one_hot", tensor, num_classes, tensor.ndim)
    result: Tensor = _one_hot(tensor, num_classes)
    if out is None:
        return result
    made: Tensor = write("one_hot", out, result)
    return made


def _bagged(rows: Tensor, mode: str) -> Tensor:
    """Rows [bags, size, width], folded over each bag."""
    size = rows.shape[1]
    if not (rows.device is _CPU and 0 < size <= _FEW):
        operator = {"sum": "sum", "mean": "mean", "max": "amax"}[mode]
        return emit(operator, rows, dim=[1], keepdim=False)  # type: ignore[no-any-return]
    # One map over all bags, instead of a fold for each.
    made = rows.select(1, 0)
    for i in range(1, size):
        made = emit("maximum" if mode == "max" else "add", made, rows.select(1, i))
    return emit("div", made, float(size)) if mode == "mean" else made


def _check_bags(
    input: Any = None, weight: Any = None, offsets: Any = None, *_: Any, **__: Any
) -> None:
    name = "embedding_bag"
    if isinstance(weight, Tensor) and weight.ndim == 2:
        check_indices(name, input, weight.shape[0], 0)
    if not is_known(offsets) or not isinstance(input, Tensor) or input.ndim != 1:
        return
    if offsets.ndim == 1 and offsets.numel() and not offsets.dtype.is_floating_point:
        first, last, count = offsets[0].item(), offsets[-1].item(), input.shape[0]
        expect(first == 0, name, "offsets[0]", first, "0")
        expect(last <= count, name, "offsets[-1]", last, f"at most {count}, the size of input")


@with_check(_check_bags)
@function
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, the mean or the maximum of rows of weight [rows, width] for each bag of indices: a
    row of input [bags, size], or a part of input [count] that starts at one of `offsets` [bags].
    With include_last_offset the last offset ends the last bag. Indices equal to padding_idx are
    skipped; `max_norm` is as in `embedding`.

    >>> table = infinicore.tensor([[1.0], [3.0]])
    >>> F.embedding_bag(infinicore.tensor([[0, 1]]), table)
    tensor([[2.]])
    """
    name = "embedding_bag"
    expect(mode in ("sum", "mean", "max"), name, "mode", repr(mode), "'sum', 'mean' or 'max'")
    if per_sample_weights is not None:
        expect(mode == "sum", name, "mode", repr(mode), "'sum' with per_sample_weights")
        expect(
            tuple(per_sample_weights.shape) == tuple(input.shape),
            name,
            "per_sample_weights.shape",
            tuple(per_sample_weights.shape),
            f"that of input, {tuple(input.shape)}",
        )
    expect(input.ndim in (1, 2), name, "input.ndim", input.ndim, "1 or 2")
    if max_norm is not None:
        _limit_norms(weight, input, float(max_norm), float(norm_type))
    rows = wide_floats(emit("embedding", input, weight))
    if per_sample_weights is not None:
        rows = emit("mul", rows, wide_floats(per_sample_weights).unsqueeze(-1))
    if input.ndim == 2 and offsets is not None:
        raise ValueError(f"{name}: offsets is a tensor: expected None with input of 2 dimensions")
    if input.ndim == 2 and padding_idx is None:
        return cast_to(_bagged(rows, mode), weight.dtype)
    if input.ndim == 2:
        bags, size = input.shape
        offsets = emit("mul", counting(bags, input), size)
        input, rows = input.reshape(-1), rows.reshape(bags * size, weight.shape[1])
    elif offsets is None:
        raise ValueError(f"{name}: offsets is None: expected a tensor with input of 1 dimension")
    elif include_last_offset:
        expect(offsets.shape[0] >= 1, name, "offsets.shape", tuple(offsets.shape), "some offsets")
        offsets = offsets[:-1]
    bags, count = offsets.shape[0], input.shape[0]
    # The bag of an index: the number of bags that begin at or before it.
    place = counting(count, input)
    begun = emit("searchsorted", cast_to(offsets, int64), place, right=True)
    bag = emit("sub", cast_to(begun, int64), 1)
    if padding_idx is not None:
        left_out = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
        expect(0 <= left_out < weight.shape[0], name, "padding_idx", padding_idx, "a row of weight")
        # They go to an extra bag, which is dropped.
        bag = emit("where", emit("equal", input, left_out), bags, bag)
    zeros = filled((bags + 1, weight.shape[1]), 0.0, rows.dtype, rows)
    if not count:
        made = zeros
    elif mode == "sum":
        made = emit("index_add", zeros, bag, rows, dim=0, alpha=1.0)
    else:
        reduce = {"mean": "mean", "max": "amax"}[mode]
        made = emit("index_reduce", zeros, bag, rows, dim=0, reduce=reduce, include_self=False)
    return cast_to(made[:bags], weight.dtype)
