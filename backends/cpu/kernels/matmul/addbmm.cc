// The operator addbmm: the sum of the products of a batch.
#include <cstring>

#include "../convert.h"
#include "../threads.h"
#include "operands.h"

namespace infini::cpu {

namespace {

size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// What sums are kept in: F64 for F64, else F32.
int sum_dtype(int dtype) { return dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32; }
size_t sum_bytes(int dtype) { return dtype == INFINI_DTYPE_F64 ? 8 : 4; }
size_t storage_bytes(int dtype) {
    return dtype == INFINI_DTYPE_F64 ? 8 : dtype == INFINI_DTYPE_F32 ? 4 : 2;
}

// Rows [n, columns] of sums, times alpha, plus beta times the input, to where they belong.
template <class Sum>
void scale_and_add(const Sum *sums, const Shape &out, void *to, const Shape &input,
                   const void *from, Sum alpha, Sum beta) {
    const int64_t columns = out.size[1];
    const size_t bytes = storage_bytes(out.dtype);
    auto rows = [&](size_t begin, size_t end) {
        constexpr int64_t run = 256;
        Sum values[run], other[run];
        for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
            for (int64_t j = 0; j < columns; j += run) {
                const int64_t n = columns - j < run ? columns - j : run;
                for (int64_t q = 0; q < n; ++q) values[q] = sums[i * columns + j + q] * alpha;
                if (beta != 0) {
                    int64_t at = i * input.stride[0] + j * input.stride[1];
                    load_dtype<Sum>(other, static_cast<const char *>(from) + at * int64_t(bytes),
                                    input.dtype, size_t(n), input.stride[1]);
                    for (int64_t q = 0; q < n; ++q) values[q] += beta * other[q];
                }
                int64_t at = i * out.stride[0] + j * out.stride[1];
                store_dtype<Sum>(static_cast<char *>(to) + at * int64_t(bytes), out.dtype, values,
                                 size_t(n), out.stride[1]);
            }
    };
    parallel_for(size_t(out.size[0]), size_t(1 + 16384 / (columns + 1)), rows);
}

// beta * input + alpha * sum of batch1[b] @ batch2[b]: summed in F32 (F64) and rounded once.
std::unique_ptr<Plan> plan_addbmm(const Operation &operation) {
    const Shape out = operation.tensor(0), input = operation.tensor(1);
    const Tensor batch1 = operation.tensor(2), batch2 = operation.tensor(3);
    const double alpha = operation.number(0), beta = operation.number(1);
    Matmul product;
    product.a = matrix(batch1), product.b = matrix(batch2);
    product.m = out.size[0], product.n = out.size[1], product.k = batch1.size(2);
    product.c.dtype = sum_dtype(out.dtype), product.c.row_stride = product.n;
    product.invariant = operation.batch_invariant();
    const size_t sums = padded(size_t(product.m * product.n) * sum_bytes(out.dtype));
    const int64_t batch = batch1.size(0);
    const int64_t element = int64_t(storage_bytes(out.dtype));
    return make_plan(
        [=](const Arguments &arguments) {
            Matmul p = product;
            p.c.data = arguments.workspace();
            if (batch == 0) std::memset(p.c.data, 0, sums);
            for (int64_t i = 0; i < batch; ++i) {
                p.a.data = arguments.pointer<char>(2) + i * p.a.batch_stride * element;
                p.b.data = arguments.pointer<char>(3) + i * p.b.batch_stride * element;
                p.beta = i == 0 ? 0 : 1;
                matmul(p, arguments.workspace() + sums);
            }
            void *to = arguments.pointer<void>(0);
            const void *from = arguments.pointer<void>(1);
            if (out.dtype == INFINI_DTYPE_F64)
                scale_and_add<double>(static_cast<double *>(p.c.data), out, to, input, from, alpha,
                                      beta);
            else
                scale_and_add<float>(static_cast<float *>(p.c.data), out, to, input, from,
                                     float(alpha), float(beta));
        },
        sums + matmul_workspace(product));
}

INFINI_KERNEL("addbmm", plan_addbmm);

}  // namespace

}  // namespace infini::cpu
