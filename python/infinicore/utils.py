"""Conversions between the element types of this package, torch and NumPy."""

from __future__ import annotations

from typing import Any

from infinicore import _dtype as types
from infinicore._dtype import dtype
from infinicore.op._arrays import TORCH_NAMES

__all__ = [
    "infinicore_to_numpy_dtype",
    "numpy_to_infinicore_dtype",
    "to_infinicore_dtype",
    "to_torch_dtype",
]

_NUMPY = {code: name for code, name in TORCH_NAMES.items() if code != "C32"}
_ML_DTYPES = ("bfloat16", "float8_e4m3fn")


def to_torch_dtype(infini_dtype: dtype) -> Any:
    """The corresponding torch type.

    >>> infinicore.utils.to_torch_dtype(infinicore.float32)
    torch.float32
    """
    import torch

    code = infini_dtype._code if isinstance(infini_dtype, dtype) else None
    found = getattr(torch, TORCH_NAMES.get(code or "", ""), None)
    if found is None:
        raise ValueError(f"to_torch_dtype: torch has no type for {infini_dtype!r}")
    return found


def to_infinicore_dtype(torch_dtype: Any) -> dtype:
    """The element type that corresponds to a torch type.

    >>> infinicore.utils.to_infinicore_dtype(torch.float32)
    infinicore.float32
    """
    module, _, name = str(torch_dtype).partition(".")
    found = _by_name(name) if module == "torch" else None
    if found is None:
        raise ValueError(f"to_infinicore_dtype: no tensors have elements of {torch_dtype!r}")
    return found


def numpy_to_infinicore_dtype(numpy_dtype: Any) -> dtype:
    """The element type that corresponds to a NumPy type; bfloat16 and float8_e4m3fn are those of
    ml_dtypes.

    >>> infinicore.utils.numpy_to_infinicore_dtype(numpy.float32)
    infinicore.float32
    """
    import numpy

    try:
        name = numpy.dtype(numpy_dtype).name
    except TypeError:
        name = ""
    found = _by_name(name)
    if found is None:
        raise ValueError(f"numpy_to_infinicore_dtype: no tensors have elements of {numpy_dtype!r}")
    return found


def infinicore_to_numpy_dtype(infini_dtype: dtype) -> Any:
    """The corresponding NumPy type.

    >>> infinicore.utils.infinicore_to_numpy_dtype(infinicore.float32)
    dtype('float32')
    """
    import numpy

    code = infini_dtype._code if isinstance(infini_dtype, dtype) else ""
    name = _NUMPY.get(code)
    if name in _ML_DTYPES:
        try:
            import ml_dtypes
        except ImportError:
            raise ValueError(
                f"infinicore_to_numpy_dtype: NumPy has no {name} of its own: install ml_dtypes"
            ) from None
        return numpy.dtype(getattr(ml_dtypes, name))
    if name is None:
        raise ValueError(f"infinicore_to_numpy_dtype: NumPy has no type for {infini_dtype!r}")
    return numpy.dtype(name)


def _by_name(name: str) -> dtype | None:
    for code, known in TORCH_NAMES.items():
        if known == name and code != "BYTE":
            return types.ALL[code]
    return None
