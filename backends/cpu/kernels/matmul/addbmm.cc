// The operators addbmm, inner and matrix_power: products with something around them.
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

// ---- inner --------------------------------------------------------------------------------------

// The leading dimensions of a tensor, from `first` on, as one with a stride, where they are one.
bool as_one(const Shape &tensor, int first, int count, int64_t &size, int64_t &stride) {
    size = 1, stride = 1;
    bool begun = false;
    for (int i = first + count - 1; i >= first; --i) {
        if (tensor.size[i] == 1) continue;
        if (begun && tensor.stride[i] != size * stride) return false;
        if (!begun) stride = tensor.stride[i], begun = true;
        size *= tensor.size[i];
    }
    return true;
}

// A product of matrices for every index of those leading dimensions that cannot be joined with the
// last of them.
std::unique_ptr<Plan> plan_inner(const Operation &operation) {
    const Shape out = operation.tensor(0), x = operation.tensor(1), y = operation.tensor(2);
    const int before = x.ndim - 1, behind = y.ndim - 1;
    for (int i = 0; i < out.ndim; ++i)
        if (out.size[i] != (i < before ? x.size[i] : y.size[i - before]))
            throw Refusal{
                INFINI_STATUS_BAD_TENSOR_SHAPE,
                "inner: the sizes of the output are those of both inputs without the last"};
    // Dimensions [0, loop_x) of x and [0, loop_y) of y are looped over.
    Matmul product;
    int64_t size, of_x, of_y, rows, columns;
    auto joined = [&](const Shape &tensor, int loop, int count, int out_first, int64_t &stride,
                      int64_t &out_stride) {
        int64_t out_size;
        return as_one(tensor, loop, count - loop, size, stride) &&
               as_one(out, out_first + loop, count - loop, out_size, out_stride);
    };
    int loop_x = 0, loop_y = 0;
    while (!joined(x, loop_x, before, 0, of_x, rows)) ++loop_x;
    product.m = size;
    while (!joined(y, loop_y, behind, before, of_y, columns)) ++loop_y;
    product.n = size, product.k = x.size[before];
    product.a = {nullptr, x.dtype, of_x, x.stride[before], 0};
    product.b = {nullptr, y.dtype, y.stride[behind], of_y, 0};
    product.c = {nullptr, out.dtype, rows, columns, 0};
    return make_plan(
        [=](const Arguments &arguments) {
            const int64_t bytes = int64_t(storage_bytes(out.dtype));
            int64_t outer = 1;
            for (int i = 0; i < loop_x; ++i) outer *= x.size[i];
            for (int i = 0; i < loop_y; ++i) outer *= y.size[i];
            for (int64_t index = 0; index < outer; ++index) {
                int64_t rest = index, at_x = 0, at_y = 0, at_out = 0;
                auto step = [&](int loop, const Shape &tensor, int out_first, int64_t &at) {
                    for (int i = loop - 1; i >= 0; --i) {
                        int64_t here = rest % tensor.size[i];
                        rest /= tensor.size[i];
                        at += here * tensor.stride[i];
                        at_out += here * out.stride[out_first + i];
                    }
                };
                step(loop_y, y, before, at_y);
                step(loop_x, x, 0, at_x);
                Matmul p = product;
                p.c.data = arguments.pointer<char>(0) + at_out * bytes;
                p.a.data = arguments.pointer<char>(1) + at_x * bytes;
                p.b.data = arguments.pointer<char>(2) + at_y * bytes;
                matmul(p, arguments.workspace());
            }
        },
        matmul_workspace(product));
}

// ---- matrix_power -------------------------------------------------------------------------------

// By squaring, in F32 (F64), rounded once at the end.
std::unique_ptr<Plan> plan_matrix_power(const Operation &operation) {
    const Shape y = operation.tensor(0);
    const int64_t n = y.size[0], power = operation.integer(0);
    Matmul product;
    product.m = product.n = product.k = n;
    product.a = {nullptr, sum_dtype(y.dtype), n, 1, 0}, product.b = product.a;
    product.c = {nullptr, sum_dtype(y.dtype), n, 1, 0};
    const size_t count = size_t(n * n), each = padded(count * sum_bytes(y.dtype));
    const size_t element = sum_bytes(y.dtype);
    return make_plan(
        [=](const Arguments &arguments) {
            char *base = arguments.workspace(), *result = base + each, *spare = result + each;
            auto multiply = [&](char *&to, char *by) {  // to = to @ by
                Matmul p = product;
                p.a.data = to, p.b.data = by, p.c.data = spare;
                matmul(p, arguments.workspace() + 3 * each);
                std::swap(to, spare);
            };
            if (element == 8)
                to_f64(reinterpret_cast<double *>(base), arguments.pointer<void>(1), y.dtype,
                       count);
            else
                to_f32(reinterpret_cast<float *>(base), arguments.pointer<void>(1), y.dtype, count);
            bool one = true;  // the result is still the identity
            char *square = base;
            for (int64_t left = power; left > 0; left >>= 1) {
                if (left & 1) {
                    if (one)
                        std::memcpy(result, square, count * element);
                    else
                        multiply(result, square);
                    one = false;
                }
                if (left > 1) multiply(square, square);
            }
            if (one) {
                std::memset(result, 0, count * element);
                for (size_t i = 0; i < size_t(n); ++i) {
                    if (element == 8)
                        reinterpret_cast<double *>(result)[i * size_t(n + 1)] = 1;
                    else
                        reinterpret_cast<float *>(result)[i * size_t(n + 1)] = 1;
                }
            }
            void *to = arguments.pointer<void>(0);
            if (element == 8)
                from_f64(to, y.dtype, reinterpret_cast<double *>(result), count);
            else
                from_f32(to, y.dtype, reinterpret_cast<float *>(result), count);
        },
        3 * each + matmul_workspace(product));
}

INFINI_KERNEL("addbmm", plan_addbmm);
INFINI_KERNEL("inner", plan_inner);
INFINI_KERNEL("matrix_power", plan_matrix_power);

}  // namespace

}  // namespace infini::cpu
