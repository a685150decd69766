// Factors and eigenvalues of complex matrices, in double precision: a block for each matrix.
#include <algorithm>

#include "device/linalg/complex.cuh"
#include "kernels/linalg/dense.h"

namespace infini::cuda {
namespace {

// What an operator has: `trailing` dimensions of each result, the place of the first input, and the
// doubles that a block needs for a matrix.
struct ComplexWork {
    const char *source;
    std::vector<int> trailing;
    int64_t doubles;
};

std::unique_ptr<Plan> plan_complex(const Operation &operation, Device &device,
                                   const ComplexWork &work) {
    const int first = int(work.trailing.size());
    ComplexParams params = {};
    for (int i = 0; i < first; ++i)
        params.y[i] = matrices_of(operation.tensor(i), work.trailing[size_t(i)]);
    for (int i = 0; i < 2; ++i) params.x[i] = matrices_of(operation.tensor(first + i), 2);
    params.count = params.x->batch.count;
    if (params.count == 0 || params.x->rows == 0 || params.x->columns == 0)
        return make_empty_plan();
    const int64_t largest = std::max(params.x->rows, params.x->columns);
    const int64_t threads = largest <= 32 ? 64 : largest <= 128 ? 128 : 256;
    Source source(work.source);
    source.type("T", operation.tensor(0).dtype).constant("kThreads", threads);
    const auto kernel = device.compile(source);
    params.room = round_up(work.doubles, 32);
    constexpr int64_t kMostBytes = int64_t(1) << 30;
    const int64_t resident = std::max(1, kernel->resident_blocks(unsigned(threads)));
    const int64_t fit = std::max<int64_t>(1, kMostBytes / (params.room * int64_t(sizeof(double))));
    const int64_t blocks =
        std::min({params.count, int64_t(device.multiprocessors) * resident, fit});
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ComplexParams p = params;
        for (int i = 0; i < first; ++i) p.y[i].data = a.pointer<void>(i);
        for (int i = 0; i < 2; ++i) p.x[i].data = a.pointer<void>(first + i);
        p.rooms = reinterpret_cast<double *>(a.workspace());
        return kernel->launch(stream, blocks, unsigned(threads), p);
    };
    return make_plan(run, size_t(blocks * params.room) * sizeof(double));
}

struct FactorSizes {
    int64_t m, n, k;

    FactorSizes(const Operation &operation, int place)
        : m(operation.tensor(place).size(-2)),
          n(operation.tensor(place).size(-1)),
          k(std::min(m, n)) {}
};

std::unique_ptr<Plan> plan_lu_factor(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 3);
    return plan_complex(operation, device,
                        {"linalg/complex_factors.cuh:lu", {2, 2, 1}, 2 * s.m * s.n});
}

std::unique_ptr<Plan> plan_complex_qr(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 4);
    return plan_complex(
        operation, device,
        {"linalg/complex_factors.cuh:qr", {2, 2, 2, 2}, 2 * s.m * (s.n + s.k) + s.k});
}

std::unique_ptr<Plan> plan_complex_svd(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 5);
    return plan_complex(operation, device,
                        {"linalg/complex_jacobi.cuh:svd",
                         {2, 2, 1, 2, 2},
                         4 * s.m * s.n + 2 * s.k * s.k + 2 * s.k});
}

std::unique_ptr<Plan> plan_complex_eigh(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 3);
    return plan_complex(
        operation, device,
        {"linalg/complex_jacobi.cuh:eigh", {1, 2, 2}, 4 * s.n * s.n + 2 * s.n + 6 * s.n});
}

std::unique_ptr<Plan> plan_eig(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 4);
    return plan_complex(operation, device,
                        {"linalg/eig.cuh", {1, 1, 2, 2}, 6 * s.n * s.n + 3 * s.n});
}

INFINI_CUDA_KERNEL("lu_factor", plan_lu_factor);
INFINI_CUDA_KERNEL("complex_qr", plan_complex_qr);
INFINI_CUDA_KERNEL("complex_svd", plan_complex_svd);
INFINI_CUDA_KERNEL("complex_eigh", plan_complex_eigh);
INFINI_CUDA_KERNEL("eig", plan_eig);

}  // namespace
}  // namespace infini::cuda
