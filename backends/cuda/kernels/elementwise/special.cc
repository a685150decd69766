// Special functions of two arguments whose loop counts depend on the data.
#include "device/elementwise/special.cuh"

#include "kernels/dims.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_pairs(const Operation &operation, Device &device, Source source) {
    Dims<3> dims;
    const Tensor y = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
    for (int d = 0; d < y.ndim; ++d) dims.add(y.size(d), y.stride(d), a.stride(d), b.stride(d));
    if (dims.count == 0) return make_empty_plan();
    const auto kernel = device.compile(source.type("T", y.dtype));
    SpecialParams params = {};
    params.places = dims.places();
    return make_plan([=](const Arguments &a, const Stream &stream) {
        SpecialParams p = params;
        p.to = a.pointer<void>(0), p.first = a.pointer<void>(1), p.second = a.pointer<void>(2);
        return kernel->launch(stream, divide_up(p.places.count, 256), 256, p);
    });
}

std::unique_ptr<Plan> plan_polynomial(const Operation &operation, Device &device) {
    const bool shifted = operation.integer(0) >= 8;
    const int kind = int(operation.integer(0)) - 8 * shifted;
    // Above this degree, Chebyshev polynomials are evaluated by angles and Hermite polynomials are
    // NaN, as in torch; the others are limited because each degree takes a step.
    const int hermite = operation.tensor(0).dtype == INFINI_DTYPE_F32 ? 128 : 512;
    const int most = kind < 4 ? 8 : kind < 6 ? hermite : 1 << 15;
    Source source("elementwise/special.cuh:polynomial");
    source.constant("kKind", kind).constant("kMost", most).constant("kShifted", shifted);
    return plan_pairs(operation, device, source);
}

std::unique_ptr<Plan> plan_zeta(const Operation &operation, Device &device) {
    return plan_pairs(operation, device, Source("elementwise/special.cuh:zeta"));
}

std::unique_ptr<Plan> plan_incomplete_gamma(const Operation &operation, Device &device) {
    Source source("elementwise/special.cuh:gamma");
    return plan_pairs(operation, device, source.constant("kUpper", operation.integer(0) != 0));
}

std::unique_ptr<Plan> plan_special(const Operation &operation, Device &device) {
    if (operation.is("orthogonal_polynomial")) return plan_polynomial(operation, device);
    if (operation.is("zeta")) return plan_zeta(operation, device);
    return plan_incomplete_gamma(operation, device);
}

INFINI_CUDA_KERNEL("special", plan_special);

}  // namespace
}  // namespace infini::cuda
