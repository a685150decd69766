// lu_factor: packed L and U of complex matrices, with the row swaps. Matrices whose imaginary parts
// are all 0 are factored as real ones; wide ones by their first columns, which determine the swaps.
#include "linalg/complex_lu.h"
#include "linalg/lu.h"

namespace infini::cpu {
namespace {

// factor_complex_lu for real matrices, by panels of columns.
void factor_real_lu(double *m, int64_t rows, int64_t columns, int64_t *pivots) {
    const int64_t count = std::min(rows, columns);
    for (int64_t first = 0; first < count; first += kPanel) {
        const int64_t last = std::min(first + kPanel, count);
        for (int64_t k = first; k < last; ++k) {
            int64_t best = k;
            for (int64_t i = k + 1; i < rows; ++i)
                if (std::abs(m[i * columns + k]) > std::abs(m[best * columns + k])) best = i;
            pivots[k] = best + 1;
            double *line = m + k * columns;
            if (best != k) std::swap_ranges(line, line + columns, m + best * columns);
            if (line[k] == 0) continue;
            for (int64_t i = k + 1; i < rows; ++i) {
                double *row = m + i * columns;
                row[k] /= line[k];
                for (int64_t j = k + 1; j < last; ++j) row[j] -= row[k] * line[j];
            }
        }
        // The matrix to the right of the panel: first the panel's rows one by one, then the rest.
        const ConstBlock panel(m + first * columns + last, columns);
        for (int64_t i = first + 1; i < last; ++i)
            add_product_rows<1>({m + i * columns + last, columns},
                                {m + i * columns + first, columns}, panel, i - first,
                                columns - last, -1);
        add_product({m + last * columns + last, columns}, {m + last * columns + first, columns},
                    panel, rows - last, last - first, columns - last, -1);
    }
}

bool is_zero(const double *x, int64_t n) {
    bool zero = true;
    for (int64_t i = 0; i < n; ++i) zero &= x[i] == 0;
    return zero;
}

constexpr int64_t kWideRows = 64;

bool is_one_number(const Tensor &x) {
    for (int64_t i = 0; i < x.ndim; ++i)
        if (x.size(i) > 1 && x.stride(i) != 0) return false;
    return true;
}

template <class T>
void store_zeros(const Matrices &m, void *data, int64_t index) {
    char *to = static_cast<char *>(data) + m.batch(index);
    for (int64_t i = 0; i < m.rows; ++i) {
        T *row = reinterpret_cast<T *>(to) + i * m.row_step;
        if (m.column_step == 1) std::fill(row, row + m.columns, T(0));
        for (int64_t j = 0; j < m.columns && m.column_step != 1; ++j) row[j * m.column_step] = 0;
    }
}

// A wide matrix: the first columns by LAPACK, the others by substitution in L, in blocks that stay
// in L1. `room`: the matrix, and its first columns. False if an element is not finite.
template <class T>
bool factor_wide(const Lapack &lapack, const Matrices &x, const void *from, const Matrices &lu,
                 void *to, int64_t index, T *room, int *swaps, int *order) {
    constexpr int64_t kBlock = 128;
    const int64_t m = x.rows, n = x.columns;
    T *head = room + m * n;
    x.load(room, from, index);
    if (!is_finite(room, m * n)) return false;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) head[j * m + i] = room[i * n + j];
    LapackBlocks<T>{lapack, false}.factor_lu(head, int(m), int(m), swaps);
    for (int64_t i = 0; i < m; ++i) order[i] = int(i);
    for (int64_t i = 0; i < m; ++i) std::swap(order[i], order[swaps[i] - 1]);
    char *base = static_cast<char *>(to) + lu.batch(index);
    auto store = [&](const T *row, int64_t i, int64_t begin, int64_t count) {
        T *at = reinterpret_cast<T *>(base) + i * lu.row_step + begin * lu.column_step;
        store_dtype(at, lu.dtype, row, size_t(count), lu.column_step);
    };
    const size_t grain = size_t(std::max<int64_t>(1, 65536 / (m * kBlock)));
    parallel_for(size_t((n - m + kBlock - 1) / kBlock), grain, [&](size_t first, size_t last) {
        T rows[kWideRows][kBlock];
        for (int64_t at = m + int64_t(first) * kBlock; at < m + int64_t(last) * kBlock;
             at += kBlock) {
            const int64_t count = std::min(kBlock, n - at);
            for (int64_t i = 0; i < m; ++i) {
                const T *row = room + order[i] * n + at;
                std::copy(row, row + count, rows[i]);
                std::fill(rows[i] + count, rows[i] + kBlock, T(0));
                for (int64_t k = 0; k < i; ++k) {
                    const T factor = head[k * m + i];
                    for (int64_t j = 0; j < kBlock; ++j) rows[i][j] -= factor * rows[k][j];
                }
            }
            for (int64_t i = 0; i < m; ++i) store(rows[i], i, at, count);
        }
    });
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < m; ++j) room[j] = head[j * m + i];
        store(room, i, 0, m);
    }
    return true;
}

