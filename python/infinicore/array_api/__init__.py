"""The Python array API standard, version 2025.12: `x.__array_namespace__()` for tensors.

    import infinicore.array_api as xp

    x = xp.linspace(0, 1, 5)
    xp.sum(x, axis=0)

Functions have the standard's names, parameters and types. Arrays are infinicore's tensors. Unlike
the functions of `infinicore`, which follow torch, zero-dimensional arrays take part in promotion,
sums of unsigned integers are unsigned, and parameters have the standard's names.
"""

from __future__ import annotations

import math as _math

from infinicore import _dtype as _types
from infinicore.array_api import fft as fft
from infinicore.array_api import linalg as linalg
from infinicore.array_api._creation import *
from infinicore.array_api._dtypes import *
from infinicore.array_api._elementwise import *
from infinicore.array_api._info import __array_namespace_info__ as __array_namespace_info__
from infinicore.array_api._manipulation import *
from infinicore.array_api._operators import set_operators as set_operators
from infinicore.array_api._products import *
from infinicore.array_api._searching import *
from infinicore.array_api._statistics import *

__array_api_version__ = "2025.12"

e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

bool = _types.bool_
int8, int16, int32, int64 = _types.int8, _types.int16, _types.int32, _types.int64
uint8, uint16, uint32, uint64 = _types.uint8, _types.uint16, _types.uint32, _types.uint64
float32, float64 = _types.float32, _types.float64
complex64, complex128 = _types.complex64, _types.complex128
