// The vector functions and conversions of the CPU's kernels against libm in double: a sample of all
// floats, and every value of the small types. `cpu_math_test 1` tries all floats (an hour).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"
#include "convert.h"
#include "functions.h"

using namespace infini::cpu;

namespace {

uint64_t stride = 2999;  // between the bit patterns that are tried; prime

// ---- Accuracy -----------------------------------------------------------------------------------

// The distance from the exact result in units of a float's last place there. Zeros of the wrong
// sign, and NaN or infinity for a number, are infinitely wrong.
double error_of(float y, double exact) {
    const float rounded = float(exact);
    if (std::isnan(exact) || std::isnan(y))
        return std::isnan(exact) && std::isnan(y) ? 0 : INFINITY;
    if (rounded == y && std::signbit(rounded) == std::signbit(y)) return 0;
    if (std::isinf(y)) exact = rounded;
    if (std::isinf(rounded) || std::isinf(y) || y == exact) return INFINITY;
    int exponent;
    std::frexp(exact, &exponent);
    return std::fabs(y - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct Function {
    const char *name;
    F32 (*vector)(F32);
    float (*scalar)(float);
    double (*exact)(double);
    double limit;  // units in the last place
};

#define FUNCTION(name, exact, limit)                                                        \
    {#name, [](F32 x) -> F32 { return name(x); }, [](float x) -> float { return name(x); }, \
     [](double x) -> double { return exact; }, limit}

const Function kFunctions[] = {
    FUNCTION(exp, std::exp(x), 2.25),
    FUNCTION(exp2, std::exp2(x), 2.25),
    FUNCTION(expm1, std::expm1(x), 2.25),
    FUNCTION(sigmoid, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)), 2.25),
    FUNCTION(tanh, std::tanh(x), 2.25),
    FUNCTION(sinh, std::sinh(x), 2.25),
    FUNCTION(cosh, std::cosh(x), 2.25),
    FUNCTION(log, std::log(x), 2),
    FUNCTION(log2, std::log2(x), 2),
    FUNCTION(log10, std::log10(x), 2),
    FUNCTION(log1p, std::log1p(x), 2),
    FUNCTION(asinh, std::asinh(x), 2.25),
    FUNCTION(acosh, std::acosh(x), 2.25),
    FUNCTION(atanh, std::atanh(x), 2.25),
    FUNCTION(sin, std::sin(x), 2.25),
    FUNCTION(cos, std::cos(x), 2.25),
    FUNCTION(tan, std::tan(x), 1),
    FUNCTION(asin, std::asin(x), 2.25),
    FUNCTION(acos, std::acos(x), 2.25),
    FUNCTION(atan, std::atan(x), 2.25),
    FUNCTION(erf, std::erf(x), 2),
    FUNCTION(erfc, std::erfc(x), 2.25),
    FUNCTION(sqrt, std::sqrt(x), 0.5),
    FUNCTION(rsqrt, 1 / std::sqrt(x), 2),
    FUNCTION(floor, std::floor(x), 0),
    FUNCTION(ceil, std::ceil(x), 0),
    FUNCTION(trunc, std::trunc(x), 0),
    FUNCTION(nearest, std::nearbyint(x), 0),
    FUNCTION(absolute, std::fabs(x), 0),
};

void accuracy() {
    const float ends[] = {0.0f,    -0.0f,     INFINITY, -INFINITY,     NAN,       1e-45f,
                          -1e-45f, 0x1p-126f, 1.0f,     -1.0f,         88.72283f, -103.97f,
                          10.05f,  0.5f,      3.4e38f,  -3.4028235e38f};
    std::vector<float> x;
    for (uint64_t pattern = 0; pattern >> 32 == 0; pattern += stride)
        x.push_back(std::bit_cast<float>(uint32_t(pattern)));
    x.insert(x.end(), std::begin(ends), std::end(ends));
    while (x.size() % kWidth<float>) x.push_back(1);
    for (const Function &function : kFunctions) {
        double worst = 0;
        float at = 0;
        for (size_t i = 0; i < x.size(); i += kWidth<float>) {
            F32 y = function.vector(load<F32>(&x[i]));
            for (size_t lane = 0; lane < kWidth<float>; ++lane) {
                float input = x[i + lane], scalar = function.scalar(input);
                CHECK(scalar == y[lane] || (scalar != scalar && y[lane] != y[lane]));
                double error = error_of(y[lane], function.exact(input));
                if (error > worst) worst = error, at = input;
            }
        }
        std::printf("  %-8s %.2f ulp at %a\n", function.name, worst, at);
        if (!(worst <= function.limit)) {
            std::printf("  more than %.2f: %.9g is not %.9g\n", function.limit, function.scalar(at),
                        function.exact(at));
            std::exit(1);
        }
    }
}

// ---- Doubles ------------------------------------------------------------------------------------

double error_of(double y, long double exact) {
    const double rounded = double(exact);
    if (std::isnan(rounded) || std::isnan(y))
        return std::isnan(rounded) && std::isnan(y) ? 0 : INFINITY;
    if (rounded == y && std::signbit(rounded) == std::signbit(y)) return 0;
    if (std::isinf(rounded) || std::isinf(y) || y == rounded) return INFINITY;
    int exponent;
    std::frexp(rounded, &exponent);
    return double(std::fabs(y - exact) /
                  std::ldexp(static_cast<long double>(1), std::max(exponent - 53, -1074)));
}

struct DoubleFunction {
    const char *name;
    F64 (*vector)(F64);
    long double (*exact)(long double);
    double limit;  // units in the last place
};

#define DOUBLE_FUNCTION(name, limit)              \
    {#name, [](F64 x) -> F64 { return name(x); }, \
     [](long double x) -> long double { return std::name(x); }, limit}

const DoubleFunction kDoubleFunctions[] = {
    DOUBLE_FUNCTION(exp, 2.5),   DOUBLE_FUNCTION(exp2, 2.5),  DOUBLE_FUNCTION(expm1, 2.5),
    DOUBLE_FUNCTION(tanh, 2.5),  DOUBLE_FUNCTION(sinh, 2.5),  DOUBLE_FUNCTION(cosh, 2.5),
    DOUBLE_FUNCTION(log, 2.5),   DOUBLE_FUNCTION(log2, 2.5),  DOUBLE_FUNCTION(log10, 2.5),
    DOUBLE_FUNCTION(log1p, 2.5), DOUBLE_FUNCTION(asinh, 2.5), DOUBLE_FUNCTION(acosh, 2.5),
    DOUBLE_FUNCTION(atanh, 2.5), DOUBLE_FUNCTION(sin, 2.5),   DOUBLE_FUNCTION(cos, 2.5),
    DOUBLE_FUNCTION(tan, 3.5),   DOUBLE_FUNCTION(asin, 2.5),  DOUBLE_FUNCTION(acos, 2.5),
    DOUBLE_FUNCTION(atan, 2.5),  DOUBLE_FUNCTION(erf, 2.5),   DOUBLE_FUNCTION(erfc, 4.5),
};

// Bit patterns of all magnitudes, and numbers where functions are neither 0 nor infinite.
void doubles() {
    const double ends[] = {
        0.0, -0.0,      INFINITY,  -INFINITY, NAN,  5e-324,   -5e-324,          0x1p-1022,
        1.0, -1.0,      709.78,    -745.13,   26.5, 0.5,      1.7e308,          -1.7e308,
        2.0, 0x1p-1023, 0x1.8p-30, -0.46875,  1e22, 1.570796, 3.141592653589793};
    std::vector<double> x(std::begin(ends), std::end(ends));
    uint64_t pattern = 0;
    for (int i = 0; i < 20000; ++i) {
        pattern = pattern * 6364136223846793005u + 1442695040888963407u;
        x.push_back(std::bit_cast<double>(pattern));
        const double unit = double(pattern >> 11) * 0x1p-53 - 0.5;
        for (double scale : {2.0, 20.0, 1400.0}) x.push_back(unit * scale);
    }
    while (x.size() % kWidth<double>) x.push_back(1);
    for (const DoubleFunction &function : kDoubleFunctions) {
        double worst = 0, at = 0;
        for (size_t i = 0; i < x.size(); i += kWidth<double>) {
            const F64 y = function.vector(load<F64>(&x[i]));
            for (size_t lane = 0; lane < kWidth<double>; ++lane) {
                const double error = error_of(y[lane], function.exact(x[i + lane]));
                if (error > worst) worst = error, at = x[i + lane];
            }
        }
        std::printf("  %-8s %.2f ulp at %a, doubles\n", function.name, worst, at);
        CHECK(worst <= function.limit);
    }
}

// Known values to 1e-14.
void special() {
    const double digammas[][2] = {{1, -0.57721566490153286061},   {0.5, -1.96351002602142347944},
                                  {-0.5, 0.03648997397857652056}, {10, 2.25175258906672110765},
                                  {1e-5, -100000.57719921568107}, {1000, 6.90725519564881205303},
                                  {1.4616321449683623413, 0}};
    for (auto [x, y] : digammas)
        CHECK(std::fabs(digamma(x) - y) <= 1e-14 * std::fmax(std::fabs(y), 1e-2));
    CHECK(digamma(0.0) == -INFINITY && digamma(-0.0) == INFINITY && std::isnan(digamma(-3.0)));
    for (double y : {1e-300, 1e-9, 0.1, 0.49, 0.51, 0.9, 0.999999, 1 - 0x1p-40, 1 - 0x1p-53}) {
        double x = erfinv(y), error = y < 0.5 ? std::erf(x) - y : (1 - y) - std::erfc(x);
        CHECK(std::fabs(error) <= 1e-14 * std::fmin(y, 1 - y) * (1 + 2 * x * x));
        CHECK(erfinv(-y) == -x);
    }
    CHECK(erfinv(1.0) == INFINITY && erfinv(-1.0f) == -INFINITY && std::isnan(erfinv(1.5)));
}

// ---- Functions of two numbers -------------------------------------------------------------------

template <class V, class F>
Element<V> first_lane(F f, Element<V> a, Element<V> b) {
    V y = f(broadcast<V>(a), broadcast<V>(b));
    for (size_t i = 1; i < kLanes<V>; ++i) CHECK(std::memcmp(&y[0], &y[i], sizeof(y[0])) == 0);
    return y[0];
}
#define PAIR(V, name, a, b) first_lane<V>([](V p, V q) { return name(p, q); }, a, b)

void pairs() {
    CHECK(std::isnan(PAIR(F32, maximum, 1, NAN)) && std::isnan(PAIR(F32, maximum, NAN, 1)));
    CHECK(std::isnan(PAIR(F64, minimum, 1, NAN)) && std::isnan(PAIR(F64, minimum, NAN, 1)));
    CHECK(PAIR(F32, fmax, 1, NAN) == 1 && PAIR(F32, fmax, NAN, 1) == 1 &&
          PAIR(F32, fmax, 1, 2) == 2);
    CHECK(PAIR(F64, fmin, 1, NAN) == 1 && PAIR(F64, fmin, NAN, 1) == 1 &&
          PAIR(F64, fmin, 1, 2) == 1);
    CHECK(PAIR(F32, floordiv, 7, -2) == -4 && PAIR(F32, mod, 7, -2) == -1);
    CHECK(PAIR(F32, fmod, -7, 2) == -1 && PAIR(F64, fmod, 1e300, 3) == std::fmod(1e300, 3));
    CHECK(PAIR(F32, floordiv, 1, 0) == INFINITY && std::isnan(PAIR(F32, mod, 1, 0)));
    CHECK(PAIR(I32, floordiv, -7, 2) == -4 && PAIR(I64, mod, -7, 2) == 1 &&
          PAIR(I64, fmod, -7, 2) == -1);
    CHECK(PAIR(I64, floordiv, 5, 0) == 0 && PAIR(I64, mod, 5, 0) == 0);
    CHECK(PAIR(I32, floordiv, INT32_MIN, -1) == INT32_MIN &&
          PAIR(I32, add, INT32_MAX, 1) == INT32_MIN);
    CHECK(PAIR(F32, power, -2, 3) == -8 && PAIR(F32, power, 0, 0) == 1 &&
          PAIR(I64, power, 3, 4) == 81);
    CHECK(PAIR(F32, hypot, 3e30f, 4e30f) == 5e30f && PAIR(F32, copysign, 1, -0.0f) == -1);
    CHECK(std::isnan(PAIR(F32, power, NAN, 2)) && PAIR(F32, power, NAN, 0) == 1);
    for (float base : {0.0f, -0.0f, 1.0f, -1.0f, 0.3f, -2.5f, 1e-45f, 3e38f, INFINITY, -INFINITY})
        for (float y : {0.0f, 1.0f, -1.0f, 2.0f, 3.0f, 0.5f, -0.37f, 1e9f, INFINITY, -INFINITY})
            CHECK(error_of(PAIR(F32, power, base, y), std::pow(double(base), double(y))) <= 1);
    float a[kWidth<float>];
    for (size_t i = 0; i < kWidth<float>; ++i) a[i] = float(i + 1);
    F32 v = load<F32>(a);
    CHECK(reduce_add(v) == kWidth<float> * (kWidth<float> + 1) / 2);
    CHECK(reduce_max(v) == kWidth<float> && reduce_min(v) == 1 && all(v > F32{}) &&
          !any(v < F32{}));
}

// ---- Conversions --------------------------------------------------------------------------------

// Rounds to a type with this many mantissa bits, minimum normal exponent and largest number; larger
// values become `above`.
double round_to(double x, int mantissa, int least, double greatest, double above) {
    if (std::isnan(x) || x == 0) return x;
    if (std::isinf(x)) return std::copysign(above, x);
    double unit = std::ldexp(1.0, std::max(std::ilogb(x), least) - mantissa);
    double y = std::nearbyint(x / unit) * unit;
    return std::fabs(y) > greatest ? std::copysign(above, x) : std::copysign(y, x);
}

bool same(double a, double b) {
    return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
}

template <class T>
void convert(int dtype, int mantissa, int least, double greatest, double above) {
    using Bits = decltype(T::bits);
    // Every value there and back, as a block and strided, to float and double.
    const size_t count = size_t(1) << 8 * sizeof(T);
    std::vector<T> all(count), back(count);
    std::vector<float> wide(count);
    std::vector<double> doubles(count);
    for (size_t i = 0; i < count; ++i) all[i].bits = Bits(i);
    to_f32(wide.data(), all.data(), dtype, count);
    to_f64(doubles.data(), all.data(), dtype, count);
    from_f32(back.data(), dtype, wide.data(), count);
    for (size_t i = 0; i < count; ++i) {
        CHECK(same(wide[i], load_as<float>(dtype, all.data(), i)) && same(wide[i], doubles[i]));
        CHECK(back[i].bits == all[i].bits || wide[i] != wide[i]);
        CHECK(same(to_float(back[i]), wide[i]));
    }
    // Floats and doubles, among them those halfway between two values and next to it.
    std::vector<float> x;
    for (uint64_t pattern = 0; pattern >> 32 == 0; pattern += stride / 8)
        x.push_back(std::bit_cast<float>(uint32_t(pattern)));
    for (size_t i = 0; i + 1 < count; ++i) {
        float middle = (wide[i] + wide[i + 1]) / 2;
        for (float y : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)})
            x.push_back(y);
    }
    std::vector<T> y(x.size() * 2);
    from_f32(y.data(), dtype, x.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
        CHECK(same(to_float(y[i]), round_to(x[i], mantissa, least, greatest, above)));
    from_f32(y.data(), dtype, x.data(), x.size(), 2);
    std::vector<double> z(x.begin(), x.end());
    for (size_t i = 0; i < x.size(); ++i) {
        CHECK(same(to_float(y[2 * i]), round_to(x[i], mantissa, least, greatest, above)));
        z[i] *= i % 3 ? 1 + (i % 3 == 1 ? 0x1p-40 : -0x1p-40) : 1;
    }
    from_f64(y.data(), dtype, z.data(), z.size());
    for (size_t i = 0; i < z.size(); ++i)
        CHECK(same(to_float(y[i]), round_to(z[i], mantissa, least, greatest, above)));
}

void conversions() {
    convert<f16>(INFINI_DTYPE_F16, 10, -14, 65504, INFINITY);
    convert<bf16>(INFINI_DTYPE_BF16, 7, -126, 0x1.fep127, INFINITY);
    convert<f8>(INFINI_DTYPE_F8, 3, -6, 448, 448);
    const int64_t integers[] = {0, 1, -1, 127, 200, -128};
    int8_t bytes[6];
    uint8_t truths[6];
    float floats[6];
    from_i64(bytes, INFINI_DTYPE_I8, integers, 6);
    from_i64(truths, INFINI_DTYPE_BOOL, integers, 6);
    to_f32(floats, bytes, INFINI_DTYPE_I8, 6);
    CHECK(bytes[4] == -56 && truths[0] == 0 && truths[2] == 1 && floats[5] == -128);
    to_f32(floats, bytes + 1, INFINI_DTYPE_I8, 6, 0);
    CHECK(floats[0] == 1 && floats[5] == 1);
}

}  // namespace

int main(int count, char **arguments) {
    if (count > 1) stride = std::stoull(arguments[1]);
    RUN(accuracy);
    RUN(doubles);
    RUN(special);
    RUN(pairs);
    RUN(conversions);
    return 0;
}
