// random_uniform, random_normal and random_integers.
#include "device/random/random_params.h"
#include "kernels/dims.h"

namespace infini::cuda {
namespace {

enum FillKind { kUniform, kNormal, kIntegers };

std::unique_ptr<Plan> plan_random(const Operation &operation, Device &device) {
    const FillKind kind = operation.is("random_uniform")  ? kUniform
                          : operation.is("random_normal") ? kNormal
                                                          : kIntegers;
    const Tensor y = operation.tensor(0);
    Dims<1> dims;
    for (int d = 0; d < y.ndim; ++d) dims.add(y.shape[d], y.strides[d]);
    RandomParams params = {};
    params.places = dims.places();
    if (params.places.count == 0) return make_empty_plan();
    params.dense = dims.ndim == 0 || (dims.ndim == 1 && dims.inner().stride[0] == 1);
    // 64-bit words are used for integers and F64.
    const int64_t elements = kind == kIntegers || y.dtype == INFINI_DTYPE_F64 ? 2 : 4;
    const size_t word = size_t(elements) * dtype_bytes(y.dtype);
    const auto kernel =
        device.compile(Source("random/fill.cuh").type("T", y.dtype).constant("kKind", kind));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        RandomParams here = params;
        here.out = a.pointer<void>(0);
        here.seed = uint64_t(a.integer(0)), here.offset = uint64_t(a.integer(1));
        if (kind == kIntegers) {
            here.first = a.integer(2);
            here.range = int64_t(uint64_t(a.integer(3)) - uint64_t(a.integer(2)));
        } else {
            here.low = a.number(2);
            here.span = kind == kUniform ? a.number(3) - a.number(2) : a.number(3);
        }
        here.whole = is_aligned(here.out, word);
        return kernel->launch(stream, divide_up(here.places.count, 256 * elements), 256, here);
    });
}

INFINI_CUDA_KERNEL("random_fill", plan_random);

}  // namespace
}  // namespace infini::cuda
