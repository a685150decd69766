// Arithmetic, conditions, signs, rounding, quotients and remainders, bits.
#pragma once

namespace infini {

// ---- Arithmetic: integers wrap, computed without signs where that is defined --------------------

template <class V>
INFINI_DEVICE V add(V a, V b) {
    if constexpr (kIsInteger<V>)
        return V(Unsigned<V>(a) + Unsigned<V>(b));
    else
        return a + b;
}
template <class V>
INFINI_DEVICE V sub(V a, V b) {
    if constexpr (kIsInteger<V>)
        return V(Unsigned<V>(a) - Unsigned<V>(b));
    else
        return a - b;
}
template <class V>
INFINI_DEVICE V mul(V a, V b) {
    if constexpr (kIsInteger<V>)
        return V(Unsigned<V>(a) * Unsigned<V>(b));
    else
        return a * b;
}
template <class V>
INFINI_DEVICE V neg(V a) {
    if constexpr (kIsInteger<V>)
        return V(Unsigned<V>(0) - Unsigned<V>(a));
    else
        return -a;
}
template <class V>
INFINI_DEVICE V quotient(V a, V b) {
    if constexpr (kIsInteger<V>) {
        if (b == 0) return V(0);
        if (kIsSigned<V> && b == V(-1)) return neg(a);
        return a / b;
    } else if constexpr (kRough && kSame<V, float>) {
        return kRoughDivision ? a * ptx::reciprocal_approx(b) : ptx::divide_full(a, b);
    } else {
        return a / b;
    }
}

template <class V>
INFINI_DEVICE V bit_and(V a, V b) {
    return a & b;
}
template <class V>
INFINI_DEVICE V bit_or(V a, V b) {
    return a | b;
}
template <class V>
INFINI_DEVICE V bit_xor(V a, V b) {
    return a ^ b;
}
template <class V>
INFINI_DEVICE V bit_not(V a) {
    return ~a;
}
// A negative count, or one of at least the number of bits, shifts all bits out.
template <class V>
INFINI_DEVICE V shift_left(V a, V b) {
    constexpr Unsigned<V> kBits = 8 * sizeof(V);
    return Unsigned<V>(b) < kBits ? V(Unsigned<V>(a) << int(b)) : V(0);
}
template <class V>
INFINI_DEVICE V shift_right(V a, V b) {
    constexpr Unsigned<V> kBits = 8 * sizeof(V);
    if (Unsigned<V>(b) < kBits) return a >> int(b);
    return kIsSigned<V> && a < V(0) ? V(-1) : V(0);
}

// ---- Conditions ---------------------------------------------------------------------------------

template <class V>
INFINI_DEVICE bool less(V a, V b) {
    return a < b;
}
template <class V>
INFINI_DEVICE bool less_equal(V a, V b) {
    return a <= b;
}
template <class V>
INFINI_DEVICE bool equal(V a, V b) {
    return a == b;
}
INFINI_DEVICE bool both(bool a, bool b) { return a & b; }
INFINI_DEVICE bool either(bool a, bool b) { return a | b; }
INFINI_DEVICE bool differ(bool a, bool b) { return a ^ b; }
INFINI_DEVICE bool negate(bool a) { return !a; }
template <class V>
INFINI_DEVICE V where(bool condition, V a, V b) {
    return condition ? a : b;
}
// 1 if true, 0 otherwise.
template <class V>
INFINI_DEVICE V number(bool truth) {
    return truth ? V(1) : V(0);
}

// ---- Signs --------------------------------------------------------------------------------------

template <class V>
INFINI_DEVICE bool isnan(V x) {
    return x != x;
}
template <class V>
INFINI_DEVICE V absolute(V x) {
    if constexpr (kIsInteger<V>)
        return kIsSigned<V> && x < V(0) ? neg(x) : x;  // the smallest integer is returned unchanged
    else if constexpr (kSame<V, float>)
        return ::fabsf(x);
    else
        return ::fabs(x);
}
template <class V>
INFINI_DEVICE bool isinf(V x) {
    if constexpr (kIsInteger<V>)
        return false;
    else
        return absolute(x) == infinity<V>();
}
template <class V>
INFINI_DEVICE bool signbit(V x) {
    if constexpr (kIsInteger<V>)
        return x < V(0);
    else
        return bit_cast<Signed<V>>(x) < 0;
}
template <class V>
INFINI_DEVICE V copysign(V x, V sign) {
    if constexpr (kSame<V, float>)
        return ::copysignf(x, sign);
    else
        return ::copysign(x, sign);
}

// NaN propagates.
template <class V>
INFINI_DEVICE V maximum(V a, V b) {
    return a > b || a != a ? a : b;
}
template <class V>
INFINI_DEVICE V minimum(V a, V b) {
    return a < b || a != a ? a : b;
}
#if __CUDA_ARCH__ >= 800
template <>
INFINI_DEVICE float maximum(float a, float b) {
    return ptx::max_nan(a, b);
}
template <>
INFINI_DEVICE float minimum(float a, float b) {
    return ptx::min_nan(a, b);
}
#endif
// NaN is ignored.
template <class V>
INFINI_DEVICE V fmax(V a, V b) {
    return a >= b || b != b ? a : b;
}
template <class V>
INFINI_DEVICE V fmin(V a, V b) {
    return a <= b || b != b ? a : b;
}

// ---- Rounding and roots -------------------------------------------------------------------------

// A CUDA function for floats and doubles.
#define INFINI_BOTH_WIDTHS(name, f32, f64) \
    template <class V>                     \
    INFINI_DEVICE V name(V x) {            \
        if constexpr (kSame<V, float>)     \
            return f32(x);                 \
        else                               \
            return f64(x);                 \
    }
// A function that returns integers unchanged.
#define INFINI_ROUNDING(name, f32, f64)     \
    template <class V>                      \
    INFINI_DEVICE V name(V x) {             \
        if constexpr (kIsInteger<V>)        \
            return x;                       \
        else if constexpr (kSame<V, float>) \
            return f32(x);                  \
        else                                \
            return f64(x);                  \
    }
INFINI_ROUNDING(floor, ::floorf, ::floor)
INFINI_ROUNDING(ceil, ::ceilf, ::ceil)
INFINI_ROUNDING(trunc, ::truncf, ::trunc)
INFINI_ROUNDING(nearest, ::rintf, ::rint)  // ties to even
template <class V>
INFINI_DEVICE V sqrt(V x) {
    if constexpr (kRough && kSame<V, float>)
        return ptx::sqrt_approx(x);
    else if constexpr (kSame<V, float>)
        return ::sqrtf(x);
    else
        return ::sqrt(x);
}

// 1 / sqrt(x). For floats an approximation and a Newton step, where the step's result is defined.
template <class V>
INFINI_DEVICE V rsqrt(V x) {
    if constexpr (kSame<V, float>) {
        const float y = ptx::rsqrt_approx(x);
        if constexpr (kRough) return y;
        const float product = x * y;
        const float better = y + 0.5f * y * ::fmaf(-product, y, 1.0f);
        return product > 0.0f && product < infinity<float>() ? better : y;
    }
    return V(1) / sqrt(x);
}

template <class V>
INFINI_DEVICE V hypot(V a, V b) {
    if constexpr (kSame<V, float>)
        return ::hypotf(a, b);
    else
        return ::hypot(a, b);
}

// ---- Quotients and remainders -------------------------------------------------------------------

namespace detail {
static INFINI_APART float fmod_of(float a, float b) { return ::fmodf(a, b); }
static INFINI_APART double fmod_of(double a, double b) { return ::fmod(a, b); }

static INFINI_APART double floordiv_of(double a, double b) {
    if (b == 0) return a / b;
    const double remainder = ::fmod(a, b);
    double whole = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) whole -= 1;
    if (whole == 0) return ::copysign(0.0, a / b);
    const double floored = ::floor(whole);
    return whole - floored > 0.5 ? floored + 1 : floored;
}
}  // namespace detail

