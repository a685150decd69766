// Linear algebra through the vendor's library (cuSOLVER), opened at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "device/linalg/dense.cuh"
#include "kernels/lines.h"

namespace infini::cuda {

// Shared by the planners of linear algebra.

// A tensor as a batch of matrices (`trailing` is 2), of vectors (one row) or of scalars.
inline MatrixParams matrices_of(const Tensor &tensor, int trailing) {
    MatrixParams m;
    m.batch = offsets_of(tensor, 0, tensor.ndim - trailing);
    if (trailing > 0) m.columns = tensor.size(-1), m.column_step = tensor.stride(-1);
    if (trailing > 1) m.rows = tensor.size(-2), m.row_step = tensor.stride(-2);
    return m;
}
inline MatrixParams transposed(MatrixParams m) {
    std::swap(m.rows, m.columns);
    std::swap(m.row_step, m.column_step);
    return m;
}

// The member of LinalgParams for a tensor's data, by the index of its pointer.
struct Operand {
    MatrixParams LinalgParams::*member;
    int pointer;
};

// Our own kernels: each block processes one matrix, with a workspace of `doubles`. Kernels that are
// slow to compile are split into stages, one kernel each.
struct BlockWork {
    Source source;
    LinalgParams params;
    std::vector<Operand> operands;
    int dtype;
    int64_t doubles;
    int stages = 1;

    LinalgParams with_data(const Arguments &arguments) const {
        LinalgParams p = params;
        for (const Operand &operand : operands)
            (p.*operand.member).data = arguments.pointer<void>(operand.pointer);
        return p;
    }
};

// Threads of a block for matrices of that size.
int64_t threads_for(const MatrixParams &m);

// Launches as many blocks as fit on the device at once and into `most_bytes` (at least one). Stages
// are launched for that many matrices at a time.
std::unique_ptr<Plan> plan_blocks(Device &device, BlockWork work, size_t most_bytes = SIZE_MAX);

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

// The matrices of a tensor, or the complex matrices of two tensors (real and imaginary parts).
struct SolverOperand {
    MatrixParams part[2];
    int pointer[2] = {-1, -1};  // indices of the tensors; -1: none

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

// x is the matrix to factor, b the right-hand sides. The results are y, z and w in the order of the
// operator: U, values and V^H for the SVD of a matrix with at least as many rows as columns.
struct SolverWork {
    Factorization what;
    int dtype;
    bool is_complex = false;
    SolverOperand x = {}, b = {}, y = {}, z = {}, w = {};
    double least = 0;      // a pivot that is not greater counts as zero
    size_t own_bytes = 0;  // minimum workspace of our own kernels
    // Uses our own kernels, with at most that workspace.
    std::function<std::unique_ptr<Plan>(Device &, size_t most_bytes)> own = nullptr;
};

// Uses the library, or our own kernels while the stream is captured. Null if the library is missing
// or incomplete, or our own kernels are faster.
std::unique_ptr<Plan> plan_solver(Device &device, const SolverWork &work);

// Work for real matrices, by the library or our own kernels.
std::unique_ptr<Plan> plan_solver_or_blocks(Device &device, Factorization what,
                                            const BlockWork &work);

}  // namespace infini::cuda
