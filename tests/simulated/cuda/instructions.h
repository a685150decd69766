// The instructions of device/ptx.cuh, mma.cuh and hopper.cuh as functions for the host; wgmma.h has
// those of wgmma.cuh. The guards of these files are defined, so that they declare nothing.
#pragma once

#define INFINI_PTX_CUH
#define INFINI_MMA_CUH
#define INFINI_HOPPER_CUH
#define INFINI_WGMMA_CUH

#include "copies.h"
#include "tensor_core.h"

#define INFINI_ENTRY(Params, threads, blocks) INFINI_SIMULATED_ENTRY(infini_entry, Params, threads)
#define INFINI_ENTRY_AFTER(early, Params, threads, blocks)                              \
    static void infini_body(const Params &p);                                           \
    INFINI_SIMULATED_ENTRY(infini_entry, Params, threads) { early(p), infini_body(p); } \
    static void infini_body(const Params &p)
#define INFINI_DYNAMIC_SHARED(name) unsigned char *const name = ::simulated::dynamic_shared

namespace infini {

struct f16;
struct bf16;
struct TensorMap;

// ---- ptx.cuh ------------------------------------------------------------------------------------

namespace ptx {

inline uint64_t evict_first() { return 0; }
inline void prefetch_l2(const void *from, int bytes, uint64_t) { simulated::prefetch(from, bytes); }

inline float exp2_approx(float x) { return ::exp2f(x); }
inline float reciprocal_approx(float x) { return 1 / x; }
inline float divide_full(float a, float b) { return a / b; }
inline float sqrt_approx(float x) { return ::sqrtf(x); }
inline float rsqrt_approx(float x) { return ::rsqrtf(x); }
inline float select_below(float x, float limit, float a, float b) { return x < limit ? a : b; }
inline float max_nan(float a, float b) { return a > b || a != a ? a : b; }
inline float min_nan(float a, float b) { return a < b || a != a ? a : b; }

inline float float_from_f16(uint16_t x) { return float(simulated::F16::value(x)); }
// To nearest, ties to even; NaN stays NaN.
inline uint16_t f16_from_float(float x) {
    uint32_t word = simulated::bits<uint32_t>(x), sign = word & 0x80000000u;
    word ^= sign;
    uint32_t small = simulated::bits<uint32_t>(simulated::bits<float>(word) + 0.5f) - 0x3f000000u;
    uint32_t normal = (word + 0xc8000fffu + (word >> 13 & 1)) >> 13;
    uint32_t large = word > 0x7f800000u ? 0x7e00u | (word >> 13 & 0x3ff) : 0x7c00u;
    uint32_t half = word < 0x38800000u ? small : word < 0x47800000u ? normal : large;
    return uint16_t(half | sign >> 16);
}
inline uint16_t bf16_from_float(float x) {
    uint32_t word = simulated::bits<uint32_t>(x);
    uint32_t rounded = (word + 0x7fffu + (word >> 16 & 1)) >> 16;
    return uint16_t(x != x ? word >> 16 | 0x40u : rounded);
}
inline uint32_t f16x2_from_floats(float low, float high) {
    return f16_from_float(low) | uint32_t(f16_from_float(high)) << 16;
}
inline uint32_t bf16x2_from_floats(float low, float high) {
    return bf16_from_float(low) | uint32_t(bf16_from_float(high)) << 16;
}

// Both halves of two words, by a function of floats; results are rounded by `pack`.
template <class Number, class Function, class Pack>
inline uint32_t by_halves(uint32_t a, uint32_t b, Function function, Pack pack) {
    auto half = [&](unsigned i) {
        return function(float(simulated::element<Number>(a, i)),
                        float(simulated::element<Number>(b, i)));
    };
    return pack(half(0), half(1));
}
inline uint32_t max_nan_f16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::F16>(a, b, max_nan, f16x2_from_floats);
}
inline uint32_t min_nan_f16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::F16>(a, b, min_nan, f16x2_from_floats);
}
inline uint32_t max_nan_bf16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::BF16>(a, b, max_nan, bf16x2_from_floats);
}
inline uint32_t min_nan_bf16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::BF16>(a, b, min_nan, bf16x2_from_floats);
}
inline float difference(float a, float b) { return a - b; }
inline uint32_t subtract_f16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::F16>(a, b, difference, f16x2_from_floats);
}
inline uint32_t subtract_bf16x2(uint32_t a, uint32_t b) {
    return by_halves<simulated::BF16>(a, b, difference, bf16x2_from_floats);
}