// The remainder with the sign of the dividend. The remainder of an integer by 0 is 0.
template <class V>
INFINI_DEVICE V fmod(V a, V b) {
    if constexpr (kIsInteger<V>)
        return b == 0 || (kIsSigned<V> && b == V(-1)) ? V(0) : V(a % b);
    else
        return detail::fmod_of(a, b);
}
// The remainder with the sign of the divisor.
template <class V>
INFINI_DEVICE V mod(V a, V b) {
    const V remainder = fmod(a, b);
    if constexpr (kIsInteger<V>) {
        return remainder != 0 && (remainder < 0) != (b < 0) ? V(remainder + b) : remainder;
    } else {
        if (remainder == 0) return b == 0 ? remainder : copysign(V(0), b);
        return (b < 0) != (remainder < 0) ? remainder + b : remainder;
    }
}
// Rounds towards minus infinity. Integer division by 0 gives 0, and the smallest integer by -1
// wraps; floats follow Python's rule, from the exact remainder, and division by 0 gives the true
// quotient.
template <class V>
INFINI_DEVICE V floordiv(V a, V b) {
    if constexpr (kIsInteger<V>) {
        if (b == 0) return V(0);
        if (kIsSigned<V> && b == V(-1)) return neg(a);
        const V whole = a / b;
        return whole - V(a % b != 0 && (a < 0) != (b < 0));
    } else {
        // The quotient of two floats, rounded to a double, is on the same side of all integers of
        // this size. A divisor of infinity is not decided by it.
        const double x = double(a), y = double(b), q = x / y;
        if (kSame<V, float> && ::fabs(q) < 0x1p28 && (q != 0 || x == 0)) return V(::floor(q));
        return V(detail::floordiv_of(x, y));
    }
}

