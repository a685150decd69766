"""Products of few rows, as decoding has them: on the simulated CUDA, whose checks see every access
outside of a tensor. A row's bits must not depend on the other rows."""

from __future__ import annotations

import sys

import pytest

from kit import process
from kit.binding import root
from simulated.cuda import build as simulated

pytestmark = pytest.mark.requires("c++")

SCRIPT = """
import numpy as np
import infinicore as ic
from infinicore.nn import functional as F

ic.set_default_device("nvidia")
numbers = np.random.default_rng(1)

def draw(*shape, dtype=ic.bfloat16):
    drawn = numbers.standard_normal(shape).astype(np.float32)
    return ic.tensor(drawn, device="cpu").to(dtype).to("nvidia")

def values(x):
    return np.array(x.cpu().to(ic.float32).tolist())

def check(found, expected, what):
    wrong = np.abs(values(found) - expected).max() / np.abs(expected).max()
    assert wrong < 4e-3, (what, wrong)

# Four multiprocessors: blocks go through several groups of columns, of which the last is not full.
for n, k, dtype in ((200, 1160, ic.bfloat16), (72, 136, ic.float16)):
    x, weight, bias = draw(16, k, dtype=dtype), draw(n, k, dtype=dtype), draw(n, dtype=dtype)
    expected = values(x) @ values(weight).T + values(bias)
    all_rows = values(F.linear(x, weight, bias))
    for rows in (16, 1, 3, 8):
        found = F.linear(x[:rows], weight, bias)
        check(found, expected[:rows], (n, k, rows))
        assert np.array_equal(values(found), all_rows[:rows]), (n, k, rows)

x, weight = draw(4, 256), draw(160, 264)[:, :256]  # lines that do not follow each other
expected = values(x) @ values(weight).T
check(F.linear(x, weight), expected, "strided")
weights = draw(3, 96, 128)
batch = draw(3, 2, 128)
check(
    ic.matmul(batch, weights.transpose(1, 2)),
    np.einsum("bmk,bnk->bmn", values(batch), values(weights)),
    "batch",
)
odd = draw(160 * 256 + 1)[1:].reshape(160, 256)  # not aligned
check(F.linear(x, odd), values(x) @ values(odd).T, "odd")

with ic.record("nvidia") as made:
    y = F.silu(F.linear(x, weight))
made.graph.run()
check(y, expected / (1 + np.exp(-expected)), "recorded")
"""


def test_products_of_few_rows() -> None:
    done = process.run(
        [sys.executable, "-c", SCRIPT],
        INFINI_DEVICE="nvidia",
        INFINI_NVIDIA_LIBRARIES=str(simulated.folder(root())),
        INFINI_SIMULATED_CHECK="1",
    )
    assert done.returncode == 0, done.stderr
