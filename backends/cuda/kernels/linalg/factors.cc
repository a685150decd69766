// Factors, determinants and solutions: by the vendor's library where that is faster, else a block
// for each matrix, in double precision.
#include <algorithm>

#include "kernels/linalg/complex_factors.h"
#include "kernels/linalg/solver.h"

namespace infini::cuda {
namespace {

using L = LinalgParams;

Source equations(int result) {
    Source source("linalg/factors.cuh:equations");
    return source.constant("kResult", result);
}

std::unique_ptr<Plan> plan_det(const Operation &operation, Device &device) {
    L params = {};
    params.x = matrices_of(operation.tensor(1), 2), params.y = matrices_of(operation.tensor(0), 0);
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(
        device, Factorization::kDet,
        {equations(0), params, {{&L::y, 0}, {&L::x, 1}}, operation.tensor(1).dtype, n * n + n});
}

std::unique_ptr<Plan> plan_slogdet(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 0), params.z = matrices_of(operation.tensor(1), 0);
    params.x = matrices_of(operation.tensor(2), 2);
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(device, Factorization::kSlogdet,
                                 {equations(1),
                                  params,
                                  {{&L::y, 0}, {&L::z, 1}, {&L::x, 2}},
                                  operation.tensor(2).dtype,
                                  n * n + n});
}

std::unique_ptr<Plan> plan_logdet(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    L params = {};
    params.y = matrices_of(y, y.ndim), params.x = matrices_of(x, 2);
    params.least = x.dtype == INFINI_DTYPE_F64 ? 1e-12 : 1e-6;
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(
        device, Factorization::kLogdet,
        {equations(2), params, {{&L::y, 0}, {&L::x, 1}}, x.dtype, n * n + n});
}

std::unique_ptr<Plan> plan_inverse(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(device, Factorization::kInverse,
                                 {equations(3),
                                  params,
                                  {{&L::y, 0}, {&L::x, 1}},
                                  operation.tensor(1).dtype,
                                  2 * n * n + n + 1,
                                  2});
}

std::unique_ptr<Plan> plan_solve(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    params.b = matrices_of(operation.tensor(2), 2);
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(device, Factorization::kSolve,
                                 {equations(4),
                                  params,
                                  {{&L::y, 0}, {&L::x, 1}, {&L::b, 2}},
                                  operation.tensor(1).dtype,
                                  n * n + n + n * params.b.columns + 1,
                                  2});
}

std::unique_ptr<Plan> plan_cholesky(const Operation &operation, Device &device) {
    if (operation.is("complex_cholesky")) return plan_complex_cholesky(operation, device);
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    if (operation.integer(0)) params.y = transposed(params.y), params.x = transposed(params.x);
    const int64_t n = params.x.rows;
    return plan_solver_or_blocks(device, Factorization::kCholesky,
                                 {Source("linalg/factors.cuh:cholesky"),
                                  params,
                                  {{&L::y, 0}, {&L::x, 1}},
                                  operation.tensor(1).dtype,
                                  n * n});
}

std::unique_ptr<Plan> plan_qr(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.z = matrices_of(operation.tensor(1), 2);
    params.x = matrices_of(operation.tensor(2), 2);
    const int64_t rows = params.x.rows, columns = params.x.columns;
    const int64_t count = std::min(rows, columns);
    return plan_solver_or_blocks(device, Factorization::kQr,
                                 {Source("linalg/factors.cuh:qr"),
                                  params,
                                  {{&L::y, 0}, {&L::z, 1}, {&L::x, 2}},
                                  operation.tensor(2).dtype,
                                  rows * columns + rows * count + count});
}

std::unique_ptr<Plan> plan_svd(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.z = matrices_of(operation.tensor(1), 1);
    params.w = matrices_of(operation.tensor(2), 2), params.x = matrices_of(operation.tensor(3), 2);
    // A wide matrix is transposed: then U and V change places.
    const bool wide = params.x.rows < params.x.columns;
    if (wide) {
        params.x = transposed(params.x);
        std::swap(params.y, params.w);
        params.y = transposed(params.y), params.w = transposed(params.w);
    }
    const int64_t rows = params.x.rows, columns = params.x.columns;
    const int64_t doubles = 2 * rows * columns + 3 * columns * columns + 3 * columns + 1;
    return plan_solver_or_blocks(
        device, Factorization::kSvd,
        {Source("linalg/svd.cuh"),
         params,
         {{&L::y, wide ? 2 : 0}, {&L::z, 1}, {&L::w, wide ? 0 : 2}, {&L::x, 3}},
         operation.tensor(3).dtype,
         doubles,
         4});
}

std::unique_ptr<Plan> plan_eigh(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 1);
    params.z = transposed(matrices_of(operation.tensor(1), 2));
    params.x = matrices_of(operation.tensor(2), 2);
    const int64_t n = params.x.rows;
    if (n == 0) return make_empty_plan();
    return plan_solver_or_blocks(device, Factorization::kEigh,
                                 {Source("linalg/eigh.cuh"),
                                  params,
                                  {{&L::y, 0}, {&L::z, 1}, {&L::x, 2}},
                                  operation.tensor(2).dtype,
                                  2 * n * n + 6 * n,
                                  3});
}

std::unique_ptr<Plan> plan_matrix_exp(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    const int64_t n = params.x.rows;
    return plan_blocks(device, {Source("linalg/matrix_exp.cuh"),
                                params,
                                {{&L::y, 0}, {&L::x, 1}},
                                operation.tensor(1).dtype,
                                7 * n * n + n + 1,
                                3});
}

INFINI_CUDA_KERNEL("cholesky", plan_cholesky);
INFINI_CUDA_KERNEL("qr", plan_qr);
INFINI_CUDA_KERNEL("svd", plan_svd);
INFINI_CUDA_KERNEL("eigh", plan_eigh);
INFINI_CUDA_KERNEL("matrix_exp", plan_matrix_exp);

std::unique_ptr<Plan> plan_determinant(const Operation &operation, Device &device) {
    if (operation.is("det")) return plan_det(operation, device);
    if (operation.is("slogdet")) return plan_slogdet(operation, device);
    return plan_logdet(operation, device);
}

INFINI_CUDA_KERNEL("det", plan_determinant);

std::unique_ptr<Plan> plan_linear(const Operation &operation, Device &device) {
    if (operation.is("complex_inverse") || operation.is("complex_solve"))
        return plan_complex_linear(operation, device);
    return operation.is("inverse") ? plan_inverse(operation, device)
                                   : plan_solve(operation, device);
}

INFINI_CUDA_KERNEL("solve", plan_linear);

}  // namespace
}  // namespace infini::cuda
