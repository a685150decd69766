// inverse and solve: equations by LU factors.
#include <limits>

#include "linalg/lu.h"

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
    const int64_t n = x.rows;
    return plan_batch(x.count(), 2 * n * n + n, n * n * (n + 8),
                      [=](const Arguments &a, int64_t i, double *room) {
                          double *sides = room + n * n + n;
                          x.load(room, a.pointer<void>(1), i);
                          set_identity(sides, n, n);
                          solve(room, n, sides, n);
                          y.store(a.pointer<void>(0), i, sides);
                      });
}

std::unique_ptr<Plan> plan_solve(const Operation &operation) {
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const int64_t n = m.rows, columns = b.columns;
    return plan_batch(m.count(), n * n + n + n * columns, n * n * (n / 2 + columns + 8),
                      [=](const Arguments &a, int64_t i, double *room) {
                          double *sides = room + n * n + n;
                          m.load(room, a.pointer<void>(1), i);
                          b.load(sides, a.pointer<void>(2), i);
                          solve(room, n, sides, columns);
                          x.store(a.pointer<void>(0), i, sides);
                      });
}

INFINI_KERNEL("inverse", plan_inverse);
INFINI_KERNEL("solve", plan_solve);

}  // namespace
}  // namespace infini::cpu
