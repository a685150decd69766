// solve_triangular, and lu_solve: equations solved with the packed factors of lu_factor.
#include "linalg/lapack_blocks.h"
#include "linalg/substitution.h"

namespace infini::cpu {
namespace {

struct Pivots {
    Offsets batch;
    int64_t n, step;

    explicit Pivots(const Tensor &x)
        : batch(x, 0, x.ndim - 1, int64_t(sizeof(int32_t))), n(x.size(-1)), step(x.stride(-1)) {}

    // Exchanges the rows of x, backwards if requested. Wrong pivots exchange nothing.
    void exchange(const void *data, int64_t index, double *x, int64_t columns,
                  bool backwards) const {
        const char *from = static_cast<const char *>(data) + batch(index);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t k = backwards ? n - 1 - i : i;
            const int64_t other = reinterpret_cast<const int32_t *>(from)[k * step] - 1;
            if (other != k && other >= 0 && other < n)
                std::swap_ranges(x + k * columns, x + (k + 1) * columns, x + other * columns);
        }
    }
};

void set_unit_diagonal(double *m, int64_t n) {
    for (int64_t k = 0; k < n; ++k) m[k * n + k] = 1;
}

std::unique_ptr<Plan> plan_lu_solve(const Operation &operation) {
    const bool transpose = operation.integer(0) != 0;
    const Matrices x(operation.tensor(0), 2), b(operation.tensor(3), 2);
    const Matrices packed(operation.tensor(1), 2);
    const Matrices lu = transpose ? packed.transposed() : packed;
    const Pivots pivots(operation.tensor(2));
    const int64_t n = lu.rows, columns = b.columns;
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n, *diagonal = sides + n * columns;
        lu.load(room, a.pointer<void>(1), i);
        b.load(sides, a.pointer<void>(3), i);
        if (!transpose) pivots.exchange(a.pointer<void>(2), i, sides, columns, false);
        if (transpose) solve_triangular(room, n, Triangle::kLower, sides, columns);
        for (int64_t k = 0; k < n; ++k) diagonal[k] = room[k * n + k];
        set_unit_diagonal(room, n);
        solve_triangular(room, n, transpose ? Triangle::kUpper : Triangle::kLower, sides, columns);
        if (transpose) {
            pivots.exchange(a.pointer<void>(2), i, sides, columns, true);
        } else {
            for (int64_t k = 0; k < n; ++k) room[k * n + k] = diagonal[k];
            solve_triangular(room, n, Triangle::kUpper, sides, columns);
        }
        x.store(a.pointer<void>(0), i, sides);
    };
    return plan_batch(x.count(), n * n + n * columns + n, n * n * (columns + 4), body);
}

std::unique_ptr<Plan> plan_solve_triangular(const Operation &operation) {
    const bool upper = operation.integer(0) != 0, unit = operation.integer(1) != 0;
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const Matrices x_columns = x.transposed(), b_columns = b.transposed();
    const int64_t n = m.rows, columns = b.columns, doubles = n * n + n * columns;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(m, [&]<class T>(T) {
            T *matrix = reinterpret_cast<T *>(room), *sides = matrix + n * n;
            const LapackBlocks<T> blocks = {lapack, true};
            m.load(matrix, a.pointer<void>(1), i);  // the transpose of the other triangle
            b_columns.load(sides, a.pointer<void>(2), i);
            for_column_blocks(0, int(columns), [&](int begin, int end) {
                blocks.solve_triangle(upper ? "L" : "U", "T", unit ? "U" : "N", int(n), end - begin,
                                      matrix, int(n), sides + begin * n, int(n));
            });
            x_columns.store(a.pointer<void>(0), i, sides);
            return true;
        });
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n;
        m.load(room, a.pointer<void>(1), i);
        if (unit) set_unit_diagonal(room, n);
        b.load(sides, a.pointer<void>(2), i);
        solve_triangular(room, n, upper ? Triangle::kUpper : Triangle::kLower, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_lapack(m, kLapackLu, doubles, by_lapack, doubles, n * n * (columns / 2 + 4),
                            body);
}

std::unique_ptr<Plan> plan_triangular(const Operation &operation) {
    return operation.is("lu_solve") ? plan_lu_solve(operation) : plan_solve_triangular(operation);
}

INFINI_KERNEL("triangular", plan_triangular);

}  // namespace
}  // namespace infini::cpu
