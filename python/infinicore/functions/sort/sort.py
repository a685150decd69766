"""Sorting and searching."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import bool_, category, int32, int64
from infinicore._emit import cast_to, device_of, emit, placed, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_tensor
from infinicore.functions._index_checks import check_indices
from infinicore.functions._results import Ordered

_CPU = device("cpu")
_SELECTED = ("I32", "I64", "F16", "BF16", "F32", "F64")


def _sorted_along(
    input: Tensor, dim: int, descending: bool = False, stable: bool = True, out: Any = None
) -> Any:
    """Sorted elements, and their indices."""
    return emit("sort", input, dim=dim, descending=descending, stable=stable, out=out)


@function
def _sort(input: Tensor, dim: int, descending: bool, stable: bool, *, out: Any = None) -> Any:
    at = dim_of("sort", input, dim)
    return Ordered(*_sorted_along(input, at, descending, stable, out))


def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    out: Any = None,
) -> Any:
    """Sorts the elements along a dimension; returns values and indices. NaN is sorted last.

    >>> infinicore.sort(infinicore.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    return _sort(input, dim, bool(descending), bool(stable), out=out)


@function
def argsort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
) -> Tensor:
    """The indices that would sort the elements along a dimension.

    >>> infinicore.argsort(infinicore.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return _sorted_along(input, dim_of("argsort", input, dim), descending, stable)[1]


@function
def msort(input: Tensor) -> Tensor:
    """Sorts along the first dimension.

    >>> infinicore.msort(infinicore.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return _sorted_along(input, 0)[0]


@function
def _topk(input: Tensor, k: int, dim: int, largest: bool, sorted: bool, *, out: Any = None) -> Any:
    at = dim_of("topk", input, dim)
    size = input.shape[at] if input.ndim else 1
    expect(0 <= k <= size, "topk", "k", k, f"0 to {size}", RuntimeError)
    shape = list(input.shape)
    flat = input if input.ndim else input.view(1)
    shape[at : at + 1] = [k] if input.ndim else []
    values = _core.empty(shape or (k,), input.dtype, input.device)
    indices = _core.empty(shape or (k,), int32, input.device)
    made = emit("topk", flat, k=k, dim=at, largest=largest, sorted=sorted, out=(values, indices))
    if not input.ndim and k == 1:
        made = tuple(each.view(()) for each in made)
    if out is None:
        return Ordered(*made)
    for target, source in zip(out, made, strict=True):
        placed("topk", source, target)
    return Ordered(*out)


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    out: Any = None,
) -> Any:
    """The k largest (or smallest) elements along a dimension, and their int32 indices.

    >>> infinicore.topk(infinicore.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    return _topk(input, int(k), -1 if dim is None else dim, bool(largest), bool(sorted), out=out)


def _selects(input: Tensor) -> bool:
    """Whether an element is found faster than by sorting, which is as fast for narrow integers."""
    return input.device is _CPU and input.dtype._code in _SELECTED


def _selected(name: str, input: Tensor, dim: int, **values: int) -> tuple[Tensor, Tensor]:
    """The elements that `name`, "kthvalue" or "lower_median", finds, and their indices, if
    `_selects(input)`. The dimension stays, with size 1."""
    shape = [*input.shape]
    shape[dim] = 1
    kinds = input.dtype, int64
    made = tuple(_core.empty(shape, kind, input.device) for kind in kinds)
    flat = tuple(each.squeeze(dim) for each in made)
    emit(name, input.contiguous(), **values, dim=dim, keepdim=0, out=flat)
    return made  # type: ignore[return-value]


@function
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest elements along a dimension, and their indices.

    >>> infinicore.kthvalue(infinicore.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    at = dim_of("kthvalue", input, dim)
    size = input.shape[at] if input.ndim else 1
    expect(1 <= k <= size, "kthvalue", "k", k, f"1 to {size}", RuntimeError)
    if not input.ndim:
        return Ordered(*_sorted_along(input, at))
    if _selects(input) and (k > 64 or size < 600):  # topk is faster for the first of many
        made = _selected("kthvalue", input, at, k=k)
        return Ordered(*(made if keepdim else [each.squeeze(at) for each in made]))
    if k <= size // 2:  # stably: equal elements keep their order
        shape = [*input.shape[:at], k, *input.shape[at + 1 :]]
        kinds = input.dtype, int64
        room = tuple(_core.empty(shape, kind, input.device) for kind in kinds)
        made = emit("topk", input, k=k, dim=at, largest=False, sorted=True, out=room)
    else:
        made = _sorted_along(input, at)
    parts = [each.narrow(at, k - 1, 1) for each in made]
    return Ordered(*(each if keepdim else each.squeeze(at) for each in parts))


# ---- Sorted sequences ---------------------------------------------------------------------------


@function
def _searchsorted(
    sorted_sequence: Tensor, values: Operand, right: bool, kind: Any, sorter: Any = None
) -> Tensor:
    common = result_type(sorted_sequence, values)
    sequence = cast_to(sorted_sequence, common)
    values = tensor_for(values, common, sequence.device)
    if sorter is not None:
        sequence = emit("gather", sequence, cast_to(sorter, int64), dim=sequence.ndim - 1)
    if sequence.ndim == 1:
        flat = values.reshape(values.numel())
        made = emit("searchsorted", sequence, flat, right=right)
        made = made.view(*values.shape) if values.ndim else made.view(())
    else:
        if tuple(sequence.shape[:-1]) != tuple(values.shape[:-1]):
            raise RuntimeError(
                f"searchsorted: values has shape {tuple(values.shape)}: expected the sizes of"
                f" {tuple(sequence.shape)} but for the last"
            )
        made = emit("searchsorted", sequence, values, right=right)
    return cast_to(made, kind)


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    out: Any = None,
) -> Tensor:
    """The positions at which values would be inserted into a sorted sequence: before equal
    elements, or after them if `right`. Sequences of several dimensions are searched row by row.

    >>> infinicore.searchsorted(infinicore.tensor([1, 3, 5]), infinicore.tensor([3, 6]))
    tensor([1, 3])
    """
    if side is not None:
        expect(side in ("left", "right"), "searchsorted", "side", repr(side), "'left' or 'right'")
        right = side == "right"
    kind = int32 if out_int32 else int64
    if isinstance(sorted_sequence, Tensor) and sorted_sequence.ndim:
        check_indices("searchsorted", sorter, sorted_sequence.shape[-1], sorted_sequence.ndim - 1)
    return _searchsorted(sorted_sequence, values, right, kind, sorter, out=out)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """The indices of the buckets between boundaries to which the elements belong.

    >>> infinicore.bucketize(infinicore.tensor([0., 2.]), infinicore.tensor([1., 3.]))
    tensor([0, 1])
    """
    if need_tensor("bucketize", "boundaries", boundaries).ndim != 1:
        raise RuntimeError(f"bucketize: boundaries has {boundaries.ndim} dimensions: expected 1")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@function
def _isin(elements: Operand, test_elements: Operand, invert: bool) -> Tensor:
    common = result_type(elements, test_elements)
    where = device_of((elements, test_elements))  # numbers beyond int64 are not tensors yet
    elements, tests = (tensor_for(e, common, where) for e in (elements, test_elements))
    count = tests.numel()
    if not count:
        held = emit("not_equal", elements, elements) if category(common) < 2 else None
        if held is None:
            held = emit("logical_and", emit("isnan", elements), emit("isinf", elements))
    elif count <= 16:
        each = emit("equal", elements.unsqueeze(-1), tests.reshape(count))
        held = emit("any", each, dim=[each.ndim - 1])
    else:
        order = cast_to(tests, int32) if common is bool_ else tests
        order = _sorted_along(order.reshape(count), 0)[0]
        flat = cast_to(elements, order.dtype).reshape(elements.numel())
        at = emit("searchsorted", order, flat, right=False)
        at = emit("minimum", at, count - 1)
        held = emit("equal", emit("gather", order, at, dim=0), flat)
        held = held.view(*elements.shape) if elements.ndim else held.view(())
    return emit("logical_not", held) if invert else held


def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Any = None,
) -> Tensor:
    """Whether each element is in test_elements; with `invert`, whether it is not.

    >>> infinicore.isin(infinicore.tensor([1, 2, 3]), infinicore.tensor([2]))
    tensor([False,  True, False])
    """
    return _isin(elements, test_elements, invert, out=out)
