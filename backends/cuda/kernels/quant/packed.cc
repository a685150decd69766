// Packed weights: mxfp4_dequantize, dequantize_awq, dequantize_gptq, awq_marlin_repack and
// gptq_marlin_repack.
#include "device/quant/packed.cuh"

#include <algorithm>

#include "kernels/dims.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_mxfp4_dequantize(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), packed = operation.tensor(1);
    const Tensor scales = operation.tensor(2);
    if (out.numel() == 0) return make_empty_plan();
    const int64_t element = int64_t(dtype_bytes(out.dtype));
    Dims<3> dims;
    int64_t out_bits = 16 / element, packed_bits = 4;
    for (int d = 0; d < out.ndim - 1; ++d) {
        dims.add(out.shape[d], out.strides[d], packed.strides[d], scales.strides[d] * 4);
        if (out.shape[d] == 1) continue;
        out_bits |= out.strides[d], packed_bits |= packed.strides[d];
    }
    dims.add(out.size(-1) / 8, 8, 4, 1);
    Mxfp4Params params = {};
    params.words = dims.places();
    const bool whole_out = out_bits % (16 / element) == 0, whole_packed = packed_bits % 4 == 0;
    const auto kernel = device.compile(Source("quant/packed.cuh:mxfp4").type("T", out.dtype));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        Mxfp4Params here = params;
        here.out = a.pointer<void>(0), here.packed = a.pointer<uint8_t>(1);
        here.scales = a.pointer<uint8_t>(2);
        here.whole_out = whole_out && is_aligned(here.out, 16);
        here.whole_packed = whole_packed && is_aligned(here.packed, 4);
        return kernel->launch(stream, divide_up(here.words.count, 256), 256, here);
    });
}

std::unique_ptr<Plan> plan_dequantize(const Operation &operation, Device &device) {
    const bool awq = operation.is("dequantize_awq");
    const Tensor out = operation.tensor(0);
    DequantizeParams params = {};
    params.rows = out.size(0), params.columns = out.size(1) / 8;
    params.groups = operation.tensor(2).size(0);
    params.group_rows = std::max<int64_t>(params.rows / params.groups, 1);
    if (out.numel() == 0) return make_empty_plan();
    const auto kernel = device.compile(Source("quant/packed.cuh:dequantize").constant("kAwq", awq));
    const int64_t bands = awq ? params.rows : params.rows / 8;
    const Grid grid(divide_up(params.columns, 256), std::min<int64_t>(bands, 65535));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        DequantizeParams here = params;
        here.out = a.pointer<void>(0), here.weights = a.pointer<uint32_t>(1);
        here.scales = a.pointer<void>(2), here.zeros = a.pointer<uint32_t>(3);
        here.group_of = awq ? nullptr : a.pointer<int32_t>(4);
        here.whole_out = is_aligned(here.out, 16), here.whole_scales = is_aligned(here.scales, 16);
        here.whole_weights = is_aligned(here.weights, 16);
        return kernel->launch(stream, grid, 256, here);
    });
}
std::unique_ptr<Plan> plan_repack(const Operation &operation, Device &device, bool awq,
                                  bool ordered) {
    const Tensor input = operation.tensor(1);
    const int64_t bits = operation.integer(0), codes = 32 / bits;
    const bool a_8bit = operation.integer(1) != 0;
    RepackParams params = {};
    params.k = awq ? input.size(0) : input.size(0) * codes;
    params.n = awq ? input.size(1) * codes : input.size(1);
    if (params.k % (a_8bit ? 32 : 16) || params.n % 64)
        refuse_shape(
            "rows must be a multiple of 16, or of 32 for 8-bit activations, and columns a multiple "
            "of 64");
    params.words = params.k * params.n / codes;
    Source source("quant/packed.cuh:marlin_repack");
    source.constant("kBits", bits).constant("kA8", a_8bit).constant("kAwq", awq);
    const auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        RepackParams here = params;
        here.out = a.pointer<uint32_t>(0), here.in = a.pointer<uint32_t>(1);
        here.from = ordered ? a.pointer<int32_t>(2) : nullptr;
        return kernel->launch(stream, divide_up(here.words, 256), 256, here);
    });
}

std::unique_ptr<Plan> plan_awq_marlin_repack(const Operation &operation, Device &device) {
    return plan_repack(operation, device, true, false);
}

std::unique_ptr<Plan> plan_gptq_marlin_repack(const Operation &operation, Device &device) {
    const Tensor input = operation.tensor(1), perm = operation.tensor(2);
    const bool ordered = perm && perm.numel() > 0;
    const int64_t rows = input.size(0) * (32 / operation.integer(0));
    auto plan = plan_repack(operation, device, false, ordered);
    if (ordered && perm.numel() != rows) refuse_shape("perm must be empty or name every row");
    return plan;
}

INFINI_CUDA_KERNEL("mxfp4_dequantize", plan_mxfp4_dequantize);
INFINI_CUDA_KERNEL("dequantize", plan_dequantize);

std::unique_ptr<Plan> plan_marlin_repack(const Operation &operation, Device &device) {
    return operation.is("awq_marlin_repack") ? plan_awq_marlin_repack(operation, device)
                                             : plan_gptq_marlin_repack(operation, device);
}

INFINI_CUDA_KERNEL("marlin_repack", plan_marlin_repack);

}  // namespace
}  // namespace infini::cuda
