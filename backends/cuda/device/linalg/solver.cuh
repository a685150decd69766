// Conversion between tensors and the dense columns that the vendor's library uses. T: the element
// type of tensors; S: float or double, the compute type. For complex matrices (kComplex) the real
// and imaginary parts of an element are adjacent in columns and in separate tensors.
#pragma once

#include "dense.cuh"

namespace infini {

struct SolverParams {
    MatrixParams m[2], z;   // real and imaginary parts; z: the logarithms of slogdet
    int64_t first, count;   // range of matrices in the batch
    void *columns;          // column k of the first matrix begins at element k * lead
    int64_t lead, pitch;    // pitch: distance between matrices
    void **pointers;        // pointers to the matrices, for functions that require them; null: none
    int32_t *status;        // for each matrix; not 0: no result
    const int32_t *info;    // status of each matrix from the library
    const int64_t *pivots;  // for each matrix: rows that were swapped, counted from 1
    double least;           // a pivot that is not greater counts as zero
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

namespace infini {

enum { kWhole = 0, kLowerTriangle = 1, kUpperTriangle = 2 };

// Elements of the other triangle are read as 0.
INFINI_DEVICE bool is_in(int64_t triangle, uint32_t row, uint32_t column) {
    return triangle == kWhole || (triangle == kLowerTriangle ? row >= column : row <= column);
}

// Calls visit(matrix, row, column) by all threads of the grid. Neighbouring threads have
// neighbouring rows, or columns.
template <bool by_rows, class Visit>
INFINI_DEVICE void over_elements(const SolverParams &p, const Visit &visit) {
    const uint32_t inner = uint32_t(by_rows ? p.m->rows : p.m->columns);
    const uint32_t size = uint32_t(p.m->rows * p.m->columns), all = size * uint32_t(p.count);
    INFINI_ROLLED
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < all; i += gridDim.x * kThreads) {
        const uint32_t matrix = i / size, rest = i - matrix * size;
        const uint32_t outer = rest / inner, step = rest - outer * inner;
        visit(matrix, by_rows ? step : outer, by_rows ? outer : step);
    }
}

template <class E>
INFINI_DEVICE E *element(const SolverParams &p, int part, uint32_t matrix, uint32_t row,
                         uint32_t column) {
    const MatrixParams &m = p.m[part];
    return static_cast<E *>(m.data) + m.batch(p.first + matrix) + row * m.row_step +
           column * m.column_step;
}
INFINI_DEVICE int64_t place(const SolverParams &p, uint32_t matrix, uint32_t row, uint32_t column) {
    return matrix * p.pitch + column * p.lead + row;
}

}  // namespace infini

using namespace infini;

#ifdef INFINI_KERNEL_SOLVER_LOAD
// With kFinite, NaN and infinity are replaced by 0 and the matrix has no result: iterations of the
// library may not terminate with them, and its pivot search ignores them. Matrices of which a
// triangle is read are Hermitian, and their diagonals real.
INFINI_ENTRY(SolverParams, kThreads, 1) {
    S *columns = static_cast<S *>(p.columns);
    over_elements<true>(p, [&](uint32_t matrix, uint32_t row, uint32_t column) {
        constexpr int kParts = kComplex ? 2 : 1;
        const int64_t at = place(p, matrix, row, column);
        if (p.pointers && row == 0 && column == 0)
            p.pointers[matrix] = columns + matrix * p.pitch * kParts;
        const bool is_read = is_in(kTriangle, row, column);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const bool is_zero = !is_read || (part && kTriangle != kWhole && row == column);
            S value = is_zero ? S(0) : convert<S>(*element<T>(p, part, matrix, row, column));
            if (kFinite && !(fabs(value) < infinity<S>())) value = 0, p.status[matrix] = 1;
            columns[at * kParts + part] = value;
        }
    });
}
#endif

#ifdef INFINI_KERNEL_SOLVER_IDENTITY
INFINI_ENTRY(SolverParams, kThreads, 1) {
    S *columns = static_cast<S *>(p.columns);
    over_elements<true>(p, [&](uint32_t matrix, uint32_t row, uint32_t column) {
        const int64_t at = place(p, matrix, row, column);
        const S one = row == column ? S(1) : S(0);
        if constexpr (kComplex)
            columns[2 * at] = one, columns[2 * at + 1] = 0;
        else
            columns[at] = one;
    });
}
#endif

#ifdef INFINI_KERNEL_SOLVER_STORE
// There is no result (kFinite) if the matrix was not finite, (kVerdict) if the library reported
// failure, (kLast) if the last element is NaN. kConjugate: stores the conjugates.
INFINI_ENTRY(SolverParams, kThreads, 1) {
    const S *columns = static_cast<const S *>(p.columns);
    over_elements<false>(p, [&](uint32_t matrix, uint32_t row, uint32_t column) {
        constexpr int kParts = kComplex ? 2 : 1;
        bool failed = (kFinite && p.status[matrix]) || (kVerdict && p.info[matrix]);
        if constexpr (kLast) {
            const uint32_t end = uint32_t(p.lead) - 1;
            const S last = columns[place(p, matrix, end, end) * kParts];
            failed = failed || last != last;
        }
        const int64_t at = place(p, matrix, row, column);
        const bool is_given = is_in(kTriangle, row, column);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            S value = is_given ? columns[at * kParts + part] : S(0);
            if (kConjugate && part == 1) value = -value;
            if (failed) value = not_a_number<S>();
            *element<T>(p, part, matrix, row, column) = convert<T>(value);
        }
    });
}
#endif

#ifdef INFINI_KERNEL_SOLVER_PIVOTS
INFINI_ENTRY(SolverParams, kThreads, 1) {
    over_elements<false>(p, [&](uint32_t matrix, uint32_t, uint32_t column) {
        const int64_t pivot = p.pivots[matrix * p.m->columns + column];
        *element<int32_t>(p, 0, matrix, 0, column) = int32_t(pivot);
    });
}
#endif

#ifdef INFINI_KERNEL_SOLVER_DETERMINANT
#include "determinant.cuh"

struct Earlier {
    INFINI_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// A block for each matrix finds the first pivot that is zero.
INFINI_ENTRY(SolverParams, kThreads, 1) {
    const int64_t matrix = blockIdx.x, n = p.lead;
    S *columns = static_cast<S *>(p.columns) + matrix * p.pitch;
    int64_t found = n;
    INFINI_ROLLED
    for (int64_t k = thread(); k < n; k += kThreads)
        if (!(fabs(columns[k * n + k]) > S(p.least))) {
            found = k;
            break;
        }
    found = fold_large_block<kThreads>(found, Earlier());
    if (p.status[matrix]) {  // the input was not finite, so the determinant is NaN
        found = 0;
        if (thread() == 0) columns[0] = not_a_number<S>();
    }
    const int64_t *pivots = p.pivots + matrix * n;
    auto is_swapped = [=](int64_t k) { return pivots[k] != k + 1; };
    store_determinant(p.m[0], p.z, p.first + matrix, columns, n, found, is_swapped);
}
#endif

#endif  // INFINI_DEVICE
