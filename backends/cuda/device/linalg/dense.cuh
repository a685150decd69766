// Batches of dense matrices: parameters and shared functions of the linear algebra kernels.
#pragma once

#include "offsets.h"

namespace infini {

// A tensor as a batch of matrices, of vectors (one row) or of scalars.
struct MatrixParams {
    void *data = nullptr;
    Offsets batch;
    int64_t rows = 1, columns = 1, row_step = 0, column_step = 1;
};

struct LinalgParams {
    MatrixParams x, b;     // inputs
    MatrixParams y, z, w;  // outputs
    double *rooms;         // workspace: `room` doubles per block
    int64_t count, room;   // number of matrices
    int64_t first;         // for kernels that are one of several stages: the first block's matrix
    int64_t parts = 1;     // columns of a result are computed by that many blocks
    double least;          // a pivot that is not greater counts as zero
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Shared by the linear algebra kernels: a block processes a row-major matrix of doubles in its own
// workspace. kThreads: threads per block. All functions are called by all threads; the caller
// provides a barrier before and after them unless stated otherwise.
namespace infini {

// Long functions are not inlined: they compile once, and the call overhead is negligible.
#define INFINI_CALLED __device__ __noinline__

inline constexpr int kPanel = 16;  // columns that are factored at a time

INFINI_DEVICE int64_t thread() { return threadIdx.x; }

// The block's workspace; in shared memory if the planner says so.
template <bool is_shared>
INFINI_DEVICE double *block_room(const LinalgParams &p) {
    if constexpr (is_shared) {
        INFINI_DYNAMIC_SHARED(shared);
        return reinterpret_cast<double *>(shared);
    } else {
        return p.rooms + blockIdx.x * p.room;
    }
}

// A range of columns: as many as threads.
INFINI_DEVICE MatrixParams part_of(const MatrixParams &m, int64_t part) {
    MatrixParams made = m;
    const int64_t first = part * kThreads, rest = m.columns - first;
    made.data = static_cast<T *>(m.data) + first * m.column_step;
    made.columns = rest < kThreads ? rest : kThreads;
    return made;
}

struct MostFold {  // NaN propagates
    INFINI_DEVICE double operator()(double a, double b) const { return fold::Max()(a, b); }
};

INFINI_CALLED double block_sum(double x) { return fold_large_block<kThreads>(x, fold::Sum()); }
INFINI_CALLED double block_most(double x) { return fold_large_block<kThreads>(x, MostFold()); }

// ---- Input and output ---------------------------------------------------------------------------

INFINI_CALLED void load_matrix(double *to, const MatrixParams &m, int64_t index) {
    const T *from = static_cast<const T *>(m.data) + m.batch(index);
    INFINI_ROLLED
    for (int64_t i = thread(); i < m.rows * m.columns; i += kThreads) {
        const int64_t row = i / m.columns, column = i - row * m.columns;
        to[i] = convert<double>(from[row * m.row_step + column * m.column_step]);
    }
}
INFINI_CALLED void store_matrix(const MatrixParams &m, int64_t index, const double *from) {
    T *to = static_cast<T *>(m.data) + m.batch(index);
    INFINI_ROLLED
    for (int64_t i = thread(); i < m.rows * m.columns; i += kThreads) {
        const int64_t row = i / m.columns, column = i - row * m.columns;
        to[row * m.row_step + column * m.column_step] = convert<T>(from[i]);
    }
}
INFINI_DEVICE void store_number(const MatrixParams &m, int64_t index, double value) {
    if (thread() == 0) static_cast<T *>(m.data)[m.batch(index)] = convert<T>(value);
}

INFINI_DEVICE void fill(double *to, int64_t count, double value) {
    INFINI_ROLLED
    for (int64_t i = thread(); i < count; i += kThreads) to[i] = value;
}
INFINI_DEVICE void set_identity(double *m, int64_t rows, int64_t columns) {
    INFINI_ROLLED
    for (int64_t i = thread(); i < rows * columns; i += kThreads)
        m[i] = i / columns == i % columns ? 1.0 : 0.0;
}

// ---- Products -----------------------------------------------------------------------------------

// A submatrix.
struct Block {
    double *data;
    int64_t row, column;  // strides

    INFINI_DEVICE double &at(int64_t i, int64_t k) const { return data[i * row + k * column]; }
};

// c += sign a b, where a has `depth` columns. A warp computes 4 x 4 elements per lane.
INFINI_CALLED void add_product(Block c, Block a, Block b, int64_t rows, int64_t depth,
                               int64_t columns, double sign) {
    constexpr int kEach = 4;
    if (rows <= 0 || columns <= 0) return;
    const int64_t bands = (rows + kEach - 1) / kEach;
    const int64_t tiles = (columns + kEach * kWarp - 1) / (kEach * kWarp);
    INFINI_ROLLED
    for (int64_t task = warp(); task < bands * tiles; task += kThreads / kWarp) {
        const int64_t band = task / tiles;
        const int64_t i = band * kEach, k = (task - band * tiles) * kEach * kWarp + lane();
        double sum[kEach][kEach] = {};
#pragma unroll 2
        for (int64_t d = 0; d < depth; ++d) {
            double left[kEach], right[kEach];
#pragma unroll
            for (int e = 0; e < kEach; ++e) {
                left[e] = i + e < rows ? a.at(i + e, d) : 0.0;
                right[e] = k + e * kWarp < columns ? b.at(d, k + e * kWarp) : 0.0;
            }
#pragma unroll
            for (int e = 0; e < kEach; ++e)
#pragma unroll
                for (int f = 0; f < kEach; ++f) sum[e][f] += left[e] * right[f];
        }
#pragma unroll
        for (int e = 0; e < kEach; ++e)
#pragma unroll
            for (int f = 0; f < kEach; ++f)
                if (i + e < rows && k + f * kWarp < columns)
                    c.at(i + e, k + f * kWarp) += sign * sum[e][f];
    }
}

}  // namespace infini

#endif  // INFINI_DEVICE
