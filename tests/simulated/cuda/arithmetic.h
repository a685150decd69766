// Mathematics: CUDA's functions by the host's library.
#pragma once

#define SIMULATED_UNARY(name)                 \
    extern "C" double name(double) noexcept;  \
    extern "C" float name##f(float) noexcept; \
    inline float name(float x) { return name##f(x); }
#define SIMULATED_BINARY(name)                       \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept; \
    inline float name(float x, float y) { return name##f(x, y); }
SIMULATED_UNARY(exp)
SIMULATED_UNARY(exp2)
SIMULATED_UNARY(exp10)
SIMULATED_UNARY(expm1)
SIMULATED_UNARY(log)
SIMULATED_UNARY(log2)
SIMULATED_UNARY(log10)
SIMULATED_UNARY(log1p)
SIMULATED_UNARY(logb)
SIMULATED_UNARY(sqrt)
SIMULATED_UNARY(cbrt)
SIMULATED_UNARY(sin)
SIMULATED_UNARY(cos)
SIMULATED_UNARY(tan)
SIMULATED_UNARY(asin)
SIMULATED_UNARY(acos)
SIMULATED_UNARY(atan)
SIMULATED_UNARY(sinh)
SIMULATED_UNARY(cosh)
SIMULATED_UNARY(tanh)
SIMULATED_UNARY(asinh)
SIMULATED_UNARY(acosh)
SIMULATED_UNARY(atanh)
SIMULATED_UNARY(erf)
SIMULATED_UNARY(erfc)
SIMULATED_UNARY(tgamma)
SIMULATED_UNARY(lgamma)
SIMULATED_UNARY(floor)
SIMULATED_UNARY(ceil)
SIMULATED_UNARY(trunc)
SIMULATED_UNARY(round)
SIMULATED_UNARY(rint)
SIMULATED_UNARY(nearbyint)
SIMULATED_UNARY(fabs)
SIMULATED_BINARY(pow)
SIMULATED_BINARY(fmod)
SIMULATED_BINARY(remainder)
SIMULATED_BINARY(fmin)
SIMULATED_BINARY(fmax)
SIMULATED_BINARY(fdim)
SIMULATED_BINARY(hypot)
SIMULATED_BINARY(atan2)
SIMULATED_BINARY(copysign)
SIMULATED_BINARY(nextafter)
#undef SIMULATED_UNARY
#undef SIMULATED_BINARY
extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
void sincos(double, double *, double *) noexcept;
void sincosf(float, float *, float *) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
float j0f(float) noexcept;
float j1f(float) noexcept;
float y0f(float) noexcept;
float y1f(float) noexcept;
double nan(const char *) noexcept;
float nanf(const char *) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float ldexp(float x, int e) { return ldexpf(x, e); }
inline float frexp(float x, int *e) { return frexpf(x, e); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return llabs(x); }

inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }

inline float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1 / cbrtf(x); }
inline double rcbrt(double x) { return 1 / cbrt(x); }
inline double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
inline float sinpif(float x) { return float(sinpi(double(x))); }
inline float cospif(float x) { return float(cospi(double(x))); }
inline double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
inline float normcdff(float x) { return float(normcdf(double(x))); }
inline double erfcx(double x) { return exp(x * x) * erfc(x); }
inline float erfcxf(float x) { return float(erfcx(double(x))); }
// By Newton's method, from a rough start.
inline double erfinv(double y) {
    if (!(y > -1 && y < 1))
        return y == 1 ? __builtin_inf() : y == -1 ? -__builtin_inf() : __builtin_nan("");
    double w = log(1 - y * y), a = 4.3307467508 + w / 2;  // 2 / (pi * 0.147) + w / 2
    double x = copysign(sqrt(sqrt(a * a - w / 0.147) - a), y);
    for (int i = 0; i < 4; ++i) {
        double error = y > 0 ? -(erfc(x) - (1 - y)) : erfc(-x) - (1 + y);
        x -= error / (1.12837916709551257390 * exp(-x * x));
    }
    return x;
}
inline float erfinvf(float y) { return float(erfinv(double(y))); }
inline double erfcinv(double y) { return erfinv(1 - y); }
inline double normcdfinv(double p) { return 1.41421356237309504880 * erfinv(2 * p - 1); }
inline float normcdfinvf(float p) { return float(normcdfinv(double(p))); }
// Modified Bessel functions by their series, which converge everywhere.
inline double cyl_bessel_i0(double x) {
    double term = 1, sum = 1, square = x * x / 4;
    for (int k = 1; k < 500 && term > sum * 1e-17; ++k) sum += term *= square / (double(k) * k);
    return sum;
}
inline double cyl_bessel_i1(double x) {
    double term = x / 2, sum = term, square = x * x / 4;
    for (int k = 1; k < 500 && fabs(term) > fabs(sum) * 1e-17; ++k)
        sum += term *= square / (double(k) * (k + 1));
    return sum;
}
inline float cyl_bessel_i0f(float x) { return float(cyl_bessel_i0(double(x))); }
inline float cyl_bessel_i1f(float x) { return float(cyl_bessel_i1(double(x))); }

// The fast variants are as accurate here as the others.
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
// Opaque to the compiler, which must not contract them with later operations.
inline float __fadd_rn(float x, float y) {
    volatile float z = x + y;
    return z;
}
inline float __fsub_rn(float x, float y) {
    volatile float z = x - y;
    return z;
}
inline float __fmul_rn(float x, float y) {
    volatile float z = x * y;
    return z;
}
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) {
    volatile double z = x + y;
    return z;
}
inline double __dsub_rn(double x, double y) {
    volatile double z = x - y;
    return z;
}
inline double __dmul_rn(double x, double y) {
    volatile double z = x * y;
    return z;
}
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline double __drcp_rn(double x) { return 1 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

#define SIMULATED_EXTREMES(T)                        \
    inline T min(T a, T b) { return a < b ? a : b; } \
    inline T max(T a, T b) { return a > b ? a : b; }
SIMULATED_EXTREMES(int)
SIMULATED_EXTREMES(unsigned)
SIMULATED_EXTREMES(long)
SIMULATED_EXTREMES(unsigned long)
SIMULATED_EXTREMES(long long)
SIMULATED_EXTREMES(unsigned long long)
#undef SIMULATED_EXTREMES
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double max(double a, float b) { return fmax(a, double(b)); }
inline int umin(unsigned a, unsigned b) { return int(min(a, b)); }
