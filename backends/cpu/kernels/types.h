// Storage types that C++ lacks, their conversion one element at a time, and dispatch from a dtype
// to a type. For blocks and vectors see convert.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "infinicore.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace infini::cpu {

struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};
// Four bits of exponent, three of mantissa, no infinities (e4m3fn).
struct f8 {
    uint8_t bits;
};
// BOOL in memory: a byte, true unless it is 0.
struct boolean {
    uint8_t bits;
};

// ---- To float: exact ----------------------------------------------------------------------------

inline float to_float(f16 x) {
#if defined(__aarch64__)
    return float(std::bit_cast<__fp16>(x.bits));
#elif defined(__F16C__)
    return _cvtsh_ss(x.bits);
#else
    // A product adjusts the exponent, which also handles denormals; exponent 31 becomes 255.
    uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13;
    uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    return std::bit_cast<float>(bits | uint32_t(x.bits & 0x8000) << 16);
#endif
}
inline float to_float(bf16 x) { return std::bit_cast<float>(uint32_t(x.bits) << 16); }
inline float to_float(f8 x) {
    uint32_t magnitude = uint32_t(x.bits & 0x7f) << 20;
    uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p120f);
    bits |= magnitude == 0x07f00000u ? 0x7fc00000u : 0u;
    return std::bit_cast<float>(bits | uint32_t(x.bits & 0x80) << 24);
}

// ---- From float: to nearest, ties to even; NaN stays NaN ----------------------------------------

inline void from_float(f16 &y, float x) {
#if defined(__aarch64__)
    y.bits = std::bit_cast<uint16_t>(static_cast<__fp16>(x));
#elif defined(__F16C__)
    y.bits = uint16_t(_cvtss_sh(x, 0));
#else
    uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits & 0x80000000u;
    bits ^= sign;
    // Denormals of f16: adding 0.5 rounds at their last bit.
    uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
    uint32_t normal = (bits + 0xc8000fffu + (bits >> 13 & 1)) >> 13;
    uint32_t large = bits > 0x7f800000u ? 0x7e00u | (bits >> 13 & 0x3ff) : 0x7c00u;
    uint32_t half = bits < 0x38800000u ? small : bits < 0x47800000u ? normal : large;
    y.bits = uint16_t(half | sign >> 16);
#endif
}
inline void from_float(bf16 &y, float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    y.bits = uint16_t(x != x ? bits >> 16 | 0x40u : rounded);
}
// As in torch's casts (2.13): values above 448 become 448, including infinities.
inline void from_float(f8 &y, float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits & 0x80000000u;
    bits ^= sign;
    bits = bits < 0x43e00000u ? bits : 0x43e00000u;
    uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0x1p14f) - 0x46800000u;
    uint32_t normal = (bits + 0xc407ffffu + (bits >> 20 & 1)) >> 20;
    uint32_t byte = x != x ? 0x7fu : bits < 0x3c800000u ? small : normal;
    y.bits = uint8_t(byte | sign >> 24);
}

// Rounds a double to odd: the last bit of the float records whether it was exact, so that rounding
// it again to 16 bits or fewer gives the same as rounding once.
inline float round_to_odd(double x) {
    float near = float(x);
    double back = near;
    uint32_t bits = std::bit_cast<uint32_t>(near);
    bits -= (back < 0 ? -back : back) > (x < 0 ? -x : x) ? 1u : 0u;
    bits |= back < x || back > x ? 1u : 0u;
    return std::bit_cast<float>(bits);
}

// ---- Any storage type to and from any compute type (float, double, int32_t, int64_t) ------------

template <class T>
inline constexpr bool kIsSmallFloat =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, f8>;
template <class T>
inline constexpr bool kIsFloat = kIsSmallFloat<T> || std::is_floating_point_v<T>;

template <class C, class T>
inline C load_element(T x) {
    if constexpr (std::is_same_v<T, boolean>)
        return C(x.bits != 0);
    else if constexpr (kIsSmallFloat<T>)
        return C(to_float(x));
    else
        return C(x);
}

