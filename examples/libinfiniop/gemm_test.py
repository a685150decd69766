"""A test of GEMM: c = alpha * a @ b + beta * c, over shapes, strides and data types.

python gemm_test.py --cpu
python gemm_test.py --cpu --profile --num_iterations 100
python gemm_test.py --cpu --debug
"""

import ctypes

import torch

from libinfiniop import (
    LIBINFINIOP,
    InfiniDeviceNames,
    InfiniDtype,
    InfiniDtypeNames,
    TestTensor,
    TestWorkspace,
    check_error,
    debug,
    get_args,
    get_test_devices,
    get_tolerance,
    infiniopOperatorDescriptor_t,
    profile_operation,
    test_operator,
)

CASES = [
    # alpha, beta, shapes of a, b, c, strides of a, b, c
    (1.0, 0.0, (1, 512), (512, 512), (1, 512), None, None, None),
    (1.0, 0.0, (2, 4, 256), (2, 256, 64), (2, 4, 64), None, None, None),
    (1.0, 0.0, (1, 512), (512, 256), (1, 256), (1024, 1), (512, 1), (512, 1)),  # rows with gaps
    (1.0, 1.0, (6, 512), (512, 320), (6, 320), (512, 1), (1, 512), (320, 1)),  # b by columns
    (0.125, 0.0, (4, 48, 64), (4, 64, 6), (4, 48, 6), None, None, None),
    (0.5, 2.0, (13, 7), (7, 5), (13, 5), (1, 13), (5, 1), (1, 13)),
]
DTYPES = [InfiniDtype.F16, InfiniDtype.BF16, InfiniDtype.F32]
TOLERANCES = {
    InfiniDtype.F16: {"atol": 1e-3, "rtol": 1e-2},
    InfiniDtype.BF16: {"atol": 1e-2, "rtol": 5e-2},
    InfiniDtype.F32: {"atol": 1e-5, "rtol": 1e-3},
}
args = get_args()


def gemm_test(
    handle,
    device,
    alpha,
    beta,
    a_shape,
    b_shape,
    c_shape,
    a_strides,
    b_strides,
    c_strides,
    dtype,
    sync,
):
    print(
        f"gemm on {InfiniDeviceNames[device]}, {InfiniDtypeNames[dtype]}: {a_shape} @ {b_shape}, "
        f"alpha {alpha}, beta {beta}, strides {a_strides} {b_strides} {c_strides}"
    )
    a = TestTensor(a_shape, a_strides, dtype, device)
    b = TestTensor(b_shape, b_strides, dtype, device)
    c = TestTensor(c_shape, c_strides, dtype, device, mode="ones")

    def expected():
        product = alpha * (a.torch_tensor() @ b.torch_tensor())
        return product + beta * c.torch_tensor()

    descriptor = infiniopOperatorDescriptor_t()
    check_error(
        LIBINFINIOP.infiniopCreateGemmDescriptor(
            handle, ctypes.byref(descriptor), c.descriptor, a.descriptor, b.descriptor
        )
    )
    for tensor in (a, b, c):
        tensor.destroy_desc()  # the operator has copied what it needs from them

    size = ctypes.c_size_t()
    check_error(LIBINFINIOP.infiniopGetGemmWorkspaceSize(descriptor, ctypes.byref(size)))
    workspace = TestWorkspace(size.value, device)

    def gemm():
        check_error(
            LIBINFINIOP.infiniopGemm(
                descriptor,
                workspace.data(),
                workspace.size(),
                c.data(),
                a.data(),
                b.data(),
                alpha,
                beta,
                None,
            )
        )

    gemm()
    sync()

    atol, rtol = get_tolerance(TOLERANCES, dtype)
    if args.debug:
        debug(c.actual_tensor(), expected(), atol=atol, rtol=rtol)
    torch.testing.assert_close(c.actual_tensor(), expected(), atol=atol, rtol=rtol)
    if args.profile:
        profile_operation("torch", expected, device, args.num_prerun, args.num_iterations)
        profile_operation("infiniop", gemm, device, args.num_prerun, args.num_iterations)
    check_error(LIBINFINIOP.infiniopDestroyGemmDescriptor(descriptor))


if __name__ == "__main__":
    devices = get_test_devices(args)
    if not devices:
        raise SystemExit("no device to test on")
    done = sum(test_operator(device, gemm_test, CASES, DTYPES) for device in devices)
    print(f"{done} tests passed")
