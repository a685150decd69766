// Linear algebra through the vendor's library (cuSOLVER), opened at run time.
#pragma once

#include "kernels/linalg/dense.h"

namespace infini::cuda {

enum class Factorization { kDet, kSlogdet, kLogdet, kInverse, kSolve, kCholesky, kQr, kSvd, kEigh };

// What `work` does, by the library; by our own kernels while the stream is captured. Null: the
// library is not there, or our own kernels are faster.
std::unique_ptr<Plan> plan_solver(Device &device, Factorization what, const BlockWork &work);

}  // namespace infini::cuda
