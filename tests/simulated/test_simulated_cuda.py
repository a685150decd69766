"""The simulated CUDA behaves like the hardware, and reports errors that the hardware would not."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.binding import root
from kit.requirements import need
from simulated.cuda import build as simulated
from simulated.cuda.client import CompileError, Cuda, CudaError

GARBAGE = -0x34343435  # 0xcbcbcbcb


@pytest.fixture(scope="session")
def cuda() -> Cuda:
    need("c++")
    return Cuda(simulated.folder(root()))


def test_the_device(cuda: Cuda) -> None:
    value = ctypes.c_int()
    expected = {75: 9, 76: 0, 10: 32, 8: 49152, 97: 232448, 1: 1024, 6: 65535}
    for attribute, number in expected.items():
        cuda.call("DeviceGetAttribute", ctypes.byref(value), attribute, 0)
        assert value.value == number, attribute


def test_nobody_has_written_fresh_memory(cuda: Cuda) -> None:
    assert set(cuda.read(cuda.memory(1000), 1000)) == {GARBAGE}


def test_every_thread_of_every_block(cuda: Cuda) -> None:
    kernel = cuda.kernel("""
        unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        atomicAdd(&p.out[block * 70 + thread], int(block * 70 + thread - 0xcbcbcbcb));
    """)
    out = cuda.memory(24 * 70)
    cuda.launch(kernel, out, grid=(2, 3, 4), block=(7, 5, 2))
    assert cuda.read(out, 24 * 70) == list(range(24 * 70))


# ---- Together ------------------------------------------------------------------------------------


def test_barriers_and_shared_memory(cuda: Cuda) -> None:
    kernel = cuda.kernel("""
        __shared__ int row[256];
        int *other = reinterpret_cast<int *>(simulated::dynamic_shared());
        int i = int(threadIdx.x);
        row[i] = p.in[i];
        for (int distance = 1; distance < 256; distance *= 2) {
            __syncthreads();
            other[i] = row[i] + (i >= distance ? row[i - distance] : 0);
            __syncthreads();
            row[i] = other[i];
        }
        p.out[i] = row[i];
    """)
    values = [(7 * i) % 31 for i in range(256)]
    out, given = cuda.memory(256), cuda.memory(256, values)
    cuda.launch(kernel, out, given=given, block=(256, 1, 1), shared=1024)
    assert cuda.read(out, 256) == [sum(values[: i + 1]) for i in range(256)]


def test_shared_memory_is_garbage_in_each_block(cuda: Cuda) -> None:
    kernel = cuda.kernel("""
        __shared__ int mine[32];
        p.out[blockIdx.x * 32 + threadIdx.x] = mine[threadIdx.x];
        mine[threadIdx.x] = 5;
    """)
    out = cuda.memory(64)
    cuda.launch(kernel, out, grid=(2, 1, 1))
    assert set(cuda.read(out, 64)) == {GARBAGE}


SHUFFLES: dict[str, Callable[[int], int]] = {
    "__shfl_sync(~0u, v, 5)": lambda i: 105,
    "__shfl_sync(~0u, v, 5, 8)": lambda i: 100 + i // 8 * 8 + 5,
    "__shfl_xor_sync(~0u, v, 3)": lambda i: 100 + (i ^ 3),
    "__shfl_up_sync(~0u, v, 4)": lambda i: 100 + (i - 4 if i >= 4 else i),
    "__shfl_up_sync(~0u, v, 4, 16)": lambda i: 100 + (i - 4 if i % 16 >= 4 else i),
    "__shfl_down_sync(~0u, v, 4)": lambda i: 100 + (i + 4 if i < 28 else i),
    "int(__ballot_sync(~0u, v % 3 == 0))": lambda i: sum(
        1 << j for j in range(31) if (100 + j) % 3 == 0
    ),
    "__any_sync(~0u, v == 131)": lambda i: 1,
    "__all_sync(~0u, v == 131)": lambda i: 0,
    "int(__match_any_sync(~0u, v % 16)) >> 16": lambda i: 1 << i % 16,
    "__reduce_add_sync(~0u, v)": lambda i: 3200 + 496,
    "__reduce_min_sync(~0u, v)": lambda i: 100,
    "__reduce_max_sync(v < 116 ? 0xffffu : 0xffff0000u, v)": lambda i: 115 if i < 16 else 131,
    "__syncthreads_count(v < 110)": lambda i: 10,
    "__syncthreads_or(v == 100)": lambda i: 1,
    "__syncthreads_and(v == 100)": lambda i: 0,
}


@pytest.mark.parametrize("expression", SHUFFLES)
def test_lanes_together(cuda: Cuda, expression: str) -> None:
    kernel = cuda.kernel(f"int v = int(threadIdx.x) + 100; p.out[threadIdx.x] = {expression};")
    out = cuda.memory(32)
    cuda.launch(kernel, out)
    expected = [SHUFFLES[expression](i) for i in range(32)]
    high = [
        (value + 2**15) % 2**16 - 2**15 if ">> 16" in expression else value for value in expected
    ]
    assert cuda.read(out, 32) == high


def test_named_barriers(cuda: Cuda) -> None:
    """One warp produces what the other consumes, with two barriers."""
    kernel = cuda.kernel("""
        __shared__ int box[32];
        int lane = int(threadIdx.x % 32);
        for (int i = 0; i < 10; ++i)
            if (threadIdx.x < 32) {
                simulated::bar_sync(1, 64);  // it is empty
                box[lane] = 10 * lane + i;
                simulated::bar_arrive(2, 64);
            } else {
                simulated::bar_arrive(1, 64);
                simulated::bar_sync(2, 64);  // it is full
                p.out[32 * i + lane] = box[lane];
            }
    """)
    out = cuda.memory(320)
    cuda.launch(kernel, out, block=(64, 1, 1))
    assert cuda.read(out, 320) == [10 * lane + i for i in range(10) for lane in range(32)]


# ---- Streams and graphs --------------------------------------------------------------------------


def test_launches_are_ordered_in_a_stream(cuda: Cuda) -> None:
    kernel = cuda.kernel("p.out[threadIdx.x] = 2 * p.out[threadIdx.x] + p.n;")
    out = cuda.memory(32, [0] * 32)
    stream = cuda.make("StreamCreate")
    for n in range(5):
        cuda.launch(kernel, out, n=n, stream=stream)
    cuda.call("StreamSynchronize", stream)
    assert cuda.read(out, 32) == [26] * 32
    cuda.call("StreamDestroy", stream)


def test_a_captured_launch_is_a_kernel_with_parameters_of_its_own(cuda: Cuda) -> None:
    kernel = cuda.kernel("p.out[threadIdx.x] += p.n;")
    out = cuda.memory(32, [0] * 32)
    stream = cuda.make("StreamCreate")
    cuda.call("StreamBeginCapture", stream, 2)
    cuda.launch(kernel, out, n=7, stream=stream)
    graph = cuda.make_last("StreamEndCapture", stream)
    cuda.call("StreamSynchronize", stream)
    assert cuda.read(out, 32) == [0] * 32
    nodes, count, kind = (ctypes.c_void_p * 4)(), ctypes.c_size_t(4), ctypes.c_int(-1)
    cuda.call("GraphGetNodes", graph, nodes, ctypes.byref(count))
    assert count.value == 1
    cuda.call("GraphNodeGetType", ctypes.c_void_p(nodes[0]), ctypes.byref(kind))
    assert kind.value == 0  # a kernel
    ready = cuda.make("GraphInstantiate", graph, ctypes.c_ulonglong(0))
    cuda.call("GraphDestroy", graph)
    for _ in range(3):
        cuda.call("GraphLaunch", ready, stream)
    cuda.call("StreamSynchronize", stream)
    assert cuda.read(out, 32) == [21] * 32
    cuda.call("GraphExecDestroy", ready)
    cuda.call("StreamDestroy", stream)


def test_streams_wait_for_values_in_memory(cuda: Cuda) -> None:
    kernel = cuda.kernel("p.out[1] = p.out[0];")
    out = cuda.memory(2, [0, 0])
    waits, writes = cuda.make("StreamCreateWithFlags", 1), cuda.make("StreamCreateWithFlags", 1)
    place = ctypes.c_ulonglong(out.value or 0)
    cuda.check(cuda.driver.cuStreamWaitValue32_v2(waits, place, 5, 0))
    cuda.launch(kernel, out, stream=waits, block=(1, 1, 1))
    assert cuda.runtime.cudaStreamQuery(waits) == 600  # not ready
    cuda.check(cuda.driver.cuStreamWriteValue32_v2(writes, place, 6, 0))
    cuda.call("StreamSynchronize", waits)
    assert cuda.read(out, 2) == [6, 6]


# ---- Tensor cores --------------------------------------------------------------------------------

PRODUCT = """
    // By the tables of the PTX manual: row, column of each element that a thread holds.
    __shared__ unsigned short a[16][16], b[16][8], turned[8][16];
    unsigned t = threadIdx.x, group = t / 4, in_group = t % 4;
    for (unsigned i = t; i < 256; i += 32) a[i / 16][i % 16] = 0x4000 + 8 * (i * 7 % 61);
    for (unsigned i = t; i < 128; i += 32)
        turned[i % 8][i / 8] = b[i / 8][i % 8] = 0x3c00 + 8 * (i * 5 % 67);
    __syncwarp();
    unsigned x[4], y[2], loaded[4], across[2];
    for (unsigned i = 0; i < 4; ++i) {
        unsigned row = group + 8 * (i % 2), column = in_group * 2 + 8 * (i / 2);
        x[i] = a[row][column] | a[row][column + 1] << 16;
    }
    for (unsigned i = 0; i < 2; ++i) {
        unsigned row = in_group * 2 + 8 * i;
        y[i] = b[row][group] | b[row + 1][group] << 16;
    }
    simulated::ldmatrix<4>(loaded, &a[t % 16][t / 16 * 8]);
    simulated::ldmatrix<2, true>(across, &b[t % 16][0]);
    float d[4] = {1, 1, 1, 1};
    simulated::mma_m16n8k16<simulated::F16>(d, x, y);
    bool right = true;
    for (unsigned i = 0; i < 4; ++i) right &= loaded[i] == x[i];
    for (unsigned i = 0; i < 2; ++i) right &= across[i] == y[i];
    for (unsigned i = 0; i < 4; ++i) {
        unsigned row = group + 8 * (i / 2), column = in_group * 2 + i % 2;
        double sum = 1;
        for (unsigned k = 0; k < 16; ++k)
            sum += simulated::F16::value(a[row][k]) * simulated::F16::value(b[k][column]);
        right &= d[i] == float(sum);
    }
    p.out[t] = right;
