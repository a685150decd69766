"""Tensors of other libraries: views of them, and new ones. Imports only what the user has already
imported."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore.op._shapes import dense

# Names of the element types in NumPy, ml_dtypes and torch where they differ.
_NUMPY = {
    "BYTE": "uint8",
    "BOOL": "bool_",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "C128": "complex128",
}
_ML_DTYPES = {"BF16": "bfloat16", "F8": "float8_e4m3fn"}
TORCH_NAMES = {**_NUMPY, **_ML_DTYPES, "BOOL": "bool", "C32": "complex32"}


def view(
    tensor: Any,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    strides: Sequence[int] | None = None,
) -> _core.View:
    """A view of a tensor for the operators. Plain memory needs a shape and an element type: a code,
    or a dtype of infinicore, NumPy or torch.

    >>> x = op.view(numpy.zeros((2, 3)))
    >>> y = op.view(rt.Memory(64), (4, 8), "BF16")
    >>> z = op.view(rt.Memory(64), (4, 4), infinicore.float32)
    """
    if shape is None and dtype is None:
        return _core.view(tensor)
    if shape is None or dtype is None:
        raise TypeError("view: expected both a shape and an element type, or neither")
    dtype = code_of(dtype)
    shape = _integers("shape", shape)
    strides = None if strides is None else _integers("strides", strides)
    if strides is not None and len(strides) != len(shape):
        raise ValueError(
            f"view: strides is {strides}: expected {len(shape)} of them, one for each dimension"
        )
    if isinstance(tensor, _core.View):
        raise TypeError("view: expected memory or an array, not a view: give what it was made of")
    if hasattr(tensor, "ptr"):
        address, nbytes, readonly = tensor.ptr, tensor.nbytes, tensor.readonly
        owner = tensor
    else:
        owner = _core.view(tensor)
        flat = memoryview(tensor)
        if not flat.c_contiguous:
            raise ValueError("view: expected memory without gaps: the array has strides")
        address, nbytes, readonly = owner.ptr, flat.nbytes, owner.readonly
    steps = strides if strides is not None else dense(shape)
    reach = [(size - 1) * step for size, step in zip(shape, steps, strict=True)]
    last = 0 if 0 in shape else sum(reach) + 1
    if (last and min(reach, default=0) < 0) or last * item_size(dtype) > nbytes:
        raise ValueError(f"view: the memory has {nbytes} bytes, which the tensor reaches beyond")
    return _core.described(shape, dtype, strides, address, readonly, owner)


def code_of(dtype: Any) -> str:
    """The code of an element type given as a code or an object."""
    code = dtype if isinstance(dtype, str) else getattr(dtype, "_code", None)
    if code is not None:
        return str(code)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    for code, other in (*TORCH_NAMES.items(), *_NUMPY.items()):
        if name == other and code != "BYTE":
            return code
    raise TypeError(
        f'view: dtype is {dtype!r}: expected an element type such as "F32" or infinicore.float32'
    )


def _integers(argument: str, values: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(each) for each in values)
    except TypeError:
        raise TypeError(f"view: {argument} is {values!r}: expected integers") from None


def item_size(dtype: str) -> int:
    return max(int("".join(filter(str.isdigit, dtype)) or 8) // 8, 1)


_makers: dict[type, Any] = {}


def empty_as(like: Any) -> Any:
    """A new array of the same shape and element type; None if there is no fast path for it."""
    make = _makers.get(type(like))
    if make is None:
        for name, kind in (("numpy", "ndarray"), ("torch", "Tensor")):
            library = sys.modules.get(name)
            if library is not None:
                _makers[getattr(library, kind)] = library.empty_like
        if "infinicore._tensor" in sys.modules:
            from infinicore._creation import empty_like as make_like
            from infinicore._tensor import Tensor

            _makers[Tensor] = make_like
        make = _makers.get(type(like))
    return make and make(like)


def empty_like(like: Sequence[Any], shape: Sequence[int], dtype: str) -> Any:
    """A new array of the library of the first object that belongs to one."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    own = sys.modules.get("infinicore._tensor")
    flat = [each for one in like for each in (one if isinstance(one, (list, tuple)) else (one,))]
    for given in flat:
        if torch is not None and isinstance(given, torch.Tensor):
            kind = getattr(torch, TORCH_NAMES[dtype])
            return torch.empty(tuple(shape), dtype=kind, device=given.device)
        if numpy is not None and isinstance(given, (numpy.ndarray, numpy.generic)):
            return numpy.empty(tuple(shape), numpy_dtype(dtype))
        if own is not None and isinstance(given, own.Tensor):
            return _core_empty(shape, dtype, given.device)
    raise TypeError(
        "out= is needed: no input is an array of NumPy or a tensor, so it is not known"
        " what kind of result to make"
    )


def _core_empty(shape: Sequence[int], dtype: str, device: Any) -> Any:
    from infinicore import _creation, _dtype

    return _creation.empty(tuple(shape), dtype=_dtype.ALL[dtype], device=device)


def numpy_dtype(dtype: str) -> Any:
    numpy, more = sys.modules["numpy"], sys.modules.get("ml_dtypes")
    if dtype in _NUMPY:
        return getattr(numpy, _NUMPY[dtype])
    if more is None or dtype not in _ML_DTYPES:
        raise TypeError(f"out= is needed: NumPy has no type for {dtype} (ml_dtypes has some)")
    return getattr(more, _ML_DTYPES[dtype])
