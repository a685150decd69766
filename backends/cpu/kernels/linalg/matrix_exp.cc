// matrix_exp: x is halved until its norm is small; e^x is then the Pade approximant of degree 13
// (Higham, 2005), which is squared as many times.
#include <limits>

#include "linalg/lu.h"

namespace infini::cpu {
namespace {

constexpr double kSmall = 5.371920351148152;  // largest 1-norm for which degree 13 is accurate
constexpr double kPade[] = {64764752532480000,
                            32382376266240000,
                            7771770303897600,
                            1187353796428800,
                            129060195264000,
                            10559470521600,
                            670442572800,
                            33522128640,
                            1323241920,
                            40840800,
                            960960,
                            16380,
                            182,
                            1};

// Products and equations by the built-in kernels.
struct OwnKernels {
    int64_t n;

    void add_product(double *c, const double *a, const double *b) const {
        infini::cpu::add_product({c, n}, {a, n}, {b, n}, n, n, n, 1);
    }
    // Replaces b by the x with a x = b.
    bool solve(double *a, double *b, void *swaps) const {
        int64_t *rows = static_cast<int64_t *>(swaps);
        if (factor_lu(a, n, rows, 0) == n) solve_lu(a, n, rows, b, n);
        return true;
    }
};

// The same by blocks, which need room of their own.
template <class T>
struct BlockKernels {
    mutable Blocks<T> blocks;
    int64_t n;
    int *swaps;

    void add_product(T *c, const T *a, const T *b) const {
        blocks.multiply(1, part(a), part(b), 1, part(c), n, n, n);
    }
    bool solve(T *a, T *b, void *) const {
        blocks.factor(part(a), n, n, swaps);
        if (a && !has_pivots(part(a), n)) return false;
        blocks.solve_lu(part(a), n, swaps, part(b), n);
        return true;
    }
    Part<T> part(const T *data) const { return {const_cast<T *>(data), n}; }
};

template <class T, class Kernels>
struct Exponential {
    int64_t n;
    Kernels kernels;

    int64_t size() const { return n * n; }

    void multiply(T *c, const T *a, const T *b) const {
        std::fill(c, c + size(), T(0));
        kernels.add_product(c, a, b);
    }
    // The coefficients of three powers and, if it is not 0, of the identity.
    void combine(T *y, const T *const *powers, double c2, double c4, double c6, double c0) const {
        for (int64_t i = 0; i < size(); ++i)
            y[i] = T(c2 * powers[0][i] + c4 * powers[1][i] + c6 * powers[2][i]);
        if (c0 != 0)
            for (int64_t i = 0; i < n; ++i) y[i * n + i] += T(c0);
    }

    // The 1-norm: the largest sum of absolute values of a column.
    double norm(const T *m, T *sums) const {
        std::fill(sums, sums + n, T(0));
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) sums[j] += std::abs(m[i * n + j]);
        double most = 0;
        for (int64_t j = 0; j < n; ++j)
            if (sums[j] > most || std::isnan(sums[j])) most = sums[j];
        return most;
    }

    // Replaces the matrix at the start of `room` by its exponential. False if it cannot be computed.
    bool run(T *room) const {
        T *x = room, *x2 = x + size(), *x4 = x2 + size(), *x6 = x4 + size();
        T *u = x6 + size(), *v = u + size(), *spare = v + size();
        const double most = norm(x, spare);
        if (!std::isfinite(most)) {
            std::fill(x, x + size(), std::numeric_limits<T>::quiet_NaN());
            return true;
        }
        int halvings = 0;
        if (most > kSmall) std::frexp(most / kSmall, &halvings);
        const T scale = std::ldexp(T(1), -halvings);
        for (int64_t i = 0; i < size(); ++i) x[i] *= scale;

        multiply(x2, x, x), multiply(x4, x2, x2), multiply(x6, x4, x2);
        const T *const powers[] = {x2, x4, x6};
        const double *b = kPade;
        combine(spare, powers, b[9], b[11], b[13], 0);
        combine(u, powers, b[3], b[5], b[7], b[1]);
        kernels.add_product(u, x6, spare);
        multiply(v, x, u);
        std::swap(u, v);  // u: the odd powers; v: the even ones
        combine(spare, powers, b[8], b[10], b[12], 0);
        combine(v, powers, b[2], b[4], b[6], b[0]);
        kernels.add_product(v, x6, spare);

        for (int64_t i = 0; i < size(); ++i) {
            const T even = v[i], odd = u[i];
            v[i] = even - odd, u[i] = even + odd;
        }
        if (!kernels.solve(v, u, spare)) return false;
        T *from = u, *to = x2;
        for (; halvings > 0; --halvings) {
            multiply(to, from, from);
            std::swap(from, to);
        }
        std::copy(from, from + size(), x);
        return true;
    }
};

std::unique_ptr<Plan> plan_matrix_exp(const Operation &operation) {
    const Matrices y(operation.tensor(0), 2), x(operation.tensor(1), 2);
    const int64_t n = x.rows, doubles = 7 * n * n + n;
    const bool parallel = is_worth_threads(x);
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        T *matrix = room.take<T>(7 * n * n + n);
        int *swaps = room.take<int>(n);
        const Exponential<T, BlockKernels<T>> exponential = {
            n, {{parallel, room.take<char>(0)}, n, swaps}};
        if (a) {
            x.load(matrix, a->pointer<void>(1), i);
            if (!exponential.run(matrix)) return false;
            y.store(a->pointer<void>(0), i, matrix);
        } else {
            exponential.kernels.add_product(nullptr, nullptr, nullptr);
            exponential.kernels.solve(nullptr, nullptr, nullptr);
        }
        room.take<char>(int64_t(exponential.kernels.blocks.bytes()));
        return true;
    };
    auto in_type = [=](const Arguments *a, int64_t i, Room &room) {
        return x.dtype == INFINI_DTYPE_F64 ? by_blocks(double(), a, i, room)
                                           : by_blocks(float(), a, i, room);
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(room, a.pointer<void>(1), i);
        Exponential<double, OwnKernels>{n, {n}}.run(room);
        y.store(a.pointer<void>(0), i, room);
    };
    return plan_with_blocks(x.count(), n >= kBlocksFrom, in_type, doubles, 10 * n * n * (n + 8),
                            body);
}

INFINI_KERNEL("matrix_exp", plan_matrix_exp);

}  // namespace
}  // namespace infini::cpu
