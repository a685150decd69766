"""Running and measuring tests, on the CPU and on a device whose memory torch cannot address."""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import need

torch = need("torch")

from kit import build, process  # noqa: E402
from kit.binding import root  # noqa: E402
from libinfiniop import (  # noqa: E402
    LIBINFINIOP,
    InfiniDeviceEnum,
    InfiniDtype,
    TestTensor,
    TestWorkspace,
    _memory,
    check_error,
    filter_tensor_dtypes_by_device,
    get_args,
    get_sync_func,
    get_test_devices,
    infiniopHandle_t,
    infiniopOperatorDescriptor_t,
    profile_operation,
    synchronize_device,
    test_operator,
    timed_op,
)

CPU = InfiniDeviceEnum.CPU
SAMPLE = process.TESTS / "backends" / "sample.cc"


# ---- Command lines and devices ------------------------------------------------------------------


def test_get_args() -> None:
    args = get_args([])
    assert not any(getattr(args, device.name.lower()) for device in InfiniDeviceEnum)
    assert (args.profile, args.debug) == (False, False)
    assert (args.num_prerun, args.num_iterations) == (10, 1000)
    numbers = ["--num_prerun", "0", "--num_iterations", "7"]
    args = get_args(["--cpu", "--qy", "--profile", "--debug", *numbers])
    assert args.cpu and args.qy and args.profile and args.debug and not args.nvidia
    assert (args.num_prerun, args.num_iterations) == (0, 7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--num_prerun -1", "--num_prerun: -1: expected at least 0"),
        ("--num_iterations 0", "--num_iterations: 0: expected at least 1"),
        ("--num_iterations many", "invalid number value: 'many'"),
        ("--cuda", "unrecognized arguments: --cuda"),
    ],
)
def test_get_args_refuses(options: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        get_args(options.split())
    assert words in capsys.readouterr().err


def test_get_args_reads_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", "--moore"])
    assert get_args().moore


def test_get_test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert get_test_devices(get_args([])) == [CPU]
    assert get_test_devices(get_args(["--cpu"])) == [CPU]
    assert get_test_devices(argparse.Namespace(cpu=True)) == [CPU]
    assert capsys.readouterr().err == ""
    count = ctypes.c_int()
    check_error(LIBINFINIOP.infinirtGetDeviceCount(InfiniDeviceEnum.KUNLUN, ctypes.byref(count)))
    if count.value:
        pytest.skip("there is one")
    assert get_test_devices(get_args(["--cpu", "--kunlun"])) == [CPU]
    assert "Kunlun is left out: INFINI_STATUS_DEVICE_NOT_FOUND" in capsys.readouterr().err
    assert get_test_devices(get_args(["--kunlun"])) == []


# ---- Running ------------------------------------------------------------------------------------


def test_test_operator() -> None:
    calls = []

    def one(handle: Any, device: int, a: int, b: str, dtype: Any, sync: Any) -> None:
        assert isinstance(handle, infiniopHandle_t) and handle.contents.device == CPU
        assert device == CPU and sync() is None
        calls.append((a, b, dtype))

    done = test_operator(CPU, one, [(1, "x"), (2, "y")], [InfiniDtype.F32, torch.float16])
    assert done == 4
    assert calls[:3] == [
        (1, "x", InfiniDtype.F32),
        (1, "x", torch.float16),
        (2, "y", InfiniDtype.F32),
    ]


def test_test_operator_tells_the_case(capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(handle: Any, device: int, a: int, dtype: Any, sync: Any) -> None:
        assert a == 1

    with pytest.raises(AssertionError):
        test_operator(CPU, wrong, [(1,), (2,)], [InfiniDtype.F32])
    assert capsys.readouterr().err == "failed: wrong(2,) on CPU, F32\n"


def test_filter_tensor_dtypes_by_device(capsys: pytest.CaptureFixture[str]) -> None:
    dtypes = [InfiniDtype.F32, InfiniDtype.C16, torch.bfloat16]
    assert filter_tensor_dtypes_by_device(CPU, dtypes) == [InfiniDtype.F32, torch.bfloat16]
    assert "CPU: left out" in capsys.readouterr().err


def conv_test(handle: Any, device: int, pads: Any, dtype: Any, sync: Any) -> None:
    """As first-generation tests are written: arrays as void pointers, sizes as numbers."""

    def array(values: Any) -> ctypes.c_void_p:
        return ctypes.cast((ctypes.c_int64 * len(values))(*values), ctypes.c_void_p)

    x = TestTensor((1, 3, 6, 5), (90, 30, 5, 1), dt=dtype, device=device, scale=0.1)
    w = TestTensor((2, 3, 3, 3), (27, 9, 3, 1), dt=dtype, device=device, scale=0.1)
    shape = (1, 2, 6 + 2 * pads[0] - 2, 5 + 2 * pads[1] - 2)
    y = TestTensor(shape, None, dt=dtype, device=device, mode="zeros")
    expected = torch.nn.functional.conv2d(x.torch_tensor(), w.torch_tensor(), padding=pads)
    if sync is not None:
        sync()
    # Kept, because a cast pointer does not keep the array alive.
    arrays = [array(pads), array((1, 1)), array((1, 1))]
    descriptor = infiniopOperatorDescriptor_t()
    check_error(
        LIBINFINIOP.infiniopCreateConvDescriptor(
            handle, ctypes.byref(descriptor), y.descriptor, x.descriptor, w.descriptor, None,
            *arrays, 2,
        )
    )  # fmt: skip
    for tensor in (x, w, y):
        tensor.destroy_desc()
    workspace_size = ctypes.c_uint64(0)
    check_error(LIBINFINIOP.infiniopGetConvWorkspaceSize(descriptor, ctypes.byref(workspace_size)))
    workspace = TestWorkspace(workspace_size.value, y.device)
    check_error(
        LIBINFINIOP.infiniopConv(
            descriptor, workspace.data(), workspace_size.value, y.data(), x.data(), w.data(), None,
            None,
        )
    )  # fmt: skip
    assert torch.allclose(y.actual_tensor(), expected, atol=1e-2, rtol=1e-2)
    check_error(LIBINFINIOP.infiniopDestroyConvDescriptor(descriptor))


def test_an_operator() -> None:
    dtypes = [InfiniDtype.F16, InfiniDtype.F32, InfiniDtype.BF16]
    assert test_operator(CPU, conv_test, [((0, 0),), ((1, 2),)], dtypes) == 6


# ---- Measuring ----------------------------------------------------------------------------------


def test_timed_op() -> None:
    calls = []
    seconds = timed_op(lambda: calls.append(time.sleep(0.002)), 5, CPU)
    assert len(calls) == 5 and 0.002 <= seconds < 1
    with pytest.raises(ValueError, match="num_iterations is 0: expected at least 1"):
        timed_op(lambda: None, 0, CPU)


def test_profile_operation(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []
    seconds = profile_operation("    lib", lambda: calls.append(1), "cpu", 2, 3)
    assert len(calls) == 5 and seconds > 0
    said = capsys.readouterr().out
    assert said.startswith("     lib ") and "time: " in said and said.endswith(" ms   (3 runs)\n")


def test_synchronize_device() -> None:
    for device in (CPU, 0, "cpu", "cpu:0"):
        synchronize_device(device)
    get_sync_func(CPU)()
    with pytest.raises(ValueError, match="no device 'tpu': expected cpu, cuda"):
        synchronize_device("tpu")


def test_synchronizing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU stream works without waiting for it."""
    monkeypatch.setattr(_memory, "torch_device_of", lambda device: None)  # memory of the runtime
    stream = ctypes.c_void_p()
    data = TestTensor((1 << 22,), None, InfiniDtype.U8, CPU, "ones")
    with _memory.on_device(CPU):
        check_error(LIBINFINIOP.infinirtStreamCreate(ctypes.byref(stream)))
        check_error(LIBINFINIOP.infinirtMemsetAsync(data.data(), 7, 1 << 22, stream))
        synchronize_device(CPU)
        assert (data.actual_tensor() == 7).all()
        check_error(LIBINFINIOP.infinirtStreamDestroy(stream))


# ---- A device of its own ------------------------------------------------------------------------


def test_memory_that_only_the_runtime_reaches(tmp_path: Path) -> None:
    """Simulated devices, whose memory the host cannot touch: one access to it would be a crash."""
    need("c++")
    if not (root() / "include" / "infini" / "backend.h").exists():
        pytest.skip("no headers here")
    library = build.shared_library(SAMPLE, tmp_path / "libinfini_sample.so", "-ldl")
    said = process.python(
        """
from libinfiniop import *
from libinfiniop._memory import current_device, torch_device_of
import torch
info = BackendInfo(size=ctypes.sizeof(BackendInfo))
kinds = {}
for i in range(LIBINFINIOP.infinirtGetBackendCount()):
    check_error(LIBINFINIOP.infinirtGetBackendInfo(i, ctypes.byref(info)))
    kinds[info.name.decode()] = info.device_type
kind = kinds["sample"]
assert torch_device_of(kind) is None
check_error(LIBINFINIOP.infinirtSetDevice(InfiniDeviceEnum.CPU, 0))
x = TestTensor((2, 3), (1, 2), InfiniDtype.F32, kind, mode="manual",
               set_tensor=torch.arange(6.0).reshape(2, 3))
print(x, current_device() == (0, 0), x.actual_tensor().tolist())
check_error(LIBINFINIOP.infinirtSetDevice(kind, 1))
workspace = TestWorkspace(64, kind)
check_error(LIBINFINIOP.infinirtMemset(workspace.data(), 9, 32))
print(workspace.tensor.actual_tensor().tolist() == [9] * 32 + [1] * 32, current_device()[1])
x.set_tensor(torch.ones(2, 3))
print(x.actual_tensor().sum().item(), x.torch_tensor().sum().item())
synchronize_device(kind)
del x, workspace
""",
        INFINI_BACKEND_PATH=str(library),
        INFINI_DEVICE=None,
        INFINI_ROOT=str(root()),
    ).splitlines()
    assert said[0].startswith("<TestTensor F32 (2, 3), strides (1, 2) on device type ")
    assert said[0].endswith("True [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]")
    assert said[1:] == ["True 1", "6.0 6.0"]
