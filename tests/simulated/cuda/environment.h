// CUDA's built-ins for kernels that run on the host. The simulated NVRTC includes this before every
// source, precompiled; no host header is included, so that a kernel sees only what the real
// compiler provides, and compiles fast.
#pragma once

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__ static const
// A kernel has no other variables that live longer than a call, so the simulation takes all of .bss
// for shared memory: it is full of garbage at the start of each block. One grid runs at a time.
#define __shared__ alignas(128) static

typedef __SIZE_TYPE__ size_t;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;  // as in device code
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

extern "C" {
int printf(const char *, ...);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
}

// ---- Types --------------------------------------------------------------------------------------

#define SIMULATED_VECTORS(T, name, align2, align4)                     \
    struct name##1 { T x; };                                           \
    struct alignas(align2) name##2 { T x, y; };                        \
    struct name##3 { T x, y, z; };                                     \
    struct alignas(align4) name##4 { T x, y, z, w; };                  \
    inline name##1 make_##name##1(T x) { return {x}; }                 \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIMULATED_VECTORS(signed char, char, 2, 4)
SIMULATED_VECTORS(unsigned char, uchar, 2, 4)
SIMULATED_VECTORS(short, short, 4, 8)
SIMULATED_VECTORS(unsigned short, ushort, 4, 8)
SIMULATED_VECTORS(int, int, 8, 16)
SIMULATED_VECTORS(unsigned, uint, 8, 16)
SIMULATED_VECTORS(long, long, 16, 16)
SIMULATED_VECTORS(unsigned long, ulong, 16, 16)
SIMULATED_VECTORS(long long, longlong, 16, 16)
SIMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
SIMULATED_VECTORS(float, float, 8, 16)
SIMULATED_VECTORS(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// A kernel: `INFINI_SIMULATED_ENTRY(name, Params, threads) { ... p.count ... }`.
#define INFINI_SIMULATED_ENTRY(name, Params, threads)                                  \
    static void name##_body(const Params &p);                                          \
    extern "C" void name(const void *parameters) {                                     \
        name##_body(*static_cast<const Params *>(parameters));                         \
    }                                                                                  \
    extern "C" const unsigned name##_bytes = sizeof(Params), name##_threads = threads; \
    static void name##_body(const Params &p)

#include "arithmetic.h"
#include "atomics.h"
#include "barriers.h"
#include "bits.h"
#include "checks.h"
#include "copies.h"
#include "tensor_core.h"
// clang-format off: these need the definitions above
#if defined(INFINI_PTX) && !INFINI_PTX  // device code has plain C++ for what they are
#define INFINI_ENTRY(Params, threads, blocks) INFINI_SIMULATED_ENTRY(infini_entry, Params, threads)
#define INFINI_DYNAMIC_SHARED(name) unsigned char *const name = ::simulated::dynamic_shared
#else
#include "instructions.h"
#include "wgmma.h"
#endif
