// lu_unpack: the permutation, L and U of the results of lu_factor.
#include <numeric>

#include "linalg/dense.h"

namespace infini::cpu {
namespace {

struct Unpack {
    Matrices p, l, u, lu;
    Offsets places;  // of the pivots
    int64_t step, m, n, count;

    explicit Unpack(const Operation &operation)
        : p(operation.tensor(0), 2),
          l(operation.tensor(1), 2),
          u(operation.tensor(2), 2),
          lu(operation.tensor(3), 2) {
        const Tensor pivots = operation.tensor(4);
        places = Offsets(pivots, 0, pivots.ndim - 1, int64_t(sizeof(int32_t)));
        step = pivots.stride(-1), m = lu.rows, n = lu.columns, count = std::min(m, n);
    }

    // ones[i]: the column of row i of P that is 1. Wrong pivots exchange nothing.
    void find_ones(const Arguments &a, int64_t index, int64_t *order, int64_t *ones) const {
        const char *from = a.pointer<char>(4) + places(index);
        std::iota(order, order + m, int64_t(0));
        for (int64_t k = 0; k < count; ++k) {
            const int64_t other = reinterpret_cast<const int32_t *>(from)[k * step] - 1;
            if (other >= 0 && other < m) std::swap(order[k], order[other]);
        }
        for (int64_t i = 0; i < m; ++i) ones[order[i]] = i;
    }

    template <class T>
    T *row(const Arguments &a, const Matrices &of, int place, int64_t index, int64_t i) const {
        return reinterpret_cast<T *>(a.pointer<char>(place) + of.batch(index)) + i * of.row_step;
    }
    template <class T>
    static void fill(T *to, int64_t step, int64_t begin, int64_t end) {
        if (step == 1) return std::fill(to + std::min(begin, end), to + end, T(0));
        for (int64_t j = begin; j < end; ++j) to[j * step] = 0;
    }
    template <class T>
    static void copy(T *to, int64_t to_step, const T *from, int64_t from_step, int64_t begin,
                     int64_t end) {
        for (int64_t j = begin; j < end; ++j) to[j * to_step] = from[j * from_step];
    }

    template <class T>
    void write_row(const Arguments &a, int64_t index, int64_t i, int64_t one) const {
        const T *from = row<T>(a, lu, 3, index, i);
        T *to = row<T>(a, p, 0, index, i);
        fill(to, p.column_step, 0, m);
        to[one * p.column_step] = 1;
        to = row<T>(a, l, 1, index, i);
        copy(to, l.column_step, from, lu.column_step, 0, std::min(i, count));
        fill(to, l.column_step, i + 1, count);
        if (i >= count) return;
        to[i * l.column_step] = 1;
        to = row<T>(a, u, 2, index, i);
        fill(to, u.column_step, 0, i);
        copy(to, u.column_step, from, lu.column_step, i, n);
    }

    template <class T>
    void run(const Arguments &a, int64_t index, double *room) const {
        int64_t *order = reinterpret_cast<int64_t *>(room), *ones = order + m;
        find_ones(a, index, order, ones);
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(m + n, 1)));
        parallel_for(size_t(m), grain, [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
                write_row<T>(a, index, i, ones[i]);
        });
    }
};

std::unique_ptr<Plan> plan_lu_unpack(const Operation &operation) {
    const Unpack unpack(operation);
    const bool is_single = operation.tensor(0).dtype == INFINI_DTYPE_F32;
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        is_single ? unpack.run<float>(a, index, room) : unpack.run<double>(a, index, room);
    };
    return plan_batch(unpack.lu.count(), 2 * unpack.m, unpack.m * (unpack.m + unpack.n) / 4, body);
}

INFINI_KERNEL("lu_unpack", plan_lu_unpack);

}  // namespace
}  // namespace infini::cpu
