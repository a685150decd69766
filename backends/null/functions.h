// The functions of expressions (InfiniNodeOp) for values of type V: double, int64_t or uint64_t.
// Their definitions are in spec/operators/language/expression.py.
#pragma once

#include <infini/node_op.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

namespace infini::plain {

// ---- Floats: what <cmath> does not have ---------------------------------------------------------

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Floor division, from the exact remainder, as in Python. Division by 0 gives infinity.
inline double floor_quotient(double a, double b) {
    if (b == 0) return a / b;
    const double remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
    return quotient == 0 ? std::copysign(0.0, a / b) : std::nearbyint(quotient);
}
// The remainder with the sign of the divisor.
inline double floor_remainder(double a, double b) {
    const double remainder = std::fmod(a, b);
    if (remainder == 0) return b == 0 ? remainder : std::copysign(0.0, b);
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

// x = mantissa * 2^exponent; infinities and NaN have the exponent 0.
inline double mantissa_of(double x) {
    int exponent = 0;
    return std::frexp(x, &exponent);
}
inline double exponent_of(double x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}

// std::lgamma writes a sign to a global variable, which other threads may be writing too.
inline double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}

// By recurrence to where the asymptotic series is exact, and by reflection for negative numbers.
inline double digamma_of(double x) {
    if (x == 0) return std::copysign(kInfinity, -x);
    if (x < 0) {
        const double fraction = x - std::nearbyint(x);
        return fraction == 0 ? kNaN : digamma_of(1 - x) - kPi / std::tan(kPi * fraction);
    }
    double sum = 0;
    for (; x < 16; x += 1) sum -= 1 / x;
    const double z = 1 / (x * x);
    const double series =
        z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132)))));
    return sum + std::log(x) - 0.5 / x - series;
}

// Winitzki's approximation, then Halley's method on the side where no digits cancel.
inline double inverse_erf(double y) {
    constexpr double kA = 0.147;
    const double a = std::fabs(y);
    if (!(a < 1)) return a == 1 ? y * kInfinity : kNaN;
    const double log = std::log1p(-a * a), t = 2 / (kPi * kA) + log / 2;
    double x = std::sqrt(std::sqrt(t * t - log / kA) - t);
    for (int i = 0; i < 4; ++i) {
        const double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
        const double step = error / (2 / std::sqrt(kPi) * std::exp(-x * x));
        x -= step / (1 + x * step);
    }
    return std::copysign(x, y);
}

// ---- Integers: they wrap, and a division by 0 gives 0 -------------------------------------------

template <class V>
V negative(V x) {
    return V(0 - uint64_t(x));
}
template <class V>
uint64_t magnitude_of(V x) {
    return uint64_t(x < V(0) ? negative(x) : x);
}

// Towards zero, and the remainder with the sign of the dividend.
template <class V>
V quotient_of(V a, V b) {
    if (b == 0) return 0;
    return std::is_signed_v<V> && b == V(-1) ? negative(a) : V(a / b);
}
template <class V>
V remainder_of(V a, V b) {
    return b == 0 ? V(0) : V(uint64_t(a) - uint64_t(quotient_of(a, b)) * uint64_t(b));
}
// Towards minus infinity, and the remainder with the sign of the divisor.
template <class V>
V floor_quotient(V a, V b) {
    return quotient_of(a, b) - V(remainder_of(a, b) != 0 && (a < V(0)) != (b < V(0)));
}
template <class V>
V floor_remainder(V a, V b) {
    const V remainder = remainder_of(a, b);
    return remainder != 0 && (remainder < V(0)) != (b < V(0)) ? remainder + b : remainder;
}

// Negative powers are rounded towards 0.
template <class V>
V integer_power(V base, V exponent) {
    if (exponent < V(0)) {
        if (magnitude_of(base) != 1) return 0;
        return exponent & 1 ? base : V(1);
    }
    uint64_t result = 1, factor = uint64_t(base);
    for (uint64_t e = uint64_t(exponent); e; e >>= 1, factor *= factor)
        if (e & 1) result *= factor;
    return V(result);
}

