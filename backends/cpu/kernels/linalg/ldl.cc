// ldl_factor and ldl_solve: symmetric indefinite matrices by the Bunch-Kaufman method, in the form
// of LAPACK's sytrf and sytrs.
#include "linalg/lapack.h"

namespace infini::cpu {
namespace {

constexpr double kAlpha = 0.6403882032022076;  // (1 + sqrt(17)) / 8 limits the growth of elements
constexpr int64_t kLapackLdl = 64;

// Replaces the lower triangle of m by the factors. Returns the index, counted from 1, of the first
// zero of D, or 0. `lines` has room for two rows.
int factor_ldl(double *m, int64_t n, int *pivots, double *lines) {
    int info = 0;
    auto at = [=](int64_t i, int64_t j) -> double & { return m[i * n + j]; };
    // Exchanges rows and columns of the trailing matrix, of which only the lower triangle is kept.
    auto exchange = [&](int64_t one, int64_t other) {
        for (int64_t i = other + 1; i < n; ++i) std::swap(at(i, one), at(i, other));
        for (int64_t j = one + 1; j < other; ++j) std::swap(at(j, one), at(other, j));
        std::swap(at(one, one), at(other, other));
    };
    // Subtracts the products of columns and lines from the rows of the trailing matrix.
    auto update = [=](int64_t k, int64_t first, int64_t count) {
        const size_t grain = size_t(std::max<int64_t>(8, 32768 / (n - first + 1)));
        parallel_for(size_t(n - first), grain, [=](size_t begin, size_t end) {
            for (int64_t i = first + int64_t(begin); i < first + int64_t(end); ++i)
                for (int64_t c = 0; c < count; ++c)
                    add_scaled(m + i * n + first, lines + c * n + first, -m[i * n + k + c],
                               i - first + 1);
        });
    };
    for (int64_t k = 0; k < n;) {
        int64_t most_at = k, other = k, size = 1;
        double most = 0;
        for (int64_t i = k + 1; i < n; ++i)
            if (std::abs(at(i, k)) > most) most = std::abs(at(i, k)), most_at = i;
        const double here = std::abs(at(k, k));
        const bool is_zero = std::max(here, most) == 0 || std::isnan(here);
        if (is_zero) {
            if (info == 0) info = int(k) + 1;
        } else if (here < kAlpha * most) {
            double row = 0;
            for (int64_t j = k; j < most_at; ++j) row = std::max(row, std::abs(at(most_at, j)));
            for (int64_t i = most_at + 1; i < n; ++i) row = std::max(row, std::abs(at(i, most_at)));
            if (here < kAlpha * most * (most / row)) {
                other = most_at;
                if (!(std::abs(at(other, other)) >= kAlpha * row)) size = 2;
            }
        }
        const int64_t last = k + size - 1, next = k + size;
        if (other != last) {
            exchange(last, other);
            if (size == 2) std::swap(at(k + 1, k), at(other, k));
        }
        if (size == 1 && !is_zero) {
            const double inverse = 1 / at(k, k);
            for (int64_t i = next; i < n; ++i) lines[i] = at(i, k) * inverse;
            update(k, next, 1);
            for (int64_t i = next; i < n; ++i) at(i, k) = lines[i];
        } else if (size == 2) {
            const double beside = at(k + 1, k);
            const double first = at(k + 1, k + 1) / beside, second = at(k, k) / beside;
            const double scale = 1 / (first * second - 1) / beside;
            for (int64_t i = next; i < n; ++i) {
                lines[i] = scale * (first * at(i, k) - at(i, k + 1));
                lines[n + i] = scale * (second * at(i, k + 1) - at(i, k));
            }
            update(k, next, 2);
            for (int64_t i = next; i < n; ++i) at(i, k) = lines[i], at(i, k + 1) = lines[n + i];
        }
        for (int64_t i = k; i < next; ++i) pivots[i] = int(size == 1 ? other + 1 : -other - 1);
        k = next;
    }
    for (int64_t i = 0; i < n; ++i) std::fill(m + i * n + i + 1, m + (i + 1) * n, 0.0);
    return info;
}

// Replaces x by the solution of one system. The rows of `columns` are the columns of the factors.
void solve_ldl(const double *columns, int64_t n, const int *pivots, double *x) {
    auto column = [=](int64_t k) { return columns + k * n; };
    auto exchange = [=](int64_t k, int pivot) {
        const int64_t other = std::abs(int64_t(pivot)) - 1;
        if (other >= 0 && other < n) std::swap(x[k], x[other]);
    };
    for (int64_t k = 0; k < n;) {
        const bool is_pair = pivots[k] <= 0 && k + 1 < n;
        const int64_t next = k + 1 + is_pair;
        exchange(next - 1, pivots[k]);
        add_scaled(x + next, column(k) + next, -x[k], n - next);
        if (!is_pair) {
            x[k] *= 1 / column(k)[k];
        } else {
            add_scaled(x + next, column(k + 1) + next, -x[k + 1], n - next);
            const double beside = column(k)[k + 1];
            const double first = column(k)[k] / beside, second = column(k + 1)[k + 1] / beside;
            const double scale = first * second - 1, one = x[k] / beside, two = x[k + 1] / beside;
            x[k] = (second * one - two) / scale;
            x[k + 1] = (first * two - one) / scale;
        }
        k = next;
    }
    for (int64_t k = n - 1; k >= 0;) {
        const int64_t size = pivots[k] <= 0 && k > 0 ? 2 : 1, next = k + 1;
        for (int64_t i = k; i > k - size; --i) x[i] -= dot(column(i) + next, x + next, n - next);
        exchange(k, pivots[k]);
        k -= size;
    }
}

struct Pivots {
    Offsets batch;
    int64_t n, step;

