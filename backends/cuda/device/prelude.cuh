// The prelude of every kernel. Device code only includes files of this folder, so that the run-time
// compiler needs no include path and kernels compile in a fraction of a second.
//
// A file begins with the parameter struct of its kernels, which planners on the host also include;
// device code follows in an #ifdef INFINI_DEVICE. A source is one kernel:
//
//     INFINI_ENTRY(GatherParams, 256, 1) { ... p.count ... }
//
// A file with several kernels has each in an #ifdef: "index/scatter.cuh:keys" is the one in
// INFINI_KERNEL_SCATTER_KEYS.
//
// Types and constants chosen by the host are defined before the file is included, as members of
// namespace infini: `using T = f16; constexpr int kDims = 2;`.
//
// Tests compile the same sources for the host, where every thread of a block is a fiber and CUDA's
// declarations are emulated before this file. Therefore inline assembly is only used in ptx.cuh,
// mma.cuh, hopper.cuh and wgmma.cuh, and loops that wait for memory to change call __nanosleep.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;

#define INFINI_SHARED __shared__
#define INFINI_DEVICE __device__ __forceinline__
// Long functions are not inlined: otherwise they would be compiled for each call site or vector
// element, which delays the first run. (`static` outside of structs, so that unused ones are
// dropped.)
#define INFINI_APART __device__ __noinline__

#ifndef INFINI_WARP
#define INFINI_WARP 32
#endif

// Whether inline PTX may be used; otherwise the functions of portable.cuh are used.
#ifndef INFINI_PTX
#define INFINI_PTX 1
#endif
// Whether shuffles and votes take a lane mask (__shfl_sync) or not (__shfl).
#ifndef INFINI_LANE_MASKS
#define INFINI_LANE_MASKS 1
#endif
// Whether the device's warps are wider than INFINI_WARP: then only shuffles within groups of
// INFINI_WARP lanes are used.
#ifndef INFINI_LANE_GROUPS
#define INFINI_LANE_GROUPS 0
#endif

// clang-format off: the order of the includes matters
#if INFINI_PTX
#include "ptx.cuh"
#else
#include "portable.cuh"
#endif
#include "types.cuh"
#include "memory.cuh"
#include "block.cuh"
#include "divide.h"
