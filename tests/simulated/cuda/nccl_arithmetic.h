// Combines elements as NCCL does: in the element type, rounded at every step.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace simulated::nccl {

// A float of less than 32 bits. kFinite: it has no infinity; what is too large becomes the largest.
template <class Bits, int kExponent, int kMantissa, bool kFinite>
struct Small {
    Bits bits;

    static constexpr int kBias = (1 << (kExponent - 1)) - 1;
    static constexpr int kTop = (1 << kExponent) - 1;

    operator float() const {
        const int exponent = bits >> kMantissa & kTop, mantissa = bits & ((1 << kMantissa) - 1);
        const float sign = bits >> (kExponent + kMantissa) & 1 ? -1.0f : 1.0f;
        if (exponent == kTop && (!kFinite || mantissa == (1 << kMantissa) - 1))
            return mantissa ? NAN : sign * INFINITY;
        if (exponent == 0) return sign * std::ldexp(float(mantissa), 1 - kBias - kMantissa);
        return sign * std::ldexp(float((1 << kMantissa) + mantissa), exponent - kBias - kMantissa);
    }

    static Small from(float value) {
        const unsigned sign = std::signbit(value) ? 1u << (kExponent + kMantissa) : 0;
        const unsigned infinity = unsigned(kTop) << kMantissa;
        const unsigned nan = infinity | ((1u << kMantissa) - 1);
        value = std::fabs(value);
        if (value != value) return {Bits(sign | nan)};
        int exponent = value > 0 && !std::isinf(value) ? std::ilogb(value) : 0;
        if (value == 0 || exponent < 1 - kBias) exponent = 1 - kBias;
        // Ties go to even; what rounds up to the next power of two carries into the exponent.
        const double whole = std::nearbyint(std::ldexp(double(value), kMantissa - exponent));
        const double made = std::ldexp(double(exponent + kBias - 1), kMantissa) + whole;
        const unsigned largest = kFinite ? nan - 1 : infinity;
        if (std::isinf(value) || made >= double(largest)) return {Bits(sign | largest)};
        return {Bits(sign | unsigned(made))};
    }
};

using Half = Small<uint16_t, 5, 10, false>;
using Bfloat = Small<uint16_t, 8, 7, false>;
using Float8 = Small<uint8_t, 4, 3, true>;

template <class T>
constexpr bool kIsSmall = !std::is_arithmetic_v<T>;

template <class T>
T rounded(auto value) {
    if constexpr (kIsSmall<T>)
        return T::from(float(value));
    else
        return T(value);
}

enum Op { kSum, kProduct, kMax, kMin, kAverage };

template <class T>
T combine(int op, T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        using Wide = std::common_type_t<Unsigned, unsigned>;
        if (op == kSum || op == kAverage) return T(Unsigned(a) + Unsigned(b));
        if (op == kProduct) return T(Wide(a) * Wide(b));
    } else {
        if (op == kSum || op == kAverage) return rounded<T>(a + b);
        if (op == kProduct) return rounded<T>(a * b);
    }
    return (op == kMax) == (a > b) ? a : b;
}

// to = from[0] op from[1] op ..., elements from `begin` to `end`.
template <class T>
void reduce(int op, void *to, const void *const *from, int ranks, size_t begin, size_t end) {
    const auto first = [&](int rank, size_t i) {
        T value = static_cast<const T *>(from[rank])[i];
        if constexpr (!std::is_integral_v<T>)
            if (op == kAverage) return rounded<T>(value * rounded<T>(1.0 / ranks));
        return value;
    };
    for (size_t i = begin; i < end; ++i) {
        T sum = first(0, i);
        for (int rank = 1; rank < ranks; ++rank) sum = combine<T>(op, sum, first(rank, i));
        if constexpr (std::is_integral_v<T>)
            if (op == kAverage) sum = T(sum / T(ranks));
        static_cast<T *>(to)[i - begin] = sum;
    }
}

using Reduce = void (*)(int, void *, const void *const *, int, size_t, size_t);

struct TypeFacts {
    size_t size;
    Reduce reduce;
};

// By ncclDataType_t.
constexpr TypeFacts kTypes[] = {
    {1, reduce<int8_t>},  {1, reduce<uint8_t>},  {4, reduce<int32_t>}, {4, reduce<uint32_t>},
    {8, reduce<int64_t>}, {8, reduce<uint64_t>}, {2, reduce<Half>},    {4, reduce<float>},
    {8, reduce<double>},  {2, reduce<Bfloat>},   {1, reduce<Float8>},
};
constexpr int kTypeCount = sizeof kTypes / sizeof kTypes[0];

}  // namespace simulated::nccl
