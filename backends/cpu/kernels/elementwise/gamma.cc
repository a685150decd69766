// The Hurwitz zeta function and the incomplete gamma functions. Special values are handled first;
// the other elements are gathered into vectors, whose series stop when they have converged.
#include <algorithm>

#include "elementwise/pairs.h"

namespace infini::cpu {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr size_t kPiece = 256;

// Argument pairs to evaluate together, with the index and the weight of each in the results.
template <size_t most>
struct Collected {
    static constexpr size_t kRoom = most + kWidth<double>;
    alignas(64) double a[kRoom], b[kRoom], weight[kRoom];
    uint16_t at[kRoom];
    size_t count = 0;

    void add(double first, double second, size_t place, double times = 1) {
        a[count] = first, b[count] = second, weight[count] = times;
        at[count++] = uint16_t(place);
    }
    // y += weight f(a, b)
    template <class F>
    void into(double *y, F f) {
        if (count == 0) return;
        for (size_t i = count; i < kRoom && i % kWidth<double>; ++i)
            a[i] = a[count - 1], b[i] = b[count - 1];
        for (size_t i = 0; i < count; i += kWidth<double>) {
            alignas(64) double made[kWidth<double>];
            store(made, F64(f(load(a + i), load(b + i))));
            for (size_t j = i; j < std::min(count, i + kWidth<double>); ++j)
                y[at[j]] += weight[j] * made[j - i];
        }
        count = 0;
    }
};

// ---- Zeta ---------------------------------------------------------------------------------------

template <bool precise>
INFINI_SIMD F64 inverse_power(F64 a, F64 s) {
    if constexpr (precise)
        return each(a, s, [](double p, double q) { return std::pow(p, -q); });
    else
        return detail::power_wide(a, F64(-s));
}

// The sum of (q + k)^-s for q > 0: direct summation of the leading terms, and the Euler-Maclaurin
// formula for the rest.
template <bool precise>
[[gnu::noinline]] F64 zeta_above(F64 s, F64 q) {
    constexpr double kBernoulli[] = {// B_2k / (2k)!, from k = 1 on
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
    constexpr int kFirst = 12;  // terms summed directly
    F64 total{};
    for (int k = 0; k < kFirst; ++k) {
        const F64 term = inverse_power<precise>(F64(q + double(k)), s);
        total += term;
        if (all(term < total * 0x1p-60)) return total;
    }
    const F64 a = q + double(kFirst), power = inverse_power<precise>(a, s);
    const F64 inverse = 1.0 / a, square = inverse * inverse;
    total += power * a / (s - 1.0) + power * 0.5;
    F64 factor = s * power * inverse;  // s (s + 1) ... a^(-s - 2k + 1)
    for (int k = 1; k <= 10; ++k) {
        const F64 term = factor * kBernoulli[k - 1];
        total += term;
        if (all(absolute(term) < total * 0x1p-60)) break;
        factor = factor * ((s + (2.0 * k - 1)) * (s + 2.0 * k)) * square;
    }
    return total;
}

// For q < 0 the terms with q + k < 0 are, up to sign, the difference of two such sums.
void add_zeta(Collected<3 * kPiece> &sums, double s, double q, size_t at) {
    if (q > 0) return sums.add(s, q, at);
    const double rest = q - std::floor(q), sign = std::fmod(s, 2.0) != 0 ? -1 : 1;
    sums.add(s, rest, at);
    sums.add(s, 1 - rest, at, sign);
    sums.add(s, 1 - q, at, -sign);
}

template <bool precise>
void zeta(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n) {
    Collected<3 * kPiece> sums;
    each_piece<kPiece>(
        in, step, out, n, [&](const double *ss, const double *qs, double *y, size_t count) {
            for (size_t i = 0; i < count; i += kWidth<double>) {
                const F64 s = load(ss + i), q = load(qs + i), one = broadcast<F64>(1);
                const F64 nan = broadcast<F64>(kNan), inf = broadcast<F64>(kInf);
                const auto pole = (q <= F64{}) & (q == floor(q)), above = s > one;
                const auto terms = above & ((q > F64{}) | ((q < F64{}) & ~pole & (s == floor(s))));
                const F64 known = select((s == one) | (above & pole), inf, nan);
                store(y + i, F64(select(terms, F64{}, known)));
                if (!any(terms)) continue;
                const size_t end = std::min(count, i + kWidth<double>);
                for (size_t j = i; j < end; ++j)
                    if (terms[j - i]) add_zeta(sums, ss[j], qs[j], j);
            }
            sums.into(y, zeta_above<precise>);
        });
}

}  // namespace

std::unique_ptr<Plan> plan_zeta(const Operation &operation) {
    const bool precise = operation.tensor(0).dtype == INFINI_DTYPE_F64;
    return plan_pairs(operation, precise ? zeta<true> : zeta<false>, 400);
}

namespace {

// ---- Incomplete gamma functions -----------------------------------------------------------------

constexpr double kNear = 1.5;   // power series up to here and below a + 1
constexpr double kLarge = 400;  // from here on the series needs too many terms
constexpr int kMostTerms = 1000;

// x^a e^-x / gamma(a). For large a logarithms would cancel, so Stirling's series is used.
INFINI_SIMD F64 gamma_factor(F64 a, F64 x) {
    const F64 direct = exp(F64(a * log(x) - (x + detail::lgamma_wide(a))));
    const auto small = a < broadcast<F64>(10);
    if (all(small)) return direct;
    const F64 large = maximum(a, broadcast<F64>(10)), share = (x - large) / large;
    const F64 inverse = 1.0 / large;
    constexpr double kSeries[] = {-1. / 12,  1. / 360,   -1. / 1260,
                                  1. / 1680, -1. / 1188, 691. / 360360};
    const F64 log_of = large * (log1p(share) - share) +
                       inverse * detail::polynomial(F64(inverse * inverse), kSeries);
    return select(small, direct, exp(log_of) * sqrt(F64(large * 0.15915494309189535)));
}

// The lower incomplete function: the sum of x^(a + k) e^-x / gamma(a + k + 1).
[[gnu::noinline]] F64 lower_series(F64 a, F64 x, double least) {
    F64 term = broadcast<F64>(1), total = term;
    for (int k = 1; k < kMostTerms; ++k) {
        term = term * x / (a + double(k));
        total += term;
        if (all(term < total * least)) break;
    }
    // Avoids dividing by a, which may be close to 0.
    const F64 small = exp(F64(a * log(x) - (x + detail::lgamma_wide(F64(a + 1.0)))));
    return total * select(a < broadcast<F64>(9), small, gamma_factor(a, x) / a);
}

// The upper incomplete function for x > a + 1: a continued fraction, by Lentz's method.
[[gnu::noinline]] F64 upper_fraction(F64 a, F64 x, double least) {
    F64 b = x + 1.0 - a, c = broadcast<F64>(0x1p1000), d = 1.0 / b, h = d;
    for (int i = 1; i < kMostTerms; ++i) {
        const F64 numerator = (a - double(i)) * double(i);
        b = b + 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        const F64 change = c * d;
        h = h * change;
        if (all(absolute(F64(change - 1.0)) < broadcast<F64>(least))) break;
    }
    return h * gamma_factor(a, x);
}

// The lower function if x is below a, else the upper one: the integral of e^(-|a - x| s - x (e^s -
// 1 - s)), with -s for the lower one, by the trapezoidal rule in w with s = scale e^(w - e^-w),
// whose error decreases faster than any power of the step.
[[gnu::noinline]] F64 smaller_integral(F64 a, F64 x, double) {
    constexpr int kPoints = 104;
    constexpr double kStep = 8.0 / kPoints;
    const F64 apart = absolute(F64(a - x)), scale = 1.0 / (apart + sqrt(x));
    const auto lower = x < a;
    F64 total{};
    for (int i = 0; i < kPoints; ++i) {
        const double w = i * kStep - 4, shrunk = std::exp(-w);
        const F64 s = scale * std::exp(w - shrunk), signed_s = select(lower, -s, s);
        const F64 power = x * (expm1(signed_s) - signed_s) + apart * s;
        total += s * ((shrunk + 1) * kStep) * exp(F64(-power));
    }
    return total * gamma_factor(a, x);
}

template <bool upper, bool precise>
void incomplete(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n) {
    constexpr double kLeast = precise ? 0x1p-54 : 0x1p-36;
    constexpr double kNone = upper ? 1 : 0, kAll = upper ? 0 : 1;
    Collected<kPiece> series, fraction, above, below;
    each_piece<kPiece>(
        in, step, out, n, [&](const double *as, const double *xs, double *y, size_t count) {
            // The result is f or 1 - f.
            auto add = [&](auto &list, size_t i, bool is_lower) {
                const bool turned = is_lower == upper;
                y[i] = turned;
                list.add(as[i], xs[i], i, turned ? -1 : 1);
            };
            for (size_t i = 0; i < count; ++i) {
                const double a = as[i], x = xs[i];
                if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == kInf && x == kInf))
                    y[i] = kNan;
                else if (a == 0 || (x == kInf && a != kInf))
                    y[i] = kAll;
                else if (x == 0 || a == kInf)
                    y[i] = kNone;
                else if (x < kNear || (a < kLarge && x < a + 1))
                    add(series, i, true);
                else if (a < kLarge)
                    add(fraction, i, false);
                else if (x < a)
                    add(below, i, true);
                else
                    add(above, i, false);
            }
            const auto with = [](auto f) { return [=](F64 a, F64 x) { return f(a, x, kLeast); }; };
            series.into(y, with(lower_series));
            fraction.into(y, with(upper_fraction));
            below.into(y, with(smaller_integral));
            above.into(y, with(smaller_integral));
        });
}

}  // namespace

std::unique_ptr<Plan> plan_incomplete_gamma(const Operation &operation) {
    const bool precise = operation.tensor(0).dtype == INFINI_DTYPE_F64;
    if (operation.integer(0))
        return plan_pairs(operation, precise ? incomplete<true, true> : incomplete<true, false>,
                          600);
    return plan_pairs(operation, precise ? incomplete<false, true> : incomplete<false, false>, 600);
}

}  // namespace infini::cpu
