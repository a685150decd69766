// Every row filled with its feature's bias. The host gives T.
#include "rows_params.h"

INFINI_ENTRY(infini::BiasRowsParams, 128, 1) {
    using namespace infini;
    constexpr int kRun = kWide<T>;
    T *row = static_cast<T *>(p.to) + int64_t(blockIdx.x) * p.columns;
    const T bias = static_cast<const T *>(p.bias)[blockIdx.x % unsigned(p.features)];
    if (!p.vector) {
        for (int64_t i = threadIdx.x; i < p.columns; i += 128) row[i] = bias;
        return;
    }
    Vec<T, kRun> biases;
#pragma unroll
    for (int i = 0; i < kRun; ++i) biases[i] = bias;
    for (int64_t i = threadIdx.x * kRun; i < p.columns; i += 128 * kRun) store(row + i, biases);
}
