"""Exchange of tensors with other libraries."""

from __future__ import annotations

import sys
from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._data import as_tensor, flat, kind_of_numbers
from infinicore._defaults import _kind_of, _place
from infinicore._dtype import dtype as dtype_class
from infinicore._tensor import Methods, Tensor

# ---- From others ---------------------------------------------------------------------------------


def from_numpy(
    np_array: Any, *, dtype: Any = None, device: Any = None, copy: bool = True
) -> Tensor:
    """A tensor with a copy of a NumPy array, including ml_dtypes' bfloat16. With `copy=False` the
    memory is shared where possible.

    >>> infinicore.from_numpy(numpy.array([1.0, 2.0]))
    tensor([1., 2.], dtype=infinicore.float64)
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(np_array, (numpy.ndarray, numpy.generic)):
        raise TypeError(f"from_numpy: expected a NumPy array, got {type(np_array).__name__}")
    if np_array.size == 0:
        raise ValueError(
            "from_numpy: the array is empty: expected elements; tensor() takes such arrays"
        )
    if not np_array.dtype.isnative:
        np_array = np_array.astype(np_array.dtype.newbyteorder("="))
    if not copy:
        return as_tensor(np_array, dtype, device)
    made = _core.from_host(np_array, _place(device), "from_numpy")
    return made if dtype is None else made.to(_kind_of("from_numpy", dtype))


def from_torch(torch_tensor: Any) -> Tensor:
    """A tensor that shares the memory of a torch tensor: writes are visible in both, and the memory
    lives as long as either.

    >>> infinicore.from_torch(torch.ones(2))
    tensor([1., 1.])
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(torch_tensor, torch.Tensor):
        raise TypeError(f"from_torch: expected a torch tensor, got {type(torch_tensor).__name__}")
    return _core.from_dlpack(torch_tensor)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of any object with `__dlpack__`, and keeps it alive.

    >>> infinicore.from_dlpack(numpy.ones(2))
    tensor([1., 1.], dtype=infinicore.float64)
    """
    made = _core.from_dlpack(ext_tensor)
    if device is None and copy is None:
        return made
    where = made.device if device is None else _place(device)
    if where is not made.device:
        if copy is False:
            raise BufferError(f"from_dlpack: a tensor on {made.device} is copied to get to {where}")
        return made.to(where)
    return made.clone() if copy else made


def from_blob(data_ptr: int, size: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A contiguous tensor over memory at an address. The memory must outlive it.

    >>> x = infinicore.ones(4)
    >>> infinicore.from_blob(x.data_ptr(), (2, 2), dtype=infinicore.float32)
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _core.from_address(
        _address("from_blob", data_ptr),
        size,
        None,
        _kind_of("from_blob", dtype),
        _place(device),
        None,
    )


def strided_from_blob(
    data_ptr: int, size: Any, strides: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """A tensor over memory at an address with the given strides, counted in elements.

    >>> x = infinicore.arange(2)
    >>> infinicore.strided_from_blob(x.data_ptr(), (2, 2), (0, 1), dtype=infinicore.int64)
    tensor([[0, 1],
            [0, 1]])
    """
    kind = _kind_of("strided_from_blob", dtype)
    if len(size) != len(strides):
        raise ValueError(
            f"strided_from_blob: {len(strides)} strides are given for {len(size)} sizes"
        )
    address = _address("strided_from_blob", data_ptr)
    return _core.from_address(address, size, strides, kind, _place(device), None)


def _address(function: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{function}: data_ptr is {value!r}: expected an address")
    return value


def frombuffer(buffer: Any, *, dtype: dtype_class, count: int = -1, offset: int = 0) -> Tensor:
    """A one-dimensional tensor that shares the memory of an object with the buffer protocol.

    >>> infinicore.frombuffer(bytearray(8), dtype=infinicore.float32)
    tensor([0., 0.])
    """
    raw = memoryview(buffer).cast("B")
    kind = _kind_of("frombuffer", dtype)
    if not 0 <= offset <= len(raw):
        raise ValueError(f"frombuffer: offset is {offset}: expected 0 to {len(raw)}")
    left = (len(raw) - offset) // kind.itemsize
    if count < 0:
        if (len(raw) - offset) % kind.itemsize:
            raise ValueError(
                f"frombuffer: {len(raw) - offset} bytes are not a multiple of the element size"
            )
        count = left
    if count > left:
        raise ValueError(f"frombuffer: count is {count}: expected {left} at most")
    part = raw[offset : offset + count * kind.itemsize]
    return _core.from_object(part, "frombuffer").view(kind)


def from_list(data: Any, *, dtype: Any = None) -> Tensor:
    """A tensor on the CPU from a list of numbers, or a list of equally long lists of numbers.

    >>> infinicore.from_list([[1, 2], [3, 4]], dtype=infinicore.float32)
    tensor([[1., 2.],
            [3., 4.]])
    """
    if dtype is None:
        raise TypeError("from_list: dtype is missing: expected one such as infinicore.float32")
    kind = _kind_of("from_list", dtype)
    numbers, shape = _listed("from_list", data)
    if len(shape) > 2:
        raise ValueError(f"from_list: the lists have {len(shape)} levels: expected 1 or 2")
    return _core.from_numbers(numbers, shape, kind, _place("cpu"))


def from_list_by_numpy(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor from lists nested to any depth. The type is the one that NumPy chooses: int64,
    float64 or bool.

    >>> infinicore.from_list_by_numpy([[1, 2], [3, 4]]).dtype
    infinicore.int64
    """
    numbers, shape = _listed("from_list_by_numpy", data)
    chosen = kind_of_numbers("from_list_by_numpy", numbers, types.float64)
    kind = _kind_of("from_list_by_numpy", dtype, chosen)
    return _core.from_numbers(numbers, shape, kind, _place(device))


