// Queries of the indexer in e4m3: fp8_indexer_quant.
#include "device/attention/indexer.cuh"

#include "kernels/dims.h"

namespace infini::cuda {
namespace {

constexpr int64_t kIndexerWarps = 8;  // rows per block

std::unique_ptr<Plan> plan_indexer_quant(const Operation &operation, Device &device) {
    const Tensor q = operation.tensor(2);
    const int64_t element = int64_t(dtype_bytes(q.dtype));
    const int64_t n = common_word({q.size(2) * element}) / element;
    IndexerQuantParams params = {};
    params.rows = q.size(0) * q.size(1), params.vectors = q.size(2) / n;
    Source source("attention/indexer.cuh:quant");
    source.type("T", q.dtype).type("U", operation.tensor(3).dtype).constant("kVector", n);
    const auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        IndexerQuantParams here = params;
        here.out = a.pointer<uint8_t>(0), here.weights_out = a.pointer<float>(1);
        here.q = a.pointer<void>(2), here.weights = a.pointer<void>(3);
        here.whole = is_aligned(here.q, size_t(n * element)) && is_aligned(here.out, size_t(n));
        return kernel->launch(stream, divide_up(here.rows, kIndexerWarps),
                              unsigned(kIndexerWarps * stream.device.warp), here);
    });
}

INFINI_CUDA_KERNEL("fp8_indexer_quant", plan_indexer_quant);

}  // namespace
}  // namespace infini::cuda
