"""Fourier transforms with torch's names; `n`, `dim` and `norm` mean what they mean there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.fft._transform import (
    as_complex,
    as_operand,
    floats,
    transform,
    transform_half,
    transform_real,
)
from infinicore.functions._checks import expect, need_tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _scale(function: str, norm: str | None, count: int, inverse: bool) -> float:
    """The normalization factor."""
    norm = norm or "backward"
    if norm not in ("forward", "backward", "ortho"):
        raise RuntimeError(
            f"{function}: norm is {norm!r}: expected 'forward', 'backward' or 'ortho'"
        )
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "backward") == inverse else 1.0


def _dim(function: str, x: Tensor, dim: int) -> int:
    need_tensor(function, "input", x)
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"{function}: dim is {dim}: expected one of {x.ndim} dimensions")
    return dim % x.ndim


def _sized(function: str, x: Tensor, n: int | None, dim: int) -> Tensor:
    """Truncates a dimension, or pads it with zeros."""
    size = x.shape[dim]
    if n is None:
        n = size
    expect(n >= 1, function, "n", n, "1 or more", RuntimeError)
    if n <= size:
        return x if n == size else x.narrow(dim, 0, n)
    shape = [*x.shape]
    shape[dim] = n - size
    return infinicore.cat([x, infinicore.zeros(shape, dtype=x.dtype, device=x.device)], dim)


def _write(out: Any, made: Tensor) -> Tensor:
    return made if out is None else out.copy_(made)


def _c2c(name: str, x: Tensor, n: Any, dim: int, norm: Any, inverse: bool) -> Tensor:
    at = _dim(name, x, dim)
    x = as_operand(name, _sized(name, x, n, at))
    scale = _scale(name, norm, x.shape[at], inverse)
    return transform(x, (at,), inverse, scale)


@traced
def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The Fourier transform along a dimension.

    >>> infinicore.fft.fft(infinicore.tensor([1., 0.]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _write(out, _c2c("fft", input, n, dim, norm, False))


@traced
def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse Fourier transform along a dimension.

    >>> infinicore.fft.ifft(infinicore.tensor([1., 1.]))
    tensor([1.+0.j, 0.+0.j])
    """
    return _write(out, _c2c("ifft", input, n, dim, norm, True))


@traced
def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The Fourier transform of real input: the first half, which determines the other.

    >>> infinicore.fft.rfft(infinicore.ones(4)).shape
    infinicore.Size([3])
    """
    return _write(out, _r2c("rfft", input, n, dim, norm, False))


def _r2c(name: str, x: Tensor, n: Any, dim: int, norm: Any, inverse: bool) -> Tensor:
    if not isinstance(x, Tensor) or x.dtype.is_complex:
        raise RuntimeError(f"{name}: expected a tensor of real numbers")
    at = _dim(name, x, dim)
    x = floats(_sized(name, x, n, at))
    scale = _scale(name, norm, x.shape[at], inverse)
    return transform_real(x, (at,), inverse, scale)


@traced
def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse of `rfft`: n real numbers; n defaults to 2 * (size - 1).

    >>> infinicore.fft.irfft(infinicore.tensor([4. + 0j, 0, 0]))
    tensor([1., 1., 1., 1.])
    """
    return _write(out, _c2r("irfft", input, n, dim, norm, True))


