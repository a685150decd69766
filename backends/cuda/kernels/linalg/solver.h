// Linear algebra through the vendor's library (cuSOLVER), opened at run time.
#pragma once

#include <functional>

#include "kernels/linalg/dense.h"

namespace infini::cuda {

enum class Factorization {
    kDet,
    kSlogdet,
    kLogdet,
    kLu,
    kInverse,
    kSolve,
    kCholesky,
    kQr,
    kSvd,
    kEigh,
    kEig,
};

// Matrices of a tensor, or complex ones of two tensors of parts.
struct SolverOperand {
    MatrixParams part[2];
    int pointer[2] = {-1, -1};  // numbers of the tensors; -1: there is none

    SolverOperand() = default;
    SolverOperand(const MatrixParams &m, int pointer) : part{m, {}}, pointer{pointer, -1} {}
    SolverOperand(const MatrixParams &real, int first, const MatrixParams &imag, int second)
        : part{real, imag}, pointer{first, second} {}

    const MatrixParams &shape() const { return part[0]; }
};
inline SolverOperand transposed(SolverOperand of) {
    for (MatrixParams &part : of.part) part = transposed(part);
    return of;
}

// x is factored; b: right-hand sides. Results: y, z and w in the order of the operator, U, values
// and V^H of an SVD of at least as many rows as columns.
struct SolverWork {
    Factorization what;
    int dtype;
    bool is_complex = false;
    SolverOperand x = {}, b = {}, y = {}, z = {}, w = {};
    double least = 0;      // a pivot that is not greater counts as none
    size_t own_bytes = 0;  // of workspace, that our own kernels need at least
    // Our own kernels, which need no more workspace than that.
    std::function<std::unique_ptr<Plan>(Device &, size_t most_bytes)> own = nullptr;
};

// By the library; by our own kernels while the stream is captured. Null: the library is not there
// or lacks something, or our own kernels are faster.
std::unique_ptr<Plan> plan_solver(Device &device, const SolverWork &work);

// The work of our own kernels for real matrices, by either.
std::unique_ptr<Plan> plan_solver_or_blocks(Device &device, Factorization what,
                                            const BlockWork &work);

}  // namespace infini::cuda
