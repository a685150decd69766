"""Fourier transforms, with torch's names.

    spectrum = infinicore.fft.rfft(signal)

On the CPU and on CUDA devices they are operators, for any length and several dimensions in one
call; on other devices they are products with small matrices.
"""

from __future__ import annotations

from infinicore._public import as_public
from infinicore.fft import _functions
from infinicore.fft._functions import *

__all__ = _functions.__all__
globals().update({name: as_public(globals()[name]) for name in __all__})