"""


def test_fragments_of_matrices(cuda: Cuda) -> None:
    out = cuda.memory(32)
    cuda.launch(cuda.kernel(PRODUCT), out)
    assert cuda.read(out, 32) == [1] * 32


def test_copies_arrive_when_they_are_waited_for(cuda: Cuda) -> None:
    kernel = cuda.kernel("""
        __shared__ int4 box[32];
        int *word = &box[threadIdx.x].x;
        simulated::cp_async<4>(word, p.in + threadIdx.x);
        simulated::cp_async_commit();
        simulated::cp_async<4>(word + 1, p.in + threadIdx.x);
        simulated::cp_async_commit();
        simulated::cp_async_wait(1);
        p.out[threadIdx.x] = word[0];
        p.out[32 + threadIdx.x] = word[1];
        simulated::cp_async_wait(0);
        p.out[64 + threadIdx.x] = word[1];
    """)
    values = list(range(32))
    out, given = cuda.memory(96), cuda.memory(32, values)
    cuda.launch(kernel, out, given=given)
    assert cuda.read(out, 96) == values + [GARBAGE] * 32 + values


# ---- Error reports -------------------------------------------------------------------------------

FAILURES = {
    "some threads end": ("if (threadIdx.x < 40) return; __syncthreads();", "wait at __syncthreads"),
    "two barriers": (
        "if (threadIdx.x < 32) __syncthreads(); else simulated::bar_sync(1, 64);",
        "threads 32 to 63: wait at barrier 1",
    ),
    "a warp is split": (
        "if (threadIdx.x % 2) __syncwarp(); else __shfl_sync(~0u, 1, 0);",
        "a shuffle of lanes 0xffffffff",
    ),
    "not in the mask": ("__syncwarp(1u);", "it is not in the mask"),
    "null": ("p.out[0] = p.in[0];", "Segmentation fault|device does not have"),
    "trap": ("__trap();", r"__trap\(\)"),
    "waiting for nobody": (
        "while (*(volatile int *)p.out != 1) __nanosleep(100);",
        "wait in a loop for something that never comes",
    ),
    "deep": ("volatile char many[200000]; many[p.n] = 1; p.out[0] = many[0];", "local variables"),
    "misaligned": ("atomicAdd((int *)((char *)p.out + 2), 1);", "misaligned address"),
    "behind": ("simulated::dynamic_shared()[64] = 1;", "behind (its|the) dynamic shared memory"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_are_told_and_survived(
    cuda: Cuda, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    body, words = FAILURES[case]
    out = cuda.memory(32, [0] * 32)
    cuda.launch(cuda.kernel(body), out, block=(64, 1, 1), shared=64)
    with pytest.raises(CudaError, match=r"cudaError(LaunchFailure|IllegalAddress)"):
        cuda.call("DeviceSynchronize")
    told = capfd.readouterr().err
    assert "kernel (test.cu), block (0,0,0)" in told
    assert re.search(words, told)
    cuda.launch(cuda.kernel("p.out[threadIdx.x] = 3;"), out)
    assert cuda.read(out, 32) == [3] * 32


CHECKED = {
    "one too many": (
        "p.out[p.n + int(threadIdx.x)] = 1;",
        "right behind an allocation of 128 bytes",
    ),
    "one before": ("p.out[int(threadIdx.x) - 64] = 1;", "writes 4 bytes at"),
    "half a multiple": (
        "*reinterpret_cast<int4 *>(p.out + 2) = make_int4(1, 2, 3, 4);",
        r"test\.cu:\d+ uses 0x\w+ as what must be a multiple of 16",
    ),
    "the host's": ("p.out[0] = p.in[0];", "reads 4 bytes at .*: memory that the device does not"),
    "another thread's": (
        """__shared__ int *box; int mine = p.n; box = &mine; __syncthreads();
           if (threadIdx.x == 1) p.out[0] = *box; __syncthreads(); *box = 1;""",
        "local memory of another thread",
    ),
}


@pytest.mark.parametrize("case", CHECKED)
def test_every_access_can_be_checked(
    cuda: Cuda, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("INFINI_SIMULATED_CHECK", "1")
    body, words = CHECKED[case]
    out = cuda.memory(32, [0] * 32)
    host = (ctypes.c_int * 32)()
    cuda.launch(cuda.kernel(body), out, given=ctypes.c_void_p(ctypes.addressof(host)), n=1)
    with pytest.raises(CudaError, match=r"cudaError(IllegalAddress|MisalignedAddress)"):
        cuda.call("DeviceSynchronize")
    assert re.search(words, capfd.readouterr().err)


def test_what_cannot_be_launched(cuda: Cuda) -> None:
    kernel = cuda.kernel("p.out[0] = 1;", threads=128)
    out = cuda.memory(1)
    for case in (
        {"grid": (0, 1, 1)},
        {"grid": (1, 65536, 1)},
        {"block": (129, 1, 1)},
        {"block": (1, 1, 65)},
        {"shared": 49153},
    ):
        with pytest.raises(CudaError):
            cuda.launch(kernel, out, **case)  # type: ignore[arg-type]
    cuda.driver.cuFuncSetAttribute(kernel, 8, 200 << 10)
    cuda.launch(kernel, out, shared=200 << 10)
    assert cuda.read(out, 1) == [1]


def test_the_compilers_words(cuda: Cuda) -> None:
    with pytest.raises(CompileError, match=r"sample\.cu:1:.*error: .*unknown_name"):
        cuda.compile("int f() { return unknown_name; }", "sample.cu")


def test_processes_compile_at_the_same_time(cuda: Cuda) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from simulated.cuda.client import Cuda
cuda = Cuda(Path({str(cuda.folder)!r}))
out = cuda.memory(32)
for i in range(5):
    cuda.launch(cuda.kernel(f"p.out[threadIdx.x] = {{i}} + int(threadIdx.x);"), out)
    assert cuda.read(out, 32) == [i + j for j in range(32)]
"""
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
