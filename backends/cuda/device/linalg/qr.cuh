// qr: the factors of a matrix by reflections.
#include "reflections.cuh"

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t rows = p.x.rows, columns = p.x.columns;
    const int64_t count = rows < columns ? rows : columns;
    double *m = p.rooms + blockIdx.x * p.room, *made = m + rows * columns;
    double *tau = made + rows * count;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        factor_qr(m, rows, columns, tau);
        make_q(made, rows, count, m, columns, tau);
        store_matrix(p.y, index, made);
        INFINI_ROLLED
        for (int64_t i = thread(); i < count * columns; i += kThreads)
            if (i % columns < i / columns) m[i] = 0;
        __syncthreads();
        store_matrix(p.z, index, m);
        __syncthreads();
    }
}
