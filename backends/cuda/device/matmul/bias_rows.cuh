// Rows of sums become T, each with the bias of its feature. The host gives T.
#include "rows_params.h"

INFINI_ENTRY(infini::BiasRowsParams, 256, 1) {
    using namespace infini;
    constexpr int kRun = 4;
    const float *from = p.from + int64_t(blockIdx.x) * p.columns;
    T *to = static_cast<T *>(p.to) + int64_t(blockIdx.x) * p.columns;
    const float bias = convert<float>(static_cast<const T *>(p.bias)[blockIdx.x % p.features]);
    if (!p.vector) {
        for (int i = threadIdx.x; i < p.columns; i += 256) to[i] = convert<T>(from[i] + bias);
        return;
    }
#pragma unroll 2
    for (int i = threadIdx.x * kRun; i < p.columns; i += 256 * kRun) {
        const Vec<float, kRun> sums = load<kRun>(from + i);
        float values[kRun];
#pragma unroll
        for (int k = 0; k < kRun; ++k) values[k] = sums[k] + bias;
        store(to + i, narrow<T, kRun>(values));
    }
}