// A negative count, or one of 64 and more, shifts everything out.
template <class V>
V shift_left(V x, V count) {
    return uint64_t(count) < 64 ? V(uint64_t(x) << count) : V(0);
}
template <class V>
V shift_right(V x, V count) {
    if (uint64_t(count) < 64) return x >> count;
    return x < V(0) ? V(-1) : V(0);
}

template <class V>
uint64_t common_divisor(V a, V b) {
    return std::gcd(magnitude_of(a), magnitude_of(b));
}
template <class V>
uint64_t common_multiple(V a, V b) {
    const uint64_t divisor = common_divisor(a, b);
    return divisor ? magnitude_of(a) / divisor * magnitude_of(b) : 0;
}

// ---- The functions by their numbers -------------------------------------------------------------

template <class V>
using Function = V (*)(V a, V b, V c);

#define INFINI_FUNCTION(op, result)                                                        \
    case INFINI_NODE_##op:                                                                 \
        return []([[maybe_unused]] V a, [[maybe_unused]] V b, [[maybe_unused]] V c) -> V { \
            return V(result);                                                              \
        }

// Of all types. Truth values are 0 and 1, and conditions hold where they are not 0.
template <class V>
Function<V> common_function(int op) {
    switch (op) {
        INFINI_FUNCTION(WHERE, a != 0 ? b : c);
        INFINI_FUNCTION(LESS, a < b);
        INFINI_FUNCTION(LESS_EQUAL, a <= b);
        INFINI_FUNCTION(EQUAL, a == b);
        INFINI_FUNCTION(BOTH, a != 0 && b != 0);
        INFINI_FUNCTION(EITHER, a != 0 || b != 0);
        INFINI_FUNCTION(DIFFER, (a != 0) != (b != 0));
        INFINI_FUNCTION(NEGATE, a == 0);
        INFINI_FUNCTION(ISNAN, a != a);
        INFINI_FUNCTION(MAXIMUM, a > b || a != a ? a : b);  // a NaN wins
        INFINI_FUNCTION(MINIMUM, a < b || a != a ? a : b);
        INFINI_FUNCTION(FMAX, a >= b || b != b ? a : b);  // a NaN loses
        INFINI_FUNCTION(FMIN, a <= b || b != b ? a : b);
        INFINI_FUNCTION(FLOORDIV, floor_quotient(a, b));
        INFINI_FUNCTION(MOD, floor_remainder(a, b));
    }
    return nullptr;
}

template <class V>
Function<V> integer_function(int op) {
    switch (op) {
        INFINI_FUNCTION(ADD, uint64_t(a) + uint64_t(b));
        INFINI_FUNCTION(SUB, uint64_t(a) - uint64_t(b));
        INFINI_FUNCTION(MUL, uint64_t(a) * uint64_t(b));
        INFINI_FUNCTION(DIV, quotient_of(a, b));
        INFINI_FUNCTION(FMOD, remainder_of(a, b));
        INFINI_FUNCTION(POWER, integer_power(a, b));
        INFINI_FUNCTION(NEG, negative(a));
        INFINI_FUNCTION(ABSOLUTE, magnitude_of(a));
        INFINI_FUNCTION(SIGNBIT, a < V(0));
        INFINI_FUNCTION(ISINF, false);
        INFINI_FUNCTION(FLOOR, a);
        INFINI_FUNCTION(CEIL, a);
        INFINI_FUNCTION(TRUNC, a);
        INFINI_FUNCTION(NEAREST, a);
        INFINI_FUNCTION(GCD, common_divisor(a, b));
        INFINI_FUNCTION(LCM, common_multiple(a, b));
        INFINI_FUNCTION(LSHIFT, shift_left(a, b));
        INFINI_FUNCTION(RSHIFT, shift_right(a, b));
        INFINI_FUNCTION(BITAND, a & b);
        INFINI_FUNCTION(BITOR, a | b);
        INFINI_FUNCTION(BITXOR, a ^ b);
        INFINI_FUNCTION(BITNOT, ~a);
    }
    return nullptr;
}

