// lu_factor: packed L and U of complex matrices, with the row swaps. Matrices whose imaginary parts
// are all 0 are factored as real ones.
#include "linalg/complex_lu.h"
#include "linalg/lapack.h"
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

constexpr int64_t kLeastBlocks = 4;  // rows or columns

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
    const bool parallel = is_worth_threads(x.re);
    auto real_by_blocks = [=]<class T>(T, const Arguments *a, int64_t index, Room &room) {
        const Part<T> matrix = {room.take<T>(m * n), n};
        int *swaps = room.take<int>(k);
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a) x.re.load(matrix.data, a->pointer<void>(3), index);
        if (a && !is_finite(matrix.data, m * n)) return false;
        blocks.factor(matrix, m, n, swaps);
        room.take<char>(int64_t(blocks.bytes()));
        if (!a) return true;
        for (int64_t i = 0; i < k; ++i) ++swaps[i];
        lu.re.store(a->pointer<void>(0), index, matrix.data);
        store_swaps(*a, index, swaps);
        return true;
    };
    auto in_type = by_dtype(x.re, real_by_blocks);
    const bool has_blocks = k >= kLeastBlocks;
    auto factor_real = [=](const Arguments &a, int64_t index, double *data) {
        Room room = {reinterpret_cast<char *>(data)};
        if (!has_blocks || !in_type(&a, index, room)) {
            int64_t *swaps = reinterpret_cast<int64_t *>(data + 3 * m * n);
            x.re.load(data, a.pointer<void>(3), index);
            factor_real_lu(data, m, n, swaps);
            lu.re.store(a.pointer<void>(0), index, data);
            store_swaps(a, index, swaps);
        }
        store_no_imag(a, index);
    };
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int *swaps = reinterpret_cast<int *>(spare + m * n), info = 0;
        const int rows = int(m), columns = int(n);
        if (is_real(a, index, spare)) {
            factor_real(a, index, room);
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
        if (is_real(a, index, spare)) return factor_real(a, index, room);
        x.load(as_complex(room), a, 3, index, spare);
        factor_complex_lu(as_complex(room), m, n, swaps);
        lu.store(a, 0, index, as_complex(room), spare);
        store_swaps(a, index, swaps);
    };
    Room needed;
    if (has_blocks) in_type(nullptr, 0, needed);
    const int64_t doubles = std::max(3 * m * n + k, int64_t(needed.used / sizeof(double)));
    return plan_with_lapack(x.re, is_flat ? kLapackMost : kLapackComplex, doubles, by_lapack,
                            doubles, m * n * k * (is_flat ? 1 : 4), body);
}

INFINI_KERNEL("lu_factor", plan_lu_factor);

}  // namespace
}  // namespace infini::cpu
