// inverse and solve: equations by LU factors, complex ones too; those of triangular matrices by
// substitution.
#include "linalg/complex_solve.h"
#include "linalg/lu.h"
#include "linalg/triangular.h"

namespace infini::cpu {
namespace {

// `room`: the n x n matrix, n integers, then the right-hand sides, which become the solutions.
void solve(double *room, int64_t n, double *sides, int64_t columns) {
    int64_t *swaps = reinterpret_cast<int64_t *>(room + n * n);
    if (factor_lu(room, n, swaps, 0) == n)
        solve_lu(room, n, swaps, sides, columns);
    else
        std::fill(sides, sides + n * columns, std::numeric_limits<double>::quiet_NaN());
}

std::unique_ptr<Plan> plan_inverse(const Operation &operation) {
    const Matrices y(operation.tensor(0), 2), x(operation.tensor(1), 2);
    const int64_t n = x.rows, lwork = kLapackBlock * n;
    // The inverse of the transpose is the transpose of the inverse.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        int *swaps = reinterpret_cast<int *>(room + n * n), info = 0;
        double *work = room + n * n + n;
        const int size = int(n), work_size = int(lwork);
        x.load(room, a.pointer<void>(1), i);
        if (!factor_lu(lapack, room, size, swaps, 0)) return false;
        lapack.dgetri(&size, room, &size, swaps, work, &work_size, &info);
        if (info == 0) y.store(a.pointer<void>(0), i, room);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        x.load(room, a.pointer<void>(1), i);
        set_identity(sides, n, n);
        solve(room, n, sides, n);
        y.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_lapack(x, kLapackLu, n * n + n + lwork, by_lapack, 2 * n * n + n,
                            n * n * (n + 8), body);
}

std::unique_ptr<Plan> plan_solve(const Operation &operation) {
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const Matrices x_columns = x.transposed(), m_columns = m.transposed();
    const Matrices b_columns = b.transposed();
    const int64_t n = m.rows, columns = b.columns, doubles = n * n + n + n * columns;
    auto by_substitution = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        m.load(room, a.pointer<void>(1), i);
        const Triangle triangle = triangle_of(room, n);
        if (triangle == Triangle::kNone) return false;
        b.load(sides, a.pointer<void>(2), i);
        solve_triangular(room, n, triangle, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
        return true;
    };
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        if (by_substitution(a, i, room)) return true;
        int *swaps = reinterpret_cast<int *>(room + n * n), info = 0;
        double *sides = room + n * n + n;
        const int size = int(n), count = int(columns);
        m_columns.load(room, a.pointer<void>(1), i);
        b_columns.load(sides, a.pointer<void>(2), i);
        if (!is_finite(sides, n * columns) || !factor_lu(lapack, room, size, swaps, 0))
            return false;
        lapack.dgetrs("N", &size, &count, room, &size, swaps, sides, &size, &info, 1);
        if (info == 0) x_columns.store(a.pointer<void>(0), i, sides);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        if (by_substitution(a, i, room)) return;
        double *sides = room + n * n + n;
        m.load(room, a.pointer<void>(1), i);
        b.load(sides, a.pointer<void>(2), i);
        solve(room, n, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_lapack(m, kLapackLu, doubles, by_lapack, doubles,
                            n * n * (n / 2 + columns + 8), body);
}

std::unique_ptr<Plan> plan_linear(const Operation &operation) {
    if (operation.is("complex_inverse") || operation.is("complex_solve"))
        return plan_complex_linear(operation);
    return operation.is("inverse") ? plan_inverse(operation) : plan_solve(operation);
}

INFINI_KERNEL("solve", plan_linear);

}  // namespace
}  // namespace infini::cpu
