"""Indexing with tensors, lists, arrays and masks, in any combination with slices, by NumPy's rules.

A key is split into a view (from slices, integers, None and `...`) and indices for some of the
view's dimensions. Those dimensions are merged into one, along which reading selects and writing
scatters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import ALL, bool_, category, dtype, int32, int64
from infinicore._elements import copy, fill
from infinicore._emit import _step, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._mask_indices import mask_indices, selected
from infinicore._tensor import Methods, Tensor
from infinicore.op._operator import function as operator_named
from infinicore.op._shapes import broadcast

__all__: list[str] = []

_CPU = device("cpu")


class _Parts(NamedTuple):
    """A parsed key."""

    view: Tensor
    dims: tuple[int, ...]  # dimensions of the view that are indexed
    indices: tuple[Tensor, ...]  # one for each of those
    place: int  # where their dimensions are in the result
    wraps: bool  # whether some may be negative


# ---- Keys ----------------------------------------------------------------------------------------


def _as_index(item: Any, where: device) -> Any:
    """Converts array-likes to tensors of integers or booleans; other items are unchanged."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    is_plain = not isinstance(item, (Tensor, bool, list, tuple)) and hasattr(item, "__index__")
    if is_plain and not getattr(item, "ndim", 0) and getattr(item, "dtype", None) != "bool":
        return item.__index__()
    if not isinstance(item, Tensor):
        from infinicore._data import tensor as make

        if isinstance(item, (list, tuple)) and _is_empty(item):
            item = make(item, dtype=int64, device=where)
        else:
            try:
                item = make(item, device=where)
            except (TypeError, ValueError) as error:
                raise IndexError(
                    "an index is an integer, a slice, None, `...`, or an array of integers or"
                    f" truth values: {error}"
                ) from None
    if category(item.dtype) > 1:
        raise IndexError(f"an index has elements of type {item.dtype!r}: expected integers")
    return item if item.dtype in (bool_, int64, int32) else item.to(int64)


def _moved_to(where: device, index: Tensor) -> Tensor:
    return index if index.device is where else index.to(where, non_blocking=True)


def _checked(index: Tensor, size: int, dim: int) -> bool:
    """Whether an index has, or may have, negative numbers. Indices on a device are not checked,
    since the host would have to wait; out-of-range ones select nothing there."""
    if index.device is not _CPU or _core.is_recording():
        return True
    return _core.check_indices(index, size, dim)


