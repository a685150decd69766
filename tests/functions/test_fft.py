"""Fourier transforms, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import fft
from infinicore.fft import _transform

RANDOM = np.random.default_rng(3)
SIZES = [*range(1, 17), 30, 31, 37, 61, 64, 97, 100, 128, 243, 1000, 1009, 1024, 4096]
NORMS = ("backward", "ortho", "forward")


def values(*sizes: int) -> Any:
    return RANDOM.standard_normal(sizes) + 1j * RANDOM.standard_normal(sizes)


def of(made: Any) -> Any:
    return made.numpy(force=True)


def same(got: Any, wanted: Any, tolerance: float = 1e-11) -> None:
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= tolerance * max(1e-30, np.abs(wanted).max())


@pytest.mark.parametrize("n", SIZES)
def test_lines(n: int) -> None:
    for sizes in ((n,), (3, n), (9, n), (37, n)):
        x = values(*sizes)
        t = infinicore.tensor(x)
        same(of(fft.fft(t)), np.fft.fft(x))
        same(of(fft.ifft(t)), np.fft.ifft(x))
        single = t.to(infinicore.complex64)
        assert fft.fft(single).dtype is infinicore.complex64
        same(of(fft.fft(single)), np.fft.fft(x), 1e-5)
    real, half = infinicore.tensor(x.real), np.fft.rfft(x.real)
    same(of(fft.rfft(real)), half)
    same(of(fft.ihfft(real)), np.fft.ihfft(x.real))
    for size in (n, n + 1, max(1, n - 1)):
        same(of(fft.irfft(infinicore.tensor(half), size)), np.fft.irfft(half, size))
        same(of(fft.hfft(infinicore.tensor(half), size)), np.fft.hfft(half, size))


@pytest.mark.parametrize("n", [1, 2, 7, 64, 65, 67, 100, 211, 1000])
def test_as_products(n: int) -> None:
    """The implementation for devices without the operator."""

    @infinicore.function
    def products(input: infinicore.Tensor, inverse: bool) -> Any:
        return _transform._by_products(input, inverse, 1.0)

    x = values(3, n)
    same(of(products(infinicore.tensor(x), False)), np.fft.fft(x))
    same(of(products(infinicore.tensor(x), True)), np.fft.ifft(x) * n)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "ifft2", "irfftn", "irfft2"])
def test_several_dimensions(name: str, norm: str) -> None:
    x = values(4, 6, 5)
    same(
        of(getattr(fft, name)(infinicore.tensor(x), norm=norm)), getattr(np.fft, name)(x, norm=norm)
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["rfftn", "rfft2"])
def test_several_dimensions_of_real_numbers(name: str, norm: str) -> None:
    x = values(4, 6, 5).real
    same(
        of(getattr(fft, name)(infinicore.tensor(x), norm=norm)), getattr(np.fft, name)(x, norm=norm)
    )


def test_hermitian_in_several_dimensions() -> None:
    x = values(4, 5)
    first = np.fft.fft(x, axis=0)
    same(of(fft.hfftn(infinicore.tensor(x))), np.fft.hfft(first))
    same(of(fft.hfft2(infinicore.tensor(x))), np.fft.hfft(first))
    r = x.real
    same(of(fft.ihfftn(infinicore.tensor(r))), np.fft.ifft(np.fft.ihfft(r), axis=0))
    same(of(fft.ihfft2(infinicore.tensor(r))), np.fft.ifft(np.fft.ihfft(r), axis=0))


def test_sizes_and_dims() -> None:
    x = values(3, 8)
    same(of(fft.fft(infinicore.tensor(x), 5, 0)), np.fft.fft(x, 5, 0))
    same(of(fft.fftn(infinicore.tensor(x), (4, 9))), np.fft.fftn(x, (4, 9)))
    same(of(fft.fft(infinicore.tensor([1, 2, 3]))), np.fft.fft([1, 2, 3]), 1e-6)
    with pytest.raises(RuntimeError, match="norm"):
        fft.fft(infinicore.ones(2), norm="other")
    with pytest.raises(IndexError, match="dim"):
        fft.fft(infinicore.ones(2), dim=1)
    with pytest.raises(RuntimeError, match="real"):
        fft.rfft(infinicore.tensor(x))


def test_frequencies() -> None:
    for n in (1, 4, 5):
        same(of(fft.fftfreq(n, 0.5)), np.fft.fftfreq(n, 0.5), 1e-6)
        same(of(fft.rfftfreq(n, 0.5)), np.fft.rfftfreq(n, 0.5), 1e-6)
        x = np.arange(n * 3).reshape(n, 3)
        same(of(fft.fftshift(infinicore.tensor(x))), np.fft.fftshift(x))
        same(of(fft.ifftshift(infinicore.tensor(x), 0)), np.fft.ifftshift(x, 0))
