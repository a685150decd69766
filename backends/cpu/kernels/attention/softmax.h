// The running softmax: scores in units of log 2, the greatest so far, and powers of two.
#pragma once

#include <algorithm>
#include <limits>

#include "../convert.h"

namespace infini::cpu {

inline constexpr float kNone = -std::numeric_limits<float>::infinity();  // score of what is hidden
inline constexpr float kLog2E = 1.44269504088896341f;

// The larger one. Of NaN and a number it may be either: weights become NaN by themselves.
template <class V>
INFINI_SIMD V larger(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vmaxq_f32(a, b));
#endif
    return a > b ? a : b;
}

// 2^x for x <= 0, within 2 ulp; 0 below -126, so for -inf.
template <class V>
INFINI_SIMD V exp2_below(V x) {
    const V magic = broadcast<V>(0x1.8p23f);
    V shifted = x + magic;  // the nearest whole number stands in its last bits
    V f = x - (shifted - magic);
    V p = broadcast<V>(0.001326470635831356f);
    p = fma(p, f, broadcast<V>(0.009671523235738277f));
    p = fma(p, f, broadcast<V>(0.05550733953714371f));
    p = fma(p, f, broadcast<V>(0.24022242426872253f));
    p = fma(p, f, broadcast<V>(0.6931470036506653f));
    p = fma(p, f, broadcast<V>(1.0f));
    using B = Like<V, uint32_t>;
    V power = as<V>((as<B>(shifted) << 23) + 0x3f800000u);
    return select(x < -126.0f, V{}, p * power);
}

// What scores are taken relative to: their greatest, or 0 while there is none.
template <class V>
INFINI_SIMD V reference(V greatest) {
    return select(greatest == kNone, V{}, greatest);
}

}  // namespace infini::cpu
