// causal_softmax. Strides are in elements.
#pragma once

#include "places.h"

namespace infini {

struct CausalParams {
    void *y;
    const void *x;
    Places<2> rows;
    int64_t columns, lines;  // rows per matrix
    int64_t y_step, x_step;
    int32_t whole;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// causal_softmax: row i of [L, T] is a softmax over its first T - L + i + 1 columns, followed by
// zeros. kRowThreads threads per row, vectors of kVector elements. Masked elements are never read.
// kHeld: the row is kept in registers, otherwise it is read three times.
namespace infini {

constexpr int kThreads = 256, kRounds = 4, n = kVector;

template <class Fold>
INFINI_DEVICE float fold_row(float value, Fold fold) {
    if constexpr (kRowThreads == kThreads)
        return fold_block<kThreads>(value, fold);
    else
        return fold_warp(value, fold);
}

// Vector i of a row with `kept` valid elements; the others are -inf.
INFINI_DEVICE void read(const CausalParams &p, const T *x, int64_t i, int64_t kept, float (&v)[n]) {
    if ((i + 1) * n <= kept) {
        widen(load_some<n>(x + i * n * p.x_step, p.whole), v);
        return;
    }
#pragma unroll
    for (int k = 0; k < n; ++k)
        v[k] = i * n + k < kept ? convert<float>(x[(i * n + k) * p.x_step]) : -infinity<float>();
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CausalParams, kThreads, 1) {
    const int thread = int(threadIdx.x) % kRowThreads;
    const int64_t row = int64_t(blockIdx.x) * (kThreads / kRowThreads) + threadIdx.x / kRowThreads;
    if (row >= p.rows.count) return;  // uniform in a warp
    int64_t offset[2];
    p.rows.at(row, offset);
    T *y = static_cast<T *>(p.y) + offset[0];
    const T *x = static_cast<const T *>(p.x) + offset[1];
    const int64_t line = row - divide_apart(row, p.lines) * p.lines;
    const int64_t kept = p.columns - p.lines + line + 1, vectors = p.columns / n;
    const int64_t used = (kept + n - 1) / n;
    float most = -infinity<float>(), sum = 0;
    if constexpr (kHeld) {
        float v[kRounds][n];
#pragma unroll
        for (int r = 0; r < kRounds; ++r) {
            const int64_t i = thread + r * kRowThreads;
            if (i < used) read(p, x, i, kept, v[r]);
        }
#pragma unroll
        for (int r = 0; r < kRounds; ++r)
            if (thread + r * kRowThreads < used)
#pragma unroll
                for (int k = 0; k < n; ++k) most = fold::Max()(most, v[r][k]);
        most = fold_row(most, fold::Max());
#pragma unroll
        for (int r = 0; r < kRounds; ++r)
            if (thread + r * kRowThreads < used)
#pragma unroll
                for (int k = 0; k < n; ++k) sum += v[r][k] = expf(v[r][k] - most);
        const float scale = 1.0f / fold_row(sum, fold::Sum());
#pragma unroll
        for (int r = 0; r < kRounds; ++r) {
            const int64_t i = thread + r * kRowThreads;
            if (i >= vectors) continue;
            float result[n];
#pragma unroll
            for (int k = 0; k < n; ++k) result[k] = i * n + k < kept ? v[r][k] * scale : 0.0f;
            store_some<n>(y + i * n * p.y_step, narrow<T>(result), p.whole);
        }
    } else {
        float v[n];
        for (int64_t i = thread; i < used; i += kRowThreads) {
            read(p, x, i, kept, v);
#pragma unroll
            for (int k = 0; k < n; ++k) most = fold::Max()(most, v[k]);
        }
        most = fold_row(most, fold::Max());
        for (int64_t i = thread; i < used; i += kRowThreads) {
            read(p, x, i, kept, v);
#pragma unroll
            for (int k = 0; k < n; ++k) sum += expf(v[k] - most);
        }
        const float scale = 1.0f / fold_row(sum, fold::Sum());
        for (int64_t i = thread; i < vectors; i += kRowThreads) {
            if (i < used) read(p, x, i, kept, v);
            float result[n];
#pragma unroll
            for (int k = 0; k < n; ++k)
                result[k] = i * n + k < kept ? expf(v[k] - most) * scale : 0.0f;
            store_some<n>(y + i * n * p.y_step, narrow<T>(result), p.whole);
        }
    }
}

#endif  // INFINI_DEVICE