// Truncates a float to an integer, with saturation; 0 for NaN. The number is clamped before the
// conversion, so that loops vectorise.
template <class T, class C>
inline T saturated(C x) {
    constexpr int kDigits = std::numeric_limits<T>::digits, kExact = std::numeric_limits<C>::digits;
    constexpr C kLow = C(std::numeric_limits<T>::min()), kAbove = C(T(1) << (kDigits - 1)) * 2;
    // The largest C that fits in T; for large integers this is less than T's maximum.
    constexpr C kHigh = kDigits > kExact ? kAbove - kAbove / C(uint64_t(1) << kExact) : kAbove - 1;
    C y = x == x ? x : C(0);
    y = y < kLow ? kLow : y;
    y = y > kHigh ? kHigh : y;
    if constexpr (sizeof(T) < 4)
        return T(int32_t(y));
    else if constexpr (kDigits <= kExact)
        return T(y);
    else
        return x >= kAbove ? std::numeric_limits<T>::max() : T(y);
}

template <class T, class C>
inline void store_element(T &y, C x) {
    if constexpr (std::is_same_v<T, boolean>) {
        y.bits = x != C(0);
    } else if constexpr (kIsSmallFloat<T>) {
        if constexpr (std::is_same_v<C, double>)
            from_float(y, round_to_odd(x));
        else if constexpr (std::is_same_v<C, int64_t>)
            from_float(y, round_to_odd(double(x)));
        else
            from_float(y, float(x));
    } else if constexpr (std::is_floating_point_v<C> && std::is_integral_v<T>) {
        y = saturated<T>(x);
    } else {
        y = T(x);
    }
}

// ---- From a dtype to a type ---------------------------------------------------------------------

template <class T>
struct Type {
    using type = T;
};

// Calls f(Type<T>{}) with the storage type of a dtype. False if the dtype is invalid or complex.
template <class F>
inline bool visit_dtype(int dtype, F &&f) {
    switch (dtype) {
        case INFINI_DTYPE_BOOL:
            f(Type<boolean>{});
            return true;
        case INFINI_DTYPE_I8:
            f(Type<int8_t>{});
            return true;
        case INFINI_DTYPE_I16:
            f(Type<int16_t>{});
            return true;
        case INFINI_DTYPE_I32:
            f(Type<int32_t>{});
            return true;
        case INFINI_DTYPE_I64:
            f(Type<int64_t>{});
            return true;
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
            f(Type<uint8_t>{});
            return true;
        case INFINI_DTYPE_U16:
            f(Type<uint16_t>{});
            return true;
        case INFINI_DTYPE_U32:
            f(Type<uint32_t>{});
            return true;
        case INFINI_DTYPE_U64:
            f(Type<uint64_t>{});
            return true;
        case INFINI_DTYPE_F8:
            f(Type<f8>{});
            return true;
        case INFINI_DTYPE_F16:
            f(Type<f16>{});
            return true;
        case INFINI_DTYPE_BF16:
            f(Type<bf16>{});
            return true;
        case INFINI_DTYPE_F32:
            f(Type<float>{});
            return true;
        case INFINI_DTYPE_F64:
            f(Type<double>{});
            return true;
        default:
            return false;
    }
}

// One element of a tensor: load_as<float>(dtype, pointer, index).
template <class C>
inline C load_as(int dtype, const void *pointer, int64_t index) {
    C value{};
    visit_dtype(dtype, [&]<class T>(Type<T>) {
        value = load_element<C>(static_cast<const T *>(pointer)[index]);
    });
    return value;
}
template <class C>
inline void store_as(int dtype, void *pointer, int64_t index, C value) {
    visit_dtype(dtype,
                [&]<class T>(Type<T>) { store_element(static_cast<T *>(pointer)[index], value); });
}

}  // namespace infini::cpu
