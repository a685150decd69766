// Storage types and their conversion, as in backends/cpu/kernels/types.h.
#pragma once

namespace infini {

struct f16 {
    uint16_t bits;
};
struct bf16 {
    uint16_t bits;
};
// Four exponent bits, three mantissa bits, no infinities (e4m3fn).
struct f8 {
    uint8_t bits;
};
// BOOL in memory: a byte, true unless it is 0.
struct boolean {
    uint8_t bits;
};
// Complex and other types that are only copied.
struct bytes16 {
    uint64_t low, high;
};

// ---- Traits -------------------------------------------------------------------------------------

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

template <bool condition, class A, class B>
struct ChooseType {
    using type = A;
};
template <class A, class B>
struct ChooseType<false, A, B> {
    using type = B;
};
template <bool condition, class A, class B>
using Choose = typename ChooseType<condition, A, B>::type;

template <class T>
inline constexpr bool kIsSmallFloat = kSame<T, f16> || kSame<T, bf16> || kSame<T, f8>;
template <class T>
inline constexpr bool kIsFloat = kIsSmallFloat<T> || kSame<T, float> || kSame<T, double>;
template <class T>
inline constexpr bool kIsInteger = !kIsFloat<T> && !kSame<T, boolean> && !kSame<T, bytes16>;
template <class T>
inline constexpr bool kIsSigned = T(-1) < T(0);

// The compute type of a storage type.
template <class T>
using Compute = Choose<kSame<T, double>, double,
                       Choose<kIsFloat<T>, float, Choose<kSame<T, uint64_t>, uint64_t, int64_t>>>;

template <class To, class From>
INFINI_DEVICE To bit_cast(const From &from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

// ---- Small floats -------------------------------------------------------------------------------

INFINI_DEVICE float to_float(f16 x) { return ptx::float_from_f16(x.bits); }
INFINI_DEVICE float to_float(bf16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }
INFINI_DEVICE float to_float(f8 x) {
    uint32_t magnitude = uint32_t(x.bits & 0x7f) << 20;
    uint32_t bits = bit_cast<uint32_t>(bit_cast<float>(magnitude) * 0x1p120f);
    bits |= magnitude == 0x07f00000u ? 0x7fc00000u : 0u;
    return bit_cast<float>(bits | uint32_t(x.bits & 0x80) << 24);
}

// Rounds to nearest, ties to even; NaN stays NaN.
INFINI_DEVICE void from_float(f16 &y, float x) { y.bits = ptx::f16_from_float(x); }
INFINI_DEVICE void from_float(bf16 &y, float x) {
#if __CUDA_ARCH__ >= 800
    y.bits = ptx::bf16_from_float(x);
#else
    uint32_t bits = bit_cast<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    y.bits = uint16_t(x != x ? bits >> 16 | 0x40u : rounded);
#endif
}
// Saturates at 448, including infinities.
INFINI_DEVICE void from_float(f8 &y, float x) {
    uint32_t bits = bit_cast<uint32_t>(x), sign = bits & 0x80000000u;
    bits ^= sign;
    bits = bits < 0x43e00000u ? bits : 0x43e00000u;
    uint32_t small = bit_cast<uint32_t>(bit_cast<float>(bits) + 0x1p14f) - 0x46800000u;
    uint32_t normal = (bits + 0xc407ffffu + (bits >> 20 & 1)) >> 20;
    uint32_t byte = x != x ? 0x7fu : bits < 0x3c800000u ? small : normal;
    y.bits = uint8_t(byte | sign >> 24);
}

// Rounds a double to odd: the last bit of the float records whether it was exact, so that rounding
// it again to 16 bits or fewer gives the same as rounding once.
INFINI_DEVICE float round_to_odd(double x) {
    float near = float(x);
    double back = near;
    uint32_t bits = bit_cast<uint32_t>(near);
    bits -= (back < 0 ? -back : back) > (x < 0 ? -x : x) ? 1u : 0u;
    bits |= back < x || back > x ? 1u : 0u;
    return bit_cast<float>(bits);
}

// ---- Limits -------------------------------------------------------------------------------------

template <class T>
INFINI_DEVICE constexpr T largest() {  // for integers
    if constexpr (kIsSigned<T>)
        return T(~(uint64_t(1) << 63) >> (64 - 8 * sizeof(T)));
    else
        return T(~T(0));
}
template <class T>
INFINI_DEVICE constexpr T smallest() {
    if constexpr (kIsSigned<T>)
        return T(-largest<T>() - 1);
    else
        return T(0);
}
template <class C>
INFINI_DEVICE C infinity() {
    if constexpr (kSame<C, double>)
        return bit_cast<double>(uint64_t(0x7ff0000000000000));
    else
        return bit_cast<float>(uint32_t(0x7f800000));
}
template <class C>
INFINI_DEVICE C not_a_number() {
    if constexpr (kSame<C, double>)
        return bit_cast<double>(uint64_t(0x7ff8000000000000));
    else
        return bit_cast<float>(uint32_t(0x7fc00000));
}

// ---- Any storage type to and from any compute type ----------------------------------------------

// Truncates a float to an integer, with saturation; 0 for NaN.
template <class T, class C>
INFINI_DEVICE T saturated(C x) {
    constexpr int kDigits = 8 * int(sizeof(T)) - kIsSigned<T>;
    constexpr C kAbove = C(T(1) << (kDigits - 1)) * 2;
    if (!(x == x)) return T(0);
    if (x >= kAbove) return largest<T>();
    if (x <= C(smallest<T>())) return smallest<T>();
    return T(x);
}

template <class C, class T>
INFINI_DEVICE C convert(T x) {
    if constexpr (kSame<C, T>) {
        return x;
    } else if constexpr (kSame<T, boolean>) {
        return convert<C>(int64_t(x.bits != 0));
    } else if constexpr (kIsSmallFloat<T>) {
        return convert<C>(to_float(x));
    } else if constexpr (kSame<C, boolean>) {
        return boolean{uint8_t(x != T(0))};
    } else if constexpr (kIsSmallFloat<C>) {
        C y;
        if constexpr (kSame<T, double>)
            from_float(y, round_to_odd(x));
        else if constexpr (kIsInteger<T> && sizeof(T) > 2)
            from_float(y, round_to_odd(double(x)));
        else
            from_float(y, float(x));
        return y;
    } else if constexpr (kIsFloat<T> && !kIsFloat<C>) {
        return saturated<C>(x);
    } else {
        return C(x);
    }
}

// Converts two neighbours, in one instruction if the hardware supports it.
template <class T>
INFINI_DEVICE uint32_t pack_pair(float low, float high) {
    static_assert(sizeof(T) == 2);
#if __CUDA_ARCH__ >= 800
    if constexpr (kSame<T, bf16>)
        return ptx::bf16x2_from_floats(low, high);
    else
        return ptx::f16x2_from_floats(low, high);
#else
    return uint32_t(convert<T>(low).bits) | uint32_t(convert<T>(high).bits) << 16;
#endif
}

}  // namespace infini
