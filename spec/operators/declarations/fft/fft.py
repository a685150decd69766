"""Fourier transforms along the last dimensions, of complex numbers given as tensors of their real
and of their imaginary parts, and of real numbers. Any strides are supported, so other dimensions
are transformed by views."""

from __future__ import annotations

import math
from typing import Any

from ...language.expression import Array
from ...language.model import operator

_RANK = "ndim >= 1; ndim <= len(B) + 1"


@operator(
    "FFT(!y_real, !y_imag, x_real, x_imag, bool inverse, double scale, int64_t ndim)",
    """
    out y_real  F32|F64  [*B, N]
    out y_imag  =y_real  [*B, N]
    x_real      =y_real  [*B, N]
    x_imag?     =y_real  [*B, N]
    """,
    where=_RANK,
    kernel=True,
    in_place={"y_real": "x_real", "y_imag": "x_imag"},
)
def fft(x_real: Array, x_imag: Array | None, *, inverse: bool, scale: float, ndim: int) -> Any:
    """The Fourier transform along the last `ndim` dimensions, times a number: along one, the sums
    of x[k] e^(-2 pi i j k / N) for each j; with e^(2 pi i j k / N) if `inverse`. Without `x_imag`,
    x is real."""
    import numpy as np

    x = x_real + 0j if x_imag is None else x_real + 1j * x_imag
    if not x.size:
        return x_real, x_real
    made = np.fft.fftn(x.conj() if inverse else x, axes=tuple(range(-ndim, 0))) * scale
    return made.real, -made.imag if inverse else made.imag


@operator(
    "RFFT(!y_real, !y_imag, x, bool inverse, double scale, int64_t ndim)",
    """
    out y_real  F32|F64  [*B, N // 2 + 1]
    out y_imag  =y_real  [*B, N // 2 + 1]
    x           =y_real  [*B, N]
    """,
    where=f"N > 0; {_RANK}",
    kernel="fft",
)
def rfft(x: Array, *, inverse: bool, scale: float, ndim: int) -> Any:
    """The first half, in the last dimension, of the Fourier transform of real numbers: the rest is
    its conjugate, backwards."""
    import numpy as np

    if not x.size:
        none = np.zeros((*x.shape[:-1], x.shape[-1] // 2 + 1))
        return none, none
    made = np.fft.rfftn(x, axes=tuple(range(-ndim, 0))) * scale
    return made.real, -made.imag if inverse else made.imag


@operator(
    "IRFFT(!y, x_real, x_imag, int64_t size, bool inverse, double scale, int64_t ndim)",
    """
    out y   F32|F64  [*B, N]
    x_real  =y       [*B, H]
    x_imag  =y       [*B, H]
    """,
    where=f"N > 0; size == N; H == N // 2 + 1; {_RANK}",
    kernel="fft",
    sizes={"N": "size"},
)
def irfft(
    x_real: Array, x_imag: Array, *, size: int, inverse: bool, scale: float, ndim: int
) -> Any:
    """The Fourier transform, which is real, of numbers given by their first half in the last
    dimension: the rest is its conjugate, backwards. Imaginary parts that would have to be 0, when
    the other dimensions are transformed, count as 0."""
    import numpy as np

    x = x_real + 1j * x_imag
    x = x if inverse else x.conj()
    others = x.shape[x.ndim - ndim : -1]
    if not x.size:
        return np.zeros((*x.shape[:-1], size))
    made = np.fft.irfftn(x, (*others, size), axes=tuple(range(-ndim, 0)))
    return made * (math.prod(others) * size * scale)
