// fused_ffn: norm, gate and up, activation, down, residual.
#include <algorithm>

#include "../matmul/rows.h"

namespace infini::cuda {
namespace {

constexpr int kSwiglu = 1;

// A weight [out, in], or [in, out] where that does not fit, as the matrix [in, out] of a product.
Matrix weight_matrix(const Tensor &w, int64_t out, int64_t in, const char *sentence) {
    if (w.size(0) == out && w.size(1) == in) return {w.dtype, w.stride(1), w.stride(0), 0};
    if (w.size(0) == in && w.size(1) == out) return {w.dtype, w.stride(0), w.stride(1), 0};
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, sentence};
}

std::unique_ptr<Plan> plan_fused_ffn(const Operation &op, Device &device) {
    const Tensor out = op.tensor(0), in = op.tensor(1), residual = op.tensor(2);
    const Tensor norm = op.tensor(3), up = op.tensor(4), down = op.tensor(5);
    const int dtype = out.dtype;
    for (int other : {norm.dtype, up.dtype, down.dtype})
        if (other != dtype && other != INFINI_DTYPE_F32)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                          "weights must have the dtype of the activations, or F32"};
    const int64_t rows = out.size(0), hidden = out.size(1);
    constexpr int64_t kMost = int64_t(1) << 42;
    if (std::max({hidden, up.size(0), up.size(1)}) > kMost)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "more features than can be counted"};
    const int64_t wide = up.size(1) == hidden ? up.size(0) : up.size(1), inner = wide / 2;
    const char *why = "gate_up_weight must be [2 I, D] or [D, 2 I]";
    if (wide % 2) throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, why};

    ProductShape first, second;
    first.b = weight_matrix(up, wide, hidden, why);
    second.b = weight_matrix(down, hidden, inner, "down_weight must be [D, I] or [I, D]");
    if (rows * hidden == 0) return make_empty_plan();
    first.m = rows, first.k = hidden, first.n = wide;
    first.a = {dtype, hidden, 1, 0}, first.c = {dtype, wide, 1, 0};
    second.m = rows, second.k = inner, second.n = hidden;
    second.a = {dtype, inner, 1, 0}, second.c = matrix(out);
    if (residual) second.addend = matrix(residual);
    auto expand = wide ? make_product(first, device) : nullptr;
    auto contract = make_product(second, device);
    const GateRows gate(dtype, kSwiglu, rows, inner, device);
    Source source("matmul/rows.cuh:norm");
    auto normalise = device.compile(source.type("T", dtype).type("W", norm.dtype));

    const size_t element = dtype_bytes(dtype);
    const size_t normed = padded(size_t(rows * hidden) * element);
    const size_t widened = normed + padded(size_t(rows * wide) * element);
    const size_t gated = widened + padded(size_t(rows * inner) * element);
    const float epsilon = float(op.number(0));
    const int64_t in_stride = in.stride(0);
    const bool has_residual = bool(residual);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            char *memory = a.workspace(), *scratch = memory + gated;
            const NormRowsParams norm{memory, a.pointer<void>(1), a.pointer<void>(3),
                                      hidden, in_stride,          epsilon};
            Error error = normalise->launch(stream, rows, 256, norm);
            if (!error && expand)
                error = expand->run({memory, a.pointer<void>(4), memory + normed}, stream, scratch);
            if (!error) error = gate.run(memory + widened, memory + normed, stream);
            ProductData data{memory + widened, a.pointer<void>(5), a.pointer<void>(0)};
            if (has_residual) data.beta = 1, data.addend = a.pointer<void>(2);
            return error ? error : contract->run(data, stream, scratch);
        },
        gated + std::max(expand ? expand->workspace : 0, contract->workspace));
}

INFINI_CUDA_KERNEL("fused_ffn", plan_fused_ffn);

}  // namespace
}  // namespace infini::cuda
