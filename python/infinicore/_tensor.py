"""The tensor type. Layout and views are native; this file has the parts written in Python:
conversions, copies, and Python's protocols. `infinicore._namespace` adds functions as methods,
`_indexing` advanced indexing and `_printing` the text form."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from infinicore import _core
from infinicore._device import Device, Size, device
from infinicore._dtype import (
    DataType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from infinicore._elements import converted, copy, fill
from infinicore._function import traced
from infinicore._memory_format import laid_out, memory_format

Tensor = _core.Tensor
_core.add_identity_type(memory_format)

__all__ = ["Tensor"]


if TYPE_CHECKING:
    _Base = Tensor
else:
    _Base = object


class Methods(_Base):
    """Attributes of subclasses of this class are added to `Tensor`."""

    def __init_subclass__(cls) -> None:
        for name, value in vars(cls).items():
            if name not in ("__module__", "__qualname__", "__dict__", "__weakref__", "__doc__"):
                setattr(Tensor, name, value)


class _Methods(Methods):
    __array_priority__ = 1000  # NumPy arrays defer operators to tensors

    # -- Layout --

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension.

        >>> infinicore.ones(2, 3).size(-1)
        3
        """
        shape = self.shape
        if dim is None:
            return shape
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"size: dim is {dim}: expected one of {len(shape)} dimensions")
        return shape[dim]

    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order."""
        return self.permute(*range(self.ndim - 1, -1, -1))

    @property
    def mT(self) -> Tensor:
        """The transposed matrices: the last two dimensions exchanged."""
        if self.ndim < 2:
            raise RuntimeError(f"mT: the tensor has {self.ndim} dimensions: expected 2 or more")
        return self.transpose(-2, -1)

    def t(self) -> Tensor:
        """The transpose of a matrix; with fewer dimensions, the tensor itself."""
        if self.ndim > 2:
            raise RuntimeError(f"t: the tensor has {self.ndim} dimensions: expected 2 at most")
        return self.T

    def reshape(self, *shape: Any) -> Tensor:
        """The tensor with another shape: a view if the strides allow it, else a copy.

        >>> infinicore.arange(6).reshape(2, -1).shape
        infinicore.Size([2, 3])
        """
        found = _core.try_view(self, *shape)
        return found if found is not None else _core.contiguous(self).view(*shape)

    def view_as(self, other: Tensor) -> Tensor:
        """A view in the shape of another tensor."""
        return self.view(*_shape_of("view_as", other))

    def reshape_as(self, other: Tensor) -> Tensor:
        """Like `reshape`, to the shape of another tensor."""
        return self.reshape(*_shape_of("reshape_as", other))

    def expand_as(self, other: Tensor) -> Tensor:
        """A view that repeats elements, in the shape of another tensor."""
        return self.expand(*_shape_of("expand_as", other))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Merge adjacent dimensions into one.

        >>> infinicore.ones(2, 3, 4).flatten(1).shape
        infinicore.Size([2, 12])
        """
        rank = self.ndim
        if rank == 0:
            return self.reshape(1)
        for dim in (start_dim, end_dim):
            if not -rank <= dim < rank:
                raise IndexError(f"flatten: a dim is {dim}: expected one of {rank} dimensions")
        first, last = start_dim % rank, end_dim % rank
        if first > last:
            raise RuntimeError("flatten: start_dim comes after end_dim")
        if first == last:
            return self
        sizes = self.shape
        joined = Size(sizes[first : last + 1]).numel()
        return self.reshape(*sizes[:first], joined, *sizes[last + 1 :])

    def unfold(self, dimension: int, size: int, step: int) -> Tensor:
        """A view of all windows of `size` elements along a dimension, `step` apart: their elements
        are in a new last dimension.

        >>> infinicore.arange(4).unfold(0, 2, 1).tolist()
        [[0, 1], [1, 2], [2, 3]]
        """
        shape, strides = list(self.shape) or [1], list(self.stride()) or [1]
        if not -len(shape) <= dimension < len(shape):
            raise IndexError(f"unfold: dimension is {dimension}: expected one of {len(shape)}")
        length, stride = shape[dimension], strides[dimension]
        if not 0 <= size <= length:
            raise RuntimeError(f"unfold: size is {size}: expected 0 to {length}")
        if step <= 0:
            raise RuntimeError(f"unfold: step is {step}: expected 1 or more")
        if not self.ndim:
            return self.as_strided([size], [1], self.storage_offset())
        shape[dimension], strides[dimension] = (length - size) // step + 1, stride * step
        return self.as_strided([*shape, size], [*strides, stride], self.storage_offset())

    def contiguous(self, memory_format: memory_format | None = None) -> Tensor:
        """The tensor itself if it is contiguous, else a contiguous copy."""
        if memory_format is not None:
            return laid_out("contiguous", self, memory_format)  # type: ignore[no-any-return]
        return self if self.is_contiguous() else _core.contiguous(self)

    @property
    def is_cpu(self) -> bool:
        """Whether it is in host memory."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a CUDA-like device."""
        return self.device.type == "cuda"

    @property
    def _underlying(self) -> Tensor:
        """The tensor itself."""
        return self

    # -- Types and devices --

    def to(
        self,
        *args: Any,
        device: Any = None,
        dtype: dtype | None = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        """A copy on another device, with another type, or both; the tensor itself if nothing
        changes. Takes devices, types and tensors (for their device and type) in any order.

        >>> infinicore.ones(2).to(infinicore.int32)
        tensor([1, 1], dtype=infinicore.int32)
        """
        kind, where, flags = _target(args, device, dtype)
        if flags:
            non_blocking, copy = (*flags, copy)[:2]
        result: Tensor = self
        if kind is not None and kind is not self.dtype:
            result = converted(self, kind)
        if where is not None and where is not self.device:
            result = _core.to_device(result, where)
            if not non_blocking:
                _core.wait_for(result)
        copy = copy and result is self
        if copy or memory_format is not None:
            return laid_out("to", result, memory_format, copy)  # type: ignore[no-any-return]
        return result

    def cpu(self) -> Tensor:
        """A copy in host memory; the tensor itself if it is there already."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Tensor:
        """A copy on a CUDA device: the one with this index, else the first."""
        return self.to(f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def type(self, dtype: Any = None) -> Any:
        """A copy with another type; without an argument, the name of the current type."""
        return repr(self.dtype) if dtype is None else self.to(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """A copy with the type of another tensor."""
        return self.to(other.dtype)

    def is_floating_point(self) -> Any:
        """Whether the elements are floats."""
        return self.dtype.is_floating_point

    def is_complex(self) -> Any:
        """Whether the elements are complex numbers."""
        return self.dtype.is_complex

    def is_signed(self) -> Any:
        """Whether the elements can be negative."""
        return self.dtype.is_signed

    # -- Values --

    def copy_(self, src: Any, non_blocking: Any = False) -> Tensor:
        """Copy the values of a tensor, a number or an array, with any strides, type and device.
        With `non_blocking`, a copy from a device into pinned memory is asynchronous: wait for an
        event before reading it.

        >>> infinicore.zeros(2).copy_(infinicore.tensor([1, 2]))
        tensor([1., 2.])
        """
        if non_blocking and isinstance(src, _core.Tensor) and _core.copy_later(self, src):
            return self
        return copy(self, src)

    def clone(self, *, memory_format: memory_format | None = None) -> Tensor:
        """A contiguous copy."""
        if memory_format is not None:
            return laid_out("clone", self, memory_format, True)  # type: ignore[no-any-return]
        result = _core.empty(self.shape, self.dtype, self.device)
        _core.copy_from(result, self)
        return result

    def detach(self) -> Tensor:
        """A new tensor that shares the memory."""
        return _core.Tensor(self)

    def fill_(self, value: Any) -> Tensor:
        """Set every element to a value."""
        return fill(self, value)

    def zero_(self) -> Tensor:
        """Set every element to 0."""
        return fill(self, 0)

    def record_stream(self, stream: Any) -> None:
        """Mark the memory as used by this stream: it is not reused before the work there is
        done."""
        _core.record_stream(self, stream if isinstance(stream, _INT) else stream.handle)

    def debug(self, filename: str | None = None) -> None:
        """Print the tensor, or write the bytes of its elements to a file."""
        if filename is not None:
            _core.write_bytes(self, str(filename))
        else:
            print(self._info)
            print(self)

    def pin_memory(self) -> Tensor:
        """A copy in pinned host memory, which devices access directly."""
        if self.is_pinned():
            return self
        return copy(_core.empty(self.shape, self.dtype, device("cpu"), None, True), self)

    # -- The language --

    def __len__(self) -> Any:
        shape = self.shape
        if not shape:
            raise TypeError("len: a tensor of no dimensions has no length")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("a tensor of no dimensions can't be iterated over")
        return iter([self.select(0, i) for i in range(self.shape[0])])

    def __bool__(self) -> Any:
        if self.numel() != 1:
            raise RuntimeError(
                f"a tensor of {self.numel()} elements is neither true nor false: use any() or all()"
            )
        return _BOOL(self.item())

    def __int__(self) -> Any:
        return _INT(self.item())

    def __float__(self) -> Any:
        return _FLOAT(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> Any:
        if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
            raise TypeError("only a tensor of one integer can be used as an index")
        return _INT(self.item())

    def __contains__(self, element: Any) -> Any:
        if not isinstance(element, (Tensor, _BOOL, _INT, _FLOAT)):
            raise TypeError(f"in: expected a number or a tensor, got {type(element).__name__}")
        return _BOOL((self == element).any().item())

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = self.clone()
        return found

    def __copy__(self) -> Tensor:
        return self.detach()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        _core.refuse_while_recording("pickle")
        host = self.to("cpu").contiguous()
        data: Any
        if protocol >= 5 and host.numel():
            flat = _core.view_as(host, (host.nbytes,), (1,), 0, uint8)
            data = pickle.PickleBuffer(flat)
        else:
            data = _core.to_bytes(host)
        return rebuild, (data, tuple(self.shape), self.dtype, str(self.device))


_BOOL, _INT, _FLOAT = bool, int, float  # Tensor has methods with these names

_CONVERSIONS = {
    "float": float32,
    "double": float64,
    "half": float16,
    "bfloat16": bfloat16,
    "int": int32,
    "long": int64,
    "short": int16,
    "char": int8,
    "byte": uint8,
    "bool": bool_,
    "cfloat": complex64,
    "cdouble": complex128,
}


def _conversion(name: str, kind: dtype) -> Any:
    def convert(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
        return self.to(kind, memory_format=memory_format)

    convert.__name__ = name
    convert.__doc__ = f"As {kind!r}; the tensor itself if it is that already."
    return traced(convert)


def _shape_of(function: str, other: Any) -> Size:
    if not isinstance(other, Tensor):
        raise TypeError(f"{function}: other is {type(other).__name__}: expected a tensor")
    return other.shape


def _target(args: tuple[Any, ...], where: Any, kind: Any) -> tuple[Any, Any, list[bool]]:
    """The type, the device and the flags given by the arguments of `to`."""
    place = None if where is None else device(where)
    flags = []
    for arg in args:
        if isinstance(arg, dtype):
            kind = arg
        elif isinstance(arg, DataType):
            kind = dtype(arg)
        elif isinstance(arg, (str, device, Device)):
            place = device(arg)
        elif isinstance(arg, Tensor):
            kind, place = arg.dtype, arg.device
        elif isinstance(arg, bool):
            flags.append(arg)
        elif arg is not None:
            raise TypeError(f"to: expected a device, a dtype or a tensor, got {type(arg).__name__}")
    if kind is not None and not isinstance(kind, dtype):
        raise TypeError(f"to: dtype is {kind!r}: expected one such as infinicore.float32")
    return kind, place, flags


LOADED_TO: ContextVar[device | None] = ContextVar("LOADED_TO", default=None)  # of `load`


def rebuild(data: Any, shape: tuple[int, ...], kind: dtype, where: str) -> Tensor:
    """A tensor that was pickled."""
    place = LOADED_TO.get() or device(where)
    if place._underlying[1] >= _core.device_count(place._underlying[0]):
        raise RuntimeError(
            f"unpickle: the tensor was pickled on {where}, which is not here: pickle tensor.cpu()"
        )
    return _core.from_bytes(data, shape, kind, place)


for _name, _kind in _CONVERSIONS.items():
    setattr(Tensor, _name, _conversion(_name, _kind))
Tensor.__doc__ = """Numbers of one type in any number of dimensions, on a device.

It is a layout over a piece of memory, which views of it share. `infinicore.tensor`, `empty`,
`zeros` and others make tensors. Functions whose first parameter is a tensor are methods too.

>>> infinicore.tensor([[1.0, 2.0], [3.0, 4.0]]).T
tensor([[1., 3.],
        [2., 4.]])
"""
