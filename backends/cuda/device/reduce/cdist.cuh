// cdist: a block makes a tile of distances, as in a matrix product: pieces of the rows go through
// shared memory, and each thread has 4 x 4 sums.
#include "norms.cuh"

namespace infini {

inline constexpr int kTile = 64, kDepth = 16, kEach = 4;

// Rows [row, row + kTile) and columns [at, at + kDepth) of a matrix, zeros beyond it.
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
