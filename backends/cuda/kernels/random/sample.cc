// random_sample: an index drawn from logits by one random number, among the most probable ones.
#include <algorithm>

#include "device/random/random_params.h"
#include "kernels/lines.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_random_sample(const Operation &operation, Device &device) {
    const Tensor result = operation.tensor(0), probs = operation.tensor(1);
    const bool batched = probs.ndim == 2;
    const int64_t rows = batched ? probs.size(0) : 1;
    SampleParams params = {};
    params.size = probs.size(-1), params.step = probs.stride(-1);
    params.row = batched ? probs.stride(0) : 0;
    params.result_step = batched ? result.stride(0) : 0;
    // As in sample.cuh: 2048 counters and as many weights, or 2048 keys with their indices.
    const size_t few = 2048 * (dtype_bytes(probs.dtype) == 8 ? 12 : 8);
    const auto weights = [&](int copies) { return std::max(size_t(2048 * 8 * copies), few); };
    const auto bytes = [&](int copies) { return weights(copies) + size_t(2048 * 4 * copies); };
    int copies = 8;
    while (copies > 1 && bytes(copies) + 2048 > device.shared_bytes) copies /= 2;
    const size_t shared = bytes(copies);
    Source source("random/sample.cuh");
    source.type("T", probs.dtype).type("R", result.dtype).constant("kCopies", copies);
    source.constant("kWeightBytes", int64_t(weights(copies)));
    const auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        // Single: four scalars. Batch: four lists and then their length. The number of the run
        // function comes last.
        const bool lists = a.integer(int(a.c.scalar_count) - 1) == 1;
        const int64_t given = lists ? int64_t(a.c.scalar_count - 2) / 4 : 1;
        const int64_t count = lists ? std::min(rows, given) : rows;
        SampleParams here = params;
        here.result = a.pointer<void>(0), here.logits = a.pointer<void>(1);
        here.same = !lists;
        for (int64_t first = 0; first < count; first += SampleParams::kRows) {
            const int64_t part = std::min<int64_t>(SampleParams::kRows, count - first);
            here.first = first;
            for (int64_t i = 0; i < part; ++i) {
                const int at = int(lists ? first + i : 0), n = int(given);
                here.choice[i] = {float(a.number(at)), float(a.number(n + at)),
                                  float(a.number(3 * n + at)), int32_t(a.integer(2 * n + at))};
            }
            INFINI_CUDA_TRY(kernel->launch(stream, part, 1024, here, shared));
        }
        return infinirtSuccess;
    });
}

INFINI_CUDA_KERNEL("random_sample", plan_random_sample);

}  // namespace
}  // namespace infini::cuda
