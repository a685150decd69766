// The operator addbmm: the sum of the products of a batch.
#include "product.h"

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
    each.invariant = operation.batch_invariant();
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

INFINI_CUDA_KERNEL("addbmm", plan_addbmm);

}  // namespace
}  // namespace infini::cuda
