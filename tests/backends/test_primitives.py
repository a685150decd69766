"""Attention and convolutions by the vendor's library of primitives, which is simulated."""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path

import pytest

from kit import process
from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated

# Each case in a graph, and in threads: unchanged, with interleaved heads, and unaligned. Prints how
# far the results are from the CPU's, of numbers of 32 bits.
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
CALL = re.compile(r"simulated cuDNN: a graph of \d+ operations$", re.MULTILINE)


@pytest.fixture
def run(tmp_path: Path):
    """Numbers that a program prints, and how often the library was called."""
    need("c++")
    folder = simulated.folder(root())
    settings = {
        "INFINI_NVIDIA_LIBRARIES": f"{folder}{os.pathsep}{folder / 'products'}",
        "INFINI_DEVICE": None,
        "INFINI_SIMULATED_TRACE": "1",
        "INFINI_CACHE": str(tmp_path / "cache"),
    }

    def start(program: str, *arguments: str, **changes: str) -> tuple[list[float], int]:
        command = [sys.executable, "-c", program, *arguments]
        done = process.run(command, **{**settings, **changes})
        assert done.returncode == 0, done.stderr
        return [float(line) for line in done.stdout.split()], len(CALL.findall(done.stderr))

    return start


@pytest.fixture
def attend(run):
    return functools.partial(run, CASES)


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


# Two shapes, at the same time: each kernel waits until the other is being made, too.
TOGETHER = """
import threading
import infinicore as ic
from infinicore.nn import functional as F

def attend(keys):
    ic.set_device("nvidia")
    q = ic.zeros(1, 2, 1, 64, dtype=ic.float16, device="nvidia")
    k = ic.ones(1, 2, keys, 64, dtype=ic.float16, device="nvidia")
    results[keys] = F.scaled_dot_product_attention(q, k, k).sum().item()

results = {}
threads = [threading.Thread(target=attend, args=(keys,)) for keys in (32, 48)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
attend(32)
print(results[32], results[48])
"""


def test_kernels_for_two_shapes_are_made_at_the_same_time(run):
    more = {"INFINI_CUDA_ATTENTION": "dnn", "INFINI_SIMULATED_PLANS": "2"}
    assert run(TOGETHER, **more) == ([128.0, 128.0], 3)


# ---- Convolutions --------------------------------------------------------------------------------


# Prints the differences from the CPU's results for 32-bit elements, with and without biases; then
# the vendor's last error, which other code has left there.
CONVOLVE = """
import ctypes, os, sys
import infinicore as ic
from infinicore.nn import functional as F

kind = getattr(ic, sys.argv[1])
wide = ic.float64 if kind == ic.float64 else ic.float32
ic.manual_seed(1)
runtime = ctypes.CDLL(os.environ["INFINI_NVIDIA_LIBRARIES"].split(":")[0] + "/libcudart.so.12")
odd = "odd" in sys.argv
for function, image, window, features, more in (
    (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 2), 6, {"stride": 2, "padding": 1}),
    (F.conv2d, (2, 4, 9, 8), (8, 2, 3, 3), 8, {"groups": 2, "dilation": (1, 2)}),
    (F.conv2d, (2, 8, 4, 6), (6, 8, 1, 1), 6, {}),  # for 16-bit types a matrix product
    (F.conv1d, (3, 4, 20), (6, 4, 5), 6, {"padding": 2}),
    (F.conv3d, (1, 4, 5, 6, 4), (6, 4, 3, 2, 3), 6, {"stride": (1, 2, 1), "padding": 1}),
    (F.conv_transpose1d, (2, 6, 9), (6, 4, 3), 4, {"dilation": 2, "padding": 1}),
    (F.conv_transpose2d, (2, 8, 5, 4), (8, 3, 4, 3), 6,
     {"stride": 2, "padding": 1, "output_padding": (1, 0), "groups": 2}),
    (F.conv_transpose3d, (1, 4, 3, 4, 2), (4, 5, 2, 3, 3), 5, {"stride": 2}),
):
    x, w, b = (ic.randn(*size, device="cpu").to(kind) for size in (image, window, (features,)))
    for bias in (None, b):
        whole = [each if each is None else each.to(wide) for each in (x, w, bias)]
        expected = function(*whole, **more)
        there = [each if each is None else each.to("nvidia") for each in (x, w, bias)]
        if odd:
            moved = ic.zeros(x.numel() + 1, dtype=kind, device="nvidia")[1:].view(*x.shape)
            there[0] = moved.copy_(there[0])
        error = runtime.cudaSetDevice(77)
        result = function(*there, **more)
        assert runtime.cudaGetLastError() == error != 0
        print((result.to("cpu").to(wide) - expected).abs().max().item())
"""
LIMITS = {"float64": 1e-12, "float32": 3e-5, "float16": 1.6e-2, "bfloat16": 0.13}


@pytest.mark.parametrize("dtype", LIMITS)
def test_convolutions(run, dtype: str):
    """Engines that vary, convert, are not supported or need too much memory are passed over; the
    results of some of them are not numbers."""
    errors, calls = run(CONVOLVE, dtype)
    assert max(errors) < LIMITS[dtype]
    # Our own kernel is used for transposed convolutions of F64, and for those in 16 bits with
    # biases, because only an engine that adds them before rounding would round once.
    assert calls == {"float64": 10, "float32": 16}.get(dtype, 11)


def test_convolutions_whose_biases_it_refuses(run):
    errors, calls = run(CONVOLVE, "float16", INFINI_SIMULATED_REFUSAL="1")
    assert max(errors) < LIMITS["float16"]
    assert calls == 7


def test_convolutions_of_unaligned_tensors(run):
    errors, calls = run(CONVOLVE, "float16", "odd")
    assert max(errors) < LIMITS["float16"]
    assert calls == 0


@pytest.mark.parametrize("missing", ["libcublasLt.so.12", "libnvrtc.so.12"])
def test_a_library_that_lacks_another_is_not_called(run, tmp_path: Path, missing: str):
    """The library would end the process."""
    folder = simulated.folder(root())
    for part in (folder, folder / "products"):
        for each in part.iterdir():
            if each.name != missing and not (tmp_path / each.name).exists():
                (tmp_path / each.name).symlink_to(each)
    if missing == "libnvrtc.so.12":  # a compiler of a different toolkit
        (tmp_path / "libnvrtc.so.13").symlink_to(folder / missing)
    errors, calls = run(CONVOLVE, "float32", INFINI_NVIDIA_LIBRARIES=str(tmp_path))
    assert max(errors) < LIMITS["float32"]
    assert calls == 0