inline uint32_t match_bit(uint32_t digit, uint32_t bit) {
    const uint32_t found = __ballot_sync(0xffffffffu, (digit & bit) != 0);
    return digit & bit ? found : ~found;
}
inline void load_past_l1(uint32_t (&words)[4], const void *from) {
    const uint4 read = *static_cast<const uint4 *>(from);
    words[0] = read.x, words[1] = read.y, words[2] = read.z, words[3] = read.w;
}

}  // namespace ptx

// ---- mma.cuh ------------------------------------------------------------------------------------

template <class T>
struct NumberOf;
template <>
struct NumberOf<f16> {
    using Type = simulated::F16;
};
template <>
struct NumberOf<bf16> {
    using Type = simulated::BF16;
};

template <class T>
inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    simulated::mma_m16n8k16<typename NumberOf<T>::Type>(d, a, b);
}
inline void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    simulated::mma_m16n8k8_tf32(d, a, b);
}
inline uint32_t round_to_tf32(float x) {
    const uint32_t word = simulated::bits<uint32_t>(x);
    return x - x == 0 ? (word + 0x1000u) & 0xffffe000u : word;
}
inline void mma_i8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    simulated::mma_m16n8k32_s8(d, a, b);
}
template <int n, bool transposed = false>
inline void load_matrices(uint32_t (&to)[n], const void *row) {
    simulated::ldmatrix<n, transposed>(to, row);
}
inline void copy_async(void *shared, const void *from, int bytes = 16) {
    simulated::cp_async<16>(shared, from, bytes);
}
inline void copy_async_once(void *shared, const void *from, int bytes, uint64_t) {
    simulated::cp_async<16>(shared, from, bytes);
}
inline void copy_async_reused(void *shared, const void *from, int bytes = 16) {
    simulated::cp_async<16>(shared, from, bytes);
}
template <int size>
inline void copy_async_small(void *shared, const void *from, bool valid = true) {
    simulated::cp_async<size>(shared, from, valid ? size : 0);
}
inline void commit_copies() { simulated::cp_async_commit(); }
template <int pending>
inline void wait_for_copies() {
    simulated::cp_async_wait(pending);
}

// ---- hopper.cuh ---------------------------------------------------------------------------------

inline int computed_here(int value) { return value; }
inline uint64_t computed_here(uint64_t value) { return value; }

inline uint32_t descriptor_address(const void *panel) {
    unsigned char *const memory = simulated::dynamic_shared;
    return uint32_t(static_cast<const unsigned char *>(panel) - memory);
}

// Products are complete when they begin.
inline void begin_products() {}
inline void commit_products() {}
template <int pending>
inline void wait_for_products() {}
template <int tiles>
inline void settle(float (&)[tiles][4]) {}
inline void show_to_products() {}

template <bool transposed = false>
inline void store_matrices(const uint32_t (&from)[4], void *row) {
    simulated::stmatrix<4, transposed>(row, from);
}

template <int count>
inline void give_registers() {}
template <int count>
inline void take_registers() {}

// An mbarrier: the word has the count, how many arrivals are missing, and the phase's parity.
struct PhaseBarrier {
    uint64_t word;

    void start(int count) { word = uint64_t(count) << 32 | uint64_t(count) << 1; }
    void arrive() {
        word -= 2;
        if ((word & 0xfffffffe) == 0) word = (word ^ 1) | (word >> 32) << 1;
    }
    void expect(int) {}
    void wait(int parity) {
        while (int(word & 1) == parity) simulated::yield();
    }
};
class PhaseBarriers {
public:
    explicit PhaseBarriers(PhaseBarrier *barriers) : first_(barriers) {}
    void arrive(int i) { first_[i].arrive(); }
    bool has_ended(int i, int parity) { return int(first_[i].word & 1) != parity; }
    void wait(int i, int parity) { first_[i].wait(parity); }

private:
    PhaseBarrier *first_;
};
inline void show_barriers() {}

inline void copy_box(void *to, const TensorMap &map, int x, int y, int z, int w, PhaseBarrier &) {
    simulated::copy_box(to, &map, x, y, z, w);
}
inline void prefetch_box(const TensorMap &, int, int, int, int) {}

inline void wait_at(int id, int threads) { simulated::bar_sync(unsigned(id), unsigned(threads)); }
inline void arrive_at(int id, int threads) {
    simulated::bar_arrive(unsigned(id), unsigned(threads));
}

}  // namespace infini
