// Barriers, shuffles and votes.
#pragma once

#include "place.h"

namespace simulated {

// The shared memory that the launch requested.
struct DynamicShared {
    operator unsigned char *() const { return state.dynamic_shared; }
    unsigned char *operator()() const { return state.dynamic_shared; }
};
static constexpr DynamicShared dynamic_shared;
inline unsigned lane() { return state.lane; }

// One value from each lane of the warp.
template <class T>
struct Lanes {
    const unsigned char *data;
    SIMULATED_UNCHECKED T operator[](unsigned lane) const {
        T value;
        __builtin_memcpy(&value, data + lane * kLaneBytes, sizeof value);
        return value;
    }
};

// A bit for each lane.
#if INFINI_WARP > 32
using LaneMask = unsigned long long;
#else
using LaneMask = unsigned;
#endif
constexpr LaneMask kAllLanes = ~LaneMask(0);

template <class T>
inline Lanes<T> exchange(Together what, const T &mine, LaneMask mask = kAllLanes) {
    static_assert(sizeof(T) <= kLaneBytes);
    return {state.services.exchange(what, mask, &mine, sizeof mine)};
}

// bar.sync and bar.arrive
inline void bar_sync(unsigned id, unsigned threads) { state.services.barrier(id, threads, 0); }
inline void bar_arrive(unsigned id, unsigned threads) { state.services.arrive(id, threads); }
inline void yield() { state.services.yield(); }
[[noreturn]] inline void fail(const char *text) { state.services.fail(text); }

// The lane that a shuffle reads from: `width` lanes form a group of their own.
inline unsigned within(unsigned source, unsigned width) {
    return (state.lane & ~(width - 1)) | (source & (width - 1));
}

}  // namespace simulated

inline void __syncthreads() { simulated::state.services.barrier(0, 0, 0); }
inline int __syncthreads_count(int predicate) {
    return int(simulated::state.services.barrier(0, 0, predicate != 0));
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }
inline void __nanosleep(unsigned) { simulated::yield(); }
inline void __threadfence() { asm volatile("" ::: "memory"); }
inline void __threadfence_block() { asm volatile("" ::: "memory"); }
inline void __threadfence_system() { asm volatile("" ::: "memory"); }
[[noreturn]] inline void __trap() { simulated::fail("__trap()"); }
inline void __brkpt() {}

// What a compiler declares: shuffles and votes with masks of lanes, or without them (__shfl). For
// hardware warps wider than the kernel's, only shuffles.
#ifndef INFINI_LANE_MASKS
#define INFINI_LANE_MASKS 1
#endif
#ifndef INFINI_LANE_GROUPS
#define INFINI_LANE_GROUPS 0
#endif
using simulated::LaneMask;

// Any set of lanes that contains this one may be active; the smallest set is as valid as any other.
inline LaneMask __activemask() { return LaneMask(1) << simulated::state.lane; }

template <class T>
inline T __shfl_sync(LaneMask mask, T value, int source, int width = warpSize) {
    return simulated::exchange(simulated::Together::kShuffle, value,
                               mask)[simulated::within(unsigned(source), unsigned(width))];
}
template <class T>
inline T __shfl_xor_sync(LaneMask mask, T value, int lanes, int width = warpSize) {
    auto all = simulated::exchange(simulated::Together::kShuffle, value, mask);
    unsigned source = simulated::state.lane ^ unsigned(lanes);
    // Groups before this one may be read, later ones may not.
    return source < (simulated::state.lane & ~unsigned(width - 1)) + unsigned(width) ? all[source]
                                                                                     : value;
}
template <class T>
inline T __shfl_up_sync(LaneMask mask, T value, unsigned distance, int width = warpSize) {
    auto all = simulated::exchange(simulated::Together::kShuffle, value, mask);
    unsigned place = simulated::state.lane & unsigned(width - 1);
    return distance <= place ? all[simulated::state.lane - distance] : value;
}
template <class T>
inline T __shfl_down_sync(LaneMask mask, T value, unsigned distance, int width = warpSize) {
    auto all = simulated::exchange(simulated::Together::kShuffle, value, mask);
    unsigned place = simulated::state.lane & unsigned(width - 1);
    return place + distance < unsigned(width) ? all[simulated::state.lane + distance] : value;
}

#if !INFINI_LANE_GROUPS

inline void __syncwarp(LaneMask mask = simulated::kAllLanes) {
    simulated::exchange(simulated::Together::kSync, 0, mask);
}

inline LaneMask __ballot_sync(LaneMask mask, int predicate) {
    auto all = simulated::exchange(simulated::Together::kVote, int(predicate != 0), mask);
    LaneMask result = 0;
    for (unsigned i = 0; i < warpSize; ++i)
        if (mask >> i & 1 && all[i] == 1) result |= LaneMask(1) << i;
    return result;
}
inline int __any_sync(LaneMask mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(LaneMask mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <class T>
inline LaneMask __match_any_sync(LaneMask mask, T value) {
    auto all = simulated::exchange(simulated::Together::kMatch, value, mask);
    LaneMask result = 0;
    for (unsigned i = 0; i < warpSize; ++i)
        if (mask >> i & 1 && all[i] == value) result |= LaneMask(1) << i;
    return result;
}
template <class T>
inline LaneMask __match_all_sync(LaneMask mask, T value, int *predicate) {
    *predicate = __match_any_sync(mask, value) == mask;
    return *predicate ? mask : 0;
}

#define SIMULATED_REDUCE(name, T, expression)                                      \
    inline T __reduce_##name##_sync(LaneMask mask, T value) {                      \
        auto all = simulated::exchange(simulated::Together::kReduce, value, mask); \
        bool first = true;                                                         \
        T a = value;                                                               \
        for (unsigned i = 0; i < warpSize; ++i) {                                  \
            if (!(mask >> i & 1)) continue;                                        \
            T b = all[i];                                                          \
            a = first ? b : (expression);                                          \
            first = false;                                                         \
        }                                                                          \
        return a;                                                                  \
    }
SIMULATED_REDUCE(add, unsigned, a + b)
SIMULATED_REDUCE(add, int, int(unsigned(a) + unsigned(b)))
SIMULATED_REDUCE(min, unsigned, a < b ? a : b)
SIMULATED_REDUCE(min, int, a < b ? a : b)
SIMULATED_REDUCE(max, unsigned, a > b ? a : b)
SIMULATED_REDUCE(max, int, a > b ? a : b)
SIMULATED_REDUCE(and, unsigned, a &b)
SIMULATED_REDUCE(or, unsigned, a | b)
SIMULATED_REDUCE(xor, unsigned, a ^ b)
#undef SIMULATED_REDUCE

#endif

#if !INFINI_LANE_MASKS
template <class T>
inline T __shfl(T value, int source, int width = warpSize) {
    return __shfl_sync(simulated::kAllLanes, value, source, width);
}
template <class T>
inline T __shfl_xor(T value, int lanes, int width = warpSize) {
    return __shfl_xor_sync(simulated::kAllLanes, value, lanes, width);
}
template <class T>
inline T __shfl_up(T value, unsigned distance, int width = warpSize) {
    return __shfl_up_sync(simulated::kAllLanes, value, distance, width);
}
inline LaneMask __ballot(int predicate) { return __ballot_sync(simulated::kAllLanes, predicate); }
#pragma GCC poison __shfl_sync __shfl_xor_sync __shfl_up_sync __ballot_sync __any_sync __all_sync
#endif