    explicit Pivots(const Tensor &x)
        : batch(x, 0, x.ndim - 1, int64_t(sizeof(int32_t))), n(x.size(-1)), step(x.stride(-1)) {}

    int32_t *at(const Arguments &a, int tensor, int64_t index) const {
        return reinterpret_cast<int32_t *>(a.pointer<char>(tensor) + batch(index));
    }
};

std::unique_ptr<Plan> plan_ldl_factor(const Operation &operation) {
    const Matrices ld(operation.tensor(0), 2), x(operation.tensor(3), 2);
    const Matrices ld_columns = ld.transposed(), x_columns = x.transposed();
    const Pivots pivots(operation.tensor(1));
    const Matrices infos(operation.tensor(2), 0);
    const int64_t n = x.rows, lwork = kLapackBlock * n;
    auto store = [=](const Arguments &a, int64_t i, const int *found, int info) {
        for (int64_t k = 0; k < n; ++k) pivots.at(a, 1, i)[k * pivots.step] = found[k];
        *reinterpret_cast<int32_t *>(a.pointer<char>(2) + infos.batch(i)) = info;
    };
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *work = m + n * n;
            int *found = reinterpret_cast<int *>(work + lwork), info = 0;
            const int size = int(n), work_size = int(lwork);
            x_columns.load(m, a.pointer<void>(3), i);
            for (int64_t k = 0; k < n; ++k) std::fill(m + k * n, m + k * n + k, T(0));
            if (!is_finite(m, n * n)) return false;
            typed<T>(lapack.ssytrf, lapack.dsytrf)("L", &size, m, &size, found, work, &work_size,
                                                   &info, 1);
            if (info < 0) return false;
            ld_columns.store(a.pointer<void>(0), i, m);
            store(a, i, found, info);
            return true;
        });
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *lines = room + n * n;
        int *found = reinterpret_cast<int *>(lines + 2 * n);
        x.load(room, a.pointer<void>(3), i);
        const int info = factor_ldl(room, n, found, lines);
        ld.store(a.pointer<void>(0), i, room);
        store(a, i, found, info);
    };
    return plan_with_lapack(x, kLapackLdl, n * n + lwork + n, by_lapack, n * n + 3 * n,
                            n * n * (n / 4 + 8), body);
}

std::unique_ptr<Plan> plan_ldl_solve(const Operation &operation) {
    const Matrices x_columns = Matrices(operation.tensor(0), 2).transposed();
    const Matrices ld_columns = Matrices(operation.tensor(1), 2).transposed();
    const Matrices b_columns = Matrices(operation.tensor(3), 2).transposed();
    const Pivots pivots(operation.tensor(2));
    const int64_t n = ld_columns.rows, count = b_columns.rows;
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        double *sides = room + n * n;
        int *given = reinterpret_cast<int *>(sides + n * count);
        ld_columns.load(room, a.pointer<void>(1), index);
        b_columns.load(sides, a.pointer<void>(3), index);
        for (int64_t k = 0; k < n; ++k) given[k] = pivots.at(a, 2, index)[k * pivots.step];
        const size_t grain = size_t(1 + 32768 / (n * n + 1));
        parallel_for(size_t(count), grain, [=](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) solve_ldl(room, n, given, sides + int64_t(i) * n);
        });
        x_columns.store(a.pointer<void>(0), index, sides);
    };
    return plan_batch(x_columns.count(), n * n + n * count + n, n * n * (count + 4), body);
}

std::unique_ptr<Plan> plan_ldl(const Operation &operation) {
    return operation.is("ldl_factor") ? plan_ldl_factor(operation) : plan_ldl_solve(operation);
}

INFINI_KERNEL("ldl", plan_ldl);

}  // namespace
}  // namespace infini::cpu
