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

struct Exponential {
    int64_t n;

    int64_t size() const { return n * n; }
    int64_t doubles() const { return 7 * size() + n; }

    void multiply(double *c, const double *a, const double *b) const {
        std::fill(c, c + size(), 0.0);
        add_product({c, n}, {a, n}, {b, n}, n, n, n, 1);
    }
    // The coefficients of three powers and, if it is not 0, of the identity.
    void combine(double *y, const double *const *powers, double c2, double c4, double c6,
                 double c0) const {
        for (int64_t i = 0; i < size(); ++i)
            y[i] = c2 * powers[0][i] + c4 * powers[1][i] + c6 * powers[2][i];
        if (c0 != 0)
            for (int64_t i = 0; i < n; ++i) y[i * n + i] += c0;
    }

    // The 1-norm: the largest sum of absolute values of a column.
    double norm(const double *m) const {
        double most = 0;
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < n; ++i) sum += std::abs(m[i * n + j]);
            if (sum > most || std::isnan(sum)) most = sum;
        }
        return most;
    }

    // Replaces the matrix at the start of `room` by its exponential.
    void run(double *room) const {
        double *x = room, *x2 = x + size(), *x4 = x2 + size(), *x6 = x4 + size();
        double *u = x6 + size(), *v = u + size(), *spare = v + size();
        int64_t *swaps = reinterpret_cast<int64_t *>(spare + size());
        const double most = norm(x);
        if (!std::isfinite(most)) {
            std::fill(x, x + size(), std::numeric_limits<double>::quiet_NaN());
            return;
        }
        int halvings = 0;
        if (most > kSmall) std::frexp(most / kSmall, &halvings);
        for (int64_t i = 0; i < size(); ++i) x[i] = std::ldexp(x[i], -halvings);

        multiply(x2, x, x), multiply(x4, x2, x2), multiply(x6, x4, x2);
        const double *const powers[] = {x2, x4, x6};
        const double *b = kPade;
        combine(spare, powers, b[9], b[11], b[13], 0);
        combine(u, powers, b[3], b[5], b[7], b[1]);
        add_product({u, n}, {x6, n}, {spare, n}, n, n, n, 1);
        multiply(v, x, u);
        std::swap(u, v);  // u: the odd powers; v: the even ones
        combine(spare, powers, b[8], b[10], b[12], 0);
        combine(v, powers, b[2], b[4], b[6], b[0]);
        add_product({v, n}, {x6, n}, {spare, n}, n, n, n, 1);

        for (int64_t i = 0; i < size(); ++i) {
            const double even = v[i], odd = u[i];
            v[i] = even - odd, u[i] = even + odd;
        }
        if (factor_lu(v, n, swaps, 0) == n) solve_lu(v, n, swaps, u, n);
        double *from = u, *to = x2;
        for (; halvings > 0; --halvings) {
            multiply(to, from, from);
            std::swap(from, to);
        }
        std::copy(from, from + size(), x);
    }
};

std::unique_ptr<Plan> plan_matrix_exp(const Operation &operation) {
    const Matrices y(operation.tensor(0), 2), x(operation.tensor(1), 2);
    const Exponential exponential = {x.rows};
    return plan_batch(x.count(), exponential.doubles(), 10 * x.size() * (x.rows + 8),
                      [=](const Arguments &a, int64_t i, double *room) {
                          x.load(room, a.pointer<void>(1), i);
                          exponential.run(room);
                          y.store(a.pointer<void>(0), i, room);
                      });
}

INFINI_KERNEL("matrix_exp", plan_matrix_exp);

}  // namespace
}  // namespace infini::cpu
