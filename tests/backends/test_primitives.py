"""Attention by the vendor's library of primitives, which is simulated."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("infinicore")
pytest.importorskip("numpy")

from kit import build, process
from kit.binding import root
from simulated.cuda import build as simulated

# Each case in a graph, and in threads: as it is, with heads beside each other, and not aligned.
# Prints how far the results are from the CPU's, of numbers of 32 bits.
CASES = """
import sys
from concurrent.futures import ThreadPoolExecutor
import infinicore as ic
from infinicore.nn import functional as F

kind = getattr(ic, sys.argv[1])
ic.manual_seed(1)
for case in sys.argv[2:]:
    batches, heads, shared, queries, keys, size, causal = map(int, case.split(","))
    shapes = [(batches, heads, queries, size), *[(batches, shared, keys, size)] * 2]
    drawn = [ic.randn(*shape, device="cpu").to(kind) for shape in shapes]
    more = {"is_causal": bool(causal), "enable_gqa": True}
    expected = F.scaled_dot_product_attention(*[x.to(ic.float32) for x in drawn], **more)
    there = [x.to("nvidia") for x in drawn]
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in there]
    odd = [ic.zeros(x.numel() + 1, dtype=kind, device="nvidia")[1:].view(*x.shape) for x in there]
    for x, y in zip(odd, there, strict=True):
        x.copy_(y)
    with ic.record() as made:
        recorded = F.scaled_dot_product_attention(*there, **more)
    made.graph.run()
    with ThreadPoolExecutor(3) as pool:  # one after the other is not asked for
        attend = lambda x: F.scaled_dot_product_attention(*x, **more)
        results = [*pool.map(attend, (there, turned, odd))]
    ic.set_device("nvidia")
    ic.sync_device()
    for result in (recorded, *results):
        print((result.to("cpu").to(ic.float32) - expected).abs().max().item())
"""
TRACE = "simulated cuDNN: a graph"


@pytest.fixture
def attend(tmp_path: Path):
    """Errors of cases, and how often the library was called."""
    if not build.has_compiler():
        pytest.skip("no C++ compiler here")
    folder = simulated.folder(root())
    settings = {
        "INFINI_NVIDIA_LIBRARIES": f"{folder}{os.pathsep}{folder / 'products'}",
        "INFINI_DEVICE": None,
        "INFINI_SIMULATED_TRACE": "1",
        "INFINI_CACHE": str(tmp_path),
    }

    def run(dtype: str, *cases: str, **changes: str) -> tuple[list[float], int]:
        command = [sys.executable, "-c", CASES, dtype, *cases]
        done = process.run(command, **{**settings, **changes})
        assert done.returncode == 0, done.stderr
        return [float(line) for line in done.stdout.split()], done.stderr.count(TRACE)

    return run


@pytest.mark.parametrize(("dtype", "limit"), [("float16", 4e-3), ("bfloat16", 3e-2)])
def test_attention(attend, dtype: str, limit: float):
    cases = ["2,4,2,1,33,64,0", "1,2,2,1,20,32,0", "1,4,4,1,30,128,0", "1,2,1,1,40,64,0"]
    for _ in range(2):  # the second process finds plans on the disk
        errors, calls = attend(dtype, *cases, INFINI_CUDA_ATTENTION="dnn")
        assert len(errors) == 4 * len(cases)
        assert max(errors) < limit
        assert calls == 3 * len(cases)  # not for tensors that are not aligned


def test_what_it_has_no_kernel_for(attend):
    errors, calls = attend("float16", "1,2,2,1,30,72,0", INFINI_CUDA_ATTENTION="dnn")
    assert max(errors) < 4e-3
    assert calls == 0


def test_without_it(attend):
    only = str(simulated.folder(root()))
    more = {"INFINI_CUDA_ATTENTION": "dnn", "INFINI_NVIDIA_LIBRARIES": only}
    errors, calls = attend("float16", "1,2,2,1,33,64,0", **more)
    assert max(errors) < 4e-3
    assert calls == 0
