"""Methods that query a tensor, and those that call a Python function for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infinicore import _core
from infinicore._data import tensor as make
from infinicore._tensor import Methods, Tensor
from infinicore.functions._checks import need_tensor


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    >>> infinicore.is_same_size(infinicore.ones(2), infinicore.ones(3))
    False
    """
    need_tensor("is_same_size", "input", input)
    return input.shape == need_tensor("is_same_size", "other", other).shape


def is_signed(input: Tensor) -> bool:
    """Whether the elements can be negative.

    >>> infinicore.is_signed(infinicore.ones(1))
    True
    """
    return need_tensor("is_signed", "input", input).dtype.is_signed


def typename(obj: Any) -> str:
    """The name of an object's type; for a tensor, of its element type.

    >>> infinicore.typename(infinicore.ones(1))
    'infinicore.float32'
    """
    if isinstance(obj, Tensor):
        return repr(obj.dtype)
    kind = obj if isinstance(obj, type) else type(obj)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor, for `from_dlpack` of any library.

    >>> capsule = infinicore.to_dlpack(infinicore.ones(1))
    """
    return need_tensor("to_dlpack", "tensor", tensor).__dlpack__()


class _Methods(Methods):
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self.ndim not in (0, 2):
            raise RuntimeError(f"H: the tensor has {self.ndim} dimensions: expected 2")
        return self.mH if self.ndim else self.conj()

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of each matrix."""
        return self.mT.conj()

    def ndimension(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def nelement(self) -> int:
        """The number of elements."""
        return self.numel()

    def get_device(self) -> int:
        """The index of its device; -1 on the CPU."""
        return -1 if self.is_cpu else int(self.device.index or 0)

    def is_same_size(self, other: Tensor) -> bool:
        """Whether another tensor has the same shape."""
        return is_same_size(self, other)

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether another tensor is the same view of the same memory."""
        need_tensor("is_set_to", "tensor", tensor)
        mine = (self.data_ptr(), self.shape, self.stride(), self.dtype, self.device)
        return mine == (
            tensor.data_ptr(),
            tensor.shape,
            tensor.stride(),
            tensor.dtype,
            tensor.device,
        )

    def dim_order(self) -> tuple[int, ...]:
        """The dimensions from the outermost in memory to the innermost.

        >>> infinicore.ones(2, 3).T.dim_order()
        (1, 0)
        """
        steps = self.stride()
        return tuple(sorted(range(self.ndim), key=lambda dim: -steps[dim]))

    def const_data_ptr(self) -> int:
        """The address of the first element."""
        return self.data_ptr()

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Apply a Python function to each element, in place; on the CPU only, and slow."""
        return _mapped("apply_", callable, self)

    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Apply a Python function to each element and that of another tensor, which is broadcast,
        in place; on the CPU only, and slow."""
        return _mapped("map_", callable, self, tensor)

    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
        """Like `map_`, with two other tensors."""
        return _mapped("map2_", callable, self, x, y)


def _mapped(name: str, function: Callable[..., Any], first: Tensor, *others: Tensor) -> Tensor:
    _core.refuse_while_recording(name)
    given = [need_tensor(name, "a tensor", each).expand(*first.shape) for each in others]
    for each in (first, *given):
        if not each.is_cpu:
            raise TypeError(f"{name}: a tensor is on {each.device}: expected tensors on the CPU")
    numbers = [each.reshape(each.numel()).tolist() for each in (first, *given)]
    made = [function(*each) for each in zip(*numbers, strict=True)]
    return first.copy_(make(made, dtype=first.dtype).reshape(tuple(first.shape)))
