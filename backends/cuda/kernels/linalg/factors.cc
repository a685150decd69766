// Factorizations, determinants and solutions: by the vendor's library if it is faster, otherwise
// with one block per matrix, in double precision.
#include <algorithm>

#include "device/linalg/complex.cuh"
#include "kernels/linalg/solver.h"

namespace infini::cuda {
namespace {

// ---- Factorizations and eigenvalues of complex matrices -----------------------------------------

// Properties of an operator: the number of `trailing` dimensions of each result, and the doubles of
// workspace per matrix. Inputs follow the results.
struct ComplexWork {
    Source source;
    std::vector<int> trailing;
    int64_t doubles;
};

// One block per matrix, with at most `most_bytes` of workspace.
std::unique_ptr<Plan> plan_complex_blocks(Device &device, Source source, int dtype,
                                          ComplexParams params, int first, bool has_sides,
                                          size_t most_bytes) {
    const int64_t largest = std::max(params.x->rows, params.x->columns);
    const int64_t threads = largest <= 32 ? 64 : largest <= 128 ? 128 : 256;
    const auto kernel = device.compile(source.type("T", dtype).constant("kThreads", threads));
    const int64_t resident = std::max(1, kernel->resident_blocks(unsigned(threads)));
    const size_t room_bytes = size_t(params.room) * sizeof(double);
    const int64_t fit = std::max<int64_t>(1, int64_t(most_bytes / room_bytes));
    const int64_t blocks =
        std::min({params.count, int64_t(device.multiprocessors) * resident, fit});
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ComplexParams p = params;
        for (int i = 0; i < first; ++i) p.y[i].data = a.pointer<void>(i);
        for (int i = 0; i < 2; ++i) p.x[i].data = a.pointer<void>(first + i);
        for (int i = 0; i < 2 && has_sides; ++i) p.b[i].data = a.pointer<void>(first + 2 + i);
        p.rooms = reinterpret_cast<double *>(a.workspace());
        return kernel->launch(stream, blocks, unsigned(threads), p);
    };
    return make_plan(run, size_t(blocks) * room_bytes);
}

// The operands for the library: each has a real and an imaginary part, except real values.
SolverWork solver_work(Factorization what, int dtype, const ComplexParams &p,
                       const std::vector<int> &trailing) {
    SolverWork made{what, dtype, true};
    const int first = int(trailing.size());
    auto pair = [&](int i) { return SolverOperand(p.y[i], i, p.y[i + 1], i + 1); };
    auto one = [&](int i) { return SolverOperand(p.y[i], i); };
    made.x = SolverOperand(p.x[0], first, p.x[1], first + 1);
    switch (what) {
        case Factorization::kLu:
            made.y = pair(0), made.z = one(2);
            break;
        case Factorization::kSolve:
            made.b = SolverOperand(p.b[0], first + 2, p.b[1], first + 3);
            [[fallthrough]];
        case Factorization::kInverse:
        case Factorization::kCholesky:
            made.y = pair(0);
            break;
        case Factorization::kSvd:
            made.y = pair(0), made.z = one(2), made.w = pair(3);
            if (p.x->rows < p.x->columns) {  // for the transpose, U and V are exchanged
                std::swap(made.y, made.w);
                made.x = transposed(made.x);
                made.y = transposed(made.y), made.w = transposed(made.w);
            }
            break;
        case Factorization::kEigh:
            made.y = one(0), made.z = pair(1);
            break;
        default:
            made.y = pair(0), made.z = pair(2);
    }
    return made;
}

std::unique_ptr<Plan> plan_complex(const Operation &operation, Device &device, Factorization what,
                                   const ComplexWork &work) {
    const int first = int(work.trailing.size());
    const int dtype = operation.tensor(0).dtype;
    ComplexParams params = {};
    for (int i = 0; i < first; ++i)
        params.y[i] = matrices_of(operation.tensor(i), work.trailing[size_t(i)]);
    for (int i = 0; i < 2; ++i) params.x[i] = matrices_of(operation.tensor(first + i), 2);
    const bool has_sides = what == Factorization::kSolve;
    for (int i = 0; i < 2 && has_sides; ++i)
        params.b[i] = matrices_of(operation.tensor(first + 2 + i), 2);
    params.count = params.x->batch.count;
    params.room = round_up(work.doubles, 32);
    if (params.count == 0 || params.x->rows == 0 || params.x->columns == 0 ||
        params.y->columns == 0)
        return make_empty_plan();
    auto own = [=](Device &on, size_t most_bytes) {
        return plan_complex_blocks(on, work.source, dtype, params, first, has_sides, most_bytes);
    };
    constexpr size_t kMostBytes = size_t(1) << 30;
    if (operation.is("eigvals")) return own(device, kMostBytes);  // the library gives vectors, too
    SolverWork solver = solver_work(what, dtype, params, work.trailing);
    solver.own = own, solver.own_bytes = size_t(params.room) * sizeof(double);
    if (auto made = plan_solver(device, solver)) return made;
    return own(device, kMostBytes);
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
    return plan_complex(operation, device, Factorization::kLu,
                        {Source("linalg/complex_factors.cuh:lu"), {2, 2, 1}, 2 * s.m * s.n});
}

std::unique_ptr<Plan> plan_complex_qr(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 4);
    return plan_complex(
        operation, device, Factorization::kQr,
        {Source("linalg/complex_factors.cuh:qr"), {2, 2, 2, 2}, 2 * s.m * (s.n + s.k) + s.k});
}

