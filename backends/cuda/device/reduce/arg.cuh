// argmax and argmin: which element is the largest or smallest, the first of equal ones; the first
// NaN, if there is one. kLeast: argmin.
#pragma once

#include "arg_params.h"

namespace infini {

// What elements are compared as.
using C =
    Choose<kSame<T, double>, double,
           Choose<kIsFloat<T>, float, Choose<kSame<T, boolean> || sizeof(T) < 4, int32_t, T>>>;

inline constexpr uint32_t kNowhere = 0xffffffffu;

struct Best {
    C value;
    uint32_t place;
};
// In memory: of a piece, with its place in the row.
struct alignas(16) Part {
    C value;
    int64_t place;
};

// What everything else is at least as good as.
INFINI_DEVICE C worst() {
    if constexpr (kIsFloat<C>)
        return kLeast ? infinity<C>() : -infinity<C>();
    else
        return kLeast ? largest<C>() : smallest<C>();
}
INFINI_DEVICE bool beats(C x, C best) {
    bool better = kLeast ? x < best : x > best;
    if constexpr (kIsFloat<C>) better = better || (x != x && best == best);
    return better;
}
INFINI_DEVICE bool same(C x, C y) {
    if constexpr (kIsFloat<C>) return x == y || (x != x && y != y);
    return x == y;
}

// The better of two; a NaN wins.
template <class V>
INFINI_DEVICE V better(V a, V b) {
    return beats(b, a) ? b : a;
}
#if __CUDA_ARCH__ >= 800
INFINI_DEVICE float better(float a, float b) {
    return kLeast ? ptx::min_nan(a, b) : ptx::max_nan(a, b);
}
#endif

// The same of two pairs of 16-bit floats.
template <class U = T>
INFINI_DEVICE uint32_t better_pairs(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
    if constexpr (kSame<T, bf16>)
        return kLeast ? ptx::min_nan_bf16x2(a, b) : ptx::max_nan_bf16x2(a, b);
    else
        return kLeast ? ptx::min_nan_f16x2(a, b) : ptx::max_nan_f16x2(a, b);
#else
    uint32_t y = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        const T left = bit_cast<T>(uint16_t(a >> shift)), right = bit_cast<T>(uint16_t(b >> shift));
        const bool take = beats(convert<C>(right), convert<C>(left));
        y |= uint32_t(bit_cast<uint16_t>(take ? right : left)) << shift;
    }
    return y;
#endif
}

inline constexpr int kV = kWide<T>;

INFINI_DEVICE C best_of(const Vec<T, kV> &x) {
    if constexpr (kSame<T, f16> || kSame<T, bf16>) {
        const uint4 w = bit_cast<uint4>(x);
        const uint32_t pair = better_pairs(better_pairs(w.x, w.y), better_pairs(w.z, w.w));
        return better(convert<C>(bit_cast<T>(uint16_t(pair))),
                      convert<C>(bit_cast<T>(uint16_t(pair >> 16))));
    } else {
        C best = convert<C>(x[0]);
#pragma unroll
        for (int i = 1; i < kV; ++i) best = better(best, convert<C>(x[i]));
        return best;
    }
}

// ---- Of several threads -------------------------------------------------------------------------

struct Better {
    INFINI_DEVICE C operator()(C a, C b) const { return better(a, b); }
};
struct Least {
    INFINI_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? a : b; }
};

INFINI_DEVICE uint32_t least_of_warp(uint32_t x) {
#if __CUDA_ARCH__ >= 800 && INFINI_WARP == 32
    return __reduce_min_sync(kAllLanes, x);
#else
    return fold_warp(x, Least());
#endif
}

INFINI_DEVICE Best best_of_warp(Best mine) {
    const C value = fold_warp(mine.value, Better());
    return {value, least_of_warp(same(mine.value, value) ? mine.place : kNowhere)};
}

// Thread 0 gets it.
template <int threads>
INFINI_DEVICE Best best_of_block(Best mine) {
    mine = best_of_warp(mine);
    if constexpr (threads > kWarp) {
        INFINI_SHARED C values[threads / kWarp];
        INFINI_SHARED uint32_t places[threads / kWarp];
        if (lane() == 0) values[warp()] = mine.value, places[warp()] = mine.place;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int i = 1; i < threads / kWarp; ++i) {
                const bool equal = same(values[i], mine.value);
                if (equal ? places[i] < mine.place : beats(values[i], mine.value))
                    mine = {values[i], places[i]};
            }
    }
    return mine;
}

INFINI_DEVICE void put(const ArgParams &p, int64_t row, int64_t piece, C value, int64_t place) {
    if (p.pieces == 1)
        p.y[p.to(row)] = place;
    else
        static_cast<Part *>(p.parts)[piece * p.rows + row] = {value, place};
}

}  // namespace infini
