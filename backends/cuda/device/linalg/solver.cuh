// What surrounds calls of the vendor's library: tensors into columns of doubles, and back.
#pragma once

#include "dense.cuh"

namespace infini {

struct SolverParams {
    MatrixParams m, z;  // a tensor; z: the logarithms of slogdet
    int64_t index;      // of the matrix in the batch
    double *columns;    // column k begins at k * lead
    int64_t lead;
    int32_t *status;        // 0: there is no result; 1: the library's verdict
    const int32_t *pivots;  // that rows were swapped with, the first is 1
    double least;           // a pivot that is not greater counts as none
};

}  // namespace infini

#ifdef INFINI_DEVICE  // the rest is for the device

namespace infini {

enum { kWhole = 0, kLowerTriangle = 1, kUpperTriangle = 2 };

// What the other triangle has counts as 0.
INFINI_DEVICE bool is_in(int64_t triangle, uint32_t row, uint32_t column) {
    return triangle == kWhole || (triangle == kLowerTriangle ? row >= column : row <= column);
}

}  // namespace infini

using namespace infini;

#ifdef INFINI_KERNEL_SOLVER_LOAD
// With kFinite, NaN and infinity become 0 and there is no result: iterations of the library may not
// end with them, and its search for pivots passes over them.
INFINI_ENTRY(SolverParams, kThreads, 1) {
    const T *from = static_cast<const T *>(p.m.data) + p.m.batch(p.index);
    const uint32_t rows = uint32_t(p.m.rows), count = rows * uint32_t(p.m.columns);
    INFINI_ROLLED
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
        const uint32_t column = i / rows, row = i - column * rows;
        double value = 0;
        if (is_in(kTriangle, row, column))
            value = convert<double>(from[row * p.m.row_step + column * p.m.column_step]);
        if (kFinite && !(fabs(value) < infinity<double>())) value = 0, p.status[0] = 1;
        p.columns[column * p.lead + row] = value;
    }
}
#endif

#ifdef INFINI_KERNEL_SOLVER_IDENTITY
INFINI_ENTRY(SolverParams, kThreads, 1) {
    const uint32_t rows = uint32_t(p.m.rows), count = rows * uint32_t(p.m.columns);
    INFINI_ROLLED
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
        p.columns[i] = i / rows == i % rows ? 1.0 : 0.0;
}
#endif

#ifdef INFINI_KERNEL_SOLVER_STORE
INFINI_ENTRY(SolverParams, kThreads, 1) {
    T *to = static_cast<T *>(p.m.data) + p.m.batch(p.index);
    const bool failed = p.status[0] || p.status[1];
    const uint32_t columns = uint32_t(p.m.columns), count = uint32_t(p.m.rows) * columns;
    INFINI_ROLLED
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
        const uint32_t row = i / columns, column = i - row * columns;
        double value = 0;
        if (failed)
            value = not_a_number<double>();
        else if (is_in(kTriangle, row, column))
            value = p.columns[column * p.lead + row];
        to[row * p.m.row_step + column * p.m.column_step] = convert<T>(value);
    }
}
#endif

#ifdef INFINI_KERNEL_SOLVER_DIAGONAL
#include "determinant.cuh"

// Looks for the first pivot that is missing: gives the determinant, or (kResult >= 3) notes whether
// there is a result. By one block.
struct Earlier {
    INFINI_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

INFINI_ENTRY(SolverParams, kThreads, 1) {
    const int64_t n = p.lead;
    int64_t found = n;
    INFINI_ROLLED
    for (int64_t k = thread(); k < n; k += kThreads)
        if (!(fabs(p.columns[k * n + k]) > p.least)) {
            found = k;
            break;
        }
    found = fold_large_block<kThreads>(found, Earlier());
    if constexpr (kResult >= 3) {
        if (thread() == 0 && found < n) p.status[0] = 1;
    } else {
        if (p.status[0]) {  // the input was not finite, so the determinant is NaN
            found = 0;
            if (thread() == 0) p.columns[0] = not_a_number<double>();
        }
        const int32_t *pivots = p.pivots;
        auto is_swapped = [=](int64_t k) { return pivots[k] != k + 1; };
        store_determinant(p.m, p.z, p.index, p.columns, n, found, is_swapped);
    }
}
#endif

#endif  // INFINI_DEVICE
