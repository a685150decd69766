// Kernels on rows before and after matrix products: conversion, bias, RMS norm.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// A dense run of elements.
struct ConvertParams {
    void *to;
    const void *from;  // null: an identity matrix
    int64_t count, side;
};

// Rows of images' features.
struct BiasRowsParams {
    void *to;
    const float *from;
    const void *bias;
    int32_t columns;
    uint32_t features;
    int32_t vector;  // rows are whole runs of 4, and aligned
};

// Rows of a feed-forward block.
struct NormRowsParams {
    void *to;  // dense
    const void *from, *weight;
    int64_t columns, from_row;
    float epsilon;
};
struct GateRowsParams {
    void *to;          // [rows, columns]
    const void *from;  // [rows, columns], or gates and ups [rows, 2 columns]
    int64_t rows, columns;
    int kind;             // infiniopFusedMoeActivation_t
    const float *scales;  // of the rows; may be null
    const int *order;     // where a row's scale is; null: at the row
    const int *count;     // how many rows there are, if only the device knows; else null
};

}  // namespace infini

#ifdef INFINI_DEVICE  // the rest is for the device

#ifdef INFINI_KERNEL_ROWS_BIAS
// Rows of sums become T, each with the bias of its feature. The host gives T.
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

#ifdef INFINI_KERNEL_ROWS_NORM
// RMS norm of rows, a block for each: to = from * weight / sqrt(mean(from^2) + epsilon). The host
// gives T, the type of the rows, and W, that of the weight.
INFINI_ENTRY(infini::NormRowsParams, 256, 1) {
    using namespace infini;
    const int64_t row = blockIdx.x;
    const T *from = static_cast<const T *>(p.from) + row * p.from_row;
    const W *weight = static_cast<const W *>(p.weight);
    T *to = static_cast<T *>(p.to) + row * p.columns;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < p.columns; i += 256) {
        const float x = convert<float>(from[i]);
        sum += x * x;
    }
    sum = fold_block<256>(sum, fold::Sum());
    const float scale = 1.0f / sqrtf(sum / float(p.columns) + p.epsilon);
    for (int64_t i = threadIdx.x; i < p.columns; i += 256)
        to[i] = convert<T>(convert<float>(from[i]) * convert<float>(weight[i]) * scale);
}
#endif

#ifdef INFINI_KERNEL_ROWS_CONVERT
// Elements of one type as another, or an identity matrix. The host gives From and To.
INFINI_ENTRY(infini::ConvertParams, 256, 1) {
    using namespace infini;
    const From *from = static_cast<const From *>(p.from);
    To *to = static_cast<To *>(p.to);
    for (int64_t i = grid_thread(); i < p.count; i += grid_threads())
        to[i] = from ? convert<To>(from[i]) : convert<To>(int(i / p.side == i % p.side));
}
#endif

#endif  // INFINI_DEVICE