// ---- Decomposition of floats --------------------------------------------------------------------

// x = mantissa * 2^exponent with a mantissa in [0.5, 1); zero, infinities and NaN are not
// decomposed.
template <class V>
INFINI_DEVICE V mantissa(V x) {
    int power = 0;
    if (!(absolute(x) < infinity<V>())) return x;
    if constexpr (kSame<V, float>)
        return ::frexpf(x, &power);
    else
        return ::frexp(x, &power);
}
template <class V>
INFINI_DEVICE V exponent(V x) {
    int power = 0;
    if (!(absolute(x) < infinity<V>())) return V(0);
    if constexpr (kSame<V, float>)
        ::frexpf(x, &power);
    else
        ::frexp(x, &power);
    return V(power);
}
// The next representable number after a towards b.
template <class V>
INFINI_DEVICE V nextafter(V a, V b) {
    if constexpr (kSame<V, float>)
        return ::nextafterf(a, b);
    else
        return ::nextafter(a, b);
}

// ---- Divisors of integers -----------------------------------------------------------------------

namespace detail {
template <class V>
INFINI_DEVICE Unsigned<V> size_of(V x) {
    return x < 0 ? Unsigned<V>(0) - Unsigned<V>(x) : Unsigned<V>(x);
}
template <class U>
INFINI_DEVICE U gcd(U a, U b) {
    while (b) {
        const U rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
}  // namespace detail

template <class V>
INFINI_DEVICE V gcd(V a, V b) {
    return V(detail::gcd(detail::size_of(a), detail::size_of(b)));
}
template <class V>
INFINI_DEVICE V lcm(V a, V b) {
    const Unsigned<V> first = detail::size_of(a), second = detail::size_of(b);
    const Unsigned<V> divisor = detail::gcd(first, second);
    return divisor ? V(first / divisor * second) : V(0);
}

}  // namespace infini
