// The operators addbmm, inner and matrix_power: products with something around them.
#include "rows.h"

namespace infini::cuda {
namespace {

// What sums are kept in: F64 for F64, else F32.
int sum_dtype(int dtype) { return dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32; }

constexpr size_t kMostParts = size_t(256) << 20;  // bytes of products that wait to be summed

// beta * input + alpha * sum of batch1[b] @ batch2[b]: summed in F32 (F64) and rounded once.
std::unique_ptr<Plan> plan_addbmm(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), input = operation.tensor(1);
    const Tensor batch1 = operation.tensor(2), batch2 = operation.tensor(3);
    if (out.numel() == 0) return make_empty_plan();
    const double alpha = operation.number(0), beta = operation.number(1);
    const int64_t m = out.size(0), n = out.size(1), batch = batch1.size(0);
    const int sum = sum_dtype(out.dtype);
    const size_t part = size_t(m * n) * dtype_bytes(sum);
    const bool together = size_t(batch) * part <= kMostParts;

    ProductShape whole;  // what the join makes
    whole.m = m, whole.n = n, whole.c = matrix(out), whole.addend = matrix(input);
    ProductShape each = whole;
    each.k = batch1.size(2), each.a = matrix(batch1), each.b = matrix(batch2);
    each.c = {sum, n, 1, m * n}, each.addend = {};
    if (together)
        each.batch = batch;
    else
        each.a.batch = each.b.batch = 0;
    auto product = batch ? make_product(each, device) : nullptr;
    const Join join(whole, together ? batch : 1, sum, device);
    const size_t sums = padded(together ? size_t(batch) * part : part);
    const int64_t step1 = batch1.stride(0), step2 = batch2.stride(0);
    const int64_t element = int64_t(dtype_bytes(out.dtype));
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            char *memory = a.workspace();
            for (int64_t i = 0; i < (together ? batch > 0 : batch); ++i) {
                ProductData data{a.pointer<char>(2) + i * step1 * element,
                                 a.pointer<char>(3) + i * step2 * element, memory};
                data.beta = i ? 1 : 0;
                if (Error error = product->run(data, stream, memory + sums)) return error;
            }
            ProductData data{nullptr, nullptr, a.pointer<void>(0), alpha, beta};
            data.addend = a.pointer<void>(1);
            return join.run(data, memory, stream);
        },
        sums + (product ? product->workspace : 0));
}

// ---- inner --------------------------------------------------------------------------------------

// The dimensions of a tensor from `first` on as one with a stride, where they are one.
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
std::unique_ptr<Plan> plan_inner(const Operation &operation, Device &device) {
    const Shape out = operation.tensor(0), x = operation.tensor(1), y = operation.tensor(2);
    const int before = x.ndim - 1, behind = y.ndim - 1;
    for (int i = 0; i < out.ndim; ++i)
        if (out.size[i] != (i < before ? x.size[i] : y.size[i - before]))
            throw Refusal{
                INFINI_STATUS_BAD_TENSOR_SHAPE,
                "inner: the sizes of the output are those of both inputs without the last"};
    if (operation.tensor(0).numel() == 0) return make_empty_plan();
    ProductShape shape;
    int64_t of_x, of_y, rows, columns;
    auto joined = [&](const Shape &tensor, int loop, int count, int out_first, int64_t &size,
                      int64_t &stride, int64_t &out_stride) {
        int64_t out_size;
        return as_one(tensor, loop, count - loop, size, stride) &&
               as_one(out, out_first + loop, count - loop, out_size, out_stride);
    };
    // Dimensions [0, loop_x) of x and [0, loop_y) of y are looped over.
    int loop_x = 0, loop_y = 0;
    while (!joined(x, loop_x, before, 0, shape.m, of_x, rows)) ++loop_x;
    while (!joined(y, loop_y, behind, before, shape.n, of_y, columns)) ++loop_y;
    shape.k = x.size[before];
    shape.a = {x.dtype, of_x, x.stride[before], 0};
    shape.b = {y.dtype, y.stride[behind], of_y, 0};
    shape.c = {out.dtype, rows, columns, 0};
    auto product = make_product(shape, device);
    const size_t workspace = product->workspace;
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            const int64_t bytes = int64_t(dtype_bytes(out.dtype));
            int64_t outer = 1;
            for (int i = 0; i < loop_x; ++i) outer *= x.size[i];
            for (int i = 0; i < loop_y; ++i) outer *= y.size[i];
            for (int64_t index = 0; index < outer; ++index) {
                int64_t rest = index, at_x = 0, at_y = 0, at_out = 0;
                auto step = [&](int loop, const Shape &tensor, int out_first, int64_t &at) {
                    for (int i = loop - 1; i >= 0; --i) {
                        const int64_t here = rest % tensor.size[i];
                        rest /= tensor.size[i];
                        at += here * tensor.stride[i];
                        at_out += here * out.stride[out_first + i];
                    }
                };
                step(loop_y, y, before, at_y);
                step(loop_x, x, 0, at_x);
                const ProductData data{a.pointer<char>(1) + at_x * bytes,
                                       a.pointer<char>(2) + at_y * bytes,
                                       a.pointer<char>(0) + at_out * bytes};
                if (Error error = product->run(data, stream, a.workspace())) return error;
            }
            return infinirtSuccess;
        },
        workspace);
}

// ---- matrix_power -------------------------------------------------------------------------------

// By squaring, in F32 (F64), rounded once at the end.
std::unique_ptr<Plan> plan_matrix_power(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0);
    const int64_t n = y.size(0), power = operation.integer(0), count = n * n;
    if (count == 0) return make_empty_plan();
    const int sum = sum_dtype(y.dtype);
    ProductShape shape;
    shape.m = shape.n = shape.k = n;
    shape.a = shape.b = shape.c = {sum, n, 1, 0};
    auto product = make_product(shape, device);
    const Converter widen(y.dtype, sum, device), narrow(sum, y.dtype, device);
    const size_t each = padded(size_t(count) * dtype_bytes(sum));
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            if (power == 0) return narrow.run(a.pointer<void>(0), nullptr, count, stream, n);
            char *square = a.workspace(), *result = nullptr;
            char *spare[2] = {square + each, square + 2 * each};  // not in use
            char *scratch = square + 3 * each;
            Error error = widen.run(square, a.pointer<void>(1), count, stream);
            auto multiply = [&](const char *x, const char *by, char *to) {
                if (!error) error = product->run({x, by, to}, stream, scratch);
            };
            for (int64_t left = power; left > 0 && !error; left >>= 1) {
                if ((left & 1) && !result && left == 1) {
                    result = square;
                } else if ((left & 1) && !result) {
                    result = spare[1];
                    error = copy_bytes(stream, result, square, size_t(count) * dtype_bytes(sum));
                } else if (left & 1) {
                    multiply(result, square, spare[0]);
                    std::swap(result, spare[0]);
                }
                if (left > 1) {
                    multiply(square, square, spare[0]);
                    std::swap(square, spare[0]);
                }
            }
            return error ? error : narrow.run(a.pointer<void>(0), result, count, stream);
        },
        3 * each + product->workspace);
}

INFINI_CUDA_KERNEL("addbmm", plan_addbmm);
INFINI_CUDA_KERNEL("inner", plan_inner);
INFINI_CUDA_KERNEL("matrix_power", plan_matrix_power);

}  // namespace
}  // namespace infini::cuda
