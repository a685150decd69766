// Split-KV attention (flash decoding): combines the partial results that blocks stored for their
// key ranges. Also stores new keys and values into their caches.
#pragma once

#include "attention_params.h"

#if defined(INFINI_KERNEL_COMBINE_ROWS) || defined(INFINI_KERNEL_COMBINE_PARTS)
// Combines the partial results of a row. Each warp adds them in order. With few partial results the
// warps divide the columns, with many the partial results, so that many loads are in flight. The
// first loads are issued before the overall maximum is known.
//
// Requires type T.
namespace infini {

inline constexpr int kCombineWarps = 4, kCombineThreads = kCombineWarps * kWarp;
inline constexpr float kNoScore = __builtin_bit_cast(float, 0xff800000u);

// Called by all threads of a block. part(i) points to the i-th partial values; their running
// maximum and sum follow at the next multiple of four.
template <class Part>
INFINI_DEVICE void combine_row(int parts, int size, const Part &part, T *to, int64_t inner) {
    constexpr int kAtOnce = 4, kColumns = 4 * kWarp;
    INFINI_SHARED float shared[kCombineWarps][kColumns];
    const int behind = (size + 3) / 4 * 4;
    const bool shared_columns = parts > kAtOnce;
    const int each = shared_columns ? kCombineWarps : 1;  // distance of a warp's partial results
    const int start = shared_columns ? warp() : 0;
    float weight[kAtOnce];
    Vec<float, 4> some[kAtOnce];
    auto fetch = [&](int i, int e) {
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
            const int at = i + j * each;
            const bool valid = at < parts;
            weight[j] = valid ? part(at)[behind] : kNoScore;
            some[j] = valid && e < size ? load<4>(part(at) + e) : Vec<float, 4>{0, 0, 0, 0};
        }
    };
    int first = shared_columns ? 0 : warp() * kColumns;
    fetch(start, first + 4 * lane());

    auto ends = [&](int i) {  // running maximum and sum of a partial result
        return i < parts ? load<2>(part(i) + behind) : Vec<float, 2>{kNoScore, 0};
    };
    const Vec<float, 2> own = ends(lane());
    float greatest = own[0];
#pragma unroll 1
    for (int i = lane() + kWarp; i < parts; i += kWarp) greatest = fmaxf(greatest, ends(i)[0]);
    greatest = fold_warp(greatest, fold::Max());
    const float base = greatest == kNoScore ? 0.0f : greatest;
    float sum = own[1] * exp2f(own[0] - base);
#pragma unroll 1
    for (int i = lane() + kWarp; i < parts; i += kWarp)
        sum += ends(i)[1] * exp2f(ends(i)[0] - base);
    sum = fold_warp(sum, fold::Sum());
    const float inverse = sum == 0 ? 0.0f : 1 / sum;
#pragma unroll 1
    for (bool fetched = true; first < size;
         first += shared_columns ? kColumns : kCombineWarps * kColumns) {
        const int e = first + 4 * lane();
        float value[4] = {};
#pragma unroll 1
        for (int i = start; i < parts; i += each * kAtOnce) {
            if (!fetched) fetch(i, e);
            fetched = false;
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                weight[j] = exp2f(weight[j] - base);
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (weight[j] != 0) value[k] += some[j][k] * weight[j];
            }
        }
        if (!shared_columns) {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (e + k < size) to[(e + k) * inner] = convert<T>(value[k] * inverse);
            continue;
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) shared[warp()][4 * lane() + k] = value[k];
        __syncthreads();
        const int mine = int(threadIdx.x);
        if (first + mine < size) {
            float total = 0;
#pragma unroll
            for (int j = 0; j < kCombineWarps; ++j) total += shared[j][mine];
            to[(first + mine) * inner] = convert<T>(total * inverse);
        }
        __syncthreads();
    }
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_COMBINE_ROWS
// Combines the results of split keys, one block per row.
//
// Requires type T.
namespace infini {

INFINI_ENTRY(CombineSplitsParams, kCombineThreads, 1) {
    const int64_t unit = blockIdx.x;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
    const float *from = p.partials + unit * partial;
    const int64_t next = p.units * partial;
    const Quotient row = p.rows.split(uint32_t(unit)), head = p.heads.split(row.quotient);
    const Quotient query = p.group.split(row.remainder);
    T *to = static_cast<T *>(p.out) + head.quotient * p.out_stride.batch +
            query.quotient * p.out_stride.token +
            (int64_t(head.remainder) * p.group.divisor + query.remainder) * p.out_stride.head;
    combine_row(
        p.splits, p.value_depth, [&](int i) { return from + i * next; }, to, p.out_stride.inner);
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_COMBINE_PARTS
#include "ranges.cuh"

// Combines units whose keys are split over the ranges of several blocks, see ranges.cuh. Each block
// combines some rows of one unit; they are as far apart as there are blocks for the unit.
//
// Requires the definitions for sequence.cuh, and kKeys (keys per tile).
namespace infini {

INFINI_ENTRY(AttentionParams, kCombineThreads, 1) {
    const unsigned each = gridDim.x / unsigned(p.sequences * p.heads);
    const unsigned unit = blockIdx.x / each;
    const int index = int(unit / unsigned(p.heads)), head = int(unit) - index * p.heads;
    const TileCounts counts = count_tiles(p, index);
    const int tiles = tiles_of_sequence(p, index);
    const Ranges ranges(counts.all * p.heads, p.splits);
    const int begin = counts.before * p.heads + head * tiles;
    const int first = ranges.find(begin), last = ranges.find(begin + tiles - 1);
    if (first == last) return;  // the unit was not split
    const bool alone = ranges.begin(first) == begin;
    const Sequence s = find_sequence(p, index, head);
    const int64_t step = int64_t(2 * p.tiles * p.chunk) * partial_pitch(p);
#pragma unroll 1
    for (int row = int(blockIdx.x - unit * each); row < p.rows; row += int(each)) {
        // The partial results are `step` apart, except for the first one.
        const int place = 2 * (first * p.tiles + row / p.chunk), at = row % p.chunk;
        const float *start = partial_row(p, alone ? place : place + 1, at);
        const float *rest = partial_row(p, place, at);
        combine_row(
            last - first + 1, p.value_depth,
            [&](int i) { return i == 0 ? start : rest + i * step; }, result_row(p, s, head, row),
            p.out_stride.inner);
    }
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_COMBINE_STORE
// Stores rows of new keys and values, [heads, rows, chunks] each, into their caches.
//
// Requires type T of a chunk: one element or 16 bytes.
namespace infini {

INFINI_ENTRY(StoreRowsParams, 256, 1) {
    for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
        const Quotient piece = p.pieces.split(uint32_t(i));
        const Quotient row = p.rows.split(piece.quotient);
        const Quotient head = p.heads.split(row.quotient);
        const uint32_t which = head.quotient;
        // Keys or values, selected without an index: indexing would copy the parameters to local
        // memory.
        const T *from = static_cast<const T *>(which ? p.from[1] : p.from[0]);
        T *to = static_cast<T *>(which ? p.to[1] : p.to[0]);
        from += head.remainder * (which ? p.from_head[1] : p.from_head[0]) +
                row.remainder * (which ? p.from_row[1] : p.from_row[0]);
        to += head.remainder * (which ? p.to_head[1] : p.to_head[0]) +
              row.remainder * (which ? p.to_row[1] : p.to_row[0]);
        to[piece.remainder] = from[piece.remainder];
    }
}

}  // namespace infini
#endif
