// Powers, and functions computed by their own series.
#pragma once

namespace infini {

namespace detail {
// c[0] + c[1] x + c[2] x^2 + ...
template <int count>
INFINI_DEVICE double polynomial(double x, const double (&c)[count]) {
    double y = c[count - 1];
#pragma unroll
    for (int i = count - 2; i >= 0; --i) y = y * x + c[i];
    return y;
}

// For x >= 1. On [1, 2] the root is a factor, so that the result is accurate near it.
static INFINI_APART double digamma_positive(double x) {
    if (x >= 10) {
        const double kSeries[] = {1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                                  1. / 132, -691. / 32760, 1. / 12};
        const double z = 1 / (x * x);
        return ::log(x) - 0.5 / x - z * polynomial(z, kSeries);
    }
    // The sum of 1 / x as a fraction, because divisions take long.
    double sum = 0, divisor = 1;
    for (; x > 2; divisor *= x) {
        x -= 1;
        sum = sum * x + divisor;
    }
    const double kY = 0.99558162689208984;
    const double kP[] = {0.25479851061131551,  -0.32555031186804491,  -0.65031853770896507,
                         -0.28919126444774784, -0.045251321448739056, -0.0020713321167745952};
    const double kQ[] = {1.0,
                         2.0767117023730469,
                         1.4606242909763515,
                         0.43593529692665969,
                         0.054151797245674225,
                         0.0021284987017821144,
                         -0.55789841321675513e-6};
    double g = x - 1569415565.0 / 1073741824;
    g -= 381566830.0 / 1073741824 / 1073741824;
    g -= 0.9016312093258695918615325266959189453125e-19;
    return sum / divisor + g * kY + g * (polynomial(x - 1, kP) / polynomial(x - 1, kQ));
}

// Like torch: -inf at 0 (+inf at -0), NaN at the negative integers.
static INFINI_APART double digamma_of(double x) {
    if (x >= 1) return digamma_positive(x);
    if (x == 0) return ::copysign(infinity<double>(), -x);
    if (x > 0) return digamma_positive(x + 1) - 1 / x;
    const double fraction = x - ::rint(x);
    if (!(fraction != 0)) return not_a_number<double>();
    const double kPi = 3.14159265358979323846;
    return digamma_positive(1 - x) - kPi / ::tan(kPi * fraction);
}

// Starts from Giles' approximation (2012); Halley iterations follow, on the side without
// cancellation.
static INFINI_APART double erfinv_of(double y) {
    const double kCentral[] = {1.50140941,     0.246640727,    -0.00417768164,
                               -0.00125372503, 0.00021858087,  -4.39150654e-06,
                               -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
    const double kTail[] = {2.83297682,    1.00167406,     0.00943887047,
                            -0.0076224613, 0.00573950773,  -0.00367342844,
                            0.00134934322, 0.000100950558, -0.000200214257};
    const double a = ::fabs(y);
    if (!(a < 1)) return a == 1 ? y * infinity<double>() : not_a_number<double>();
    const double w = -::log((1 - a) * (1 + a));
    double x = a * (w < 5 ? polynomial(w - 2.5, kCentral) : polynomial(::sqrt(w) - 3, kTail));
    const double kSlope = 1.12837916709551257390;  // derivative of erf at 0: 2 / sqrt(pi)
    const bool far = w > 16;  // out of the polynomials' range: starts from an asymptotic formula
    if (far) x = ::sqrt(w - 0.5 * ::log(3.14 * w) - 0.69);
    for (int i = 0; i < (far ? 4 : 2); ++i) {
        const double off = a < 0.5 ? ::erf(x) - a : (1 - a) - ::erfc(x);
        const double step = off / (kSlope * ::exp(-x * x));
        x -= step / (1 + x * step);
    }
    return ::copysign(x, y);
}
static INFINI_APART double lgamma_of(double x) { return ::lgamma(x); }

// Inlined: a call for each element of a vector would save registers and prevent overlap.
INFINI_DEVICE float power_of(float a, float b) {
    if constexpr (!kRough) return ::powf(a, b);
    const float size = ::fabsf(a), half = 0.5f * b;
    float y = ptx::exp2_approx(b * ::log2f(size));
    if (b == 0 || size == 1) y = 1.0f;  // also of NaN, and to the power of infinity
    if (a != a && b != 0) y = a;
    if (b != b && a != 1) y = b;
    const bool whole = ::truncf(b) == b, odd = whole && ::truncf(half) != half;
    if (::signbit(a) && odd) y = -y;
    return a < 0 && !whole && size < infinity<float>() ? not_a_number<float>() : y;
}
static INFINI_APART double power_of(double a, double b) { return ::pow(a, b); }
}  // namespace detail

template <class V>
INFINI_DEVICE V digamma(V x) {
    return V(detail::digamma_of(double(x)));
}
template <class V>
INFINI_DEVICE V lgamma(V x) {
    return V(detail::lgamma_of(double(x)));  // float loses precision near the roots
}
template <class V>
INFINI_DEVICE V erfinv(V x) {
    // Linear near 0, including subnormal numbers.
    const V linear = x * V(0.88622692545275801);
    if constexpr (kSame<V, float>)
        return ptx::select_below(absolute(x), 1e-4f, linear, ::erfinvf(x));
    else
        return absolute(x) < 1e-8 ? linear : detail::erfinv_of(x);
}

// Integers wrap; their negative powers are rounded towards 0.
template <class V>
INFINI_DEVICE V power(V a, V b) {
    if constexpr (kIsInteger<V>) {
        if (kIsSigned<V> && b < V(0))
            return a == 1 ? V(1) : a == V(-1) ? (b & 1 ? V(-1) : V(1)) : V(0);
        Unsigned<V> result = 1, factor = Unsigned<V>(a);
        for (Unsigned<V> e = Unsigned<V>(b); e; e >>= 1, factor *= factor)
            if (e & 1) result *= factor;
        return V(result);
    } else {
        return detail::power_of(a, b);
    }
}

}  // namespace infini
