// What every kernel begins with. Device code includes nothing but files of this folder: the
// run-time compiler then needs no include path, and a kernel compiles in a fraction of a second.
//
// A source is one kernel, with one struct as its parameter:
//
//     INFINI_ENTRY(GatherParams, 256, 1) { ... p.count ... }
//
// Types and constants that the host chose stand before the file is included, as members of
// namespace infini: `using T = f16; constexpr int kDims = 2;`.
//
// The same text is compiled for the host by the simulation that tests use (INFINI_SIMULATED), where
// every thread of a block is a fiber, and what CUDA declares is declared before this file. So PTX
// stands only in small functions that have a plain C++ body beside it, and loops that wait for
// memory to change call __nanosleep.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

// clang-format off: the order of the includes is theirs
#ifdef INFINI_SIMULATED
#define INFINI_ENTRY(Params, threads, blocks) INFINI_SIMULATED_ENTRY(infini_entry, Params, threads)
#define INFINI_DYNAMIC_SHARED(name) unsigned char *const name = ::simulated::dynamic_shared
#else
// Where the architecture can, a kernel is launched while the one before it ends: that one's results
// are there after the wait.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define INFINI_AWAIT_EARLIER asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define INFINI_AWAIT_EARLIER
#endif
#define INFINI_ENTRY(Params, threads, blocks)                     \
    static __device__ __forceinline__ void infini_body(const Params &p); \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        infini_entry(const __grid_constant__ Params p) { \
        INFINI_AWAIT_EARLIER; \
        infini_body(p); \
    } \
    static __device__ __forceinline__ void infini_body(const Params &p)
#define INFINI_DYNAMIC_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#endif
#define INFINI_SHARED __shared__
#define INFINI_DEVICE __device__ __forceinline__
// Long functions are called: else they would stand, and be compiled, once for each place or element
// of a vector, while someone waits. (`static` outside of structs: unused ones are left out then.)
#define INFINI_APART __device__ __noinline__

#ifndef INFINI_WARP
#define INFINI_WARP 32
#endif

#include "types.cuh"
#include "memory.cuh"
#include "block.cuh"
#include "divide.h"
