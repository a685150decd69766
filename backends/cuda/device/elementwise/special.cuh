// Special functions of two arguments whose loop counts depend on the data: orthogonal polynomials,
// the Hurwitz zeta function, the incomplete gamma functions. One thread per element, in double
// precision.
#pragma once

#include "places.h"

namespace infini {

struct SpecialParams {
    void *to;
    const void *first, *second;
    Places<3> places;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "functions.cuh"

namespace infini {

// ---- Orthogonal polynomials ---------------------------------------------------------------------

#ifdef INFINI_KERNEL_SPECIAL_POLYNOMIAL
// Numbered as the operator's `kind`.
INFINI_DEVICE double degree_one(double x) {
    if (kKind == 6) return 1 - x;
    const double scale = kKind == 0 || kKind == 5 || kKind == 7 ? 1 : 2;
    return scale * x + (kKind == 2 ? -1 : kKind == 3 ? 1 : 0);
}

// Degree k + 1 from degrees k and k - 1.
INFINI_DEVICE double next_degree(double x, double k, double last, double before) {
    if (kKind < 4) return 2 * x * last - before;
    if (kKind < 6) return (x * last - before * k) * (kKind == 4 ? 2 : 1);
    if (kKind == 6) return ((2 * k + 1 - x) * last - before * k) / (k + 1);
    return (x * last * (2 * k + 1) - before * k) / (k + 1);
}

// Degree n for y >= 0: f((n + shift) a) / f(shift a), where f = cos or sin and y = cos a, or f =
// cosh or sinh and y = cosh a.
static INFINI_APART double by_angle(int kind, double y, double n) {
    if (y == 1 && (kind == 1 || kind == 3)) return kind == 1 ? n + 1 : 2 * n + 1;
    const double shift = kind == 0 ? 0 : kind == 1 ? 1 : 0.5, times = n + shift;
    const bool cosine = kind == 0 || kind == 2;
    if (y < 1) {
        const double a = ::acos(y);
        if (cosine) return ::cos(times * a) / ::cos(shift * a);
        return ::sin(times * a) / ::sin(shift * a);
    }
    const double beyond = y - 1, a = ::log1p(beyond + ::sqrt(beyond * (beyond + 2)));
    if (cosine) return ::cosh(times * a) / ::cosh(shift * a);
    return ::sinh(times * a) / ::sinh(shift * a);
}

// By symmetry, values at x < 0 equal values at -x up to sign; the third and fourth kinds mirror
// each other.
INFINI_DEVICE double of_high_degree(double x, double n) {
    if (!(x < 0)) return by_angle(kKind, x, n);
    const double made = by_angle(kKind == 2 ? 3 : kKind == 3 ? 2 : kKind, -x, n);
    return ::fmod(n, 2.0) != 0 ? -made : made;
}

INFINI_DEVICE double evaluated(double x, double degree) {
    if (kShifted) x = 2 * x - 1;
    const double n = ::trunc(degree);
    if (n < 0) return 0;
    if (!(n <= kMost)) return kKind < 4 ? of_high_degree(x, n) : not_a_number<double>();
    double before = 1, last = degree_one(x);
    if (n < 1) return before;
    INFINI_ROLLED
    for (double k = 1; k < n; k += 1) {
        const double next = next_degree(x, k, last, before);
        before = last, last = next;
    }
    return last;
}
#endif

// ---- Zeta ---------------------------------------------------------------------------------------

#ifdef INFINI_KERNEL_SPECIAL_ZETA
// The sum of (q + k)^-s for q > 0: leading terms, and the Euler-Maclaurin formula for the rest.
static INFINI_APART double zeta_above(double s, double q) {
    const double kBernoulli[] = {// B_2k / (2k)!, from k = 1 on
                                 1. / 12,
                                 -1. / 720,
                                 1. / 30240,
                                 -1. / 1209600,
                                 1. / 47900160,
                                 -691. / 1307674368000,
                                 1. / 74724249600,
                                 -3617. / 10670622842880000,
                                 43867. / 5109094217170944000,
                                 -174611. / 802857662698291200000.};
    double total = 0;
    INFINI_ROLLED
    for (int k = 0; k < 12; ++k) {
        const double term = ::pow(q + k, -s);
        total += term;
        if (term < total * 0x1p-60) return total;
    }
    const double a = q + 12, power = ::pow(a, -s);
    total += power * a / (s - 1) + power * 0.5;
    double factor = s * power / a;  // s (s + 1) ... a^(-s - 2k + 1)
    INFINI_ROLLED
    for (int k = 1; k <= 10; ++k) {
        total += factor * kBernoulli[k - 1];
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (a * a);
    }
    return total;
}

INFINI_DEVICE double evaluated(double s, double q) {
    if (!(s > 1) || !(q == q)) return s == 1 ? infinity<double>() : not_a_number<double>();
    if (q > 0) return zeta_above(s, q);
    if (q == ::floor(q)) return infinity<double>();
    if (s != ::floor(s)) return not_a_number<double>();
    // By reflection, the terms below 0 are another such sum, up to sign.
    const double rest = q - ::floor(q), sign = ::fmod(s, 2.0) != 0 ? -1 : 1;
    return zeta_above(s, rest) + sign * (zeta_above(s, 1 - rest) - zeta_above(s, 1 - q));
}
#endif

// ---- Incomplete gamma functions -----------------------------------------------------------------

#ifdef INFINI_KERNEL_SPECIAL_GAMMA
// x^a e^-x / gamma(a). For large a the logarithms would cancel, so Stirling's series is used.
static INFINI_APART double gamma_factor(double a, double x) {
    if (a < 10) return ::exp(a * ::log(x) - (x + ::lgamma(a)));
    const double kSeries[] = {-1. / 12, 1. / 360, -1. / 1260, 1. / 1680, -1. / 1188, 691. / 360360};
    const double share = (x - a) / a, inverse = 1 / a;
    const double log_of =
        a * (::log1p(share) - share) + inverse * detail::polynomial(inverse * inverse, kSeries);
    return ::exp(log_of) * ::sqrt(a * 0.15915494309189535);
}

// Terms below this part of a sum do not change the result.
inline constexpr double kNegligible = kSame<T, double> ? 0x1p-54 : 0x1p-32;
// Numerators and denominators above it are scaled down, by a power of two.
inline constexpr double kGreat = 0x1p+300;

// The lower function: the sum of x^(a + k) e^-x / gamma(a + k + 1), with a common denominator,
// because divisions take long.
static INFINI_APART double lower_series(double a, double x) {
    double power = 1, numerator = 1, denominator = 1;
    INFINI_ROLLED
    for (int k = 1; k < 1000 && power > numerator * kNegligible; ++k) {
        if (numerator > kGreat)
            power *= 1 / kGreat, numerator *= 1 / kGreat, denominator *= 1 / kGreat;
        power *= x, denominator *= a + k;
        numerator = numerator * (a + k) + power;
    }
    const double total = numerator / denominator;
    // Avoids dividing by a, which may be close to 0.
    if (a < 9) return total * ::exp(a * ::log(x) - (x + ::lgamma(a + 1)));
    return total * gamma_factor(a, x) / a;
}

// The upper function for x > a + 1 as a continued fraction, by the recurrence of its convergents.
static INFINI_APART double upper_fraction(double a, double x) {
    const double factor = gamma_factor(a, x);
    if (!(factor > 0)) return 0;  // for great x, where products overflow
    double b = x + 1 - a, top = 1, bottom = b, last_top = 0, last_bottom = 1;
    INFINI_ROLLED
    for (int i = 1; i < 1000; ++i) {
        const double numerator = (a - i) * i;
        b += 2;
        const double next_top = b * top + numerator * last_top;
        const double next_bottom = b * bottom + numerator * last_bottom;
        last_top = top, last_bottom = bottom, top = next_top, bottom = next_bottom;
        // The difference from the last convergent, compared without a division.
        const double now = top * last_bottom, before = last_top * bottom;
        if (::fabs(now - before) <= ::fabs(now) * kNegligible) break;
        if (::fabs(bottom) > kGreat) {
            top *= 1 / kGreat, bottom *= 1 / kGreat;
            last_top *= 1 / kGreat, last_bottom *= 1 / kGreat;
        }
    }
    return top / bottom * factor;
}

// The lower function if x < a, otherwise the upper one: the integral of e^(-|a - x| s - x (e^s - 1
// - s)), with -s for the lower one, by the trapezoidal rule in w with s = scale e^(w - e^-w), whose
// error decreases faster than any power of the step.
static INFINI_APART double smaller_integral(double a, double x) {
    const double apart = ::fabs(a - x), scale = 1 / (apart + ::sqrt(x)), step = 8.0 / 104;
    double total = 0;
    INFINI_ROLLED
    for (int i = 0; i < 104; ++i) {
        const double w = i * step - 4, shrunk = ::exp(-w), s = scale * ::exp(w - shrunk);
        const double turned = x < a ? -s : s;
        const double power = x * (::expm1(turned) - turned) + apart * s;
        total += s * (shrunk + 1) * step * ::exp(-power);
    }
    return total * gamma_factor(a, x);
}

INFINI_DEVICE double evaluated(double a, double x) {
    const double none = kUpper ? 1 : 0, endless = infinity<double>();
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == endless && x == endless))
        return not_a_number<double>();
    if (a == 0 || (x == endless && a != endless)) return 1 - none;
    if (x == 0 || a == endless) return none;
    const bool series = x < 1.5 || (a < 400 && x < a + 1);
    const double made = series    ? lower_series(a, x)
                        : a < 400 ? upper_fraction(a, x)
                                  : smaller_integral(a, x);
    const bool is_lower = series || (a >= 400 && x < a);
    return is_lower == bool(kUpper) ? 1 - made : made;
}
#endif

}  // namespace infini

using namespace infini;

INFINI_ENTRY(SpecialParams, 256, 1) {
    const int64_t index = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (index >= p.places.count) return;
    int64_t at[3];
    p.places.at(index, at);
    const double x = convert<double>(static_cast<const T *>(p.first)[at[1]]);
    const double y = convert<double>(static_cast<const T *>(p.second)[at[2]]);
    static_cast<T *>(p.to)[at[0]] = convert<T>(evaluated(x, y));
}

#endif  // INFINI_DEVICE
