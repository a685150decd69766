// Tiny products: no packing, no threads, minimal dispatch.
#pragma once

#include "finish.h"
#include "integers.h"

namespace infini::cpu {

inline constexpr int64_t kTinyElements = 4096;  // of each operand
inline constexpr int64_t kTinyColumns = 64;

inline bool tiny_takes(const Matmul &p) {
    if (p.weights || p.m * p.n * p.k > 64 * 1024) return false;
    if (p.a.dtype == INFINI_DTYPE_F64 || is_integer(p.a.dtype)) return false;
    // A copy of b by columns costs more than few rows' dot products with it.
    if (p.m <= 4 && p.k >= 32 && p.b.row_stride == 1 && p.b.col_stride != 1) return false;
    constexpr int64_t width = int64_t(kWidth<float>);
    return p.m * p.k <= kTinyElements && p.k * (p.n + width - 1) <= kTinyElements &&
           p.n <= kTinyColumns;
}

void tiny(const Matmul &product);

}  // namespace infini::cpu
