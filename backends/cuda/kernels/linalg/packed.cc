// Factors in LAPACK's packed forms, and equations solved with them.
#include <algorithm>

#include "kernels/linalg/solver.h"

namespace infini::cuda {
namespace {

using L = LinalgParams;

// Lets each block compute as many columns of the results as it has threads; returns their number.
int64_t split_columns(LinalgParams &params) {
    const int64_t threads = threads_for(params.x), columns = params.y.columns;
    params.parts = (columns + threads - 1) / threads;
    return std::min(columns, threads);
}

// householder_product without c, ormqr with it.
std::unique_ptr<Plan> plan_reflectors(const Operation &operation, Device &device) {
    L params = {};
    const bool is_factor = operation.is("geqrf"), has_c = operation.is("ormqr");
    params.y = matrices_of(operation.tensor(0), 2);
    params.x = matrices_of(operation.tensor(is_factor ? 2 : 1), 2);
    std::vector<Operand> operands = {{&L::y, 0}, {&L::x, is_factor ? 2 : 1}};
    if (is_factor) {
        params.z = matrices_of(operation.tensor(1), 1), operands.push_back({&L::z, 1});
    } else {
        params.b = matrices_of(operation.tensor(2), 1), operands.push_back({&L::b, 2});
        if (has_c) params.z = matrices_of(operation.tensor(3), 2), operands.push_back({&L::z, 3});
    }
    Source source("linalg/packed.cuh:reflectors");
    source.constant("kResult", is_factor ? 0 : has_c ? 2 : 1);
    source.constant("kTranspose", has_c && operation.integer(0) != 0);
    int64_t width = 0;  // of results in the workspace
    if (!is_factor) {
        params.x.columns = params.b.columns;
        width = split_columns(params);
    }
    const int64_t doubles = params.x.rows * (params.x.columns + width) + params.x.columns;
    return plan_blocks(device, {source, params, operands, operation.tensor(0).dtype, doubles});
}

std::unique_ptr<Plan> plan_triangular(const Operation &operation, Device &device) {
    L params = {};
    const bool has_pivots = operation.is("lu_solve");
    const int sides = has_pivots ? 3 : 2;
    params.y = matrices_of(operation.tensor(0), 2), params.x = matrices_of(operation.tensor(1), 2);
    params.b = matrices_of(operation.tensor(sides), 2);
    std::vector<Operand> operands = {{&L::y, 0}, {&L::x, 1}, {&L::b, sides}};
    if (has_pivots) params.z = matrices_of(operation.tensor(2), 1), operands.push_back({&L::z, 2});
    Source source("linalg/packed.cuh:triangular");
    source.constant("kResult", has_pivots).constant("kUpper", operation.integer(0) != 0);
    source.constant("kUnit", !has_pivots && operation.integer(1) != 0);
    const int64_t n = params.x.rows, width = split_columns(params);
    return plan_blocks(device,
                       {source, params, operands, operation.tensor(0).dtype, n * (n + width)});
}

std::unique_ptr<Plan> plan_ldl(const Operation &operation, Device &device) {
    L params = {};
    const bool is_factor = operation.is("ldl_factor");
    const int matrix = is_factor ? 3 : 1, pivots = is_factor ? 1 : 2;
    params.y = matrices_of(operation.tensor(0), 2);
    params.x = matrices_of(operation.tensor(matrix), 2);
    params.z = matrices_of(operation.tensor(pivots), 1);
    std::vector<Operand> operands = {{&L::y, 0}, {&L::x, matrix}, {&L::z, pivots}};
    if (is_factor)
        params.w = matrices_of(operation.tensor(2), 0), operands.push_back({&L::w, 2});
    else
        params.b = matrices_of(operation.tensor(3), 2), operands.push_back({&L::b, 3});
    Source source("linalg/packed.cuh:ldl");
    source.constant("kResult", is_factor ? 0 : 1);
    const int64_t n = params.x.rows;
    return plan_blocks(device, {source, params, operands, operation.tensor(0).dtype,
                                n * (n + params.b.columns + 2) + 3});
}

std::unique_ptr<Plan> plan_lu_unpack(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.z = matrices_of(operation.tensor(1), 2);
    params.w = matrices_of(operation.tensor(2), 2), params.x = matrices_of(operation.tensor(3), 2);
    params.b = matrices_of(operation.tensor(4), 1);
    return plan_blocks(device, {Source("linalg/packed.cuh:unpack"),
                                params,
                                {{&L::y, 0}, {&L::z, 1}, {&L::w, 2}, {&L::x, 3}, {&L::b, 4}},
                                operation.tensor(0).dtype,
                                params.x.rows});
}

std::unique_ptr<Plan> plan_lstsq(const Operation &operation, Device &device) {
    L params = {};
    params.y = matrices_of(operation.tensor(0), 2), params.z = matrices_of(operation.tensor(1), 0);
    params.x = matrices_of(operation.tensor(2), 2), params.b = matrices_of(operation.tensor(3), 2);
    params.least = operation.number(0);
    const int64_t m = params.x.rows, n = params.x.columns, sides = params.b.columns;
    const int64_t doubles = m * n + (m + 2 * n) * sides + 3 * n + 3 * std::min(m, n) + 2;
    return plan_blocks(device, {Source("linalg/lstsq.cuh"),
                                params,
                                {{&L::y, 0}, {&L::z, 1}, {&L::x, 2}, {&L::b, 3}},
                                operation.tensor(0).dtype,
                                doubles});
}

INFINI_CUDA_KERNEL("lu_unpack", plan_lu_unpack);
INFINI_CUDA_KERNEL("lstsq", plan_lstsq);
INFINI_CUDA_KERNEL("reflectors", plan_reflectors);
INFINI_CUDA_KERNEL("triangular", plan_triangular);
INFINI_CUDA_KERNEL("ldl", plan_ldl);

}  // namespace
}  // namespace infini::cuda