std::unique_ptr<Plan> plan_complex_svd(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 5);
    return plan_complex(operation, device, Factorization::kSvd,
                        {Source("linalg/complex_jacobi.cuh:svd"),
                         {2, 2, 1, 2, 2},
                         4 * s.m * s.n + 2 * s.k * s.k + 2 * s.k});
}

std::unique_ptr<Plan> plan_complex_eigh(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 3);
    return plan_complex(
        operation, device, Factorization::kEigh,
        {Source("linalg/complex_jacobi.cuh:eigh"), {1, 2, 2}, 4 * s.n * s.n + 2 * s.n + 6 * s.n});
}

std::unique_ptr<Plan> plan_eig(const Operation &operation, Device &device) {
    const bool vectors = operation.is("eig");
    const FactorSizes s(operation, vectors ? 4 : 2);
    Source source("linalg/eig.cuh");
    source.constant("kVectors", vectors);
    const std::vector<int> trailing =
        vectors ? std::vector<int>{1, 1, 2, 2} : std::vector<int>{1, 1};
    return plan_complex(operation, device, Factorization::kEig,
                        {source, trailing, 6 * s.n * s.n + 3 * s.n});
}

INFINI_CUDA_KERNEL("lu_factor", plan_lu_factor);
INFINI_CUDA_KERNEL("complex_qr", plan_complex_qr);
INFINI_CUDA_KERNEL("complex_svd", plan_complex_svd);
INFINI_CUDA_KERNEL("complex_eigh", plan_complex_eigh);
INFINI_CUDA_KERNEL("eig", plan_eig);

std::unique_ptr<Plan> plan_complex_linear(const Operation &operation, Device &device) {
    const bool is_inverse = operation.is("complex_inverse");
    const FactorSizes s(operation, 2);
    Source source("linalg/complex_factors.cuh:solve");
    return plan_complex(operation, device,
                        is_inverse ? Factorization::kInverse : Factorization::kSolve,
                        {source.constant("kInverse", is_inverse),
                         {2, 2},
                         2 * s.n * (s.n + operation.tensor(0).size(-1))});
}

