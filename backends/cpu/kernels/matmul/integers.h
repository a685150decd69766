// Products of integers: the kinds for packed products, and products of few rows. Sums wrap around,
// so they are computed in the type of c, and signedness makes no difference.
#pragma once

#include "matmul.h"
#include "micro.h"

namespace infini::cpu {

// sum + a * b.
template <class V>
INFINI_SIMD V multiply_add(V sum, V a, V b) {
#if defined(__ARM_NEON)
    // There is no 64-bit lane product: a and b are split into low + 2^32 * high.
    if constexpr (sizeof(Element<V>) == 8) {
        const uint32x4_t cross = vmulq_u32(uint32x4_t(a), vrev64q_u32(uint32x4_t(b)));
        const uint64x2_t high = vshlq_n_u64(vpaddlq_u32(cross), 32);
        return V(
            vmlal_u32(uint64x2_t(sum) + high, vmovn_u64(uint64x2_t(a)), vmovn_u64(uint64x2_t(b))));
    }
#endif
    return sum + a * b;
}

// Kinds as in micro.h. `Operand`: the storage type of a and b.
struct DotI32 : VectorKind {
    using Operand = int32_t;
    using Element = int32_t;
    using Word = int32_t;
    using Sum = int32_t;
    static constexpr int kGroup = 1;
    static constexpr int kRows = DotF32::kRows, kColumns = DotF32::kColumns;
    using Vector = I32;
    template <int lane, class A>
    INFINI_SIMD static I32 add(I32 sum, I32 b, A a) {
#if defined(__aarch64__)
        return vmlaq_laneq_s32(sum, b, a, lane);
#else
        return sum + b * a;
#endif
    }
};

struct DotI64 : VectorKind {
    static constexpr int64_t kSteps = VectorKind::kSteps / 2;
    using Operand = int64_t;
    using Element = int64_t;
    using Word = int64_t;
    using Sum = int64_t;
    static constexpr int kGroup = 1;
#if defined(__aarch64__)
    static constexpr int kRows = 4, kColumns = 6;
#else
    static constexpr int kRows = DotF64::kRows, kColumns = DotF64::kColumns;
#endif
    using Vector = I64;
    template <int lane, class A>
    INFINI_SIMD static I64 add(I64 sum, I64 b, A a) {
#if defined(__aarch64__)
        return multiply_add(sum, b, I64(vdupq_laneq_s64(a, lane)));
#else
        return multiply_add(sum, b, a);
#endif
    }
};

#if defined(__aarch64__)
struct DotI16 : VectorKind {
    using Operand = int16_t;
    using Element = int16_t;
    using Word = int16_t;
    using Sum = int16_t;
    static constexpr int kGroup = 1;
    static constexpr int kRows = 8, kColumns = 24;
    using Vector = Vec<int16_t>;
    template <int lane, class A>
    INFINI_SIMD static Vector add(Vector sum, Vector b, A a) {
        return vmlaq_laneq_s16(sum, b, a, lane);
    }
};
#else
struct DotI16 : DotI8 {  // uses pmaddwd
    using Operand = int16_t;
};
#endif

inline bool is_integer(int dtype) {
    return dtype == INFINI_DTYPE_I8 || dtype == INFINI_DTYPE_I16 || dtype == INFINI_DTYPE_I32 ||
           dtype == INFINI_DTYPE_I64;
}

// Few rows times a matrix whose rows or columns are contiguous, with the same type for a, b and c.
bool integer_rows_take(const Matmul &product);
size_t integer_rows_workspace(const Matmul &product);
void integer_rows(const Matmul &product, void *workspace);

}  // namespace infini::cpu
