"""Fourier transforms along the last dimension, of complex numbers given as tensors of their real
and of their imaginary parts, and of real numbers. Any strides will do, so other dimensions are a
matter of views."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator


@operator(
    "FFT(!y_real, !y_imag, x_real, x_imag, bool inverse, double scale)",
    """
    out y_real  F32|F64  [*B, N]
    out y_imag  =y_real  [*B, N]
    x_real      =y_real  [*B, N]
    x_imag      =y_real  [*B, N]
    """,
    kernel=True,
    in_place={"y_real": "x_real", "y_imag": "x_imag"},
)
def fft(x_real: Array, x_imag: Array, *, inverse: bool, scale: float) -> Any:
    """The Fourier transform along the last dimension, times a number: the sums of x[k] e^(-2 pi i j
    k / N) for each j; with e^(2 pi i j k / N) if `inverse`."""
    import numpy as np

    x = x_real + 1j * x_imag
    if not x.size:
        return x_real, x_imag
    made = (np.fft.ifft(x) * x.shape[-1] if inverse else np.fft.fft(x)) * scale
    return made.real, made.imag


@operator(
    "RFFT(!y_real, !y_imag, x, bool inverse, double scale)",
    """
    out y_real  F32|F64  [*B, N // 2 + 1]
    out y_imag  =y_real  [*B, N // 2 + 1]
    x           =y_real  [*B, N]
    """,
    where="N > 0",
    kernel="fft",
)
def rfft(x: Array, *, inverse: bool, scale: float) -> Any:
    """The first half of the Fourier transform of real numbers: the rest is its conjugate,
    backwards."""
    import numpy as np

    made = np.fft.rfft(x) * scale
    return made.real, -made.imag if inverse else made.imag


@operator(
    "IRFFT(!y, x_real, x_imag, int64_t size, bool inverse, double scale)",
    """
    out y   F32|F64  [*B, N]
    x_real  =y       [*B, H]
    x_imag  =y       [*B, H]
    """,
    where="N > 0; size == N; H == N // 2 + 1",
    kernel="fft",
    sizes={"N": "size"},
)
def irfft(x_real: Array, x_imag: Array, *, size: int, inverse: bool, scale: float) -> Any:
    """The Fourier transform, which is real, of numbers given by their first half: the rest is its
    conjugate, backwards. Imaginary parts that would have to be 0 count as 0."""
    import numpy as np

    x = x_real + 1j * x_imag
    return np.fft.irfft(x if inverse else x.conj(), size) * (size * scale)
