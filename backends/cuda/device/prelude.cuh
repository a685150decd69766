// What every kernel begins with. Device code includes nothing but files of this folder: the run-time
// compiler then needs no include path, and a kernel compiles in a fraction of a second.
//
// A source is one kernel, with one struct as its parameter:
//
//     INFINI_ENTRY(GatherParams, 256, 1) { ... p.count ... }
//
// Types and constants that the host chose stand before the file is included, as members of namespace
// infini: `using T = f16; constexpr int kDims = 2;`.
//
// The same text is compiled for the host by the simulation that tests use (INFINI_SIMULATED), where
// every thread of a block is a fiber, and what CUDA declares is declared before this file. So PTX stands only in small functions that have a plain C++ body
// beside it, and shared memory is declared with INFINI_SHARED.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;

#ifdef INFINI_SIMULATED
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
// `INFINI_SHARED float tile[32][33];`: one for each block.
#define INFINI_SHARED alignas(128) static thread_local
#define INFINI_DYNAMIC_SHARED(name) unsigned char *name = ::simulated::dynamic_shared()
#define INFINI_ENTRY(Params, threads, blocks)                      \
    static void infini_body(const Params &p);                      \
    extern "C" void infini_entry(const void *params) {             \
        infini_body(*static_cast<const Params *>(params));         \
    }                                                              \
    extern "C" const unsigned infini_entry_bytes = sizeof(Params); \
    static void infini_body(const Params &p)
#define INFINI_DEVICE inline __attribute__((always_inline))
#else
using int64_t = long long;
using uint64_t = unsigned long long;
#define INFINI_SHARED __shared__
#define INFINI_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#define INFINI_ENTRY(Params, threads, blocks)                     \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        infini_entry(const __grid_constant__ Params p)
#define INFINI_DEVICE __device__ __forceinline__
#endif

#ifndef INFINI_WARP
#define INFINI_WARP 32
#endif

#include "block.cuh"
#include "divide.h"
#include "memory.cuh"
#include "types.cuh"
