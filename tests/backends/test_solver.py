"""Linear algebra by the vendor's library, which is simulated."""

from __future__ import annotations

import re
import sys

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

SUITE = process.TESTS / "operators" / "test_large_matrices.py"
# The tests of an operator, and the functions that they call.
GROUPS = {
    "det or lu_factor": {"getrf"},
    "inverse or solve": {"getrf", "getrs"},
    "cholesky": {"potrf", "potrfBatched"},
    "qr": {"geqrf", "orgqr"},
    "svd": {"gesvdj", "gesvdjBatched"},
    "eigh or triangle": {"syevd", "syevBatched"},
}


@pytest.mark.parametrize("group", GROUPS)
def test_large_matrices(group: str):
    """The library is called, and not in a capture."""
    need("c++")
    simulated.folder(root())
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", str(SUITE)]
    command += ["--device", "nvidia", "--simulated", "-k", group]
    done = process.run(
        command,
        timeout=200,
        INFINI_SIMULATED_PRODUCTS="1",
        INFINI_SIMULATED_TRACE="1",
        INFINI_NVIDIA_LIBRARIES=None,
        INFINI_DEVICE=None,
    )
    assert done.returncode == 0, done.stdout
    said = re.findall(r"simulated cuSOLVER: (.+)", done.stderr)
    assert {line.removeprefix("calls ") for line in said} == GROUPS[group]


# Prints the difference between a product of factors and the matrix, tall or wide.
FACTORS = """
import infinicore as ic

ic.manual_seed(1)
for shape in ((40, 36), (36, 40)):
    x = ic.complex(ic.randn(*shape), ic.randn(*shape)).to("nvidia")
    u, s, vh = ic.linalg.svd(x, full_matrices=False)
    print((u * s.unsqueeze(0) @ vh - x).abs().max().item())
"""


def test_without_convergence():
    """Another method handles matrices on which Jacobi's method does not converge."""
    need("c++")
    folder = simulated.folder(root())
    done = process.run(
        [sys.executable, "-c", FACTORS],
        timeout=200,
        INFINI_NVIDIA_LIBRARIES=f"{folder}:{folder / 'products'}",
        INFINI_SIMULATED_TRACE="1",
        INFINI_SIMULATED_JACOBI_STOPS="1",
        INFINI_DEVICE=None,
    )
    assert done.returncode == 0, done.stderr
    assert all(float(line) < 1e-4 for line in done.stdout.split())
    said = set(re.findall(r"simulated cuSOLVER: calls (.+)", done.stderr))
    assert said == {"gesvdj", "gesvd"}


# Prints the differences from the CPU's results, for a matrix that the library supports.
OWN = """
import infinicore as ic

ic.manual_seed(1)
x = ic.eye(192, device="cpu") + ic.randn(192, 192, device="cpu") * 0.02
print((ic.det(x.to("nvidia")).to("cpu") - ic.det(x)).abs().item())
"""


def test_without_it():
    """Without the library our own kernels are used, without a warning."""
    need("c++")
    only = str(simulated.folder(root()))
    more = {"INFINI_NVIDIA_LIBRARIES": only, "INFINI_SIMULATED_TRACE": "1", "INFINI_DEVICE": None}
    done = process.run([sys.executable, "-c", OWN], timeout=200, **more)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-4
    assert "cuSOLVER" not in done.stderr
