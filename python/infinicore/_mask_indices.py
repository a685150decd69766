"""Indices of the true elements of a mask. Their number depends on the values, so the host has to
wait."""

from __future__ import annotations

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor

_CPU = device("cpu")


@function
def _counted(mask: Tensor) -> Tensor:
    """The number of true elements up to and including each one."""
    return emit("cumsum", cast_to(mask.reshape(mask.numel()), int64), dim=0)  # type: ignore[no-any-return]


@function
def _found(counts: Tensor, count: int, sizes: tuple[int, ...]) -> list[Tensor]:
    """Finds the n-th true element where the count reaches n."""
    wanted = emit("arange", out=_core.empty((count,), int64, counts.device), start=1, step=1)
    line = emit("searchsorted", counts, wanted, right=False)
    made: list[Tensor] = []
    for number, size in enumerate(reversed(sizes)):
        step = tensor_for(size, int64, counts.device)
        is_first = number == len(sizes) - 1
        made.append(line if is_first else emit("remainder", line, step))
        line = line if is_first else emit("floor_divide", line, step)
    return made[::-1]


def mask_indices(mask: Tensor) -> list[Tensor]:
    """The indices of the true elements, for each dimension, in row-major order. Waits for the
    device, but only the number of true elements is copied to the host."""
    if mask.device is _CPU:
        rows = _core.argwhere(mask if mask.ndim else mask.view(1))
        return [rows.select(1, dim) for dim in range(rows.shape[1])]
    sizes = tuple(mask.shape) or (1,)
    count = 0
    if mask.numel():
        counts = _counted(mask)
        count = int(counts[-1].item())
    if not count:
        return [_core.empty((0,), int64, mask.device) for _ in sizes]
    return list(_found(counts, count, sizes))
