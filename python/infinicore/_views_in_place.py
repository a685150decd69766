"""Methods that change the layout of a tensor, and `resize_`, which may replace its memory."""

from __future__ import annotations

from typing import Any

from infinicore import _changes, _core
from infinicore._creation import _shape_of
from infinicore._device import Size
from infinicore._memory_format import laid_out, memory_format
from infinicore._tensor import Methods, Tensor

__all__: list[str] = []

# Views with an in-place method, whose name ends with `_`.
VIEWS = ("as_strided", "detach", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")


def _becoming(name: str) -> Any:
    def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        return _become(self, getattr(self, name)(*args, **keywords))

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"As `{name}`, of the tensor itself: it has that layout from now on."
    return method


def _become(tensor: Tensor, other: Tensor) -> Tensor:
    _core.rebind(tensor, other)
    _changes.note()
    return tensor


class _Methods(Methods):
    def resize_(self, *sizes: Any, memory_format: memory_format | None = None) -> Tensor:
        """Change the shape, in place; the result is contiguous. Elements keep their order in
        memory; additional ones are uninitialized.

        >>> infinicore.arange(4).resize_(2, 1)
        tensor([[0],
                [1]])
        """
        shape = tuple(_shape_of("resize_", sizes))
        if any(size < 0 for size in shape):
            raise ValueError(f"resize_: the shape is {shape}: expected sizes of 0 or more")
        held = (self._memory_size - self._offset) // self.itemsize
        needed = Size(shape).numel()
        if shape == tuple(self.shape) and memory_format is None:
            return self
        first = _core.view_as(self, (min(held, needed),), (1,), 0, self.dtype)
        if needed > held:
            more = _core.empty((needed,), self.dtype, self.device)
            more.narrow(0, 0, held).copy_(first)
            first = more
        made = first.view(*shape) if shape else first.view(())
        if memory_format is not None:
            made = laid_out("resize_", made, memory_format)
        return _become(self, made)

    def resize_as_(self, other: Tensor, memory_format: memory_format | None = None) -> Tensor:
        """Like `resize_`, to the shape of another tensor."""
        if not isinstance(other, Tensor):
            raise TypeError(f"resize_as_: other is {type(other).__name__}: expected a tensor")
        return self.resize_(tuple(other.shape), memory_format=memory_format)


for _name in VIEWS:
    setattr(Tensor, f"{_name}_", _becoming(_name))
