// matrix_exp by scaling and squaring: x is halved until it is small, e^x is approximated by Pade's
// rational function of degree 13 (Higham, 2005), and the result is squared once for each halving.
// The polynomials, their ratio and the squares are separate kernels (kStage), which compile in
// parallel.
#include "lu.cuh"

namespace infini {

inline constexpr double kSmall = 5.371920351148152;  // largest 1-norm for which degree 13 suffices

struct Exponential {
    int64_t n, size;
    double *x, *x2, *x4, *x6, *u, *v, *spare;
    int64_t *swaps, *halvings;  // -1: no result

    INFINI_DEVICE Exponential(int64_t n, double *room) : n(n), size(n * n) {
        x = room, x2 = x + size, x4 = x2 + size, x6 = x4 + size, u = x6 + size, v = u + size;
        spare = v + size, swaps = reinterpret_cast<int64_t *>(spare + size), halvings = swaps + n;
    }

    INFINI_CALLED void add(double *c, double *a, double *b) const {
        __syncthreads();
        add_product({c, n, 1}, {a, n, 1}, {b, n, 1}, n, n, n, 1);
        __syncthreads();
    }
    INFINI_DEVICE void multiply(double *c, double *a, double *b) const {
        __syncthreads();
        fill(c, size, 0.0);
        add(c, a, b);
    }
    // Sets y to a linear combination of x^2, x^4, x^6 and the identity.
    INFINI_CALLED void combine(double *y, double c2, double c4, double c6, double c0) const {
        INFINI_ROLLED
        for (int64_t i = thread(); i < size; i += kThreads)
            y[i] = c2 * x2[i] + c4 * x4[i] + c6 * x6[i] + (i / n == i % n ? c0 : 0.0);
    }

    // The 1-norm: the largest sum of absolute values of a column.
    INFINI_DEVICE double norm() const {
        double most = 0;
        INFINI_ROLLED
        for (int64_t j = thread(); j < n; j += kThreads) {
            double sum = 0;
            for (int64_t i = 0; i < n; ++i) sum += fabs(x[i * n + j]);
            most = MostFold()(most, sum);
        }
        return block_most(most);
    }

    // Computes v and u, the denominator and numerator of the rational function.
    INFINI_DEVICE void make_polynomials() const {
        const double most = norm();
        int power = most < infinity<double>() ? 0 : -1;
        if (most > kSmall && power == 0) frexp(most / kSmall, &power);
        if (thread() == 0) *halvings = power;
        if (power < 0) return;
        INFINI_ROLLED
        for (int64_t i = thread(); i < size; i += kThreads) x[i] = ldexp(x[i], -power);
        multiply(x2, x, x), multiply(x4, x2, x2), multiply(x6, x4, x2);
        combine(spare, 40840800.0, 16380.0, 1.0, 0.0);
        combine(v, 1187353796428800.0, 10559470521600.0, 33522128640.0, 32382376266240000.0);
        add(v, x6, spare);
        multiply(u, x, v);  // odd powers; v is then replaced by the even ones
        combine(spare, 1323241920.0, 960960.0, 182.0, 0.0);
        combine(v, 7771770303897600.0, 129060195264000.0, 670442572800.0, 64764752532480000.0);
        add(v, x6, spare);
        INFINI_ROLLED
        for (int64_t i = thread(); i < size; i += kThreads) {
            const double even = v[i], odd = u[i];
            v[i] = even - odd, u[i] = even + odd;
        }
    }

    // Squares the result once per halving, and returns its location.
    INFINI_DEVICE const double *square() const {
        double *from = u, *to = x2;
        if (*halvings < 0) fill(u, size, not_a_number<double>());
        INFINI_ROLLED
        for (int64_t i = *halvings; i > 0; --i) {
            multiply(to, from, from);
            double *held = from;
            from = to, to = held;
        }
        return from;
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const Exponential exponential(p.x.rows, p.rooms + blockIdx.x * p.room);
    const int64_t index = p.first + blockIdx.x, n = exponential.n;
    if constexpr (kStage == 0) {
        load_matrix(exponential.x, p.x, index);
        __syncthreads();
        exponential.make_polynomials();
    } else if constexpr (kStage == 1) {
        if (*exponential.halvings < 0) return;
        const int64_t pivots = factor_lu(exponential.v, n, exponential.swaps, 0);
        if (pivots == n) solve_lu(exponential.v, n, exponential.swaps, exponential.u, n);
    } else {
        const double *result = exponential.square();
        __syncthreads();
        store_matrix(p.y, index, result);
    }
}
