// Mixture-of-experts: grouped products. A pair is a token and one of its choices; the pairs with an
// expert are sorted by expert, and row i belongs to the i-th of them.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

struct SortPairsParams {
    const int *ids;  // [pairs] experts; an invalid expert contributes nothing
    int pairs, experts, tile;
    // The blocks of moe_align, if ids are to be derived from them (null: they are given).
    const int *sorted, *labels, *used;
    int positions, labelled, *place;  // place: [pairs], the position of each pair
    // Results. starts, tiles: [experts + 1], the first row and the first tile of rows of each
    // expert; cursors: [experts]; order: [pairs], the pair of each row; rows: [pairs], the row of
    // each pair or -1.
    int *starts, *tiles, *cursors, *order, *rows;
};

// Multiplies rows by their expert's matrix [n, k]; all rows of a tile have the same expert.
struct ExpertsParams {
    const void *a;                // dense rows, or tokens
    const void *weights;          // all matrices, contiguous
    const void *const *pointers;  // or one pointer per matrix; null: not used
    const uint8_t *scales;        // MXFP4: one per 32 elements
    const void *bias;             // [experts, n]; may be null
    void *c;
    int64_t c_row;
    const int *starts, *tiles, *order;
    int experts, choices, n, k, tiles_n;  // choices 0: a contains rows
};

// out[token] = the sum of its rows times their scales.
struct SumPairsParams {
    void *out;
    const void *rows;     // [rows, columns]
    const float *scales;  // [tokens, choices]; null: 1
    const int *places;    // [tokens, choices]: row index, or -1
    int64_t tokens, columns;
    int choices;
};

// Pointers passed from the host to the device.
struct StorePointersParams {
    static constexpr int kMost = 480;
    const void **to;
    int count;
    const void *pointers[kMost];
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#ifdef INFINI_KERNEL_EXPERTS_EXPERTS
#include "matmul/mma_tile.cuh"
#include "matmul/simt_tile.cuh"
#include "quant/mxfp4_source.cuh"

// Multiplies rows by the matrices of their experts, one block per tile. The rows of a tile have the
// same expert. The host defines T, kRows, kColumns; INFINI_MMA 1 with kWarpsM, kWarpsN or 0 with
// kMicro; kVector: rows of a and of the weights are aligned vectors; kMxfp4: the weights are codes.
namespace infini {

#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<float, kRows, kColumns, kMicro>;
#endif

// Rows of a, or the tokens of the rows' pairs.
struct RowSource : StridedSource<T, true, kVector> {
    using Base = StridedSource<T, true, kVector>;
    using Line = typename Base::Line;
    const int *order;
    int choices;

    INFINI_DEVICE RowSource(const ExpertsParams &p, int first, int count)
        : Base(MatmulOperand{p.a, p.k, 1, 0}, 0, p.choices ? 0 : first, first + count, p.k),
          order(p.order + first),
          choices(p.choices) {
        Base::lines = count;
    }
    INFINI_DEVICE Line line(int outer) const {
        if (outer >= Base::lines) return {Base::data, 0};
        if (!choices) return Base::line(outer);
        return {Base::data + int64_t(order[outer] / choices) * Base::line_stride, 1};
    }
};

INFINI_DEVICE auto expert_matrix(const ExpertsParams &p, int expert, int column) {
    const int64_t at = (int64_t(expert) * p.n + column) * p.k;
    if constexpr (kMxfp4) {
        const uint8_t *codes = static_cast<const uint8_t *>(p.weights);
        return Mxfp4Source<T, kVector>{codes + at / 2, p.scales + at / 32, p.n - column, p.k};
    } else {
        const T *matrix = p.pointers
                              ? static_cast<const T *>(p.pointers[expert])
                              : static_cast<const T *>(p.weights) + int64_t(expert) * p.n * p.k;
        return StridedSource<T, true, kVector>(MatmulOperand{matrix, p.k, 1, 0}, 0, column, p.n,
                                               p.k);
    }
}

// Stores rows with the bias.
struct StoreRows {
    const ExpertsParams &p;
    int64_t row;
    int expert, column;

