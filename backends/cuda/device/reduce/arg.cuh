// argmax and argmin.
#pragma once

#include "offsets.h"

namespace infini {

struct ArgParams {
    const void *x;
    int64_t *y;
    void *parts;  // best of each chunk and row, if rows are split
    Offsets from, to, folded;
    int64_t rows, total;  // total: elements per row
    int64_t piece;        // elements per chunk, below 2^31
    int64_t columns = 1;  // across: adjacent rows; `from` then has a line for all of them
    int32_t pieces = 1;
    int32_t vector = 0;  // 16 bytes can be read at a time
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// argmax and argmin: the index of the largest or smallest element, the first of equal ones; the
// first NaN, if there is one. kLeast: argmin.
namespace infini {

// The type in which elements are compared.
using C =
    Choose<kSame<T, double>, double,
           Choose<kIsFloat<T>, float, Choose<kSame<T, boolean> || sizeof(T) < 4, int32_t, T>>>;

inline constexpr uint32_t kNowhere = 0xffffffffu;

struct Best {
    C value;
    uint32_t place;
};
// The result of a chunk in memory, with its index in the row.
struct alignas(16) Part {
    C value;
    int64_t place;
};

// The identity: no element is worse.
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

// The better of two; NaN wins.
template <class V>
INFINI_DEVICE V better(V a, V b) {
    return beats(b, a) ? b : a;
}
#if __CUDA_ARCH__ >= 800
INFINI_DEVICE float better(float a, float b) {
    return kLeast ? ptx::min_nan(a, b) : ptx::max_nan(a, b);
}
#endif

// The same for two pairs of 16-bit floats.
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

// ---- Reductions over threads --------------------------------------------------------------------

struct Better {
    INFINI_DEVICE C operator()(C a, C b) const { return better(a, b); }
};
struct Least {
    INFINI_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? a : b; }
};

INFINI_DEVICE uint32_t least_of_warp(uint32_t x) {
#if INFINI_PTX && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, x);
#else
    return fold_warp(x, Least());
#endif
}

INFINI_DEVICE Best best_of_warp(Best mine) {
    const C value = fold_warp(mine.value, Better());
    return {value, least_of_warp(same(mine.value, value) ? mine.place : kNowhere)};
}

// Thread 0 gets the result.
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

#ifdef INFINI_KERNEL_ARG_ALONG
// Along rows: kRowThreads threads process a chunk of a row. Whole vectors are folded, and only the
// best one is searched at the end. kGeneral: a row has several strides.
namespace infini {

INFINI_DEVICE Best best_of_vectors(const T *row, uint32_t n, uint32_t thread) {
    const uint32_t vectors = n / kV;
    Best best = {worst(), kNowhere};
    if (thread < vectors) {
        best.place = thread;
        Vec<T, kV> held = {};  // the best elements so far
        uint32_t v = thread;
        for (; v + (kAtOnce - 1) * kRowThreads < vectors; v += kAtOnce * kRowThreads) {
            Vec<T, kV> x[kAtOnce];
#pragma unroll
            for (uint32_t i = 0; i < kAtOnce; ++i)
                x[i] = load_once<kV>(row + size_t(v + i * kRowThreads) * kV);
#pragma unroll
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                const C value = best_of(x[i]);
                if (beats(value, best.value)) best = {value, v + i * kRowThreads}, held = x[i];
            }
        }
        for (; v < vectors; v += kRowThreads) {
            const Vec<T, kV> x = load_once<kV>(row + size_t(v) * kV);
            const C value = best_of(x);
            if (beats(value, best.value)) best = {value, v}, held = x;
        }
        uint32_t found = 0;
#pragma unroll
        for (int i = kV - 1; i >= 0; --i)
            if (same(convert<C>(held[i]), best.value)) found = uint32_t(i);
        best.place = best.place * kV + found;
    }
    const uint32_t last = vectors * kV + thread;
    if (last < n) {
        const C value = convert<C>(row[last]);
        if (best.place == kNowhere || beats(value, best.value)) best = {value, last};
    }
    return best;
}

INFINI_DEVICE Best best_of_elements(const ArgParams &p, const T *row, int64_t begin, uint32_t n,
                                    uint32_t thread) {
    Best best = {worst(), kNowhere};
    const int64_t step = p.folded.step();
    if (thread < n) best.place = thread;
    for (uint32_t i = thread; i < n; i += kRowThreads) {
        const int64_t at = kGeneral ? p.folded(begin + i) : (begin + i) * step;
        const C value = convert<C>(row[at]);
        if (beats(value, best.value)) best = {value, i};
    }
    return best;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ArgParams, kBlockThreads, 1) {
    const uint32_t thread = threadIdx.x % kRowThreads;
    const int64_t task = (int64_t(blockIdx.x) * kBlockThreads + threadIdx.x) / kRowThreads;
    if (task >= p.rows * p.pieces) return;  // uniform in a warp
    const int64_t row = task / p.pieces, piece = task - row * p.pieces;
    const int64_t begin = piece * p.piece;
    const uint32_t n = uint32_t(p.total - begin < p.piece ? p.total - begin : p.piece);
    const T *data = static_cast<const T *>(p.x) + p.from(row);
    Best best;
    if (!kGeneral && p.vector)
        best = best_of_vectors(data + begin, n, thread);
    else
        best = best_of_elements(p, data, begin, n, thread);
    best = best_of_block<kRowThreads>(best);
    if (thread == 0) put(p, row, piece, best.value, begin + best.place);
}
#endif

#ifdef INFINI_KERNEL_ARG_ACROSS
// For interleaved rows (neighbouring ones are adjacent in memory): a lane processes kV neighbouring
// rows, and the warps of a block share the lines of a chunk.
using namespace infini;

INFINI_ENTRY(ArgParams, 256, 1) {
    constexpr int kLines = 256 / kWarp, kTile = kWarp * kV;
    const uint32_t tiles = uint32_t((p.columns + kTile - 1) / kTile);
    const uint32_t rest = blockIdx.x / tiles;
    const int64_t tile = blockIdx.x % tiles;
    const int64_t piece = rest % uint32_t(p.pieces), outer = rest / uint32_t(p.pieces);
    const int64_t column = tile * kTile + lane() * kV;
    const int64_t begin = piece * p.piece, step = p.folded.step();
    const uint32_t n = uint32_t(p.total - begin < p.piece ? p.total - begin : p.piece);
    const T *data = static_cast<const T *>(p.x) + p.from(outer) + begin * step + column;

    C values[kV];
    uint32_t places[kV];
#pragma unroll
    for (int i = 0; i < kV; ++i)
        values[i] = worst(), places[i] = uint32_t(warp()) < n ? warp() : kNowhere;
    if (p.vector && column < p.columns) {
#pragma unroll 4
        for (uint32_t line = warp(); line < n; line += kLines) {
            const Vec<T, kV> x = load_once<kV>(data + line * step);
#pragma unroll
            for (int i = 0; i < kV; ++i) {
                const C value = convert<C>(x[i]);
                if (beats(value, values[i])) values[i] = value, places[i] = line;
            }
        }
    } else {
        for (uint32_t line = warp(); line < n; line += kLines)
#pragma unroll
            for (int i = 0; i < kV; ++i)
                if (column + i < p.columns) {
                    const C value = convert<C>(data[line * step + i]);
                    if (beats(value, values[i])) values[i] = value, places[i] = line;
                }
    }

    INFINI_SHARED C value_of[kLines][kTile];
    INFINI_SHARED uint32_t place_of[kLines][kTile];
#pragma unroll
    for (int i = 0; i < kV; ++i) {
        value_of[warp()][i * kWarp + lane()] = values[i];
        place_of[warp()][i * kWarp + lane()] = places[i];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < kTile; at += 256) {
        C value = value_of[0][at];
        uint32_t place = place_of[0][at];
        for (int line = 1; line < kLines; ++line) {
            const C other = value_of[line][at];
            if (same(other, value) ? place_of[line][at] < place : beats(other, value))
                value = other, place = place_of[line][at];
        }
        const int64_t mine = tile * kTile + at % kWarp * kV + at / kWarp;
        if (mine < p.columns) put(p, outer * p.columns + mine, piece, value, begin + place);
    }
}
#endif

#ifdef INFINI_KERNEL_ARG_JOIN
// Reduces the chunks of each row.
using namespace infini;

INFINI_ENTRY(ArgParams, 256, 1) {
    const int64_t row = grid_thread();
    if (row >= p.rows) return;
    const Part *parts = static_cast<const Part *>(p.parts) + row;
    Part best = parts[0];
    for (int piece = 1; piece < p.pieces; ++piece) {
        const Part other = parts[piece * p.rows];
        if (beats(other.value, best.value)) best = other;
    }
    p.y[p.to(row)] = best.place;
}
#endif

#endif  // INFINI_DEVICE