std::unique_ptr<Plan> plan_complex_cholesky(const Operation &operation, Device &device) {
    const FactorSizes s(operation, 2);
    return plan_complex(operation, device, Factorization::kCholesky,
                        {Source("linalg/complex_factors.cuh:cholesky"), {2, 2}, 2 * s.n * s.n});
}

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

// Small matrices in shared memory: solve, or inverse without right-hand sides. Null if they are too
// large.
std::unique_ptr<Plan> plan_elimination(const Operation &operation, Device &device,
                                       const LinalgParams &given, bool has_sides) {
    constexpr int64_t kMostRows = 128;
    constexpr size_t kStatic = 1 << 10;
    const int64_t n = given.x.rows, columns = has_sides ? given.b.columns : n;
    const int dtype = operation.tensor(0).dtype;
    if (n == 0 || n > kMostRows || columns > int64_t(device.shared_bytes / sizeof(double) / n))
        return nullptr;
    const size_t bytes = size_t(n * (n + columns) + n) * sizeof(double);
    if (bytes + kStatic > device.shared_bytes) return nullptr;
    L fixed = given;
    fixed.count = given.x.batch.count;
    if (fixed.count * columns == 0) return make_empty_plan();
    const int64_t threads = n <= 16 ? 64 : 256;
    Source source("linalg/elimination.cuh");
    source.type("T", dtype).constant("kThreads", threads);
    const auto kernel = device.compile(source.constant("kInverse", !has_sides));
    const int64_t resident = std::max(1, kernel->resident_blocks(unsigned(threads), bytes));
    const int64_t blocks = std::min(fixed.count, device.multiprocessors * resident);
    return make_plan([=](const Arguments &a, const Stream &stream) -> Error {
        L p = fixed;
        p.y.data = a.pointer<void>(0), p.x.data = a.pointer<void>(1);
        if (has_sides) p.b.data = a.pointer<void>(2);
        return kernel->launch(stream, blocks, unsigned(threads), p, bytes);
    });
}

std::unique_ptr<Plan> plan_inverse(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    if (auto plan = plan_elimination(operation, device, params, false)) return plan;
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
    if (auto plan = plan_elimination(operation, device, params, true)) return plan;
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

// The values only: by our own kernel, which computes the vectors but does not store them.
std::unique_ptr<Plan> plan_svdvals(const Operation &operation, Device &device) {
    L params = {};
    params.z = matrices_of(operation.tensor(0), 1), params.x = matrices_of(operation.tensor(1), 2);
    if (params.x.rows < params.x.columns) params.x = transposed(params.x);
    const int64_t rows = params.x.rows, columns = params.x.columns;
    if (columns == 0) return make_empty_plan();
    const int64_t doubles = 2 * rows * columns + 3 * columns * columns + 3 * columns + 1;
    return plan_blocks(device, {Source("linalg/svd.cuh"),
                                params,
                                {{&L::z, 0}, {&L::x, 1}},
                                operation.tensor(0).dtype,
                                doubles,
                                4});
}

std::unique_ptr<Plan> plan_svd(const Operation &operation, Device &device) {
    if (operation.is("svdvals")) return plan_svdvals(operation, device);
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.z = matrices_of(operation.tensor(1), 1);
    params.w = matrices_of(operation.tensor(2), 2), params.x = matrices_of(operation.tensor(3), 2);
    // A wide matrix is transposed, which exchanges U and V.
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

std::unique_ptr<Plan> plan_eigvalsh(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 1), params.x = matrices_of(operation.tensor(1), 2);
    const int64_t n = params.x.rows;
    if (n == 0) return make_empty_plan();
    return plan_blocks(device, {Source("linalg/eigh.cuh"),
                                params,
                                {{&L::y, 0}, {&L::x, 1}},
                                operation.tensor(0).dtype,
                                2 * n * n + 6 * n,
                                3});
}

std::unique_ptr<Plan> plan_eigh(const Operation &operation, Device &device) {
    if (operation.is("eigvalsh")) return plan_eigvalsh(operation, device);
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
