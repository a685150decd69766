// LAPACK instead of the built-in kernels, for matrices for which it was measured to be faster. It
// is column-major, so a matrix that was loaded by rows appears transposed.
#pragma once

#include <limits>
#include <type_traits>

#include "lapack_library.h"
#include "linalg/dense.h"

namespace infini::cpu {

// Every call of LAPACK uses one thread: OpenBLAS's own ones spin while they wait, which is very slow
// on a busy machine, and on 16 cores they make eigenvalues of 800 rows only 1.5 times as fast.
// Batches are divided among our threads.

// The smaller dimension from which LAPACK is faster than the built-in kernels. Measured with
// OpenBLAS 0.3.34 and AVX-512.
constexpr int64_t kLapackThreads = 64;  // OpenBLAS has buffers for twice as many callers
constexpr int64_t kLapackEigh = 56;
constexpr int64_t kLapackEigvalsh = 24;
constexpr int64_t kLapackEig = 2;         // of real matrices
constexpr int64_t kLapackEigSingle = 48;  // in single precision
constexpr int64_t kLapackLstsq = 96;
constexpr int64_t kLapackSvd = 24;
constexpr int64_t kLapackComplex = 8;   // the built-in ones are plain loops
constexpr int64_t kLapackBlock = 64;    // more columns of workspace do not make it faster
constexpr int64_t kLapackMost = 16384;  // sizes of workspaces stay within an int

// Null if the built-in kernel is faster for these matrices, or there is no library.
inline const Lapack *lapack_for(const Matrices &x, int64_t from) {
    const bool is_large =
        std::min(x.rows, x.columns) >= from || x.size() >= 2 * from * from;  // tall or wide
    const bool suits = is_large && x.size() <= kLapackMost * kLapackMost &&
                       int64_t(thread_count()) <= kLapackThreads;
    return suits ? lapack() : nullptr;
}

// plan_batch for the matrices of x. Where LAPACK is used, by_lapack(lapack, arguments, index, room)
// is called first, with room for `lapack_doubles`. It returns false, with nothing stored, to leave
// a matrix to `body`: one with NaN or infinity, a singular one, or one that does not converge.
// Their results are then the same with or without a library.
template <class ByLapack, class Body>
std::unique_ptr<Plan> plan_with_lapack(const Matrices &x, int64_t from, int64_t lapack_doubles,
                                       const ByLapack &by_lapack, int64_t doubles, int64_t work,
                                       const Body &body) {
    constexpr int64_t kWork = 32768;  // each matrix justifies a thread
    const Lapack *lapack = lapack_for(x, from);
    if (!lapack) return plan_batch(x.count(), doubles, work, body);
    return plan_batch(x.count(), std::max(lapack_doubles, doubles), kWork,
                      [=](const Arguments &a, int64_t i, double *room) {
                          bool done = false;
                          if (enter_lapack()) {
                              done = by_lapack(*lapack, a, i, room);
                              leave_lapack();
                          }
                          if (!done) body(a, i, room);
                      });
}

// Selects the LAPACK function for elements of type T.
template <class T, class Single, class Double>
auto typed(Single single_precision, Double double_precision) {
    if constexpr (std::is_same_v<T, float>)
        return single_precision;
    else
        return double_precision;
}

}  // namespace infini::cpu