    template <int n, class Sum>
    INFINI_DEVICE void operator()(int i, int j, const Sum (&sums)[n], int count) const {
        const T *bias = static_cast<const T *>(p.bias) + int64_t(expert) * p.n + column + j;
        float values[n];
#pragma unroll
        for (int q = 0; q < n; ++q)
            values[q] = sums[q] + (p.bias && q < count ? convert<float>(bias[q]) : 0.0f);
        T *to = static_cast<T *>(p.c) + (row + i) * p.c_row + column + j;
        constexpr int kWidth = n < kWide<T> ? n : kWide<T>;
        if (count == n && (reinterpret_cast<uint64_t>(to) & (kWidth * sizeof(T) - 1)) == 0) {
#pragma unroll
            for (int q = 0; q < n; q += kWidth) {
                float part[kWidth];
#pragma unroll
                for (int r = 0; r < kWidth; ++r) part[r] = values[q + r];
                store(to + q, narrow<T, kWidth>(part));
            }
        } else {
#pragma unroll
            for (int q = 0; q < n; ++q)
                if (q < count) to[q] = convert<T>(values[q]);
        }
    }
};

}  // namespace infini

INFINI_ENTRY(infini::ExpertsParams, infini::Product::kThreads, 1) {
    using namespace infini;
    const int tile = int(blockIdx.x / p.tiles_n), column = int(blockIdx.x % p.tiles_n) * kColumns;
    if (tile >= p.tiles[p.experts]) return;
    // The last expert whose tiles begin at or before this one.
    int expert = 0;
    for (int beyond = p.experts; beyond - expert > 1;) {
        const int middle = (expert + beyond) / 2;
        (p.tiles[middle] <= tile ? expert : beyond) = middle;
    }
    const int row = p.starts[expert] + (tile - p.tiles[expert]) * kRows;
    int rows = p.starts[expert + 1] - row;
    rows = rows < kRows ? rows : kRows;
    const RowSource a(p, row, rows);
    const auto b = expert_matrix(p, expert, column);
    const StoreRows finish{p, row, expert, column};
    Product product;
#if INFINI_MMA
    INFINI_DYNAMIC_SHARED(shared);
    product.multiply(a, b, 0, p.k, shared);
    product.store_runs(shared, rows, p.n - column, finish);
#else
    INFINI_SHARED Product::Shared shared;
    product.multiply(a, b, 0, p.k, shared);
    product.store_runs(rows, p.n - column, finish);
#endif
}
#endif

#ifdef INFINI_KERNEL_EXPERTS_SORT
// Sorts pairs by expert in three steps: counts, starts, positions. The order of an expert's pairs
// is not deterministic, but does not affect the results, because rows are independent. The host
// defines kPhase: 0 does everything in one block; otherwise 1 and 3 run in many blocks and 2 in
// one, and kPhase 4 runs the preparation for 1.
namespace infini {

constexpr int kThreads = 512;

INFINI_DEVICE int expert_of(const SortPairsParams &p, int pair) {
    int id = p.ids ? p.ids[pair] : -1;
    if (p.sorted) id = p.place[pair] < 0 ? -1 : p.labels[p.place[pair] / p.labelled];
    return id >= 0 && id < p.experts ? id : -1;
}

// Stores the row of each pair; of several positions the last one counts. `place` must be filled
// with -1 before.
INFINI_DEVICE void find_places(const SortPairsParams &p) {
    int used = *p.used;
    used = used < 0 ? 0 : used < p.positions ? used : p.positions;
    for (int64_t i = grid_thread(); i < used; i += grid_threads()) {
        const int pair = p.sorted[i];
        if (pair >= 0 && pair < p.pairs) atomicMax(p.place + pair, int(i));
    }
}

// The exclusive prefix sum over the threads; `total` of all. Called by all threads.
INFINI_DEVICE int scan_block(int value, int &total) {
    INFINI_SHARED int sums[kThreads / kWarp];
    int inclusive = value;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
        const int other = shuffle_up(inclusive, step);
        if (lane() >= step) inclusive += other;
    }
    __syncthreads();  // the previous sums have been read
    if (lane() == kWarp - 1) sums[warp()] = inclusive;
    __syncthreads();
    int before = 0;
    total = 0;
    for (int i = 0; i < kThreads / kWarp; ++i) {
        before += i < warp() ? sums[i] : 0;
        total += sums[i];
    }
    return before + inclusive - value;
}

}  // namespace infini

