// dist and cdist.
#pragma once

#include "offsets.h"

namespace infini {

struct DistParams {
    const void *x1, *x2;
    void *y;
    double *parts;  // one per block
    Offsets first, second;
    int64_t count;
    int32_t blocks;
    double p;
};

struct CdistParams {
    const void *x1, *x2;
    void *y;
    Offsets first, second, to;  // of the batches
    int64_t rows, columns, width;
    int64_t first_row, first_step, second_row, second_step, to_row, to_step;
    float p;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// p-norms of differences: the contribution of one difference, and the result of the sum. kNorm: 0,
// 1, 2, 3 (infinity), 4 (any power).
namespace infini {

// Not inlined, because it is long.
template <class C>
__device__ __noinline__ C power(C x, C p) {
    return pow(x, p);
}

// total + |d|^p, or the maximum of both.
template <class S, class C>
INFINI_DEVICE S accumulate(S total, C d, C p) {
    const C size = d < 0 ? -d : d;
    if constexpr (kNorm == 0) return total + S(size != size ? size : size > C(1e-10) ? C(1) : C(0));
    if constexpr (kNorm == 1) return total + S(size);
    if constexpr (kNorm == 2) return total + S(d) * S(d);
    if constexpr (kNorm == 3) return fold::Max()(total, S(size));
    return total + S(power(size, p));
}

struct Join {
    template <class S>
    INFINI_DEVICE S operator()(S a, S b) const {
        if constexpr (kNorm == 3) return fold::Max()(a, b);
        return a + b;
    }
};

template <class S>
INFINI_DEVICE S finish(S total, S p) {
    if constexpr (kNorm == 2) return sqrt(total);
    if constexpr (kNorm == 4) return power(total, S(1) / p);
    return total;
}

}  // namespace infini

#ifdef INFINI_KERNEL_DIST_DIST
// dist: every block adds up some of the differences, and a last kernel (kJoin) the blocks' sums.
// The number of blocks is fixed, so that the result is deterministic.
using namespace infini;

INFINI_ENTRY(DistParams, 256, 1) {
    using C = Choose<kSame<T, double>, double, float>;
    double total = 0;
    if constexpr (kJoin) {
        for (int i = threadIdx.x; i < p.blocks; i += 256) total = Join()(total, p.parts[i]);
    } else {
        const T *x1 = static_cast<const T *>(p.x1), *x2 = static_cast<const T *>(p.x2);
        for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
            const C d = convert<C>(x1[p.first(i)]) - convert<C>(x2[p.second(i)]);
            total = accumulate(total, d, C(p.p));
        }
    }
    total = fold_block<256>(total, Join());
    if (threadIdx.x != 0) return;
    if constexpr (kJoin)
        *static_cast<T *>(p.y) = convert<T>(finish(total, p.p));
    else
        p.parts[blockIdx.x] = total;
}
#endif

#ifdef INFINI_KERNEL_DIST_CDIST
// cdist: a block computes a tile of distances, as in a matrix product: chunks of the rows go
// through shared memory, and each thread has 4 x 4 sums.
namespace infini {

inline constexpr int kTile = 64, kDepth = 16, kEach = 4;

// Rows [row, row + kTile) and columns [at, at + kDepth) of a matrix, zero-padded.
INFINI_DEVICE void load_tile(float (&tile)[kDepth][kTile + 1], const T *x, int64_t row, int64_t at,
                             int64_t rows, int64_t width, int64_t row_step, int64_t step) {
#pragma unroll
    for (int i = threadIdx.x; i < kTile * kDepth; i += 256) {
        const int64_t r = row + i / kDepth, c = at + i % kDepth;
        const bool inside = r < rows && c < width;
        tile[i % kDepth][i / kDepth] = inside ? convert<float>(x[r * row_step + c * step]) : 0.0f;
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CdistParams, 256, 1) {
    INFINI_SHARED float left[kDepth][kTile + 1], right[kDepth][kTile + 1];
    const uint32_t tiles = uint32_t((p.columns + kTile - 1) / kTile);
    const uint32_t bands = uint32_t((p.rows + kTile - 1) / kTile), rest = blockIdx.x / tiles;
    const int64_t tile = blockIdx.x % tiles, band = rest % bands, batch = rest / bands;
    const T *x1 = static_cast<const T *>(p.x1) + p.first(batch);
    const T *x2 = static_cast<const T *>(p.x2) + p.second(batch);
    const int row = threadIdx.x / 16, column = threadIdx.x % 16;
    float total[kEach][kEach] = {};
    for (int64_t at = 0; at < p.width; at += kDepth) {
        load_tile(left, x1, band * kTile, at, p.rows, p.width, p.first_row, p.first_step);
        load_tile(right, x2, tile * kTile, at, p.columns, p.width, p.second_row, p.second_step);
        __syncthreads();
        const int depth = p.width - at < kDepth ? int(p.width - at) : kDepth;
#pragma unroll 1
        for (int k = 0; k < depth; ++k) {
            float a[kEach], b[kEach];
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                a[i] = left[k][row + 16 * i];
                b[i] = right[k][column + 16 * i];
            }
#pragma unroll
            for (int i = 0; i < kEach; ++i)
#pragma unroll
                for (int j = 0; j < kEach; ++j)
                    total[i][j] = accumulate(total[i][j], a[i] - b[j], p.p);
        }
        __syncthreads();
    }
    T *y = static_cast<T *>(p.y) + p.to(batch);
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
            const int64_t r = band * kTile + row + 16 * i, c = tile * kTile + column + 16 * j;
            if (r < p.rows && c < p.columns)
                y[r * p.to_row + c * p.to_step] = convert<T>(finish(total[i][j], p.p));
        }
}
#endif

#endif  // INFINI_DEVICE