def _c2r(name: str, x: Tensor, n: Any, dim: int, norm: Any, inverse: bool) -> Tensor:
    at = _dim(name, x, dim)
    size = 2 * (x.shape[at] - 1) if n is None else n
    expect(size >= 1, name, "n", size, "1 or more", RuntimeError)
    half = as_complex(name, _sized(name, x, size // 2 + 1, at))
    scale = _scale(name, norm, size, inverse)
    return transform_half(half, (at,), size, inverse, scale)


@traced
def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The Fourier transform, which is real, of a Hermitian-symmetric signal given by its first
    half.

    >>> infinicore.fft.hfft(infinicore.tensor([1. + 0j, 0])).tolist()
    [1.0, 1.0]
    """
    return _write(out, _c2r("hfft", input, n, dim, norm, False))


@traced
def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse of `hfft`: the first half of the signal.

    >>> infinicore.fft.ihfft(infinicore.ones(2)).shape
    infinicore.Size([2])
    """
    return _write(out, _r2c("ihfft", input, n, dim, norm, True))


# ---- Several dimensions -------------------------------------------------------------------------


def _dims(function: str, x: Tensor, s: Any, dim: Any) -> tuple[list[Any], list[int]]:
    need_tensor(function, "input", x)
    if dim is None:
        count = x.ndim if s is None else len(s)
        dims = list(range(x.ndim - count, x.ndim))
    else:
        dims = [_dim(function, x, each) for each in ([dim] if isinstance(dim, int) else dim)]
    sizes = [None] * len(dims) if s is None else [None if each == -1 else each for each in s]
    if len(sizes) != len(dims) or len(set(dims)) != len(dims):
        raise RuntimeError(f"{function}: expected as many different dims as sizes")
    return sizes, dims


def _sized_each(name: str, x: Tensor, sizes: list[Any], dims: list[int]) -> Tensor:
    for n, at in zip(sizes, dims, strict=True):
        x = _sized(name, x, n, at)
    return x


def _scale_each(name: str, norm: Any, x: Tensor, dims: list[int], inverse: bool) -> float:
    return _scale(name, norm, math.prod(x.shape[at] for at in dims), inverse)


def _each(name: str, x: Tensor, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    sizes, dims = _dims(name, x, s, dim)
    x = as_operand(name, _sized_each(name, x, sizes, dims))
    if not dims:
        return as_complex(name, x)
    return transform(x, tuple(dims), inverse, _scale_each(name, norm, x, dims, inverse))


@traced
def fftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The Fourier transform along several dimensions, or all.

    >>> infinicore.fft.fftn(infinicore.ones(2, 2)).real.tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    return _write(out, _each("fftn", input, s, dim, norm, False))


@traced
def ifftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse Fourier transform along several dimensions, or all.

    >>> infinicore.fft.ifftn(infinicore.ones(2, 2)).real.tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return _write(out, _each("ifftn", input, s, dim, norm, True))


@traced
def rfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """`rfft` along the last of several dimensions, `fft` along the others.

    >>> infinicore.fft.rfftn(infinicore.ones(2, 4)).shape
    infinicore.Size([2, 3])
    """
    return _write(out, _half_first("rfftn", input, s, dim, norm, False))


def _half_first(name: str, x: Tensor, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    sizes, dims = _dims(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name}: expected at least one dimension")
    if x.dtype.is_complex:
        raise RuntimeError(f"{name}: expected a tensor of real numbers")
    x = floats(_sized_each(name, x, sizes, dims))
    return transform_real(x, tuple(dims), inverse, _scale_each(name, norm, x, dims, inverse))


def _half_last(name: str, x: Tensor, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    sizes, dims = _dims(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name}: expected at least one dimension")
    x = _sized_each(name, x, sizes[:-1], dims[:-1])
    size = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    expect(size >= 1, name, "n", size, "1 or more", RuntimeError)
    x = as_complex(name, _sized(name, x, size // 2 + 1, dims[-1]))
    count = size * math.prod(x.shape[at] for at in dims[:-1])
    return transform_half(x, tuple(dims), size, inverse, _scale(name, norm, count, inverse))


@traced
def irfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse of `rfftn`.

    >>> infinicore.fft.irfftn(infinicore.fft.rfftn(infinicore.ones(2, 4))).shape
    infinicore.Size([2, 4])
    """
    return _write(out, _half_last("irfftn", input, s, dim, norm, True))


@traced
def hfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """`hfft` along the last of several dimensions, `fft` along the others.

    >>> infinicore.fft.hfftn(infinicore.ones(2, 3)).shape
    infinicore.Size([2, 4])
    """
    return _write(out, _half_last("hfftn", input, s, dim, norm, False))


@traced
def ihfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None
) -> Tensor:
    """The inverse of `hfftn`.

    >>> infinicore.fft.ihfftn(infinicore.ones(2, 4)).shape
    infinicore.Size([2, 3])
    """
    return _write(out, _half_first("ihfftn", input, s, dim, norm, True))


def _pair(function: Any, text: str) -> Any:
    """The two-dimensional form of an n-dimensional function: over the last two dimensions."""

    def made(
        input: Tensor,
        s: Any = None,
        dim: Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Any = None,
    ) -> Tensor:
        return function(input, s, dim, norm, out=out)  # type: ignore[no-any-return]

    name = function.__name__[:-1] + "2"
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"""`{function.__name__}` along the last two dimensions{text}.

    >>> infinicore.fft.{name}(infinicore.ones(2, 4)).ndim
    2
    """
    return traced(made)


fft2, ifft2 = _pair(fftn, ""), _pair(ifftn, "")
rfft2, irfft2 = _pair(rfftn, " of real numbers"), _pair(irfftn, "")
hfft2, ihfft2 = _pair(hfftn, ""), _pair(ihfftn, " of real numbers")


# ---- Frequencies --------------------------------------------------------------------------------


def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, out: Any = None
) -> Tensor:
    """The sample frequencies of `fft` for n samples with spacing d.

    >>> infinicore.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    expect(n >= 1, "fftfreq", "n", n, "1 or more", RuntimeError)
    kind = dtype or infinicore.get_default_dtype()
    up = infinicore.arange(0, (n + 1) // 2, dtype=kind, device=device)
    down = infinicore.arange(-(n // 2), 0, dtype=kind, device=device)
    return _write(out, infinicore.cat([up, down]) * (1.0 / (n * d)))


def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, out: Any = None
) -> Tensor:
    """The sample frequencies of `rfft` for n samples with spacing d.

    >>> infinicore.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    expect(n >= 1, "rfftfreq", "n", n, "1 or more", RuntimeError)
    kind = dtype or infinicore.get_default_dtype()
    return _write(
        out, infinicore.arange(0, n // 2 + 1, dtype=kind, device=device) * (1.0 / (n * d))
    )


def _shifted(input: Tensor, dim: Any, back: bool) -> Tensor:
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    for each in dims:
        size = input.shape[each]
        input = infinicore.roll(input, size - size // 2 if back else size // 2, each)
    return input


@traced
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency to the middle, along the given dimensions or all.

    >>> infinicore.fft.fftshift(infinicore.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, False)


@traced
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> infinicore.fft.ifftshift(infinicore.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, True)
