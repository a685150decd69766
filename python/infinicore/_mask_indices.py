"""Elements selected by a mask. Their number depends on the values, so the host has to wait."""

from __future__ import annotations

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import int64
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor

_CPU = device("cpu")
_CHUNK = 4096  # as in the operator mask_counts


@function
def _counts(mask: Tensor) -> Tensor:
    """The number of true elements before each chunk of a dense mask, and in all."""
    made = _core.empty((-(-mask.numel() // _CHUNK) + 1,), int64, mask.device)
    return emit("mask_counts", mask, out=made)  # type: ignore[no-any-return]


@function
def _rows(mask: Tensor, counts: Tensor, count: int, fill: int) -> Tensor:
    made = _core.empty((count, mask.ndim), int64, mask.device)
    return emit("mask_rows", mask, counts, fill=fill, out=made)  # type: ignore[no-any-return]


@function
def _taken(values: Tensor, mask: Tensor, counts: Tensor, count: int) -> Tensor:
    made = _core.empty((count,), values.dtype, values.device)
    return emit("mask_take", values, mask, counts, out=made)  # type: ignore[no-any-return]


def mask_rows(mask: Tensor) -> Tensor:
    """The indices of the true elements as rows, in row-major order. Waits for the device, but only
    the number of true elements is copied to the host."""
    if mask.device is _CPU:
        return _core.argwhere(mask)
    mask = mask.contiguous()
    counts = _counts(mask)
    return _rows(mask, counts, int(counts[-1].item()), 0)


def mask_indices(mask: Tensor) -> list[Tensor]:
    """The same, for each dimension."""
    rows = mask_rows(mask if mask.ndim else mask.view(1))
    return [rows.select(1, dim) for dim in range(rows.shape[1])]


def selected(values: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask of the same shape is true."""
    if values.device is _CPU and mask.device is _CPU:
        return _core.masked_select(values, mask)
    mask = mask.contiguous()
    counts = _counts(mask)
    return _taken(values, mask, counts, int(counts[-1].item()))


@function
def first_rows(mask: Tensor, size: int, fill: int) -> Tensor:
    """The first rows of `mask_rows`, and rows of `fill` if there are fewer."""
    return _rows(mask, _counts(mask), size, fill)


@function
def replaced(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with elements of the source, in order, where a dense mask is true, as long as there
    are any."""
    made = _core.empty(input.shape, input.dtype, input.device)
    return emit("mask_put", input, mask, source, _counts(mask), out=made)  # type: ignore[no-any-return]
