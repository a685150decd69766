"""Short-time Fourier transforms and gradients, compared with NumPy's and torch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import tensor
from kit.place import put
from kit.requirements import need

RANDOM = np.random.default_rng(5)


def frames_of(x: Any, n_fft: int, hop: int) -> Any:
    count = 1 + (x.shape[-1] - n_fft) // hop
    return np.stack([x[..., i * hop : i * hop + n_fft] for i in range(count)], -2)


@pytest.mark.parametrize("shape", [(40,), (3, 40)])
def test_spectra(shape: tuple[int, ...]) -> None:
    x, window = RANDOM.standard_normal(shape), RANDOM.uniform(0.5, 1, 12)
    around = [(0, 0)] * (len(shape) - 1) + [(8, 8)]
    weights = np.pad(window, 2)
    wanted = np.fft.rfft(frames_of(np.pad(x, around, mode="reflect"), 16, 5) * weights)
    got = infinicore.stft(tensor(x), 16, 5, 12, tensor(window), return_complex=True)
    assert np.allclose(got.numpy(force=True), wanted.swapaxes(-1, -2))
    parts = tensor(x).stft(16, 5, 12, tensor(window), return_complex=False).numpy(force=True)
    assert np.array_equal(
        parts, np.stack([got.real.numpy(force=True), got.imag.numpy(force=True)], -1)
    )
    plain = infinicore.stft(tensor(x), 16, 5, center=False, onesided=False, return_complex=True)
    wanted = np.fft.fft(frames_of(x, 16, 5)).swapaxes(-1, -2)
    assert np.allclose(plain.numpy(force=True), wanted)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(40,), (3, 40)])
def test_there_and_back(shape: tuple[int, ...], center: bool) -> None:
    x = RANDOM.standard_normal(shape)
    window = tensor(RANDOM.uniform(0.5, 1, 16))
    given = {"n_fft": 16, "hop_length": 4, "window": window, "center": center}
    spectra = infinicore.stft(tensor(x), normalized=True, return_complex=True, **given)
    back = infinicore.istft(spectra, normalized=True, **given)
    assert np.allclose(back.numpy(force=True), x)
    longer = spectra.istft(normalized=True, length=45, **given).numpy(force=True)
    assert longer.shape[-1] == 45
    assert np.allclose(longer[..., :40], x)


def test_complex_signals() -> None:
    x = RANDOM.standard_normal(40) + 1j * RANDOM.standard_normal(40)
    spectra = infinicore.stft(tensor(x), 8)
    assert spectra.shape == (8, 21)
    back = infinicore.istft(spectra, 8, return_complex=True)
    assert np.allclose(back.numpy(force=True), x)


def test_refusals() -> None:
    x = infinicore.ones(20)
    with pytest.raises(RuntimeError, match="stft: return_complex is missing"):
        infinicore.stft(x, 8)
    with pytest.raises(ValueError, match="stft: win_length is 9"):
        infinicore.stft(x, 8, win_length=9, return_complex=True)
    with pytest.raises(TypeError, match="stft: input has type"):
        infinicore.stft(x.to(infinicore.int64), 8, return_complex=True)
    spectra = infinicore.stft(x, 8, return_complex=True)
    with pytest.raises(ValueError, match="istft: the number of frequencies is 5"):
        infinicore.istft(spectra, 16)
    if x.is_cpu:  # values on other devices are not read
        with pytest.raises(RuntimeError, match="istft: windows leave gaps"):
            infinicore.istft(spectra, 8, window=infinicore.zeros(8))


def test_slopes() -> None:
    x = RANDOM.standard_normal((5, 6))
    for order in (1, 2):
        got = infinicore.gradient(tensor(x), spacing=[0.5, 2.0], edge_order=order)
        for one, two in zip(got, np.gradient(x, 0.5, 2.0, edge_order=order), strict=True):
            assert np.allclose(one.numpy(force=True), two)
        places = np.array([0.0, 1.0, 1.5, 4.0, 5.0, 7.0])
        (got_one,) = infinicore.gradient(
            tensor(x), spacing=[tensor(places)], dim=1, edge_order=order
        )
        wanted = np.gradient(x, places, axis=1, edge_order=order)
        assert np.allclose(got_one.numpy(force=True), wanted)
    with pytest.raises(ValueError, match="gradient: size 0 of input is 2"):
        infinicore.gradient(infinicore.ones(2), edge_order=2)


@pytest.mark.requires("torch")
def test_windows_before_their_place() -> None:
    torch = need("torch")
    x, window = torch.randn(37), torch.rand(5)
    for aligned in (True, False):
        given = {"hop_length": 3, "win_length": 5, "center": False, "align_to_window": aligned}
        wanted = torch.stft(x, 16, window=window, return_complex=True, **given)
        got = infinicore.stft(put(x), 16, window=put(window), return_complex=True, **given)
        assert np.allclose(got.numpy(force=True), wanted.numpy(), atol=1e-5)


def test_samples_in_one_place() -> None:
    x = infinicore.tensor([1.0, 2.0, 4.0])
    for order in (1, 2):
        (made,) = infinicore.gradient(x, spacing=0.0, edge_order=order)
        assert all(math.isinf(slope) or math.isnan(slope) for slope in made.tolist())
    (made,) = infinicore.gradient(x, spacing=0.5, edge_order=2)
    assert made.tolist() == [1.0, 3.0, 5.0]
    places = infinicore.tensor([5, 5, 2])  # a gap of 0 between integers has no sign
    (made,) = infinicore.gradient(tensor([1.0, -2.0, 4.0]), spacing=[places], edge_order=2)
    assert made[0].item() == math.inf
