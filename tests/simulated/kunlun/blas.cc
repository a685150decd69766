// Simulated libxpu_blas.so: cuBLAS's names, matrices stored by columns, computed on the host.
#include "accelerator/products.h"
#include "facts.h"

using namespace simulated;
using namespace kunlun;

struct Handle {
    void *stream = nullptr;
};

namespace {

constexpr int kInvalidValue = 7, kFailed = 13;

// op(matrix) with `rows` and `columns`.
Matrices matrices(const void *data, int type, bool transposed, int rows, int columns, int leading,
                  int64_t stride, int batch) {
    return {const_cast<void *>(data),
            type == blas_type_R_16F ? INFINI_DTYPE_F16 : INFINI_DTYPE_F32,
            batch,
            rows,
            columns,
            stride,
            transposed ? leading : 1,
            transposed ? 1 : leading};
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    if (int code = begin(__func__)) return code;
    *handle = new Handle;
    return 0;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, void *stream) {
    if (int code = begin(__func__)) return code;
    handle->stream = stream;
    return 0;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, int transa, int transb, int m,
                                          int n, int k, const void *alpha, const void *a,
                                          int a_type, int lda, long long stride_a, const void *b,
                                          int b_type, int ldb, long long stride_b, const void *beta,
                                          void *c, int c_type, int ldc, long long stride_c,
                                          int batch, int compute, int algo) {
    if (int code = begin(__func__)) return code;
    auto known = [](int op) { return op == blas_op_N || op == blas_op_T; };
    if (!known(transa) || !known(transb) || a_type != c_type || b_type != c_type ||
        (c_type != blas_type_R_32F && c_type != blas_type_R_16F) || compute != blas_compute_R_32F ||
        algo != blas_algo_DEFAULT || lda < (transa == blas_op_N ? m : k) ||
        ldb < (transb == blas_op_N ? k : n) || ldc < m)
        return kInvalidValue;
    const Matrices left = matrices(a, a_type, transa, m, k, lda, stride_a, batch);
    const Matrices right = matrices(b, b_type, transb, k, n, ldb, stride_b, batch);
    const Matrices out = matrices(c, c_type, false, m, n, ldc, stride_c, batch);
    const double scale = *static_cast<const float *>(alpha);
    const double kept = *static_cast<const float *>(beta);
    return enqueue(handle->stream,
                   [=, number = device()] {
                       return multiply(out, left, right, scale, kept, kept != 0, number, kFailed);
                   })
               ? 0
               : kFailed;
}

}  // extern "C"
