"""Functions that create arrays."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._defaults import _kind_of_value
from infinicore._dtype import dtype
from infinicore._elements import fill
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import as_array, common
from infinicore.array_api._manipulation import integers

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: dtype | None = None,
    device: Any = None,
) -> Tensor:
    """The numbers start, start + step, ... below stop. A single argument is the stop."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) / step <= 0:
        whole = all(isinstance(each, int) for each in (start, stop, step))
        kind = dtype or (infinicore.int64 if whole else None)
        return infinicore.empty(0, dtype=kind, device=device)
    return infinicore.arange(start, stop, step, dtype=dtype, device=device)


def asarray(
    obj: Any, /, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array from numbers, nested sequences, or an object with DLPack or a buffer, whose memory
    is shared where possible: always with `copy=False`, never with `copy=True`."""
    made = infinicore.asarray(obj, dtype=dtype, device=device, copy=copy)
    if copy is False and made is not obj:
        shares = hasattr(obj, "__dlpack__") or hasattr(obj, "__array_interface__")
        if isinstance(obj, Tensor) or not shares:
            raise ValueError("asarray: copy is False, but a copy is needed")
    return made


def empty(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An uninitialized array."""
    return infinicore.empty(integers(shape), dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An uninitialized array with the shape, type and device of another."""
    return infinicore.empty_like(x, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of zeros."""
    return infinicore.zeros(integers(shape), dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of zeros with the shape, type and device of another."""
    return infinicore.zeros_like(x, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of ones."""
    return infinicore.ones(integers(shape), dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array of ones with the shape, type and device of another."""
    return infinicore.ones_like(x, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """An array filled with one value, which determines the type unless `dtype` is given."""
    kind = dtype or _kind_of_value(fill_value)
    return infinicore.full(integers(shape), fill_value, dtype=kind, device=device)


def full_like(
    x: Tensor, /, fill_value: Any, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """An array filled with one value, with the shape, type and device of another."""
    return infinicore.full_like(x, fill_value, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: dtype | None = None,
    device: Any = None,
) -> Tensor:
    """Ones on a diagonal, the k-th above the main one, and zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    made = infinicore.zeros((n_rows, columns), dtype=dtype, device=device)
    if -n_rows < k < columns:
        fill(infinicore.diagonal(made, k), 1)
    return made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array that shares the memory of a DLPack object, or a copy if one is requested."""
    return infinicore.from_dlpack(x, device=device, copy=copy)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """Evenly spaced numbers from start to stop, which is included if `endpoint` is true."""
    if isinstance(start, complex) or isinstance(stop, complex):
        first, last = complex(start), complex(stop)
        kind = dtype or _kind_of_value(first)
        part = infinicore.float64
        real = linspace(first.real, last.real, num, dtype=part, device=device, endpoint=endpoint)
        imag = linspace(first.imag, last.imag, num, dtype=part, device=device, endpoint=endpoint)
        return infinicore.complex(real, imag).to(kind)
    if not endpoint and num:
        made = infinicore.linspace(
            start, stop, num + 1, dtype=infinicore.float64, device=device
        ).narrow(0, 0, num)
    else:
        made = infinicore.linspace(start, stop, num, dtype=infinicore.float64, device=device)
    return made.to(dtype or infinicore.get_default_dtype(), copy=not made.is_contiguous())


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays of a grid, from one-dimensional arrays."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}: expected 'xy' or 'ij'")
    if not arrays:
        return ()
    return tuple(
        each.clone()
        for each in infinicore.meshgrid(*common("meshgrid", *arrays), indexing=indexing)
    )


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below a diagonal; zeros elsewhere."""
    return infinicore.tril(as_array("tril", "x", x), k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above a diagonal; zeros elsewhere."""
    return infinicore.triu(as_array("triu", "x", x), k)
