"""A column added to a matrix: a tensor whose stride is 0 stands for all columns.

python broadcast_add.py --cpu
"""

import ctypes

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


def add(handle, c, a, b):
    descriptor = infiniopOperatorDescriptor_t()
    check_error(
        LIBINFINIOP.infiniopCreateAddDescriptor(
            handle, ctypes.byref(descriptor), c.descriptor, a.descriptor, b.descriptor
        )
    )
    size = ctypes.c_size_t()
    check_error(LIBINFINIOP.infiniopGetAddWorkspaceSize(descriptor, ctypes.byref(size)))
    workspace = TestWorkspace(size.value, c.device)
    check_error(
        LIBINFINIOP.infiniopAdd(
            descriptor, workspace.data(), workspace.size(), c.data(), a.data(), b.data(), None
        )
    )
    synchronize_device(c.device)
    check_error(LIBINFINIOP.infiniopDestroyAddDescriptor(descriptor))


def broadcast_add(device):
    check_error(LIBINFINIOP.infinirtSetDevice(device, 0))
    handle = create_handle()
    # The operator sees a as 3 x 4, with stride 0 along the columns. In memory, and in torch, a is 3
    # x 1.
    a = TestTensor((3, 4), (1, 0), InfiniDtype.F32, device)
    b = TestTensor((3, 4), None, InfiniDtype.F32, device)
    c = TestTensor((3, 4), None, InfiniDtype.F32, device, mode="zeros")
    print(f"a is {a}, broadcast: {a.is_broadcast()}, in torch {tuple(a.torch_tensor().shape)}")
    add(handle, c, a, b)
    debug(c.actual_tensor(), a.torch_tensor() + b.torch_tensor(), atol=0, rtol=1e-6)
    destroy_handle(handle)


if __name__ == "__main__":
    for device in get_test_devices(get_args()):
        broadcast_add(device)
