// solve and inverse of small matrices by Gaussian elimination with row exchanges, in shared memory:
// each row of a matrix is followed by that of its right-hand sides. kInverse: those of the identity.
#include "lu.cuh"

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(shared);
    INFINI_SHARED int chosen;
    const int n = int(p.x.rows), columns = kInverse ? n : int(p.b.columns), width = n + columns;
    double *m = reinterpret_cast<double *>(shared);
    double *inverses = m + n * width;  // of the pivots
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        const T *x = static_cast<const T *>(p.x.data) + p.x.batch(index);
        const T *b = kInverse ? nullptr : static_cast<const T *>(p.b.data) + p.b.batch(index);
        INFINI_ROLLED
        for (int e = int(threadIdx.x); e < n * width; e += kThreads) {
            const int i = e / width, j = e - i * width;
            if (j < n)
                m[e] = convert<double>(x[i * p.x.row_step + j * p.x.column_step]);
            else if (kInverse)
                m[e] = i == j - n ? 1 : 0;
            else
                m[e] = convert<double>(b[i * p.b.row_step + (j - n) * p.b.column_step]);
        }
        __syncthreads();
        bool regular = true;
        INFINI_ROLLED
        for (int k = 0; k < n; ++k) {
            if (warp() == 0) {
                // As find_pivot(): a NaN on the diagonal is chosen, others are ignored.
                const double first = m[k * width + k];
                Pivot best = {0, -1};
                INFINI_ROLLED
                for (int i = k + lane(); i < n; i += kWarp) {
                    const double size = fabs(m[i * width + k]);
                    if (size == size) best = BetterPivot()(best, Pivot{size, i});
                }
                best = fold_warp(best, BetterPivot());
                if (lane() == 0) chosen = first != first || best.row < 0 ? k : int(best.row);
            }
            __syncthreads();
            const int pivot = chosen;
            const double value = m[pivot * width + k];
            if (!(fabs(value) > p.least)) {
                regular = false;
                break;
            }
            const double inverse = 1 / value;
            if (threadIdx.x == 0) inverses[k] = inverse;
            // Column k is not exchanged, because other threads still read it.
            INFINI_ROLLED
            for (int j = k + 1 + int(threadIdx.x); j < width && pivot != k; j += kThreads) {
                const double held = m[pivot * width + j];
                m[pivot * width + j] = m[k * width + j];
                m[k * width + j] = held;
            }
            __syncthreads();
            INFINI_ROLLED
            for (int i = k + 1 + warp(); i < n; i += kThreads / kWarp) {
                const double factor = m[(i == pivot ? k : i) * width + k] * inverse;
                for (int j = k + 1 + lane(); j < width; j += kWarp)
                    m[i * width + j] -= factor * m[k * width + j];
            }
            __syncthreads();
        }
        INFINI_ROLLED
        for (int k = n - 1; k > 0 && regular; --k) {
            INFINI_ROLLED
            for (int e = int(threadIdx.x); e < k * columns; e += kThreads) {
                const int i = e / columns, j = n + e - i * columns;
                m[i * width + j] -= m[i * width + k] * (m[k * width + j] * inverses[k]);
            }
            __syncthreads();
        }
        T *y = static_cast<T *>(p.y.data) + p.y.batch(index);
        INFINI_ROLLED
        for (int e = int(threadIdx.x); e < n * columns; e += kThreads) {
            const int i = e / columns, j = e - i * columns;
            const double made = m[i * width + n + j] * inverses[i];
            y[i * p.y.row_step + j * p.y.column_step] =
                convert<T>(regular ? made : not_a_number<double>());
        }
        __syncthreads();
    }
}
