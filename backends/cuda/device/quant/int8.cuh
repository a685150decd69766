// Quantisation to int8.
#pragma once

#include "places.h"

namespace infini {

// Rows of a dense matrix.
struct ChannelParams {
    int8_t *out;
    float *scales, *zeros;
    const void *x;
    int64_t rows, vectors;  // vectors per row
    int32_t whole;
};

// A whole tensor with one scale.
struct TensorParams {
    void *out;
    const void *x;
    float *scale, *parts;  // maximum of each block
    Places<2> vectors;     // of the output and x
    int32_t part_count;
    int32_t whole_out, whole_x;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// int8 codes: x / scale rounded to the nearest integer, ties away from zero, clamped to [low, 127];
// NaN gives 0.
namespace infini {

INFINI_DEVICE int8_t code_of(float x, float scale, float zero, float low) {
    float q = x / scale + zero;
    q = q < low ? low : q;
    q = q > 127.0f ? 127.0f : q;
    if (!(q == q)) return 0;
    const float whole = truncf(q), rest = q - whole;
    return int8_t(whole + (rest >= 0.5f ? 1.0f : rest <= -0.5f ? -1.0f : 0.0f));
}

INFINI_DEVICE float size_of(float x) { return x < 0 ? -x : x; }

}  // namespace infini

#ifdef INFINI_KERNEL_INT8_PER_CHANNEL
// One block per row: first the range, then the codes. The second read hits a cache. kSymmetric: no
// zero point.
namespace infini {

constexpr int kThreads = 256;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ChannelParams, kThreads, 1) {
    constexpr int n = kVector;
    const int64_t row = blockIdx.x;
    const T *x = static_cast<const T *>(p.x) + row * p.vectors * n;
    float low = infinity<float>(), high = -infinity<float>();
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < p.vectors; i += kThreads) {
        float v[n];
        widen(load_some<n>(x + i * n, p.whole), v);
#pragma unroll
        for (int k = 0; k < n; ++k) low = fold::Min()(low, v[k]), high = fold::Max()(high, v[k]);
    }
    low = fold_block<kThreads>(low, fold::Min());
    high = fold_block<kThreads>(high, fold::Max());
    if (p.vectors == 0) low = high = 0;
    const float span = kSymmetric ? fold::Max()(-low, high) / 127.0f : (high - low) / 255.0f;
    const float scale = fold::Max()(span, 1e-8f);
    const float zero = kSymmetric ? 0.0f : -low / scale - 128.0f;
    if (threadIdx.x == 0) {
        p.scales[row] = scale;
        if (!kSymmetric) p.zeros[row] = zero;
    }
    int8_t *out = p.out + row * p.vectors * n;
#pragma unroll 2
    for (int64_t i = threadIdx.x; i < p.vectors; i += kThreads) {
        float v[n];
        widen(load_some<n>(x + i * n, p.whole), v);
        Vec<int8_t, n> codes;
#pragma unroll
        for (int k = 0; k < n; ++k)
            codes[k] = code_of(v[k], scale, zero, kSymmetric ? -127.0f : -128.0f);
        store_some<n>(out + i * n, codes, p.whole);
    }
}
#endif

#ifdef INFINI_KERNEL_INT8_PER_TENSOR
// One scale per tensor. kStep 0: the maximum of each block; 1: the scale (one block); 2: the codes.
namespace infini {

constexpr int kThreads = 256;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TensorParams, kThreads, 1) {
    constexpr int n = kVector;
    const float old = kStep > 0 ? *p.scale : 0.0f;
    if (kStep == 1) {
        float most = 0;
        for (int i = int(threadIdx.x); i < p.part_count; i += kThreads)
            most = fold::Max()(most, p.parts[i]);
        most = fold_block<kThreads>(most, fold::Max());
        if (threadIdx.x == 0) *p.scale = fold::Max()(old, most / 127.0f);
        return;
    }
    float most = 0;
#pragma unroll 1
    for (int64_t i = grid_thread(); i < p.vectors.count; i += grid_threads()) {
        int64_t offset[2];
        p.vectors.at(i, offset);
        float v[n];
        widen(load_some<n>(static_cast<const T *>(p.x) + offset[1], p.whole_x), v);
        if (kStep == 0) {
#pragma unroll
            for (int k = 0; k < n; ++k) most = fold::Max()(most, size_of(v[k]));
        } else {
            Vec<int8_t, n> codes;
#pragma unroll
            for (int k = 0; k < n; ++k)
                codes[k] = old == 0.0f ? int8_t(0) : code_of(v[k], old, 0.0f, -127.0f);
            store_some<n>(static_cast<int8_t *>(p.out) + offset[0], codes, p.whole_out);
        }
    }
    if (kStep == 0) {
        most = fold_block<kThreads>(most, fold::Max());
        if (threadIdx.x == 0) p.parts[blockIdx.x] = most;
    }
}
#endif

#endif  // INFINI_DEVICE
