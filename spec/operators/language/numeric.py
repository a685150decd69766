"""Number formats for definitions and tests: rounding, and storage to values and back, in NumPy.

Values are float64, which represents every format here exactly. Storage is the representation in
memory: NumPy has no BF16 and F8, so those are stored as uint16 and uint8. F8 is e4m3fn: it has no
infinity, and larger values saturate, as in torch's casts.
"""

from __future__ import annotations

from typing import Any

from .expression import Array

# Bits of the significand including the implicit one, smallest normal exponent, largest value.
FORMATS: dict[str, tuple[int, int, float]] = {
    "F8": (4, -6, 448.0),
    "F16": (11, -14, 65504.0),
    "BF16": (8, -126, float((2 - 2**-7) * 2.0**127)),
    "F32": (24, -126, float((2 - 2**-23) * 2.0**127)),
}

STORAGE: dict[str, str] = {
    "BYTE": "uint8",
    "BOOL": "bool",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F8": "uint8",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "BF16": "uint16",
    "C16": "uint16",  # two F8, kept as bits
    "C32": "uint32",  # two F16, kept as bits
    "C64": "complex64",
    "C128": "complex128",
}

# MXFP4: the magnitudes of an e2m1 code; bit 3 is the sign.
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def round_to(x: Array, dtype: str) -> Array:
    """The nearest values of a format, rounded once, ties to even; integers and F64 are
    unchanged."""
    import numpy as np

    if dtype not in FORMATS:
        return x
    digits, lowest, largest = FORMATS[dtype]
    x = np.asarray(x, np.float64)
    _, exponent = np.frexp(x)
    step = np.ldexp(1.0, np.maximum(exponent - 1, lowest) - (digits - 1))
    with np.errstate(all="ignore"):
        rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        beyond = np.copysign(largest if dtype == "F8" else np.inf, x)
        return np.where(np.abs(rounded) > largest, beyond, rounded)


def epsilon(dtype: str) -> float:
    """The distance from 1 to the next value."""
    return float(2.0 ** (1 - FORMATS[dtype][0])) if dtype in FORMATS else 2.0**-52


def decode(raw: Array, dtype: str) -> Array:
    """Converts storage to values: float64 for floats, booleans for BOOL, integers unchanged."""
    import numpy as np

    raw = np.asarray(raw)
    if dtype == "BF16":
        wide = raw.astype(np.uint16).astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32).astype(np.float64)
    if dtype == "F8":
        return e4m3_values()[raw.astype(np.uint8)]
    if dtype in ("F16", "F32", "F64"):
        storage = raw.view(np.float16) if raw.dtype == np.uint16 else raw
        return storage.astype(np.float64)
    return raw.astype(bool) if dtype == "BOOL" else raw


def encode(values: Array, dtype: str) -> Array:
    """Converts values to storage, rounded once."""
    import numpy as np

    if dtype == "BF16":
        bits = round_to(values, dtype).astype(np.float32).view(np.uint32)
        nan = np.isnan(np.asarray(values, np.float64))
        return np.where(nan, bits >> np.uint32(16) | 0x40, bits >> np.uint32(16)).astype(np.uint16)
    if dtype == "F8":
        table = e4m3_values()[:127]
        rounded = round_to(values, dtype)
        code = np.searchsorted(table, np.abs(np.nan_to_num(rounded)))
        code = np.where(np.isnan(rounded), 0x7F, code)
        return np.where(np.signbit(rounded), code | 0x80, code).astype(np.uint8)
    if dtype in ("F16", "F32"):
        return round_to(values, dtype).astype(STORAGE[dtype])
    return np.asarray(values).astype(STORAGE[dtype])


def e4m3_values() -> Array:
    """The 256 values of F8 by code."""
    import numpy as np

    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, code & 7
    normal = np.ldexp(1 + fraction / 8, exponent - 7)
    value = np.where(exponent == 0, np.ldexp(fraction / 8, -6), normal)
    value = np.where((code & 0x7F) == 0x7F, np.nan, value)
    return np.where(code >= 128, -value, value)


def e2m1_values() -> Array:
    """The 16 values of MXFP4's codes."""
    import numpy as np

    magnitude = np.array(E2M1)
    return np.concatenate([magnitude, -magnitude])


def e8m0_values() -> Array:
    """The 256 scales of MXFP4: 2^(code - 127)."""
    import numpy as np

    return np.ldexp(1.0, np.arange(256) - 127)


def unpack_nibbles(packed: Array, per_word: int = 2) -> Array:
    """The 4-bit codes of bytes, or of words of `per_word`, lowest first, along the last axis."""
    import numpy as np

    shifts = 4 * np.arange(per_word)
    words = np.asarray(packed).astype(np.int64) & ((1 << 4 * per_word) - 1)
    codes = words[..., None] >> shifts & 15
    return codes.reshape(*words.shape[:-1], words.shape[-1] * per_word)


def round_half_away(x: Array) -> Array:
    """The nearest whole number, ties away from zero."""
    import numpy as np

    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def storage(dtype: str) -> Any:
    """The NumPy dtype in which values of `dtype` are stored."""
    import numpy as np

    return np.dtype(STORAGE[dtype])
