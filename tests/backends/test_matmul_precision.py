"""The compute type of products in F32 reaches the vendor's library, here a simulated cuBLASLt."""

from __future__ import annotations

import sys

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

# Prints the greatest difference from the CPU's product for each precision.
PROGRAM = """
import infinicore as ic

ic.manual_seed(1)
a, b = ic.randn(256, 320, device="cpu"), ic.randn(320, 256, device="cpu")
expected = ic.matmul(a, b)
for precision in ("highest", "high", "medium", "highest"):
    ic.set_float32_matmul_precision(precision)
    made = ic.matmul(a.to("nvidia"), b.to("nvidia"))
    print((made.to("cpu") - expected).abs().max().item())
"""


def test_precision():
    need("c++")
    folder = simulated.folder(root())
    more = {"INFINI_NVIDIA_LIBRARIES": f"{folder}:{folder / 'products'}", "INFINI_DEVICE": None}
    done = process.run([sys.executable, "-c", PROGRAM], timeout=200, **more)
    assert done.returncode == 0, done.stderr
    first, high, medium, last = map(float, done.stdout.split())
    assert first < 1e-3 and last == first
    assert 1e-3 < high < 1 and medium == high
