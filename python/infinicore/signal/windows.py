"""Window functions, with torch's names.

With `sym` the window is symmetric, for filter design; without it, periodic, for spectral analysis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import infinicore
from infinicore._modules import own_names
from infinicore._public import as_public
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.special import i0


def _places(name: str, count: int, sym: bool, dtype: Any, device: Any) -> tuple[Tensor, int]:
    """The numbers 0, 1, ... and that of the last element of the symmetric window."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"{name}: M is {count!r}: expected an integer that is not negative")
    kind = dtype or infinicore.get_default_dtype()
    if kind not in (infinicore.float32, infinicore.float64):
        raise ValueError(f"{name}: dtype is {kind!r}: expected float32 or float64")
    places = infinicore.arange(count, dtype=kind, device=device)
    return places, count - 1 if sym or count < 2 else count


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, device: Any = None
) -> Tensor:
    """A sum of cosines with these weights.

    >>> infinicore.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    weights = list(a)
    if not weights:
        raise ValueError("general_cosine: a is empty: expected at least one number")
    return _cosines("general_cosine", M, weights, sym, dtype, device)


def _cosines(
    name: str, count: int, weights: list[float], sym: bool, dtype: Any, device: Any
) -> Tensor:
    places, last = _places(name, count, sym, dtype, device)
    if count < 2:
        return infinicore.ones_like(places)
    made = infinicore.zeros_like(places)
    for k, weight in enumerate(weights):
        made = made + (places * (2 * math.pi * k / last)).cos() * ((-1) ** k * weight)
    return made


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, device: Any = None
) -> Tensor:
    """The generalized Hamming window: alpha - (1 - alpha) * cos.

    >>> infinicore.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return _cosines("general_hamming", M, [alpha, 1 - alpha], sym, dtype, device)


def hamming(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """Hamming's window.

    >>> infinicore.signal.windows.hamming(1)
    tensor([1.])
    """
    return _cosines("hamming", M, [0.54, 0.46], sym, dtype, device)


def hann(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """Hann's window.

    >>> infinicore.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return _cosines("hann", M, [0.5, 0.5], sym, dtype, device)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """Blackman's window.

    >>> infinicore.signal.windows.blackman(1)
    tensor([1.])
    """
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, device)


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """Nuttall's window of four terms.

    >>> infinicore.signal.windows.nuttall(1)
    tensor([1.])
    """
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _cosines("nuttall", M, weights, sym, dtype, device)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """Bartlett's window: a triangle.

    >>> infinicore.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    places, last = _places("bartlett", M, sym, dtype, device)
    if M < 2:
        return infinicore.ones_like(places)
    return 1 - (places * (2 / last) - 1).abs()


def cosine(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None) -> Tensor:
    """A cosine window: half a period of a sine.

    >>> infinicore.signal.windows.cosine(1)
    tensor([1.])
    """
    places, last = _places("cosine", M, sym, dtype, device)
    if M <= 1:
        return infinicore.ones_like(places)
    return ((places + 0.5) * (math.pi / (last + 1))).sin()


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """An exponential window: e^(-|n - center| / tau).

    >>> infinicore.signal.windows.exponential(1)
    tensor([1.])
    """
    expect(tau > 0, "exponential", "tau", tau, "more than 0")
    if sym and center is not None:
        raise ValueError("exponential: center is given: expected sym=False with it")
    places, last = _places("exponential", M, sym, dtype, device)
    if M <= 1:
        return infinicore.ones_like(places)
    middle = last / 2 if center is None else center
    return ((places - middle).abs() * (-1 / tau)).exp()


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, device: Any = None
) -> Tensor:
    """A Gaussian window.

    >>> infinicore.signal.windows.gaussian(1)
    tensor([1.])
    """
    if std <= 0:
        raise ValueError(f"gaussian: std is {std}: expected more than 0")
    places, last = _places("gaussian", M, sym, dtype, device)
    scaled = (places - last / 2) * (1 / (std * math.sqrt(2)))
    return (-(scaled * scaled)).exp()


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, device: Any = None
) -> Tensor:
    """Kaiser's window.

    >>> infinicore.signal.windows.kaiser(1)
    tensor([1.])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta is {beta}: expected 0 or more")
    places, last = _places("kaiser", M, sym, dtype, device)
    if M < 2:
        return infinicore.ones_like(places)
    across = places * (2 / last) - 1
    inside = (1 - across * across).clamp_min(0).sqrt() * beta
    whole = i0(infinicore.tensor(float(beta), dtype=places.dtype, device=places.device))
    return i0(inside) / whole


__all__ = own_names(globals())
globals().update({name: as_public(globals()[name]) for name in __all__})
