"""Data types in torch and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from libinfiniop.datatypes import InfiniDtype

if TYPE_CHECKING:
    import numpy as np
    import torch

_WORDS = {"I": "int", "U": "uint", "F": "float", "C": "complex"}
_OTHERS = {
    InfiniDtype.BYTE: "uint8",
    InfiniDtype.BOOL: "bool",
    InfiniDtype.BF16: "bfloat16",
    InfiniDtype.F8: "float8_e4m3fn",
}
# Types that not every torch and not every NumPy has.
_SIGNED = {
    InfiniDtype.U16: "int16",
    InfiniDtype.U32: "int32",
    InfiniDtype.U64: "int64",
}
_WIDER = {InfiniDtype.BF16: "float32", InfiniDtype.F8: "float32", InfiniDtype.C32: "complex64"}


def known(dt: Any, function: str) -> InfiniDtype:
    """A data type given as its number or as torch's."""
    if isinstance(dt, int):
        try:
            found = InfiniDtype(dt)
        except ValueError:
            raise ValueError(f"{function}: dt is {dt}: expected an InfiniDtype") from None
        if found is InfiniDtype.INVALID:
            raise ValueError(f"{function}: dt is InfiniDtype.INVALID")
        return found
    word = str(dt).removeprefix("torch.")
    for candidate in InfiniDtype:
        # In torch, BYTE is the same as U8.
        if candidate > InfiniDtype.BYTE and _word(candidate) == word:
            return candidate
    raise ValueError(f"{function}: dt is {dt!r}: expected an InfiniDtype or a torch.dtype")


def _word(dt: InfiniDtype) -> str:
    """float32 for F32."""
    return _OTHERS.get(dt) or _WORDS[dt.name[0]] + dt.name[1:]


def to_torch_dtype(dt: Any, compatability_mode: bool = False) -> torch.dtype:
    """torch's name for a data type.

    Old versions of torch lack some unsigned types: `compatability_mode` gives the signed ones of
    the same size.
    """
    import torch

    found = known(dt, "to_torch_dtype")
    word = (compatability_mode and _SIGNED.get(found)) or _word(found)
    made = getattr(torch, word, None)
    if not isinstance(made, torch.dtype):
        raise ValueError(f"to_torch_dtype: torch {torch.__version__} has no type for {found.name}")
    return made


def to_numpy_dtype(dt: Any, compatability_mode: bool = False) -> np.dtype[Any]:
    """NumPy's name for a data type. BF16, F8 and C32 need the package ml_dtypes.

    `compatability_mode` gives signed types instead of unsigned ones, and types that can hold all
    values of those that NumPy lacks: float32 for BF16 and F8, complex64 for C32.
    """
    import numpy as np

    found = known(dt, "to_numpy_dtype")
    if compatability_mode and (word := _SIGNED.get(found) or _WIDER.get(found)):
        return np.dtype(word)
    if found not in _WIDER:
        return np.dtype(_word(found))
    try:
        import ml_dtypes
    except ImportError:
        raise ValueError(
            f"to_numpy_dtype: NumPy has {found.name} only with the package ml_dtypes; "
            f"compatability_mode=True gives {_WIDER[found]}"
        ) from None
    made = getattr(ml_dtypes, _word(found), None)
    if made is None:
        raise ValueError(
            f"to_numpy_dtype: ml_dtypes {ml_dtypes.__version__} has no type for {found.name}; "
            f"compatability_mode=True gives {_WIDER[found]}"
        )
    found_type: np.dtype[Any] = np.dtype(made)
    return found_type
