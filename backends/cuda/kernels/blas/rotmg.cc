// rotmg rescales in loops, so it cannot be a program.
#include "device/blas/rotmg.cuh"

#include "kernel.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_rotmg(const Operation &operation, Device &device) {
    const int64_t step = operation.tensor(4).stride(0);
    const auto kernel =
        device.compile(Source("blas/rotmg.cuh").type("T", operation.tensor(0).dtype));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        const RotmgParams params{a.pointer<void>(0), a.pointer<void>(1), a.pointer<void>(2),
                                 a.pointer<void>(3), a.pointer<void>(4), step};
        return kernel->launch(stream, 1, 32, params);
    });
}

INFINI_CUDA_KERNEL("rotmg", plan_rotmg);

}  // namespace
}  // namespace infini::cuda