inline Function<double> float_function(int op) {
    using V = double;
    switch (op) {
        INFINI_FUNCTION(ADD, a + b);
        INFINI_FUNCTION(SUB, a - b);
        INFINI_FUNCTION(MUL, a * b);
        INFINI_FUNCTION(DIV, a / b);
        INFINI_FUNCTION(FMOD, std::fmod(a, b));
        INFINI_FUNCTION(POWER, std::pow(a, b));
        INFINI_FUNCTION(HYPOT, std::hypot(a, b));
        INFINI_FUNCTION(NEG, -a);
        INFINI_FUNCTION(ABSOLUTE, std::fabs(a));
        INFINI_FUNCTION(COPYSIGN, std::copysign(a, b));
        INFINI_FUNCTION(SIGNBIT, std::signbit(a));
        INFINI_FUNCTION(ISINF, std::isinf(a));
        INFINI_FUNCTION(FLOOR, std::floor(a));
        INFINI_FUNCTION(CEIL, std::ceil(a));
        INFINI_FUNCTION(TRUNC, std::trunc(a));
        INFINI_FUNCTION(NEAREST, std::nearbyint(a));  // ties to even
        INFINI_FUNCTION(MANTISSA, mantissa_of(a));
        INFINI_FUNCTION(EXPONENT, exponent_of(a));
        INFINI_FUNCTION(NEXTAFTER, std::nextafter(a, b));
        INFINI_FUNCTION(SQRT, std::sqrt(a));
        INFINI_FUNCTION(RSQRT, 1 / std::sqrt(a));
        INFINI_FUNCTION(EXP, std::exp(a));
        INFINI_FUNCTION(EXP2, std::exp2(a));
        INFINI_FUNCTION(EXPM1, std::expm1(a));
        INFINI_FUNCTION(LOG, std::log(a));
        INFINI_FUNCTION(LOG2, std::log2(a));
        INFINI_FUNCTION(LOG10, std::log10(a));
        INFINI_FUNCTION(LOG1P, std::log1p(a));
        INFINI_FUNCTION(SIN, std::sin(a));
        INFINI_FUNCTION(COS, std::cos(a));
        INFINI_FUNCTION(TAN, std::tan(a));
        INFINI_FUNCTION(ASIN, std::asin(a));
        INFINI_FUNCTION(ACOS, std::acos(a));
        INFINI_FUNCTION(ATAN, std::atan(a));
        INFINI_FUNCTION(ATAN2, std::atan2(a, b));
        INFINI_FUNCTION(SINH, std::sinh(a));
        INFINI_FUNCTION(COSH, std::cosh(a));
        INFINI_FUNCTION(TANH, std::tanh(a));
        INFINI_FUNCTION(ASINH, std::asinh(a));
        INFINI_FUNCTION(ACOSH, std::acosh(a));
        INFINI_FUNCTION(ATANH, std::atanh(a));
        INFINI_FUNCTION(ERF, std::erf(a));
        INFINI_FUNCTION(ERFC, std::erfc(a));
        INFINI_FUNCTION(ONE_PLUS_ERF, std::erfc(-a));
        INFINI_FUNCTION(ERFINV, inverse_erf(a));
        INFINI_FUNCTION(LGAMMA, log_gamma(a));
        INFINI_FUNCTION(DIGAMMA, digamma_of(a));
    }
    return nullptr;
}

#undef INFINI_FUNCTION

// Null if there is no such function for these values. `single`: no tensor is wider than F32.
template <class V>
Function<V> function_of(int op, [[maybe_unused]] bool single) {
    if (Function<V> found = common_function<V>(op)) return found;
    if constexpr (std::is_integral_v<V>) {
        return integer_function<V>(op);
    } else {
        // The next representable number depends on the type, and values here are always doubles.
        if (single && op == INFINI_NODE_NEXTAFTER)
            return [](V a, V b, V) -> V { return std::nextafter(float(a), float(b)); };
        return float_function(op);
    }
}

}  // namespace infini::plain
