// Kernels on the rows of matrix products: bias and gated activations.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// Rows of features of images.
struct BiasRowsParams {
    void *to;
    const float *from;
    const void *bias;
    int32_t columns;
    uint32_t features;
    int32_t vector;  // rows are aligned and multiples of 4
};

// Rows of a feed-forward block.
struct GateRowsParams {
    void *to;          // [rows, columns]
    const void *from;  // [rows, columns], or gates and ups [rows, 2 columns]
    int64_t rows, columns;
    int kind;             // infiniopFusedMoeActivation_t
    const float *scales;  // of the rows; may be null
    const int *order;     // index of each row's scale; null: the row itself
    const int *count;     // number of rows, if only the device knows it; otherwise null
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#ifdef INFINI_KERNEL_ROWS_BIAS
// Converts rows of sums to T and adds the bias of each feature. The host defines T.
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
#endif

#endif  // INFINI_DEVICE
