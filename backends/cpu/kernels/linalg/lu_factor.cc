// lu_factor: packed L and U of complex matrices, with the row swaps. Matrices whose imaginary parts
// are all 0 are factored as real ones.
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

bool is_one_number(const Tensor &x) {
    for (int64_t i = 0; i < x.ndim; ++i)
        if (x.size(i) > 1 && x.stride(i) != 0) return false;
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
    const bool is_flat = is_one_number(operation.tensor(4));
    const bool parallel = has_blocks(x.re);
    const bool real_by_lapack = lapack_for(x.re, kLapackLuFactor) != nullptr;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int *swaps = reinterpret_cast<int *>(spare + m * n), info = 0;
        const int rows = int(m), columns = int(n);
        x.im.load(spare, a.pointer<void>(4), index);
        if (is_zero(spare, m * n)) {
            if (!real_by_lapack) return false;
            return in_type_of(x.re, [&]<class T>(T) {
                T *matrix = reinterpret_cast<T *>(room);
                x_columns.re.load(matrix, a.pointer<void>(3), index);
                if (!is_finite(matrix, m * n)) return false;
                LapackBlocks<T>{lapack, parallel}.factor_lu(matrix, rows, columns, swaps);
                lu_columns.re.store(a.pointer<void>(0), index, matrix);
                lu.im.store(a.pointer<void>(1), index, spare);
                store_swaps(a, index, swaps);
                return true;
            });
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
        x.im.load(spare, a.pointer<void>(4), index);
        if (is_zero(spare, m * n)) {
            x.re.load(room, a.pointer<void>(3), index);
            factor_real_lu(room, m, n, swaps);
            lu.re.store(a.pointer<void>(0), index, room);
            lu.im.store(a.pointer<void>(1), index, spare);
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
