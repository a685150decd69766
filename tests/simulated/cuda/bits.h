// Bits, conversions and other small intrinsics.
#pragma once

#include "place.h"

namespace simulated {
template <class To, class From>
inline To bits(const From &from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
}  // namespace simulated

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
    return y;
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned pick = selector >> (4 * i) & 0xf;
        unsigned byte = unsigned(both >> (8 * (pick & 7))) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return unsigned((unsigned long long)a * b >> 32);
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i)
        c += int((signed char)(a >> 8 * i)) * int((signed char)(b >> 8 * i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    return c;
}
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a > b ? a - b : b - a); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }

inline unsigned __float_as_uint(float x) { return simulated::bits<unsigned>(x); }
inline int __float_as_int(float x) { return simulated::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return simulated::bits<float>(x); }
inline float __int_as_float(int x) { return simulated::bits<float>(x); }
inline long long __double_as_longlong(double x) { return simulated::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return simulated::bits<double>(x); }
inline int __double2hiint(double x) { return int(simulated::bits<long long>(x) >> 32); }
inline int __double2loint(double x) { return int(simulated::bits<long long>(x)); }
inline double __hiloint2double(int high, int low) {
    return simulated::bits<double>((unsigned long long)unsigned(high) << 32 | unsigned(low));
}

// Floats to integers saturate; NaN becomes 0 (for 64 bits the smallest integer).
namespace simulated {
template <class T>
inline T saturate(double x) {
    constexpr bool is_signed = T(-1) < T(0);
    constexpr int digits = 8 * int(sizeof(T)) - is_signed;
    double above = digits == 64 ? 0x1p64 : digits == 63 ? 0x1p63 : digits == 32 ? 0x1p32 : 0x1p31;
    if (x != x) return sizeof(T) == 8 ? T(1) << 63 : T(0);
    if (x >= above) return is_signed ? T(~(~0ull << digits)) : T(~T(0));
    if (x <= (is_signed ? -above : 0.0)) return is_signed ? T(1) << digits : T(0);
    return T(x);
}
}  // namespace simulated
#define SIMULATED_TO_INTEGER(from, word, T)                                                        \
    inline T __##from##2##word##_rz(from x) { return simulated::saturate<T>(__builtin_trunc(x)); } \
    inline T __##from##2##word##_rn(from x) {                                                      \
        return simulated::saturate<T>(__builtin_nearbyint(x));                                     \
    }                                                                                              \
    inline T __##from##2##word##_rd(from x) { return simulated::saturate<T>(__builtin_floor(x)); } \
    inline T __##from##2##word##_ru(from x) { return simulated::saturate<T>(__builtin_ceil(x)); }
SIMULATED_TO_INTEGER(float, int, int)
SIMULATED_TO_INTEGER(float, uint, unsigned)
SIMULATED_TO_INTEGER(float, ll, long long)
SIMULATED_TO_INTEGER(float, ull, unsigned long long)
SIMULATED_TO_INTEGER(double, int, int)
SIMULATED_TO_INTEGER(double, uint, unsigned)
SIMULATED_TO_INTEGER(double, ll, long long)
SIMULATED_TO_INTEGER(double, ull, unsigned long long)
#undef SIMULATED_TO_INTEGER
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }
inline float __double2float_rn(double x) { return float(x); }

// Loads and stores with hints for the caches.
#define SIMULATED_LOAD(name)       \
    template <class T>             \
    inline T name(const T *from) { \
        return *from;              \
    }
#define SIMULATED_STORE(name)          \
    template <class T>                 \
    inline void name(T *to, T value) { \
        *to = value;                   \
    }
SIMULATED_LOAD(__ldg)
SIMULATED_LOAD(__ldca)
SIMULATED_LOAD(__ldcg)
SIMULATED_LOAD(__ldcs)
SIMULATED_LOAD(__ldlu)
SIMULATED_LOAD(__ldcv)
SIMULATED_STORE(__stwb)
SIMULATED_STORE(__stcg)
SIMULATED_STORE(__stcs)
SIMULATED_STORE(__stwt)
#undef SIMULATED_LOAD
#undef SIMULATED_STORE

inline long long clock64() { return ++simulated::state.clock; }
inline int clock() { return int(clock64()); }
inline size_t __cvta_generic_to_shared(const void *pointer) { return size_t(pointer); }
inline size_t __cvta_generic_to_global(const void *pointer) { return size_t(pointer); }
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
