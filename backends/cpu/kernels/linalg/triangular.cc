// solve_triangular, and lu_solve: equations solved with the packed factors of lu_factor.
#include <utility>

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

// Plans a solution by triangles: solve(blocks, matrix, sides, columns, arguments, index) with blocks
// of type T, and arguments that are null while the workspace is measured. Small matrices are solved
// in double precision, which costs them nothing. Many right-hand sides of a matrix that stays in
// the cache are solved slice by slice.
template <class Solve>
std::unique_ptr<Plan> plan_triangles(const Matrices &x, const Matrices &m, const Matrices &b,
                                     int matrix_index, int sides_index, const Solve &solve) {
    constexpr int64_t kMostRows = 64, kMany = 256, kSlice = 15 << 10;
    const int64_t n = m.rows, columns = b.columns;
    const int64_t width = n <= kMostRows
                              ? std::max<int64_t>(64, kSlice / std::max<int64_t>(n, 1) / 64 * 64)
                              : std::max<int64_t>(columns, 1);
    const int64_t slices = std::max<int64_t>(1, (columns + width - 1) / width);
    const bool parallel =
        slices == 1 && m.count() < int64_t(thread_count()) && n * n * columns >= 1 << 21;
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t at, Room &room) {
        const int64_t i = at / slices, first = at % slices * width;
        const int64_t count = std::min(width, columns - first);
        auto slice_of = [&](Matrices sides, int argument) {
            sides.columns = count;
            const int64_t bytes = int64_t(infiniSizeOf(infiniDtype_t(sides.dtype)));
            return std::pair(sides, a->pointer<char>(argument) + first * sides.column_step * bytes);
        };
        // A matrix of T is read where it is, in any order.
        const bool is_read = m.dtype == (sizeof(T) == 4 ? INFINI_DTYPE_F32 : INFINI_DTYPE_F64);
        Part<T> matrix = {nullptr, m.row_step, m.column_step};
        if (!is_read) matrix = {room.take<T>(n * n), n};
        const Part<T> sides = {room.take<T>(n * count), count};
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a && is_read)
            matrix.data = reinterpret_cast<T *>(a->pointer<char>(matrix_index) + m.batch(i));
        else if (a)
            m.load(matrix.data, a->pointer<void>(matrix_index), i);
        if (a) {
            const auto [from, data] = slice_of(b, sides_index);
            from.load(sides.data, data, i);
        }
        solve(blocks, matrix, sides, count, a, i);
        if (a) {
            const auto [to, data] = slice_of(x, 0);
            to.store(data, i, sides.data);
        }
        room.take<char>(int64_t(blocks.bytes()));
        return true;
    };
    auto in_double = [=](const Arguments &a, int64_t i, double *data) {
        Room room = {reinterpret_cast<char *>(data)};
        by_blocks(double(), &a, i, room);
    };
    Room needed;
    by_blocks(double(), nullptr, 0, needed);
    const int64_t work = n * n * (std::min(width, columns) / 2 + 4);
    const bool is_large = n >= kBlocksFrom || columns >= kMany;
    return plan_with_blocks(m.count() * slices, is_large, by_dtype(m, by_blocks),
                            int64_t(needed.used / sizeof(double)), work, in_double);
}

std::unique_ptr<Plan> plan_lu_solve(const Operation &operation) {
    const bool transpose = operation.integer(0) != 0;
    const Matrices x(operation.tensor(0), 2), b(operation.tensor(3), 2);
    const Matrices packed(operation.tensor(1), 2);
    const Matrices lu = transpose ? packed.transposed() : packed;
    const Pivots pivots(operation.tensor(2));
    const int64_t n = lu.rows;
    return plan_triangles(
        x, lu, b, 1, 3,
        [=]<class T>(Blocks<T> &blocks, Part<T> matrix, Part<T> sides, int64_t columns,
                     const Arguments *a, int64_t i) {
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
    const int64_t n = m.rows;
    return plan_triangles(x, m, b, 1, 2,
                          [=]<class T>(Blocks<T> &blocks, Part<T> matrix, Part<T> sides,
                                       int64_t columns, const Arguments *, int64_t) {
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
