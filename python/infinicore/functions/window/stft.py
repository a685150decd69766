"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions._index_checks import is_known

_NOTHING = 1e-11  # smallest sum of squared windows that allows reconstruction


def _lengths(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
) -> tuple[int, int]:
    """The step between windows, and their length."""
    expect(n_fft > 0, name, "n_fft", n_fft, "1 or more")
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    expect(hop > 0, name, "hop_length", hop, "1 or more")
    expect(0 < width <= n_fft, name, "win_length", width, f"1 to n_fft, {n_fft}")
    if window is not None:
        fits = tuple(window.shape) == (width,)
        expect(fits, name, "window.shape", tuple(window.shape), f"[{width}]")
    return hop, width


def _filled_up(window: Tensor | None, width: int, n_fft: int, like: Tensor) -> Tensor:
    """The window, centred in `n_fft` elements."""
    if window is None:
        window = infinicore.ones(width, dtype=like.dtype, device=like.device)
    before = (n_fft - width) // 2
    return infinicore.nn.functional.pad(window, (before, n_fft - width - before))


def _padded(x: Tensor, sides: tuple[int, int], mode: str) -> Tensor:
    """Signals [B, L] padded on both sides."""
    pad = infinicore.nn.functional.pad
    if not x.dtype.is_complex:
        return pad(x.unsqueeze(0), sides, mode).squeeze(0)
    parts = infinicore.view_as_real(x).movedim(-1, 0)
    return infinicore.view_as_complex(pad(parts, sides, mode).movedim(0, -1).contiguous())


@function
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform of a signal [L] or of signals [B, L], as [..., frequencies,
    windows]. Windows are `hop_length` apart (a quarter of `n_fft` by default); with `center` the
    signal is padded so that window t is centred at t * hop_length.

    >>> infinicore.stft(infinicore.ones(8), 4, return_complex=True).shape
    infinicore.Size([3, 9])
    """
    name = "stft"
    expect(input.ndim in (1, 2), name, "input.ndim", input.ndim, "1 or 2")
    if infinicore.result_type(input, 0.0) is not input.dtype:
        raise TypeError(f"stft: input has type {input.dtype!r}: expected floats or complex numbers")
    is_complex = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft: return_complex is missing: expected it for real input")
    if is_complex and onesided:
        raise RuntimeError("stft: onesided is True: expected False for complex input or window")
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window is given: expected center=False with it")
    hop, width = _lengths(name, n_fft, hop_length, win_length, window)
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        x = _padded(x, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window:
        before = (n_fft - width) // 2
        x = _padded(x, (before, n_fft - width - before), "constant")
    expect(x.shape[1] >= n_fft, name, "the length of the signal", x.shape[1], f"{n_fft} or more")
    frames = x.unfold(1, n_fft, hop)
    if window is not None or width < n_fft:
        frames = frames * _filled_up(window, width, n_fft, x)
    one_sided = not is_complex if onesided is None else onesided
    transform = infinicore.fft.rfft if one_sided else infinicore.fft.fft
    made = transform(frames, norm="ortho" if normalized else None).transpose(1, 2)
    made = made if input.ndim == 2 else made.squeeze(0)
    return made if return_complex or return_complex is None else infinicore.view_as_real(made)


def _overlapped(frames: Tensor, hop: int) -> Tensor:
    """Overlap-add: windows [B, T, n] summed at their positions, as [B, hop * (T - 1) + n]."""
    if frames.dtype.is_complex:
        parts = infinicore.view_as_real(frames)
        real, imag = (_overlapped(parts.select(-1, i), hop) for i in (0, 1))
        return infinicore.complex(real, imag)
    count, width = frames.shape[1:]
    size = (1, hop * (count - 1) + width)
    made = infinicore.nn.functional.fold(
        frames.transpose(1, 2), size, kernel_size=(1, width), stride=(1, hop)
    )
    return made.reshape(frames.shape[0], size[1])


@function
def _istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> tuple[Tensor, Tensor]:
    """The signal, and what it was divided by."""
    name = "istft"
    if not input.dtype.is_complex:
        raise RuntimeError(f"istft: input has type {input.dtype!r}: expected complex numbers")
    expect(input.ndim in (2, 3), name, "input.ndim", input.ndim, "2 or 3")
    hop, width = _lengths(name, n_fft, hop_length, win_length, window)
    x = input if input.ndim == 3 else input.unsqueeze(0)
    frequencies, count = x.shape[1:]
    expect(x.numel() > 0, name, "input.shape", tuple(input.shape), "sizes of 1 or more")
    one_sided = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if one_sided else n_fft
    expect(frequencies == wanted, name, "the number of frequencies", frequencies, f"{wanted}")
    expect(hop <= width, name, "hop_length", hop, f"at most win_length, {width}")
    if return_complex and one_sided:
        raise RuntimeError("istft: return_complex is True: expected onesided=False with it")
    if not return_complex and window is not None and window.dtype.is_complex:
        raise RuntimeError("istft: window is complex: expected return_complex=True with it")
    norm = "ortho" if normalized else None
    frames = x.transpose(1, 2)
    if return_complex:
        frames = infinicore.fft.ifft(frames, norm=norm)
    else:
        frames = infinicore.fft.irfft(frames.narrow(2, 0, n_fft // 2 + 1), n_fft, norm=norm)
    weights = _filled_up(window, width, n_fft, frames)
    whole = _overlapped(frames * weights, hop)
    squares = (weights * weights).expand(1, count, n_fft)
    envelope = _overlapped(squares, hop)
    start = n_fft // 2 if center else 0
    size = whole.shape[1]
    end = size - start if length is None else start + length
    whole, envelope = (each.narrow(1, start, min(end, size) - start) for each in (whole, envelope))
    made = whole / envelope
    if end > size:
        made = _padded(made, (0, end - size), "constant")
    return (made if input.ndim == 3 else made.squeeze(0)), envelope


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of `stft`: the signal whose `stft` with the same arguments is closest to input
    [..., frequencies, windows], truncated or zero-padded to `length`.

    >>> x = infinicore.tensor([1., 2., 3., 4., 5., 6., 7., 8.])
    >>> infinicore.istft(infinicore.stft(x, 4, return_complex=True), 4)
    tensor([1., 2., 3., 4., 5., 6., 7., 8.])
    """
    made, envelope = _istft(
        *(input, n_fft, hop_length, win_length, window, center),
        *(normalized, onesided, length, return_complex),
    )
    if is_known(envelope) and envelope.abs().min().item() < _NOTHING:
        raise RuntimeError("istft: windows leave gaps: expected a sum of their squares above 0")
    return made
