"""Fourier transforms by the vendor's library, which is simulated."""

from __future__ import annotations

import re
import sys

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

SUITE = process.TESTS / "operators" / "test_operators.py"
CALLS = {"ExecC2C", "ExecZ2Z", "ExecR2C", "ExecD2Z", "ExecC2R", "ExecZ2D"}


def test_operators():
    """The library is called, and not only for dense lines."""
    need("c++")
    simulated.folder(root())
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(SUITE)]
    command += ["--device", "nvidia", "--simulated", "-k", "fft and not large"]
    done = process.run(
        command,
        timeout=200,
        INFINI_SIMULATED_PRODUCTS="1",
        INFINI_SIMULATED_TRACE="1",
        INFINI_NVIDIA_LIBRARIES=None,
        INFINI_DEVICE=None,
    )
    assert done.returncode == 0, done.stdout
    said = re.findall(r"simulated cuFFT: (.+)", done.stderr)
    assert {line.removeprefix("calls ") for line in said} == CALLS


# Prints the differences from the CPU's results: dense lines, strided lines, and a graph's replay.
OWN = """
import infinicore as ic

ic.manual_seed(1)
x = ic.complex(ic.randn(6, 20, device="cpu"), ic.randn(6, 20, device="cpu"))
there = x.to("nvidia")
for dim in (1, 0):
    print((ic.fft.fft(there, dim=dim).to("cpu") - ic.fft.fft(x, dim=dim)).abs().max().item())
print((ic.fft.fft2(there).to("cpu") - ic.fft.fft2(x)).abs().max().item())
print((ic.fft.irfft2(there).to("cpu") - ic.fft.irfft2(x)).abs().max().item())
print((ic.fft.rfft2(there.real).to("cpu") - ic.fft.rfft2(x.real)).abs().max().item())
with ic.record(there.device) as recorded:
    made = ic.fft.ifft(ic.fft.fft(there))
for _ in range(2):
    recorded.run()
    print((made.to("cpu") - x).abs().max().item())
"""


@pytest.mark.parametrize("library", [True, False])
def test_functions(library: bool):
    """With the library and without it, where our own kernels are used without a warning."""
    need("c++")
    folder = simulated.folder(root())
    only = f"{folder}:{folder / 'products'}" if library else str(folder)
    more = {"INFINI_NVIDIA_LIBRARIES": only, "INFINI_SIMULATED_TRACE": "1", "INFINI_DEVICE": None}
    done = process.run([sys.executable, "-c", OWN], timeout=200, **more)
    assert done.returncode == 0, done.stderr
    assert max(map(float, done.stdout.split())) < 1e-5
    assert ("cuFFT" in done.stderr) == library
