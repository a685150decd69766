// inverse and solve: systems solved by LU factors, also complex ones; triangular systems by
// substitution.
#include "linalg/complex_lu.h"
#include "linalg/lapack.h"
#include "linalg/lu.h"

namespace infini::cpu {

// complex_inverse and complex_solve: systems solved by LU factors.
inline void set_identity(Complex *m, int64_t n) {
    std::fill(m, m + n * n, Complex{});
    for (int64_t i = 0; i < n; ++i) m[i * n + i] = {1, 0};
}

inline std::unique_ptr<Plan> plan_complex_linear(const Operation &operation) {
    const bool is_inverse = operation.is("complex_inverse");
    const ComplexMatrices x(operation, 0, 2), m(operation, 2, 2);
    const ComplexMatrices b(operation, is_inverse ? 2 : 4, 2);
    const ComplexMatrices x_columns = x.transposed(), m_columns = m.transposed();
    const ComplexMatrices b_columns = b.transposed();
    const int64_t n = m.rows(), columns = x.columns(), spare = std::max(n * n, n * columns);
    // The matrix, the right-hand sides, memory to load them, n integers.
    const int64_t doubles = 2 * n * (n + columns) + spare + n;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *sides = matrix + n * n;
        double *loaded = &sides[n * columns].re;
        int *swaps = reinterpret_cast<int *>(loaded + spare), info = 0;
        const int size = int(n), count = int(columns);
        m_columns.load(matrix, a, 2, index, loaded);
        if (is_inverse)
            set_identity(sides, n);
        else
            b_columns.load(sides, a, 4, index, loaded);
        if (!is_finite(room, 2 * n * (n + columns))) return false;
        lapack.zgetrf(&size, &size, room, &size, swaps, &info);
        if (info != 0) return false;
        lapack.zgetrs("N", &size, &count, room, &size, swaps, &sides->re, &size, &info, 1);
        if (info == 0) x_columns.store(a, 0, index, sides, loaded);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *sides = matrix + n * n;
        double *loaded = &sides[n * columns].re;
        int64_t *swaps = reinterpret_cast<int64_t *>(loaded + spare);
        m.load(matrix, a, 2, index, loaded);
        if (is_inverse)
            set_identity(sides, n);
        else
            b.load(sides, a, 4, index, loaded);
        factor_complex_lu(matrix, n, n, swaps);
        if (!solve_complex_lu(matrix, n, swaps, sides, columns)) fill_nan(sides, n * columns);
        x.store(a, 0, index, sides, loaded);
    };
    return plan_with_lapack(m.re, kLapackComplex, doubles, by_lapack, doubles,
                            n * n * (n + columns) * 4, body);
}

namespace {

// `room`: the n x n matrix, n integers, then the right-hand sides, replaced by the solutions.
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
    const bool parallel = is_worth_threads(x);
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        const Part<T> matrix = {room.take<T>(n * n), n}, inverse = {room.take<T>(n * n), n};
        int *swaps = room.take<int>(n), *order = room.take<int>(n);
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a) x.load(matrix.data, a->pointer<void>(1), i);
        if (a && !is_finite(matrix.data, n * n)) return false;
        blocks.factor(matrix, n, n, swaps);
        if (a && !has_pivots(matrix, n)) return false;
        blocks.invert_lu(matrix, n, swaps, inverse, order);
        if (a) y.store(a->pointer<void>(0), i, inverse.data);
        room.take<char>(int64_t(blocks.bytes()));
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        x.load(room, a.pointer<void>(1), i);
        set_identity(sides, n, n);
        solve(room, n, sides, n);
        y.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_blocks(x.count(), n >= kBlocksFrom, by_dtype(x, by_blocks), 2 * n * n + n,
                            n * n * (n + 8), body);
}

std::unique_ptr<Plan> plan_solve(const Operation &operation) {
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const int64_t n = m.rows, columns = b.columns;
    const bool parallel = is_worth_threads(m);
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        const Part<T> matrix = {room.take<T>(n * n), n},
                      sides = {room.take<T>(n * columns), columns};
        int *swaps = room.take<int>(n);
        Blocks<T> blocks(parallel, room.take<char>(0));
        Triangle triangle = Triangle::kNone;
        if (a) {
            m.load(matrix.data, a->pointer<void>(1), i);
            b.load(sides.data, a->pointer<void>(2), i);
            if (!is_finite(matrix.data, n * n) || !is_finite(sides.data, n * columns)) return false;
            triangle = triangle_of(matrix.data, n);
        }
        if (triangle == Triangle::kNone) {
            blocks.factor(matrix, n, n, swaps);
            if (a && !has_pivots(matrix, n)) return false;
            blocks.solve_lu(matrix, n, swaps, sides, columns);
        } else {
            blocks.template solve<false>(matrix, n, triangle == Triangle::kUpper, sides, columns);
        }
        if (a) x.store(a->pointer<void>(0), i, sides.data);
        room.take<char>(int64_t(blocks.bytes()));
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        m.load(room, a.pointer<void>(1), i);
        b.load(sides, a.pointer<void>(2), i);
        if (const Triangle triangle = triangle_of(room, n); triangle != Triangle::kNone)
            solve_triangular(room, n, triangle, sides, columns);
        else
            solve(room, n, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_blocks(m.count(), n >= kBlocksFrom, by_dtype(m, by_blocks),
                            n * n + n + n * columns, n * n * (n / 2 + columns + 8), body);
}

std::unique_ptr<Plan> plan_linear(const Operation &operation) {
    if (operation.is("complex_inverse") || operation.is("complex_solve"))
        return plan_complex_linear(operation);
    return operation.is("inverse") ? plan_inverse(operation) : plan_solve(operation);
}

INFINI_KERNEL("solve", plan_linear);

}  // namespace

}  // namespace infini::cpu
