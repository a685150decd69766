// lu_factor: L and U of complex matrices in one, with the rows that were exchanged.
#include "linalg/complex_lu.h"

namespace infini::cpu {
namespace {

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
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int *swaps = reinterpret_cast<int *>(spare + m * n), info = 0;
        const int rows = int(m), columns = int(n);
        x_columns.load(as_complex(room), a, 3, index, spare);
        if (!is_finite(room, 2 * m * n)) return false;
        lapack.zgetrf(&rows, &columns, room, &rows, swaps, &info);  // a pivot of 0 is no failure
        if (info < 0) return false;
        lu_columns.store(a, 0, index, as_complex(room), spare);
        store_swaps(a, index, swaps);
        return true;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        double *spare = room + 2 * m * n;
        int64_t *swaps = reinterpret_cast<int64_t *>(spare + m * n);
        x.load(as_complex(room), a, 3, index, spare);
        factor_complex_lu(as_complex(room), m, n, swaps);
        lu.store(a, 0, index, as_complex(room), spare);
        store_swaps(a, index, swaps);
    };
    const int64_t doubles = 3 * m * n + k;
    return plan_with_lapack(x.re, kLapackComplex, doubles, by_lapack, doubles, m * n * k * 4, body);
}

INFINI_KERNEL("lu_factor", plan_lu_factor);

}  // namespace
}  // namespace infini::cpu
