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
    "det": {"getrf"},
    "inverse or solve": {"getrf", "getrs"},
    "cholesky": {"potrf"},
    "qr": {"geqrf", "orgqr"},
    "svd": {"gesvd"},
    "eigh or triangle": {"syevd"},
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


# Prints how far results are from the CPU's, of a matrix that the library would take.
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
