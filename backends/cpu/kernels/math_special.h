// Powers, and functions computed by their own series.
#pragma once

#include "math_log.h"

namespace infini::cpu {

namespace detail {
template <class T>
T power_integer(T base, T exponent) {
    using U = std::make_unsigned_t<T>;
    if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent & 1 ? -1 : 1) : 0;
    U result = 1, factor = U(base);
    for (U e = U(exponent); e; e >>= 1, factor *= factor)
        if (e & 1) result *= factor;
    return T(result);
}

// x^y for doubles x >= 0 to the precision of float, as 2^(y log2 x).
template <class D>
INFINI_SIMD D power_wide(D x, D y) {
    using U = Like<D, uint64_t>;
    constexpr double kRounder = 0x1.8p52, kInf = std::numeric_limits<double>::infinity();
    constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
    // log2((1 + s) / (1 - s)) / s and 2^f, as series
    constexpr double kLog[] = {2.8853900817779268,  0.96179669392597560, 0.57707801635558536,
                               0.41219858311113240, 0.32059889797532520, 0.26230818925253880,
                               0.22195308321368667, 0.19235933878519511};
    constexpr double kExp[] = {1.0,
                               0.69314718055994531,
                               0.24022650695910071,
                               0.055504108664821580,
                               0.0096181291076284772,
                               0.0013333558146428443,
                               0.00015403530393381609,
                               1.5252733804059840e-05,
                               1.3215486790144309e-06,
                               1.0178086009239699e-07};
    U u = as<U>(x), w = u - (kSqrtHalf - kOne);
    D k = as<D>(U((w >> 52) + std::bit_cast<uint64_t>(kRounder))) - (kRounder + 1023);
    D mantissa = as<D>(U(u - (w & 0xfff0000000000000) + kOne));
    D s = (mantissa - 1.0) / (mantissa + 1.0);
    D log = fma(s, polynomial(D(s * s), kLog), k);
    log = select(x == D{}, broadcast<D>(-1e300), select(x < broadcast<D>(kInf), log, x));
    // The limits exceed the range of float; an infinite y times 0 must give 0.
    D product = at_least(at_most(log * at_least(at_most(y, 1e300), -1e300), 300.0), -300.0);
    D t = product + kRounder;
    D scale = as<D>(U((as<U>(t) + 1023) << 52));
    return polynomial(D(product - (t - kRounder)), kExp) * scale;
}

// x^y of floats or doubles.
template <class V>
INFINI_SIMD V power_of_floats(V x, V y) {
    using E = Element<V>;
    const V zero{}, one = broadcast<V>(1);
    V size;
    if constexpr (kDoubles<V>)
        size = wide_power(absolute(x), y);
    else
        size = in_wide(absolute(x), y, [](auto a, auto b) { return power_wide(a, b); });
    V half = y * E(0.5);
    auto whole = trunc(y) == y, odd = whole & (trunc(half) != half);
    V result = select(odd, copysign(size, x), size);
    // For negative x other than -inf the result is real only if y is an integer.
    auto unreal = (x < zero) & ~whole & (x > broadcast<V>(-std::numeric_limits<E>::infinity()));
    result = select(unreal, broadcast<V>(std::numeric_limits<E>::quiet_NaN()), result);
    return select((x == one) | (y == zero), one, result);
}

// log x for normal doubles x > 0.
template <class D>
INFINI_SIMD D log_wide(D x) {
    using U = Like<D, uint64_t>;
    constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
    // log((1 + s) / (1 - s)) / s
    constexpr double kLog[] = {2. / 1,  2. / 3,  2. / 5,  2. / 7,  2. / 9,  2. / 11,
                               2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21, 2. / 23};
    U u = as<U>(x), w = u - (kSqrtHalf - kOne);
    D k = as<D>(U((w >> 52) + std::bit_cast<uint64_t>(0x1.8p52))) - (0x1.8p52 + 1023);
    D mantissa = as<D>(U(u - (w & 0xfff0000000000000) + kOne));
    D s = (mantissa - 1.0) / (mantissa + 1.0);
    return fma(k, broadcast<D>(0x1.62e42fefa39efp-1), s * polynomial(D(s * s), kLog));
}

// The logarithm of the gamma function for doubles that hold floats: Stirling's series from 8 on,
// and a product below. Left of 1/2 it is reflected: gamma(x) gamma(1 - x) = pi / sin(pi x).
template <class D>
INFINI_SIMD D lgamma_wide(D x) {
    constexpr double kSeries[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                                  1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
    constexpr double kSin[] = {
        3.141592653589793,      -5.167712780049969,
        2.550164039877345,      -0.5992645293207919,
        0.08214588661112819,    -0.007370430945714348,
        0.00046630280576761234, -2.1915353447830204e-05,
        7.952054001475508e-07,  -2.2948428997269856e-08,
        5.392664662608125e-10,  -1.0518471716932054e-11};  // sin(pi r) divided by r
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kLogPi = 0x1.250d048e7a1bdp0, kHalfLogTwoPi = 0x1.d67f1c864beb5p-1;
    const D one = broadcast<D>(1);
    auto left = x < broadcast<D>(0.5);
    D z = select(left, one - x, x);
    auto small = z < broadcast<D>(8);
    D product =
        z * (z + 7.0) * ((z + 1.0) * (z + 6.0)) * ((z + 2.0) * (z + 5.0)) * ((z + 3.0) * (z + 4.0));
    D s = select(small, z + 8.0, z), inverse = one / s;
    D series = fma(s - 0.5, log_wide(s), -s) + kHalfLogTwoPi;
    series = fma(inverse, polynomial(D(inverse * inverse), kSeries), series);
    D r = x - nearest(x), sine = absolute(D(r * polynomial(D(r * r), kSin)));
    D factor = select(small, product, one) / select(left, sine, one);
    D rest = log_wide(factor);
    D y = select(left, kLogPi - series + rest, series - rest);
    y = select((x == one) | (x == broadcast<D>(2)), D{}, y);
    // Poles, including numbers that are so large that they have no fraction.
    auto pole = left & (r == D{});
    return select(pole | (absolute(x) == broadcast<D>(kInf)), broadcast<D>(kInf), y);
}

// The digamma function to the precision of float, computed as in lgamma_wide. The product of z to z
// + 7 is w (w + 6) (w + 10) (w + 12) with w = z (z + 7).
template <class D>
INFINI_SIMD D digamma_wide(D x) {
    constexpr double kSeries[] = {1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                                  1. / 132, -691. / 32760, 1. / 12};
    constexpr double kProduct[] = {720, 252, 28, 1}, kSlope[] = {720, 504, 84, 4};
    // sin(pi r) / (pi r), and cos(pi r).
    constexpr double kSin[] = {1,
                               -1.6449340668482264,
                               0.8117424252833536,
                               -0.19075182412208422,
                               0.0261478478176548,
                               -0.0023460810354558235,
                               0.000148428793031071,
                               -6.975873661656381e-06,
                               2.5312174041370274e-07,
                               -7.304711822217775e-09,
                               1.7165384749821432e-10,
                               -3.3481335350440666e-12};
    constexpr double kCos[] = {1.0,
                               -4.934802200544679,
                               4.0587121264167685,
                               -1.3352627688545895,
                               0.2353306303588932,
                               -0.02580689139001406,
                               0.0019295743094039231,
                               -0.0001046381049248457,
                               4.303069587032947e-06,
                               -1.3878952462213771e-07,
                               3.604730797462501e-09,
                               -7.700707130601354e-11};
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const D one = broadcast<D>(1);
    const auto left = x < broadcast<D>(0.5);
    const D z = select(left, one - x, x), w = z * (z + 7.0);
    const auto small = z < broadcast<D>(8);
    const D s = select(small, z + 8.0, z), inverse = one / s, square = inverse * inverse;
    const D shift = (z + z + 7.0) * polynomial(w, kSlope) / (w * polynomial(w, kProduct));
    D y = log_wide(s) - 0.5 * inverse - square * polynomial(square, kSeries);
    y = select(z == broadcast<D>(kInf), z, y - select(small, shift, D{}));
    // psi(x) = psi(1 - x) - pi cot(pi x)
    const D r = x - nearest(x), rr = r * r;
    y = y - select(left, polynomial(rr, kCos) / (r * polynomial(rr, kSin)), D{});
    // As torch: -inf at 0 (+inf at -0), NaN at the negative integers.
    const D pole = select(x == D{}, copysign(broadcast<D>(kInf), -x), broadcast<D>(kInf - kInf));
    return select(left & (r == D{}), pole, y);
}

// For x >= 1. On [1, 2] the root is a factor, so that the result is accurate next to it.
inline double digamma_positive(double x) {
    if (x >= 10) {
        constexpr double kSeries[] = {1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                                      1. / 132, -691. / 32760, 1. / 12};
        double z = 1 / (x * x);
        return std::log(x) - 0.5 / x - z * polynomial(z, kSeries);
    }
    double sum = 0;
    for (; x > 2; sum += 1 / x) x -= 1;
    constexpr double kY = 0.99558162689208984;
    constexpr double kP[] = {0.25479851061131551,  -0.32555031186804491,  -0.65031853770896507,
                             -0.28919126444774784, -0.045251321448739056, -0.0020713321167745952};
    constexpr double kQ[] = {1.0,
                             2.0767117023730469,
                             1.4606242909763515,
                             0.43593529692665969,
                             0.054151797245674225,
                             0.0021284987017821144,
                             -0.55789841321675513e-6};
    double g = x - 1569415565.0 / 1073741824;
    g -= 381566830.0 / 1073741824 / 1073741824;
    g -= 0.9016312093258695918615325266959189453125e-19;
    return sum + g * kY + g * (polynomial(x - 1, kP) / polynomial(x - 1, kQ));
}

// As torch: -inf at 0 (+inf at -0), NaN at the negative integers.
inline double digamma_scalar(double x) {
    if (x >= 1) return digamma_positive(x);
    if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
    if (x > 0) return digamma_positive(x + 1) - 1 / x;
    double fraction = x - std::nearbyint(x);
    if (!(fraction != 0)) return std::numeric_limits<double>::quiet_NaN();
    constexpr double kPi = 3.14159265358979323846;
    return digamma_positive(1 - x) - kPi / std::tan(kPi * fraction);
}

// Starts from Giles' approximation (2012); Halley's iterations follow, on the side without
// cancellation.
inline double erfinv_scalar(double y) {
    constexpr double kCentral[] = {1.50140941,     0.246640727,    -0.00417768164,
                                   -0.00125372503, 0.00021858087,  -4.39150654e-06,
                                   -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
    constexpr double kTail[] = {2.83297682,    1.00167406,     0.00943887047,
                                -0.0076224613, 0.00573950773,  -0.00367342844,
                                0.00134934322, 0.000100950558, -0.000200214257};
    const double a = std::fabs(y);
    if (!(a < 1)) return a == 1 ? y * std::numeric_limits<double>::infinity() : NAN;
    const double w = -std::log((1 - a) * (1 + a));
    double x = a * (w < 5 ? polynomial(w - 2.5, kCentral) : polynomial(std::sqrt(w) - 3, kTail));
    constexpr double kSlope = 1.12837916709551257390;  // the slope of erf at 0: 2 / sqrt(pi)
    const bool far = w > 16;  // out of the polynomials' range: starts from an asymptotic formula
    if (far) x = std::sqrt(w - 0.5 * std::log(3.14 * w) - 0.69);
    for (int i = 0; i < (far ? 4 : 2); ++i) {
        double off = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
        double step = off / (kSlope * std::exp(-x * x));
        x -= step / (1 + x * step);
    }
    return std::copysign(x, y);
}
}  // namespace detail

template <class V>
INFINI_SIMD V digamma(V x) {
    if constexpr (detail::kFloats<V> && kIsVector<V>)
        return detail::in_wide(x, [](auto wide) { return detail::digamma_wide(wide); });
    return detail::in_double(x, [](double lane) { return detail::digamma_scalar(lane); });
}
template <class V>
INFINI_SIMD V lgamma(V x) {
    if constexpr (detail::kFloats<V> && kIsVector<V>) {
        return detail::in_wide(x, [](auto wide) { return detail::lgamma_wide(wide); });
    } else {
        // Not std::lgamma, which stores the sign in a global variable.
        return detail::in_double(x, [](double lane) {
            int sign = 0;
            return ::lgamma_r(lane, &sign);
        });
    }
}
namespace detail {
// For floats, by polynomials in -log(1 - y^2) (Giles, 2012).
template <class V>
INFINI_SIMD V erfinv_float(V y) {
    constexpr float kCentral[] = {1.50140941f,     0.246640727f,    -0.00417768164f,
                                  -0.00125372503f, 0.00021858087f,  -4.39150654e-06f,
                                  -3.5233877e-06f, 3.43273939e-07f, 2.81022636e-08f};
    constexpr float kTail[] = {2.83297682f,    1.00167406f,     0.00943887047f,
                               -0.0076224613f, 0.00573950773f,  -0.00367342844f,
                               0.00134934322f, 0.000100950558f, -0.000200214257f};
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const V one = broadcast<V>(1), w = -log(V((one - y) * (one + y)));
    const V near = horner(V(w - 2.5f), kCentral), far = horner(V(sqrt(w) - 3.0f), kTail);
    const V made = y * select(w < broadcast<V>(5), near, far);
    return select(absolute(y) == one, y * kInf, made);
}
}  // namespace detail

template <class V>
INFINI_SIMD V erfinv(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::erfinv_float(x);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_erfinv(x);
    else
        return detail::in_double(x, [](double lane) { return detail::erfinv_scalar(lane); });
}

template <class V>
INFINI_SIMD V power(V a, V b) {
    if constexpr (detail::kIntegers<V>)
        return each(a, b, [](Element<V> p, Element<V> q) { return detail::power_integer(p, q); });
    else if constexpr ((detail::kFloats<V> && kIsVector<V>) || detail::kDoubles<V>)
        return detail::power_of_floats(a, b);
    else
        return detail::in_double(a, b, [](double p, double q) { return std::pow(p, q); });
}

}  // namespace infini::cpu
