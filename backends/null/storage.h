// Elements of tensors as values, and back: every dtype, one element at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "infinicore.h"

namespace infini::plain {

// ---- Formats that C++ lacks ---------------------------------------------------------------------

// BOOL in memory: any byte; all except 0 are true.
struct Bool {
    uint8_t bits;
};

// A float with a sign bit, an exponent and a fraction. `limit` is its infinity, or the largest
// number of a format without infinities: magnitudes above it are NaNs.
template <class Bits, int exponent_bits, int fraction_bits, Bits limit>
struct SmallFloat {
    static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
    static constexpr Bits kHidden = 1 << fraction_bits, kSign = kHidden << exponent_bits;
    Bits bits;

    SmallFloat() = default;
    // Exact.
    explicit operator double() const {
        const Bits magnitude = bits & Bits(kSign - 1), fraction = magnitude & Bits(kHidden - 1);
        const int exponent = magnitude >> fraction_bits;
        double x = std::ldexp(exponent ? kHidden + fraction : fraction,
                              std::max(exponent, 1) - kBias - fraction_bits);
        if (magnitude == limit && fraction == 0) x = std::numeric_limits<double>::infinity();
        if (magnitude > limit) x = std::numeric_limits<double>::quiet_NaN();
        return bits & kSign ? -x : x;
    }

    // To the nearest number, ties to even; larger values become the limit.
    explicit SmallFloat(double x) {
        const int exponent = std::max(std::ilogb(x), 1 - kBias);
        const double units = std::nearbyint(std::ldexp(std::fabs(x), fraction_bits - exponent));
        // Units of the last place. Of normal numbers they include the hidden bit, which adds 1 to
        // the exponent field, and so does a carry of the rounding.
        const double magnitude = std::ldexp(double(exponent) + kBias - 1, fraction_bits) + units;
        bits = x != x ? Bits(kSign - 1) : Bits(std::min(magnitude, double(limit)));
        if (std::signbit(x)) bits |= kSign;
    }
};

using F16 = SmallFloat<uint16_t, 5, 10, 0x7c00>;
using BF16 = SmallFloat<uint16_t, 8, 7, 0x7f80>;
using F8 = SmallFloat<uint8_t, 4, 3, 0x7e>;  // e4m3fn

// ---- Conversion ---------------------------------------------------------------------------------

template <class T>
inline constexpr bool kIsSmallFloat = !std::is_arithmetic_v<T> && !std::is_same_v<T, Bool>;

// Floats are truncated to integers, with saturation; NaN becomes 0. Integers wrap.
template <class To, class From>
To convert(From x) {
    if constexpr (std::is_same_v<From, Bool>) {
        return To(x.bits != 0);
    } else if constexpr (std::is_same_v<To, Bool>) {
        return {uint8_t(x != 0)};
    } else if constexpr (kIsSmallFloat<From>) {
        return convert<To>(double(x));
    } else if constexpr (kIsSmallFloat<To>) {
        return To(double(x));
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        using Limits = std::numeric_limits<To>;
        if (x != x) return 0;
        if (x <= From(Limits::min())) return Limits::min();
        return x >= From(Limits::max()) ? Limits::max() : To(x);
    } else {
        return To(x);
    }
}

// ---- Storage ------------------------------------------------------------------------------------

// Functions that read and write the elements of a tensor; null for a dtype without arithmetic.
template <class V>
struct Storage {
    V (*load)(const char *element) = nullptr;
    void (*store)(char *element, V value) = nullptr;
};

template <class V, class T>
Storage<V> stored_as() {
    return {[](const char *element) {
                T x;
                std::memcpy(&x, element, sizeof x);
                return convert<V>(x);
            },
            [](char *element, V value) {
                const T x = convert<T>(value);
                std::memcpy(element, &x, sizeof x);
            }};
}

template <class V>
Storage<V> storage_of(int dtype) {
    static constexpr std::pair<int, Storage<V> (*)()> kStorages[] = {
        {INFINI_DTYPE_BOOL, stored_as<V, Bool>},    {INFINI_DTYPE_I8, stored_as<V, int8_t>},
        {INFINI_DTYPE_I16, stored_as<V, int16_t>},  {INFINI_DTYPE_I32, stored_as<V, int32_t>},
        {INFINI_DTYPE_I64, stored_as<V, int64_t>},  {INFINI_DTYPE_BYTE, stored_as<V, uint8_t>},
        {INFINI_DTYPE_U8, stored_as<V, uint8_t>},   {INFINI_DTYPE_U16, stored_as<V, uint16_t>},
        {INFINI_DTYPE_U32, stored_as<V, uint32_t>}, {INFINI_DTYPE_U64, stored_as<V, uint64_t>},
        {INFINI_DTYPE_F8, stored_as<V, F8>},        {INFINI_DTYPE_F16, stored_as<V, F16>},
        {INFINI_DTYPE_BF16, stored_as<V, BF16>},    {INFINI_DTYPE_F32, stored_as<V, float>},
        {INFINI_DTYPE_F64, stored_as<V, double>}};
    for (const auto &[known, storage] : kStorages)
        if (known == dtype) return storage();
    return {};
}

}  // namespace infini::plain
