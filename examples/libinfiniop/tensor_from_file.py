"""A tensor from a file of raw elements, as a program in any language may have written it.

python tensor_from_file.py --cpu
"""

import ctypes
import tempfile
from pathlib import Path

import torch

from libinfiniop import (
    LIBINFINIOP,
    InfiniDtype,
    TestTensor,
    TestWorkspace,
    check_error,
    create_handle,
    debug,
    destroy_handle,
    get_args,
    get_test_devices,
    infiniopOperatorDescriptor_t,
    synchronize_device,
)


def gelu_of_file(path, device):
    """The file holds 64 rows of 32 elements; read by columns it is a 32 x 64 tensor."""
    check_error(LIBINFINIOP.infinirtSetDevice(device, 0))
    handle = create_handle()
    x = TestTensor.from_binary(path, (32, 64), (1, 32), InfiniDtype.F16, device)
    y = TestTensor((32, 64), None, InfiniDtype.F16, device, mode="zeros")

    descriptor = infiniopOperatorDescriptor_t()
    check_error(
        LIBINFINIOP.infiniopCreateGeluDescriptor(
            handle, ctypes.byref(descriptor), y.descriptor, x.descriptor
        )
    )
    size = ctypes.c_size_t()
    check_error(LIBINFINIOP.infiniopGetGeluWorkspaceSize(descriptor, ctypes.byref(size)))
    workspace = TestWorkspace(size.value, device)
    check_error(
        LIBINFINIOP.infiniopGelu(
            descriptor, workspace.data(), workspace.size(), y.data(), x.data(), None
        )
    )
    synchronize_device(device)
    debug(
        y.actual_tensor(), torch.nn.functional.gelu(x.torch_tensor().float()), atol=1e-3, rtol=1e-2
    )
    check_error(LIBINFINIOP.infiniopDestroyGeluDescriptor(descriptor))
    destroy_handle(handle)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.bin"
        path.write_bytes(torch.randn(64, 32).half().numpy().tobytes())
        for device in get_test_devices(get_args()):
            gelu_of_file(path, device)