def _is_empty(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and all(_is_empty(each) for each in item)


def _is_size(of_mask: int, size: int) -> bool:
    return of_mask in (0, size)


def _indices_of(mask: Tensor, sizes: tuple[int, ...], dim: int) -> list[Tensor]:
    """The indices of the true elements of a mask, for each of its dimensions."""
    # An empty mask is valid and selects nothing, as the array API requires.
    fits = len(sizes) == mask.ndim and all(map(_is_size, mask.shape, sizes))
    if tuple(mask.shape) != sizes and not (fits and not mask.numel()):
        raise IndexError(
            f"a mask of shape {tuple(mask.shape)} does not fit the sizes {sizes} from dimension"
            f" {dim} on"
        )
    _core.refuse_while_recording("indexing with a mask")
    return mask_indices(mask)


def _take_apart(tensor: Tensor, key: Any) -> _Parts:
    rows_wrap = _core.check_rows(tensor, key)
    if rows_wrap is not None:
        return _Parts(tensor, (0,), (key,), 0, rows_wrap)
    # Lists are checked before they are copied to the device; a recording keeps the copies.
    where = tensor.device if _core.is_recording() else _CPU
    items = [_as_index(item, where) for item in (key if isinstance(key, tuple) else (key,))]
    used = sum(
        (item.ndim if item.dtype is bool_ else 1)
        if isinstance(item, Tensor)
        else item is not None and item is not Ellipsis
        for item in items
    )
    if used > tensor.ndim:
        raise IndexError(f"too many indices: {used} for a tensor of {tensor.ndim} dimensions")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    rest = [slice(None)] * (tensor.ndim - used)
    # The ellipsis stays: it separates the indices on both sides, even if it stands for no
    # dimension.
    at = dots[0] if dots else len(items)
    items[at + 1 : at + 1] = rest

    basic: list[Any] = []  # the view's key: full slices for indexed dimensions
    dims: list[int] = []
    indices: list[Tensor] = []
    advanced: list[bool] = []
    source = out = place = 0  # dimensions of the tensor, of the view, of the preceding part
    wraps = False
    for item in items:
        is_index = isinstance(item, (Tensor, int))
        advanced.append(is_index)
        if item is Ellipsis:
            continue
        if isinstance(item, Tensor) and item.dtype is bool_:
            sizes = tuple(tensor.shape[source : source + item.ndim])
            found = _indices_of(_moved_to(tensor.device, item), sizes, source)
            # A zero-dimensional mask indexes a new dimension.
            basic += [slice(None)] * item.ndim or [None]
            dims += range(out, out + len(found))
            indices += found
            source, out = source + item.ndim, out + len(found)
        elif isinstance(item, Tensor):
            basic.append(slice(None))
            wraps |= _checked(item, tensor.shape[source], source)
            dims.append(out)
            indices.append(_moved_to(tensor.device, item))
            source, out = source + 1, out + 1
        else:
            basic.append(item)
            source += item is not None
            out += not is_index
        if not is_index and not any(advanced):
            place += 1
    first = advanced.index(True)
    last = len(advanced) - 1 - advanced[::-1].index(True)
    if not all(advanced[first : last + 1]):
        place = 0
    view = _core.basic_index(tensor, tuple(basic))
    assert view is not None
    return _Parts(view, tuple(dims), tuple(indices), place, wraps)


def _index_shape(indices: tuple[Tensor, ...]) -> tuple[int, ...]:
    if len(indices) == 1:
        return tuple(indices[0].shape)
    try:
        return tuple(broadcast([tuple(index.shape) for index in indices]))
    except ValueError as error:
        raise IndexError(f"the indices have no common shape: {error}") from None


# ---- Reading -------------------------------------------------------------------------------------


def _linear(
    indices: tuple[Tensor, ...],
    sizes: list[int],
    factors: list[int],
    start: int,
    wraps: bool,
) -> Tensor:
    """start + the sum of indices times factors, as a vector."""
    shape = _index_shape(indices)
    total: Any = None
    for index, size, factor in zip(indices, sizes, factors, strict=True):
        if wraps:
            negative = emit("less", index, tensor_for(0, index.dtype, index.device))
            shifted = emit("add", index, tensor_for(size, index.dtype, index.device))
            index = emit("where", negative, shifted, index)
        if factor != 1:
            index = index if index.dtype is int64 else index.to(int64)
            index = emit("mul", index, tensor_for(factor, int64, index.device))
        total = index if total is None else emit("add", total, index)
    if start:
        total = emit("add", total, tensor_for(start, total.dtype, total.device))
    return total.expand(*shape).reshape(math.prod(shape))  # type: ignore[no-any-return]


@function
def _select(input: Tensor, indices: Any, dims: Any, place: int, wraps: bool = True) -> Tensor:
    shape = _index_shape(indices)
    sizes, strides = list(input.shape), input.stride()
    others = [d for d in range(input.ndim) if d not in dims]
    before, behind = others[:place], others[place:]
    result_shape = [*(sizes[d] for d in before), *shape, *(sizes[d] for d in behind)]
    if 0 in result_shape or any(sizes[d] == 0 for d in dims):
        return _core.empty(result_shape, input.dtype, input.device)
    # A single dimension whose stride divides those of all indexed dimensions.
    step = math.gcd(*(strides[d] for d in dims)) or 1
    reach = [(sizes[d] - 1) * strides[d] // step for d in dims]
    low = sum(min(each, 0) for each in reach)
    merged = _core.view_as(
        input,
        [*(sizes[d] for d in before), sum(map(abs, reach)) + 1, *(sizes[d] for d in behind)],
        [*(strides[d] for d in before), step, *(strides[d] for d in behind)],
        low * step * input.itemsize,
        input.dtype,
    )
    line = _linear(
        indices, [sizes[d] for d in dims], [strides[d] // step for d in dims], -low, wraps
    )
    return emit("index_select", merged, line, dim=place).view(*result_shape)  # type: ignore[no-any-return]


def get(tensor: Tensor, key: Any) -> Tensor:
    """Reads the elements for a key that is not just a view. Called by the extension module."""
    wraps = _core.check_rows(tensor, key)
    if wraps is not None:
        return _select(tensor, (key,), (0,), 0, wraps)
    if (
        isinstance(key, Tensor)
        and key.dtype is bool_
        and tuple(key.shape) == tuple(tensor.shape) != ()
    ):
        _core.refuse_while_recording("indexing with a mask")
        return selected(tensor, _moved_to(tensor.device, key))
    parts = _take_apart(tensor, key)
    return _select(parts.view, parts.indices, parts.dims, parts.place, parts.wraps)


# ---- Writing -------------------------------------------------------------------------------------

# Types that are copied as integers of the same size.
_MOVED = {
    "BYTE": ALL["U8"],
    "F8": ALL["U8"],
    "C16": ALL["I16"],
    "C32": ALL["I32"],
    "C64": ALL["I64"],
}


def _movable(tensor: Tensor) -> Tensor:
    if tensor.dtype._code == "C128":
        steps = [*(2 * step for step in tensor.stride()), 1]
        return _core.view_as(tensor, (*tensor.shape, 2), steps, 0, int64)
    return tensor.view(_MOVED.get(tensor.dtype._code, tensor.dtype))


def _counted(size: int, like: Tensor) -> Tensor:
    return emit(  # type: ignore[no-any-return]
        "arange", out=_core.empty((size,), int64, like.device), start=0, step=1
    )


@function
def _scatter(
    input: Tensor,
    indices: Any,
    dims: Any,
    place: int,
    value: Operand,
    wraps: bool = True,
    adds: bool = False,
) -> Tensor:
    shape = _index_shape(indices)
    value = tensor_for(value, input.dtype, input.device)
    sizes = list(input.shape)
    others = [d for d in range(input.ndim) if d not in dims]
    before, behind = others[:place], others[place:]
    value = value.expand(*(sizes[d] for d in before), *shape, *(sizes[d] for d in behind))
    if value.numel() == 0:
        return input
    target = input
    if not adds:
        target, value = _movable(input), _movable(value)
        if target.ndim > input.ndim:
            behind = [*behind, input.ndim]
            sizes.append(2)
    merged: Tensor | None = target.permute(*before, *dims, *behind)
    if merged is not None and len(dims) > 1:
        rest = [sizes[d] for d in behind]
        whole = math.prod(sizes[d] for d in dims)
        merged = _core.try_view(merged, *(sizes[d] for d in before), whole, *rest)
    named = [sizes[d] for d in dims]
    if merged is not None:
        factors = [math.prod(named[i + 1 :]) for i in range(len(named))]
        line = _linear(indices, named, factors, 0, wraps)
        line = line.view(*(1 for _ in before), -1, *(1 for _ in behind))
        updates = value.reshape(*(sizes[d] for d in before), -1, *(sizes[d] for d in behind))
        line = line.expand(*updates.shape)
    else:
        # Element by element: the strides do not allow merging the dimensions.
        strides = target.stride()
        low = sum(min((size - 1) * step, 0) for size, step in zip(sizes, strides, strict=True))
        span = sum(abs((size - 1) * step) for size, step in zip(sizes, strides, strict=True)) + 1
        merged = _core.view_as(target, (span,), (1,), low * target.itemsize, target.dtype)
        line = _linear(indices, named, [strides[d] for d in dims], -low, wraps)
        line = line.view(*(1 for _ in before), *shape, *(1 for _ in behind))
        for i, d in enumerate([*before, *behind]):
            at = i if i < len(before) else i + len(shape)
            count = _counted(sizes[d], input).view(*(1,) * at, -1, *(1,) * (value.ndim - at - 1))
            scaled = emit("mul", count, tensor_for(strides[d], int64, input.device))
            line = emit("add", line, scaled)
        line = line.expand(*value.shape).reshape(-1)
        updates, place = value.reshape(-1), 0
    emit("scatter", merged, line, updates, out=merged, axis=place, reduction=int(adds))
    return input


@function
def _put_where(input: Tensor, mask: Tensor, value: Operand, adds: bool) -> Tensor:
    behind = input.ndim - mask.ndim
    mask = mask.view(*mask.shape, *(1,) * behind).expand(*input.shape)
    value = tensor_for(value, input.dtype, input.device).expand(*input.shape)
    if adds:
        value = emit("add", input, value)
    _step(operator_named("where"), [input, mask, value, input], {})
    return input


def _as_value(value: Any, kind: dtype, tensor: Tensor) -> Tensor:
    if not isinstance(value, Tensor):
        from infinicore._data import tensor as make

        return make(value, dtype=kind, device=tensor.device)
    if value.dtype is kind and value.device is tensor.device:
        return value
    return value.to(tensor.device, kind)


def _without_front(value: Any, rank: int) -> Any:
    """Removes extra leading dimensions of size 1, which NumPy accepts."""
    while isinstance(value, Tensor) and value.ndim > rank and value.shape[0] == 1:
        value = value.select(0, 0)
    return value


def put(parts: _Parts, value: Any, adds: bool = False) -> None:
    view = parts.view
    if type(value) not in (bool, int, float) or view.dtype.is_complex:
        shape = _index_shape(parts.indices)
        rank = view.ndim - len(parts.dims) + len(shape)
        value = _without_front(_as_value(value, view.dtype, view), rank)
        others = [size for d, size in enumerate(view.shape) if d not in parts.dims]
        wanted = (*others[: parts.place], *shape, *others[parts.place :])
        try:
            if tuple(value.shape) != wanted:
                value.expand(*wanted)
        except RuntimeError:
            raise ValueError(
                f"a value of shape {tuple(value.shape)} can't be put where the shape is {wanted}"
            ) from None
        if _core.may_overlap(view, value):
            value = value.clone()
    _scatter(view, parts.indices, parts.dims, parts.place, value, parts.wraps, adds)


def set_item(tensor: Tensor, key: Any, value: Any) -> None:
    view = _core.basic_index(tensor, key)
    if view is not None:
        _assign(view, value)
        return
    if isinstance(key, Tensor) and key.dtype is bool_ and _put_masked(tensor, key, value):
        return
    put(_take_apart(tensor, key), value)


def _differ(sizes: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether a tensor of these sizes cannot be viewed with other sizes."""
    return any(a not in (1, b) for a, b in zip(sizes[::-1], to[::-1], strict=False))


def _put_masked(tensor: Tensor, mask: Tensor, value: Any, adds: bool = False) -> bool:
    """Writes one value to all selected elements, or adds it, which can be recorded too. False:
    there are several values, or the mask does not fit."""
    if not 0 < mask.ndim <= tensor.ndim or tensor.dtype.is_complex:
        return False
    if adds and tensor.dtype is bool_:
        return False
    if tuple(mask.shape) != tuple(tensor.shape[: mask.ndim]):
        return False
    if isinstance(value, Tensor):
        sizes, rest = tuple(value.shape), tuple(tensor.shape[mask.ndim :])
        if len(sizes) > len(rest) or _differ(sizes, rest):
            return False
        value = value.to(tensor.device)
        if _core.may_overlap(tensor, value):
            value = value.clone()
    elif not isinstance(value, (bool, int, float)):
        return False
    mask = mask.to(tensor.device)
    _put_where(tensor, mask.clone() if _core.may_overlap(tensor, mask) else mask, value, adds)
    return True


def _assign(view: Tensor, value: Any) -> None:
    if isinstance(value, (bool, int, float)):
        fill(view, value)
        return
    if not isinstance(value, Tensor):
        value = _as_value(value, view.dtype, view)
    copy(view, _without_front(value, view.ndim))


class _Methods(Methods):
    def __setitem__(self, key: Any, value: Any) -> None:
        set_item(self, key, value)

    def index_put_(self, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
        """Write values to the elements given by the indices; with `accumulate`, add them.

        >>> infinicore.zeros(3).index_put_((infinicore.tensor([0, 0, 2]),), 1.0, accumulate=True)
        tensor([2., 0., 1.])
        """
        key = tuple(indices)
        only = key[0] if len(key) == 1 else key
        if not (
            isinstance(only, Tensor)
            and only.dtype is bool_
            and _put_masked(self, only, values, accumulate)
        ):
            put(_take_apart(self, only), values, accumulate)
        return self

    def index_put(self, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
        """A copy with values written to the elements given by the indices."""
        return self.clone().index_put_(indices, values, accumulate)
