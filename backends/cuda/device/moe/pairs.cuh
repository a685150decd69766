// Pairs of 16-bit floats in a register.
#pragma once

#include "prelude.cuh"

namespace infini {

// a - b, both halves.
template <class T>
INFINI_DEVICE uint32_t subtract_pairs(uint32_t a, uint32_t b) {
    if constexpr (kSame<T, f16>)
        return ptx::subtract_f16x2(a, b);
    else
        return ptx::subtract_bf16x2(a, b);
}

// Two codes of `bits`, in the low bits of both halves of a word, less a whole number: exact.
template <class T, int bits>
struct CodesLess {
    // A power of two whose last place is 1: codes are just put into the mantissa.
    static constexpr bool kFits = kSame<T, f16> || bits == 4;
    static constexpr uint32_t kBase = kSame<T, f16> ? 0x6400u : 0x4300u;  // 1024, 128

    uint32_t less;

    CodesLess() = default;
    INFINI_DEVICE explicit CodesLess(int zero) {
        const float base = kSame<T, f16> ? 1024.0f : 128.0f;
        less = kFits ? pack_pair<T>(base + float(zero), base + float(zero)) : uint32_t(zero);
    }
    INFINI_DEVICE uint32_t operator()(uint32_t codes) const {
        if constexpr (kFits) return subtract_pairs<T>(codes | kBase | kBase << 16, less);
        const int zero = int(less);
        return pack_pair<T>(float(int(codes & 0xffffu) - zero), float(int(codes >> 16) - zero));
    }
};

}  // namespace infini
