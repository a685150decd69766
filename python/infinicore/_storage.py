"""The memory of a tensor in the form that torch programs and Triton's interpreter expect."""

from __future__ import annotations

from typing import Any

from infinicore import _changes, _core
from infinicore._device import device
from infinicore._dtype import dtype, uint8
from infinicore._tensor import Methods, Tensor

__all__: list[str] = []


class UntypedStorage:
    """The whole memory block of a tensor; its views share it."""

    def __init__(self, whole: Tensor) -> None:
        self._bytes = whole  # in one dimension

    @property
    def device(self) -> device:
        return self._bytes.device

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._bytes.data_ptr()

    def nbytes(self) -> int:
        return self._bytes.numel()

    size = __len__ = nbytes

    def cpu(self) -> UntypedStorage:
        """A copy in host memory, or the storage itself if it is there already."""
        there = self._bytes.cpu()
        return self if there is self._bytes else UntypedStorage(there)

    def copy_(self, other: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of another storage."""
        if other.data_ptr() != self.data_ptr():
            self._bytes.copy_(other._bytes)
        return self


class _Methods(Methods):
    def untyped_storage(self) -> UntypedStorage:
        """The tensor's memory.

        >>> infinicore.ones(2, 3)[1].untyped_storage().nbytes()
        24
        """
        whole = _core.view_as(self, (self._memory_size,), (1,), -self._offset, uint8)
        return UntypedStorage(whole)

    def set_(self, source: Any, offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Replace the memory and layout of this tensor by those of another one, or by a part of a
        storage."""
        if isinstance(source, UntypedStorage):
            shape = tuple(size) if size is not None else (source.nbytes() // self.itemsize,)
            steps = tuple(stride) if stride is not None else _dense(shape)
            place = offset * self.itemsize
            source = _core.view_as(source._bytes, shape, steps, place, self.dtype)
        _core.rebind(self, source)
        _changes.note()
        return self


def rebuild_view(
    whole: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, kind: dtype
) -> Tensor:
    """A view of saved bytes. It is checked, since a file may contain anything."""
    is_layout = type(shape) is type(strides) is tuple and len(shape) == len(strides)
    is_layout = is_layout and all(type(n) is int and n >= 0 for n in (*shape, *strides, offset))
    is_bytes = isinstance(whole, Tensor) and whole.dtype is uint8 and whole.ndim == 1
    if not (is_layout and is_bytes and isinstance(kind, dtype)):
        raise ValueError("rebuild_view: expected bytes, a layout and a dtype")
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else 0
    if offset % kind.itemsize or offset + (last + all(shape)) * kind.itemsize > whole.numel():
        raise ValueError(f"rebuild_view: the view leaves its {whole.numel()} bytes")
    return _core.view_as(whole, shape, strides, offset, kind)


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))
