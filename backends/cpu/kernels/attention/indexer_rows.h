// Rows of 128 e4m3 elements with a scale, as used by the indexer of sparse attention, and pages of
// them: page_size * 128 bytes of e4m3, then page_size F32 scales.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "../convert.h"

namespace infini::cpu {

inline constexpr int64_t kIndexDepth = 128, kIndexEntry = kIndexDepth + 4;
inline constexpr float kLargestCode = 448.0f;

// The smallest power of two that is at least the largest magnitude (1e-4 or more) divided by the
// largest code.
inline float power_scale(float greatest) {
    uint32_t bits = std::bit_cast<uint32_t>(std::max(greatest, 1e-4f) / kLargestCode);
    return std::bit_cast<float>((bits + 0x007fffffu) & 0x7f800000u);
}

template <class T>
inline float greatest_of(const T *x, int64_t n) {
    const Bits<F32> magnitude = broadcast<Bits<F32>>(0x7fffffff);
    F32 most{};
    const int64_t whole = n / int64_t(kWidth<float>) * int64_t(kWidth<float>);
    int64_t i = 0;
    for (; i < whole; i += kWidth<float>) {
        F32 a = as<F32>(bits(load_f32(x + i)) & magnitude);
        most = select(a > most, a, most);
    }
    float greatest = reduce_max(most);
    for (; i < n; ++i) greatest = std::max(greatest, std::fabs(load_element<float>(x[i])));
    return greatest;
}

// Quantises a row; returns its scale.
template <class T>
inline float quantise_row(f8 *to, const T *x, int64_t n) {
    float scale = power_scale(greatest_of(x, n)), inverse = 1 / scale;
    const F32 most = broadcast<F32>(kLargestCode);
    const int64_t whole = n / int64_t(kWidth<float>) * int64_t(kWidth<float>);
    int64_t i = 0;
    for (; i < whole; i += kWidth<float>) {
        F32 a = load_f32(x + i) * inverse;
        store_f32(to + i, minimum(maximum(a, -most), most));
    }
    for (; i < n; ++i) {
        float a = load_element<float>(x[i]) * inverse;
        from_float(to[i], minimum(maximum(a, -kLargestCode), kLargestCode));
    }
    return scale;
}

}  // namespace infini::cpu
