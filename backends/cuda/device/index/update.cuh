// index_add, index_reduce and index_copy: output and input [outer, rows, inner], source
// [outer, entries, inner], all dense.
#pragma once

#include "divide.h"

namespace infini {

struct UpdateKeysParams {
    const void *index;
    uint32_t *keys;  // the row of each entry; `rows`: none
    int32_t *last;   // the last entry of each row
    int64_t entries, step, rows;
};

struct UpdateParams {
    void *out;
    const void *in, *source;
    const uint32_t *first, *order;  // the entries of each row, grouped by row
    const int32_t *last;
    const void *index;  // kFew: without `first` and `order`
    int64_t step;
    int64_t outer, rows, entries, inner;  // inner in vectors, or words
    double factor;                        // multiplies the source's elements
    int32_t whole;                        // vectors are aligned
    int32_t across_bits;                  // a block of 256 threads has 2^across_bits columns
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

#ifndef INFINI_KERNEL_UPDATE_COPY
namespace infini {

// The row selected by an entry; `rows`: none. Negative indices count from the end.
template <class Index>
INFINI_DEVICE int64_t row_of(const void *index, int64_t at, int64_t rows) {
    int64_t row = static_cast<const Index *>(index)[at];
    if (row < 0) row += rows;
    return row >= 0 && row < rows ? row : rows;
}

}  // namespace infini
#endif

#if defined(INFINI_KERNEL_UPDATE_COPY) || defined(INFINI_KERNEL_UPDATE_FOLD)
// Arranges the threads of a block in rows and columns.
namespace infini {

struct Spot {
    int64_t column, row, rows;  // rows: number of rows that the grid processes at a time
};

INFINI_DEVICE Spot spot_of(const UpdateParams &p) {
    const int across = 1 << p.across_bits, down = 256 >> p.across_bits;
    return {int64_t(blockIdx.x) * across + (int(threadIdx.x) & (across - 1)),
            int64_t(blockIdx.y) * down + (int(threadIdx.x) >> p.across_bits),
            int64_t(gridDim.y) * down};
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_UPDATE_KEYS
// The row selected by each entry of an index of type I, for a sort; or (kLast) the last entry of
// each row.
using namespace infini;

INFINI_ENTRY(UpdateKeysParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries) return;
    const int64_t row = row_of<I>(p.index, i * p.step, p.rows);
    if (!kLast)
        p.keys[i] = uint32_t(row);
    else if (row < p.rows)
        atomicMax(&p.last[row], int32_t(i));
}
#endif

#ifdef INFINI_KERNEL_UPDATE_COPY
// Copies rows to the output: from the source if an entry selects the row, otherwise from the input.
// Words W of elements E.
using namespace infini;

INFINI_ENTRY(UpdateParams, 256, 1) {
    const Spot spot = spot_of(p);
    const int64_t column = spot.column;
    if (column >= p.inner) return;
    const int64_t rows = p.outer * p.rows;
    for (int64_t at = spot.row; at < rows; at += spot.rows) {
        const int64_t outer = at / p.rows, entry = p.last[at - outer * p.rows];
        const int64_t to = at * p.inner + column;
        const int64_t from = (outer * p.entries + entry) * p.inner + column;
        const char *word = entry < 0
                               ? static_cast<const char *>(p.in) + to * int64_t(sizeof(W))
                               : static_cast<const char *>(p.source) + from * int64_t(sizeof(W));
        store_word<E>(static_cast<char *>(p.out) + to * int64_t(sizeof(W)),
                      load_word<W, E>(word, p.whole), p.whole);
    }
}
#endif

#ifdef INFINI_KERNEL_UPDATE_FOLD
#include "fold.cuh"

// Folds into each row of the output the rows of the source that select it. One thread folds the
// elements of a vector of kVector, in the order of the entries. kScaled: the source is multiplied
// by a factor. kFew: there are at most 256 entries, which every thread inspects for each row.
namespace infini {

using C = Sum<T>;

INFINI_DEVICE C factor_of(double factor) {
    if constexpr (kSame<T, boolean>)
        return C(int64_t(factor) != 0);
    else if constexpr (kIsFloat<T>)
        return C(factor);
    else
        return C(int64_t(factor));
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(UpdateParams, 256, 1) {
    const Spot spot = spot_of(p);
    const int64_t column = spot.column;
    INFINI_SHARED int64_t selected[kFew ? 256 : 1];
    if constexpr (kFew) {
        if (threadIdx.x < p.entries)
            selected[threadIdx.x] = row_of<I>(p.index, threadIdx.x * p.step, p.rows);
        __syncthreads();
    }
    if (column >= p.inner) return;
    const Folding fold;
    const C factor = factor_of(p.factor);
    const T *in = static_cast<const T *>(p.in), *source = static_cast<const T *>(p.source);
    const int64_t rows = p.outer * p.rows;
    for (int64_t at = spot.row; at < rows; at += spot.rows) {
        const int64_t outer = at / p.rows, row = at - outer * p.rows;
        const uint32_t begin = kFew ? 0 : p.first[row];
        const uint32_t end = kFew ? uint32_t(p.entries) : p.first[row + 1];
        const int64_t place = (at * p.inner + column) * kVector;
        const Vec<T, kVector> own = load_some<kVector>(in + place, p.whole);
        C sum[kVector];
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum[i] = kIncludeSelf ? convert<C>(own[i]) : neutral<C>();
        int64_t folded = 0;
        for (uint32_t k = begin; k < end; ++k) {
            if (kFew && selected[k] != row) continue;
            ++folded;
            const int64_t entry = kFew ? k : p.order[k];
            const int64_t from = (outer * p.entries + entry) * p.inner + column;
            const Vec<T, kVector> terms = load_some<kVector>(source + from * kVector, p.whole);
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                const C term = convert<C>(terms[i]);
                sum[i] = fold(sum[i], kScaled ? C(factor * term) : term);
            }
        }
        Vec<T, kVector> result = own;
        if (folded) {
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                if (kMean) sum[i] = average(sum[i], folded + kIncludeSelf);
                result[i] = convert<T>(sum[i]);
            }
        }
        store_some<kVector>(static_cast<T *>(p.out) + place, result, p.whole);
    }
}
#endif

#endif  // INFINI_DEVICE
