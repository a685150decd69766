"""Elements selected and written by masks; one-hot encoding."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_parts import is_complex
from infinicore._device import device
from infinicore._dtype import bool_, int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function, write
from infinicore._mask_indices import replaced, selected
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._index_checks import check_indices, class_count, is_known
from infinicore.op._shapes import broadcast

_CPU = device("cpu")


def _mask(name: str, mask: Tensor) -> Tensor:
    need_tensor(name, "mask", mask)
    return mask if mask.dtype is bool_ else emit("not_equal", mask, 0)


@function
def masked_fill(input: Tensor, mask: Tensor, value: Operand, *, out: Any = None) -> Tensor:
    """A copy with one value where the mask is true; broadcast.

    >>> infinicore.masked_fill(infinicore.zeros(2), infinicore.tensor([True, False]), 7)
    tensor([7., 0.])
    """
    mask = _mask("masked_fill", mask)
    if isinstance(value, Tensor):
        expect(value.ndim == 0, "masked_fill", "value.ndim", value.ndim, "0")
    if is_complex(value) and not input.dtype.is_complex:
        raise RuntimeError(f"masked_fill: value is complex: expected {input.dtype!r}, as the input")
    value = tensor_for(value, input.dtype, input.device)
    return emit("where", mask, value, input, out=out)


@function
def _alike(input: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Views with one shape, of one dimension or more."""
    shape = broadcast([tuple(input.shape), tuple(mask.shape)]) or (1,)
    return input.expand(*shape), mask.expand(*shape)


def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements where the mask is true, in one dimension; broadcast. The result size depends on
    the values, so this cannot be recorded.

    >>> infinicore.masked_select(infinicore.arange(3), infinicore.tensor([True, False, True]))
    tensor([0, 2])
    """
    _core.refuse_while_recording("masked_select")
    need_tensor("masked_select", "input", input)
    need_tensor("masked_select", "mask", mask)
    mask = mask if mask.dtype is bool_ else mask != 0
    values = input
    if input.shape != mask.shape or not input.ndim:
        values, mask = _alike(input, mask)
    made = selected(values, mask)
    return made if out is None else write("masked_select", out, made)  # type: ignore[no-any-return]


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Any = None) -> Tensor:
    """A copy with the elements of source, in order, where the mask is true.

    >>> mask = infinicore.tensor([True, False, True])
    >>> infinicore.masked_scatter(infinicore.zeros(3), mask, infinicore.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    need_tensor("masked_scatter", "input", input)
    if need_tensor("masked_scatter", "mask", mask).dtype is not bool_:
        raise TypeError(f"masked_scatter: mask has type {mask.dtype!r}: expected booleans")
    need_tensor("masked_scatter", "source", source)
    if source.dtype is not input.dtype:
        raise TypeError(
            f"masked_scatter: source has type {source.dtype!r}: expected that of input,"
            f" {input.dtype!r}"
        )
    if is_known(mask) and input.device is _CPU and source.device is _CPU:
        made, flags, line = _scatter_operands(input, mask, source)
        held = _core.masked_scatter(made, flags, line)
        if held > source.numel():
            raise RuntimeError(
                f"masked_scatter: source has {source.numel()} elements: expected {held} or more,"
                " as many as the mask holds"
            )
        return made if out is None else write("masked_scatter", out, made)  # type: ignore[no-any-return]
    return _masked_scatter(input, mask, source, out=out)


@function
def _scatter_operands(input: Tensor, mask: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A copy of the input, and mask and source without gaps."""
    shape = broadcast([tuple(input.shape), tuple(mask.shape)])
    made = emit("rearrange", input.expand(*shape) if shape else input)
    return made, (mask.expand(*shape) if shape else mask).contiguous(), source.contiguous()


@function
def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = broadcast([tuple(input.shape), tuple(mask.shape)])
    if shape:
        input, mask = input.expand(*shape), mask.expand(*shape)
    return replaced(input, mask.contiguous(), source.reshape(source.numel()))


@function
def _one_hot(input: Tensor, num_classes: int) -> Tensor:
    classes = emit("arange", out=_core.empty((num_classes,), int64, input.device), start=0, step=1)
    return cast_to(emit("equal", cast_to(input, int64).unsqueeze(-1), classes), int64)


def one_hot(input: Tensor, num_classes: int = -1, *, out: Any = None) -> Tensor:
    """One-hot encoding in a new last dimension. Without a number of classes it is the largest
    element plus 1.

    >>> infinicore.one_hot(infinicore.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if need_tensor("one_hot", "input", input).dtype.is_floating_point:
        raise RuntimeError(f"one_hot: input has type {input.dtype!r}: expected integers")
    if num_classes == -1:
        _core.refuse_while_recording("one_hot without num_classes")
        if not input.numel():
            raise RuntimeError("one_hot: input is empty: expected num_classes")
        num_classes = class_count("one_hot", input)
    else:
        check_indices("one_hot", input, num_classes, input.ndim)
    return _one_hot(input, num_classes, out=out)
