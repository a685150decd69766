// Products of few rows (decoding: m = 1 to 8) with a large matrix: each element of the matrix is
// read once, in memory order, and widened and multiplied in registers.
#pragma once

#include <type_traits>

#include "../simd.h"
#include "matmul.h"

namespace infini::cpu {

// Whether gemv() supports the product. Depends only on sizes, dtypes and strides.
bool gemv_takes(const Matmul &product);
size_t gemv_workspace(const Matmul &product);
void gemv(const Matmul &product, void *workspace);

// The same for F64.
bool gemv_f64_takes(const Matmul &product);
size_t gemv_f64_workspace(const Matmul &product);
void gemv_f64(const Matmul &product, void *workspace);

// The same for I8.
bool gemv_i8_takes(const Matmul &product);
void gemv_i8(const Matmul &product);

// The number of sums that fit in the registers together with the operands.
#if defined(__aarch64__) || defined(__AVX512F__)
inline constexpr int kSums = 16;
#else
inline constexpr int kSums = 8;
#endif
// How many vectors (or columns) to process together for m rows: the largest power of two, up to 4.
constexpr int side_by_side(int m) { return m * 4 <= kSums ? 4 : m * 2 <= kSums ? 2 : 1; }

// Calls f(integral_constant) for a number of rows up to kFewRows.
template <class F>
INFINI_SIMD void with_rows(int64_t m, F &&f) {
    switch (m) {
        case 1:
            return f(std::integral_constant<int, 1>{});
        case 2:
            return f(std::integral_constant<int, 2>{});
        case 3:
            return f(std::integral_constant<int, 3>{});
        case 4:
            return f(std::integral_constant<int, 4>{});
        case 5:
            return f(std::integral_constant<int, 5>{});
        case 6:
            return f(std::integral_constant<int, 6>{});
        case 7:
            return f(std::integral_constant<int, 7>{});
        default:
            return f(std::integral_constant<int, 8>{});
    }
}

}  // namespace infini::cpu
