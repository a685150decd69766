// What LU factors are for. kResult: 0 det, 1 slogdet, 2 logdet, 3 inverse, 4 solve. Of the last two
// factors and solutions are kernels of their own (kStage), which compile beside each other.
#include "lu.cuh"

namespace infini {

// The logarithm of the determinant's size, and its sign; 0 and -infinity: a pivot is 0. By thread
// 0.
INFINI_DEVICE void log_det(const double *m, int64_t n, const int64_t *swaps, int64_t pivots,
                           double *sign, double *log_size) {
    *sign = 1, *log_size = 0;
    INFINI_ROLLED
    for (int64_t k = 0; k < pivots; ++k) {
        const double pivot = m[k * n + k];
        if ((pivot < 0) != (swaps[k] != k)) *sign = -*sign;
        *log_size += log(fabs(pivot));
    }
    if (pivots == n) return;
    const double stood = m[pivots * n + pivots];
    *sign = stood != stood ? stood : 0;
    *log_size = stood != stood ? stood : -infinity<double>();
}

// The exponent is kept apart, so that only the result can leave the range.
INFINI_DEVICE double det(const double *m, int64_t n, const int64_t *swaps, int64_t pivots) {
    if (pivots < n) return m[pivots * n + pivots] * 0;  // NaN stays
    double product = 1;
    int64_t exponent = 0;
    INFINI_ROLLED
    for (int64_t k = 0; k < n; ++k) {
        int more = 0;
        product = frexp(product * m[k * n + k] * (swaps[k] != k ? -1 : 1), &more);
        exponent += more;
    }
    return ldexp(product, int(exponent < -4000 ? -4000 : exponent > 4000 ? 4000 : exponent));
}

}  // namespace infini

using namespace infini;

// A room has the matrix, n integers, the right-hand sides, and how many pivots were found.
INFINI_ENTRY(LinalgParams, kThreads, 1) {
    double *m = p.rooms + blockIdx.x * p.room;
    const int64_t n = p.x.rows, columns = kResult == 4 ? p.b.columns : n;
    int64_t *swaps = reinterpret_cast<int64_t *>(m + n * n);
    double *sides = m + n * n + n;
    int64_t *found = reinterpret_cast<int64_t *>(sides + n * columns);
    if constexpr (kResult >= 3) {
        const int64_t index = p.first + blockIdx.x;
        if constexpr (kStage == 0) {
            load_matrix(m, p.x, index);
            const int64_t pivots = factor_lu(m, n, swaps, p.least);
            if (thread() == 0) *found = pivots;
            return;
        }
        if constexpr (kResult == 3)
            set_identity(sides, n, n);
        else
            load_matrix(sides, p.b, index);
        __syncthreads();
        if (*found == n)
            solve_lu(m, n, swaps, sides, columns);
        else
            fill(sides, n * columns, not_a_number<double>());
        __syncthreads();
        return store_matrix(p.y, index, sides);
    }
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        const int64_t pivots = factor_lu(m, n, swaps, p.least);
        if (thread() == 0) {
            double sign, size;
            if constexpr (kResult == 0) {
                store_number(p.y, index, det(m, n, swaps, pivots));
            } else {
                log_det(m, n, swaps, pivots, &sign, &size);
                store_number(p.y, index,
                             kResult == 1 ? sign
                             : sign < 0   ? not_a_number<double>()
                                          : size);
                if constexpr (kResult == 1) store_number(p.z, index, size);
            }
        }
        __syncthreads();
    }
}