def _listed(function: str, data: Any) -> tuple[list[Any], list[int]]:
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"{function}: expected a list, got {type(data).__name__}")
    numbers, shape = flat(function, data)
    if not numbers:
        raise ValueError(f"{function}: the list is empty: expected numbers")
    kind_of_numbers(function, numbers, types.float64)
    return numbers, shape


# ---- For others ----------------------------------------------------------------------------------

# The type names of __array_interface__; other types have none.
_TYPESTR = {
    "BOOL": "|b1",
    "BYTE": "|u1",
    "U8": "|u1",
    "I8": "|i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
    "C128": "<c16",
}
# Types of ml_dtypes, and integer types of the same size.
_ML_DTYPES = {"BF16": ("bfloat16", types.uint16), "F8": ("float8_e4m3fn", types.uint8)}


def _to_numpy(tensor: Tensor) -> Any:
    import numpy

    code = tensor.dtype._code
    if code in _TYPESTR:
        return numpy.asarray(memoryview(tensor))
    if code not in _ML_DTYPES:
        raise TypeError(f"numpy: NumPy has no elements of type {tensor.dtype!r}")
    name, bits = _ML_DTYPES[code]
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"numpy: NumPy has no {name} of its own: install ml_dtypes, or convert the tensor"
            " first, e.g. with float()"
        ) from None
    return numpy.asarray(memoryview(tensor.view(bits))).view(getattr(ml_dtypes, name))


class _Methods(Methods):
    def numpy(self, *, force: bool = False) -> Any:
        """The tensor as a NumPy array that shares its memory. With `force`, a tensor on a device is
        copied to the host.

        >>> infinicore.ones(2).numpy()
        array([1., 1.], dtype=float32)
        """
        _core.refuse_while_recording("numpy")
        if self.device.type != "cpu":
            if not force:
                raise TypeError(
                    f"numpy: the tensor is on {self.device}: use cpu() first, or force=True"
                )
            return _to_numpy(self.cpu())
        return _to_numpy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self.numpy(force=copy is not False)
        if dtype is not None and found.dtype != dtype:
            if copy is False:
                raise ValueError("__array__: another type needs a copy")
            return found.astype(dtype)
        return found.copy() if copy else found

    @property
    def __array_interface__(self) -> dict[str, Any]:
        code = self.dtype._code
        if code not in _TYPESTR or self.device.type != "cpu":
            raise AttributeError("__array_interface__")
        _core.refuse_while_recording("__array_interface__")
        _core.wait_for(self)
        return {
            "version": 3,
            "shape": tuple(self.shape),
            "typestr": _TYPESTR[code],
            "strides": tuple(step * self.itemsize for step in self.stride()),
            "data": (self.data_ptr() if self.numel() else 0, False),
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        code = self.dtype._code
        if code not in _TYPESTR or self.device.type != "cuda":
            raise AttributeError("__cuda_array_interface__")
        _core.refuse_while_recording("__cuda_array_interface__")
        return {
            "version": 3,
            "shape": tuple(self.shape),
            "typestr": _TYPESTR[code],
            "strides": tuple(step * self.itemsize for step in self.stride()),
            "data": (self.data_ptr() if self.numel() else 0, False),
            # The consumer synchronizes with this stream; 1 is CUDA's default stream.
            "stream": _core.stream_on(self.device) or 1,
        }

    def tobytes(self) -> bytes:
        """The elements' bytes, in row-major order."""
        return _core.to_bytes(self)