INFINI_ENTRY(infini::SortPairsParams, infini::kThreads, 1) {
    using namespace infini;
    const int first = int(grid_thread()), step = int(grid_threads());
    if constexpr (kPhase == 0) {
        for (int i = first; i < p.experts; i += step) p.cursors[i] = 0;
        if (p.sorted)
            for (int i = first; i < p.pairs; i += step) p.place[i] = -1;
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 4) {
        if (p.sorted) find_places(p);
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 1) {
        for (int i = first; i < p.pairs; i += step) {
            const int expert = expert_of(p, i);
            if (expert >= 0) atomicAdd(p.cursors + expert, 1);
        }
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 2) {
        int rows = 0, tiles = 0;
        for (int base = 0; base < p.experts; base += kThreads) {
            const int expert = base + int(threadIdx.x);
            const int count = expert < p.experts ? p.cursors[expert] : 0;
            int some_rows, some_tiles;
            const int row = rows + scan_block(count, some_rows);
            const int tile = tiles + scan_block((count + p.tile - 1) / p.tile, some_tiles);
            rows += some_rows, tiles += some_tiles;
            if (expert < p.experts) {
                p.starts[expert] = row, p.tiles[expert] = tile;
                p.cursors[expert] = row;
            }
        }
        if (threadIdx.x == 0) p.starts[p.experts] = rows, p.tiles[p.experts] = tiles;
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 3) {
        for (int i = first; i < p.pairs; i += step) {
            const int expert = expert_of(p, i);
            const int row = expert < 0 ? -1 : atomicAdd(p.cursors + expert, 1);
            p.rows[i] = row;
            if (row >= 0) p.order[row] = i;
        }
    }
}
#endif

#ifdef INFINI_KERNEL_EXPERTS_SUM
// Sums the rows of each token's pairs, in the order of its choices. The host defines T and kVector:
// rows are multiples of 16 bytes.
INFINI_ENTRY(infini::SumPairsParams, 256, 1) {
    using namespace infini;
    constexpr int kRun = kVector ? kWide<T> : 1;
    const int64_t runs = p.columns / kRun;
    for (int64_t run = grid_thread(); run < p.tokens * runs; run += grid_threads()) {
        const int64_t token = run / runs, column = run % runs * kRun;
        float sums[kRun] = {};
        for (int i = 0; i < p.choices; ++i) {
            const int64_t pair = token * p.choices + i;
            const int row = p.places[pair];
            if (row < 0) continue;
            const float scale = p.scales ? p.scales[pair] : 1.0f;
            const Vec<T, kRun> values =
                load<kRun>(static_cast<const T *>(p.rows) + row * p.columns + column);
#pragma unroll
            for (int j = 0; j < kRun; ++j) sums[j] += scale * convert<float>(values[j]);
        }
        store(static_cast<T *>(p.out) + token * p.columns + column, narrow<T, kRun>(sums));
    }
}
#endif

#ifdef INFINI_KERNEL_EXPERTS_STORE
// Stores pointers that were passed as kernel parameters.
INFINI_ENTRY(infini::StorePointersParams, 256, 1) {
    for (int i = int(threadIdx.x); i < p.count; i += 256) p.to[i] = p.pointers[i];
}
#endif

#endif  // INFINI_DEVICE
