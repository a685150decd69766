// The online softmax: scores in units of log 2, the running maximum, and powers of two.
#pragma once

#include <algorithm>
#include <limits>

#include "../math_exp.h"
#include "rows.h"

namespace infini::cpu {

// a[lane] * b + c.
template <int lane>
INFINI_SIMD F32 fma_lane(F32 a, F32 b, F32 c) {
#if defined(__ARM_NEON)
    return F32(vfmaq_laneq_f32(c, b, a, lane));
#else
    return fma(broadcast<F32>(a[lane]), b, c);
#endif
}

// Separates steps of sums: the compiler would otherwise interleave them and spill registers.
INFINI_SIMD void end_step(F32 &a, F32 &b, F32 &c, F32 &d) {
#if defined(__ARM_NEON)
    F32 w = a, x = b, y = c, z = d;  // copies: arrays used by asm stay in memory
    asm("" : "+w"(w), "+w"(x), "+w"(y), "+w"(z));
    a = w, b = x, c = y, d = z;
#else
    (void)a, (void)b, (void)c, (void)d;
#endif
}

inline constexpr float kNone = -std::numeric_limits<float>::infinity();  // score of hidden keys
inline constexpr float kLog2E = 1.44269504088896341f;

// The larger one; NaN if b is NaN.
template <class V>
INFINI_SIMD V larger(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vmaxq_f32(a, b));
#endif
    return a > b ? a : b;
}

// 2^x for x <= 0, within 2 ulp; 0 below -126.5, including -inf.
template <class V>
INFINI_SIMD V exp2_below(V x) {
    // Adding `magic` leaves the nearest integer n plus 127, the exponent of 2^n, in the last bits.
    // For n = -127 the exponent is 0, which gives 0.
    const V magic = broadcast<V>(0x1.8p23f + 127.0f);
    x = larger(broadcast<V>(-127.0f), x);
    V shifted = x + magic;
    V f = x - (shifted - magic);
    V p = broadcast<V>(0.001326470635831356f);
    p = fma(p, f, broadcast<V>(0.009671523235738277f));
    p = fma(p, f, broadcast<V>(0.05550733953714371f));
    p = fma(p, f, broadcast<V>(0.24022242426872253f));
    p = fma(p, f, broadcast<V>(0.6931470036506653f));
    p = fma(p, f, broadcast<V>(1.0f));
    using B = Like<V, uint32_t>;
    return p * as<V>(as<B>(shifted) << 23);
}

// Applies the soft cap to n scores, in whole vectors: s = cap * tanh(s / cap). -inf stays.
inline void cap_scores(float *s, int64_t n, float cap) {
    for (int64_t i = 0; i < n; i += kWidth<float>) {
        F32 x = load(s + i);
        store(s + i, select(x == kNone, x, tanh(x / cap) * cap));
    }
}

// The value subtracted from scores: the running maximum, or 0 while there is none.
template <class V>
INFINI_SIMD V reference(V greatest) {
    return select(greatest == kNone, V{}, greatest);
}

}  // namespace infini::cpu