std::unique_ptr<Plan> plan_lu_factor(const Operation &operation) {
    const ComplexMatrices lu(operation, 0, 2), x(operation, 3, 2);
    const Tensor pivots = operation.tensor(2);
    const Offsets places(pivots, 0, pivots.ndim - 1, int64_t(sizeof(int32_t)));
    const ComplexMatrices lu_columns = lu.transposed(), x_columns = x.transposed();
    const int64_t m = x.rows(), n = x.columns(), step = pivots.stride(-1), k = std::min(m, n);
    auto store_swaps = [=](const Arguments &a, int64_t index, const auto *swaps) {
        char *to = a.pointer<char>(2) + places(index);
        for (int64_t i = 0; i < k; ++i)
            reinterpret_cast<int32_t *>(to)[i * step] = int32_t(swaps[i]);
    };
    // A single value for all imaginary parts: most likely the matrices are real.
    const bool is_flat = m * n > 0 && is_one_number(operation.tensor(4));
    const bool parallel = has_blocks(x.re);
    const bool real_by_lapack = lapack_for(x.re, kLapackLuFactor) != nullptr;
    const bool is_wide = n > 2 * m && m <= kWideRows;
    // Whether the matrix is real; if there may be an imaginary part, it is loaded.
    auto is_real = [=](const Arguments &a, int64_t index, double *imag) {
        if (is_flat) {
            const char *value = a.pointer<char>(4) + x.im.batch(index);
            load_dtype(imag, value, x.im.dtype, 1, 1);
            return *imag == 0;
        }
        x.im.load(imag, a.pointer<void>(4), index);
        return is_zero(imag, m * n);
    };
    auto store_no_imag = [=](const Arguments &a, int64_t index) {
        in_type_of(x.re, [&]<class T>(T) {
            store_zeros<T>(lu.im, a.pointer<void>(1), index);
            return true;
        });
    };
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int *swaps = reinterpret_cast<int *>(spare + m * n), info = 0;
        const int rows = int(m), columns = int(n);
        if (is_real(a, index, spare)) {
            if (!real_by_lapack) return false;
            const bool done = in_type_of(x.re, [&]<class T>(T) {
                T *matrix = reinterpret_cast<T *>(room);
                if (is_wide)
                    return factor_wide(lapack, x.re, a.pointer<void>(3), lu.re, a.pointer<void>(0),
                                       index, matrix, swaps, swaps + k);
                x_columns.re.load(matrix, a.pointer<void>(3), index);
                if (!is_finite(matrix, m * n)) return false;
                LapackBlocks<T>{lapack, parallel}.factor_lu(matrix, rows, columns, swaps);
                lu_columns.re.store(a.pointer<void>(0), index, matrix);
                return true;
            });
            if (!done) return false;
            store_no_imag(a, index);
            store_swaps(a, index, swaps);
            return true;
        }
        x_columns.load(as_complex(room), a, 3, index, spare);
        if (!is_finite(room, 2 * m * n)) return false;
        lapack.zgetrf(&rows, &columns, room, &rows, swaps, &info);  // a pivot of 0 is not an error
        if (info < 0) return false;
        lu_columns.store(a, 0, index, as_complex(room), spare);
        store_swaps(a, index, swaps);
        return true;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int64_t *swaps = reinterpret_cast<int64_t *>(spare + m * n);
        if (is_real(a, index, spare)) {
            x.re.load(room, a.pointer<void>(3), index);
            factor_real_lu(room, m, n, swaps);
            lu.re.store(a.pointer<void>(0), index, room);
            store_no_imag(a, index);
            store_swaps(a, index, swaps);
            return;
        }
        x.load(as_complex(room), a, 3, index, spare);
        factor_complex_lu(as_complex(room), m, n, swaps);
        lu.store(a, 0, index, as_complex(room), spare);
        store_swaps(a, index, swaps);
    };
    const int64_t doubles = 3 * m * n + k;
    return plan_with_lapack(x.re, is_flat ? kLapackLuFactor : kLapackComplex, doubles, by_lapack,
                            doubles, m * n * k * (is_flat ? 1 : 4), body);
}

INFINI_KERNEL("lu_factor", plan_lu_factor);

}  // namespace
}  // namespace infini::cpu
