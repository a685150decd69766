"""The extension for Fourier transforms."""

from __future__ import annotations

from typing import Any

from infinicore import fft as base
from infinicore._dtype import dtype
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

_LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")


def _line(name: str) -> Any:
    work = getattr(base, name)

    def function(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        expect(n is None or n >= 1, name, "n", n, "1 or more")
        return work(x, n, axis, norm)  # type: ignore[no-any-return]

    return _named(function, name, work)


def _several(name: str) -> Any:
    work = getattr(base, name)

    def function(
        x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward"
    ) -> Tensor:
        return work(x, s, axes, norm)  # type: ignore[no-any-return]

    return _named(function, name, work)


def _named(function: Any, name: str, work: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = work.__doc__.split("\n\n")[0]
    return function


def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The sample frequencies of `fft` for n samples with spacing d."""
    return base.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """The sample frequencies of `rfft` for n samples with spacing d."""
    return base.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Move the zero frequency to the middle, along the given axes or all."""
    return base.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    return base.ifftshift(x, axes)


globals().update({name: _line(name) for name in _LINES})
globals().update({name: _several(name) for name in _SEVERAL})
__all__ = [*_LINES, *_SEVERAL, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]
