// solve_triangular, and lu_solve: equations solved with the packed factors of lu_factor.
#include "linalg/blocks.h"

namespace infini::cpu {
namespace {

struct Pivots {
    Offsets batch;
    int64_t n, step;

    explicit Pivots(const Tensor &x)
        : batch(x, 0, x.ndim - 1, int64_t(sizeof(int32_t))), n(x.size(-1)), step(x.stride(-1)) {}

    // Exchanges the rows of x, backwards if requested. Wrong pivots exchange nothing.
    template <class T>
    void exchange(const void *data, int64_t index, T *x, int64_t columns, bool backwards) const {
        const char *from = static_cast<const char *>(data) + batch(index);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t k = backwards ? n - 1 - i : i;
            const int64_t other = reinterpret_cast<const int32_t *>(from)[k * step] - 1;
            if (other != k && other >= 0 && other < n)
                std::swap_ranges(x + k * columns, x + (k + 1) * columns, x + other * columns);
        }
    }
};

// Plans a solution by triangles: solve(blocks, matrix, sides, arguments, index) with blocks of type
// T, and arguments that are null while the workspace is measured. Small matrices are solved in
// double precision, which costs them nothing.
template <class Solve>
std::unique_ptr<Plan> plan_triangles(const Matrices &x, const Matrices &m, const Matrices &b,
                                     int matrix_index, int sides_index, const Solve &solve) {
    const int64_t n = m.rows, columns = b.columns;
    const bool parallel = is_worth_threads(m);
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        // A matrix of T is read where it is, in any order.
        const bool is_read = m.dtype == (sizeof(T) == 4 ? INFINI_DTYPE_F32 : INFINI_DTYPE_F64);
        Part<T> matrix = {nullptr, m.row_step, m.column_step};
        if (!is_read) matrix = {room.take<T>(n * n), n};
        const Part<T> sides = {room.take<T>(n * columns), columns};
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a && is_read)
            matrix.data = reinterpret_cast<T *>(a->pointer<char>(matrix_index) + m.batch(i));
        else if (a)
            m.load(matrix.data, a->pointer<void>(matrix_index), i);
        if (a) b.load(sides.data, a->pointer<void>(sides_index), i);
        solve(blocks, matrix, sides, a, i);
        if (a) x.store(a->pointer<void>(0), i, sides.data);
        room.take<char>(int64_t(blocks.bytes()));
        return true;
    };
    auto in_double = [=](const Arguments &a, int64_t i, double *data) {
        Room room = {reinterpret_cast<char *>(data)};
        by_blocks(double(), &a, i, room);
    };
    Room needed;
    by_blocks(double(), nullptr, 0, needed);
    return plan_with_blocks(m.count(), n >= kBlocksFrom, by_dtype(m, by_blocks),
                            int64_t(needed.used / sizeof(double)), n * n * (columns / 2 + 4),
                            in_double);
}

std::unique_ptr<Plan> plan_lu_solve(const Operation &operation) {
    const bool transpose = operation.integer(0) != 0;
    const Matrices x(operation.tensor(0), 2), b(operation.tensor(3), 2);
    const Matrices packed(operation.tensor(1), 2);
    const Matrices lu = transpose ? packed.transposed() : packed;
    const Pivots pivots(operation.tensor(2));
    const int64_t n = lu.rows, columns = b.columns;
    return plan_triangles(
        x, lu, b, 1, 3,
        [=]<class T>(Blocks<T> &blocks, Part<T> matrix, Part<T> sides, const Arguments *a,
                     int64_t i) {
            if (a && !transpose)
                pivots.exchange(a->pointer<void>(2), i, sides.data, columns, false);
            if (transpose) blocks.template solve<false>(matrix, n, false, sides, columns);
            blocks.template solve<true>(matrix, n, transpose, sides, columns);
            if (!transpose) blocks.template solve<false>(matrix, n, true, sides, columns);
            if (a && transpose) pivots.exchange(a->pointer<void>(2), i, sides.data, columns, true);
        });
}

std::unique_ptr<Plan> plan_solve_triangular(const Operation &operation) {
    const bool upper = operation.integer(0) != 0, unit = operation.integer(1) != 0;
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const int64_t n = m.rows, columns = b.columns;
    return plan_triangles(
        x, m, b, 1, 2,
        [=]<class T>(Blocks<T> &blocks, Part<T> matrix, Part<T> sides, const Arguments *, int64_t) {
            if (unit)
                blocks.template solve<true>(matrix, n, upper, sides, columns);
            else
                blocks.template solve<false>(matrix, n, upper, sides, columns);
        });
}

std::unique_ptr<Plan> plan_triangular(const Operation &operation) {
    return operation.is("lu_solve") ? plan_lu_solve(operation) : plan_solve_triangular(operation);
}

INFINI_KERNEL("triangular", plan_triangular);

}  // namespace
}  // namespace infini::cpu
