// cholesky: the triangular factor of a positive definite matrix.
#include "dense.cuh"

namespace infini {

// The lower triangle of m becomes the factor. False: m is not positive definite.
INFINI_DEVICE bool factor(double *m, int64_t n) {
    INFINI_ROLLED
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = first + kPanel < n ? first + kPanel : n;
        INFINI_ROLLED
        for (int64_t k = first; k < last; ++k) {
            __syncthreads();
            const double square = m[k * n + k];
            if (!(square > 0)) return false;
            const double pivot = sqrt(square);
            __syncthreads();
            if (thread() == 0) m[k * n + k] = pivot;
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < n; i += kThreads) m[i * n + k] /= pivot;
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < n; i += kThreads) {
                double *row = m + i * n;
                for (int64_t j = k + 1; j < last && j <= i; ++j) row[j] -= row[k] * m[j * n + k];
            }
        }
        __syncthreads();
        // The rest, minus the panel times its transpose.
        double *panel = m + last * n + first;
        add_product({m + last * n + last, n, 1}, {panel, n, 1}, {panel, 1, n}, n - last,
                    last - first, n - last, -1);
    }
    __syncthreads();
    return true;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    double *m = p.rooms + blockIdx.x * p.room;
    const int64_t n = p.x.rows;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        const bool definite = factor(m, n);
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads)
            m[i] = !definite ? not_a_number<double>() : i / n < i % n ? 0.0 : m[i];
        __syncthreads();
        store_matrix(p.y, index, m);
        __syncthreads();
    }
}
