// Single instructions without a name in CUDA C++, and the kernel prologue. Nothing here uses types
// of this project: the simulation for tests defines the guard below and its own functions instead
// (tests/simulated/cuda/instructions.h), and those of mma.cuh, hopper.cuh and wgmma.cuh.
#pragma once

#ifndef INFINI_PTX_CUH
#define INFINI_PTX_CUH

// With programmatic dependent launch, a kernel is launched while the previous one runs, and waits
// for its results. After the wait the next kernel may be launched, which waits in turn.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define INFINI_AWAIT_EARLIER asm volatile("griddepcontrol.wait;" ::: "memory")
#define INFINI_ADMIT_LATER asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define INFINI_AWAIT_EARLIER
#define INFINI_ADMIT_LATER
#endif
// clang-format off
// `early` runs before that wait, and must not depend on what earlier kernels write.
#define INFINI_ENTRY_AFTER(early, Params, threads, blocks)        \
    static __device__ __forceinline__ void infini_body(const Params &p); \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        infini_entry(const __grid_constant__ Params p) { \
        early(p); \
        INFINI_AWAIT_EARLIER; \
        INFINI_ADMIT_LATER; \
        infini_body(p); \
    } \
    static __device__ __forceinline__ void infini_body(const Params &p)
#define INFINI_NOTHING_EARLY(p)
#define INFINI_ENTRY(Params, threads, blocks) \
    INFINI_ENTRY_AFTER(INFINI_NOTHING_EARLY, Params, threads, blocks)
// clang-format on
#define INFINI_DYNAMIC_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]

namespace infini::ptx {

// ---- Float32 on the special function unit: about 22 bits ----------------------------------------

// Flushes subnormal arguments and results to 0.
INFINI_DEVICE float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
INFINI_DEVICE float reciprocal_approx(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Branch-free, for all arguments.
INFINI_DEVICE float divide_full(float a, float b) {
    float y;
    asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
INFINI_DEVICE float sqrt_approx(float x) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
INFINI_DEVICE float rsqrt_approx(float x) {
    float y;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// x < limit ? a : b, where both are computed anyway: never a branch.
INFINI_DEVICE float select_below(float x, float limit, float a, float b) {
    float y;
    asm("{\n.reg .pred q;\nsetp.lt.f32 q, %1, %2;\nselp.f32 %0, %3, %4, q;\n}"
        : "=f"(y)
        : "f"(x), "f"(limit), "f"(a), "f"(b));
    return y;
}

// NaN propagates; requires sm_80.
INFINI_DEVICE float max_nan(float a, float b) {
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}
INFINI_DEVICE float min_nan(float a, float b) {
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

// ---- 16-bit floats, as their bits ---------------------------------------------------------------

INFINI_DEVICE float float_from_f16(uint16_t x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
INFINI_DEVICE uint16_t f16_from_float(float x) {
    uint16_t y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
// The following functions require sm_80.
INFINI_DEVICE uint16_t bf16_from_float(float x) {
    uint16_t y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
INFINI_DEVICE uint32_t f16x2_from_floats(float low, float high) {
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
INFINI_DEVICE uint32_t bf16x2_from_floats(float low, float high) {
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
INFINI_DEVICE uint32_t max_nan_f16x2(uint32_t a, uint32_t b) {
    uint32_t y;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
INFINI_DEVICE uint32_t min_nan_f16x2(uint32_t a, uint32_t b) {
    uint32_t y;
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
INFINI_DEVICE uint32_t max_nan_bf16x2(uint32_t a, uint32_t b) {
    uint32_t y;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
INFINI_DEVICE uint32_t min_nan_bf16x2(uint32_t a, uint32_t b) {
    uint32_t y;
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
INFINI_DEVICE uint32_t subtract_f16x2(uint32_t a, uint32_t b) {
    uint32_t d;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
INFINI_DEVICE uint32_t subtract_bf16x2(uint32_t a, uint32_t b) {  // a * 1 - b
    uint32_t d;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(0x3f803f80u), "r"(b ^ 0x80008000u));
    return d;
}

// ---- Warps of 32, and memory --------------------------------------------------------------------

// The lanes whose digit has the same value of one bit as this lane's. From C++ the compiler would
// test the bit twice.
INFINI_DEVICE uint32_t match_bit(uint32_t digit, uint32_t bit) {
    uint32_t lanes;
    asm volatile(
        "{ .reg .pred set; .reg .b32 masked; and.b32 masked, %1, %2; setp.ne.u32 set, masked, 0;"
        "vote.sync.ballot.b32 %0, set, 0xffffffff; @!set not.b32 %0, %0; }"
        : "=r"(lanes)
        : "r"(digit), "r"(bit));
    return lanes;
}

// A cache policy for data that is read once: it is evicted from L2 before other data.
INFINI_DEVICE uint64_t evict_first() {
    uint64_t policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}
// Prefetches memory to L2: a multiple of 16 bytes, aligned to 16. A hint from sm_90 on, otherwise a
// no-op.
INFINI_DEVICE void prefetch_l2(const void *from, int bytes, uint64_t policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(from),
                 "r"(bytes), "l"(policy)
                 : "memory");
#endif
}

// Loads 16 bytes without caching them in L1.
INFINI_DEVICE void load_past_l1(uint32_t (&words)[4], const void *from) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(from));
}

}  // namespace infini::ptx

#endif
