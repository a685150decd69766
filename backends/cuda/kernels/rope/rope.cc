// Rotary position embedding: rope and mrope.
#include "device/rope/rope.cuh"

#include "kernels/dims.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_rope(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1), positions = operation.tensor(2);
    if (y.ndim != 3 && y.ndim != 4) refuse_shape("rope takes tensors of 3 or 4 dimensions");
    const bool batched = y.ndim == 4, neighbours = operation.integer(0) == 0;  // GPT-J, GPT-NeoX
    const int64_t tokens = y.size(-3), heads = y.size(-2), half = y.size(-1) / 2;
    if (y.numel() == 0) return make_empty_plan();

    const int64_t element = int64_t(dtype_bytes(y.dtype));
    int64_t bits = half | y.stride(-2) | y.stride(-3) | x.stride(-2) | x.stride(-3);
    if (batched) bits |= y.stride(0) | x.stride(0);
    const int64_t word = common_word({bits * element}), n = word / element;
    Dims<4> dims;
    if (batched) dims.add(y.size(0), y.stride(0), x.stride(0), positions.ndim == 2 ? tokens : 0, 0);
    dims.add(tokens, y.stride(-3), x.stride(-3), 1, 0);
    dims.add(heads, y.stride(-2), x.stride(-2), 0, 0);
    dims.add(half / n, neighbours ? 2 * n : n, neighbours ? 2 * n : n, 0, n);
    RopeParams params = {};
    params.vectors = dims.places();
    params.half = half, params.rows = operation.tensor(3).size(0);
    Source source("rope/rope.cuh:rope");
    source.type("T", y.dtype).type("P", positions.dtype).constant("kVector", n);
    const auto kernel = device.compile(source.constant("kNeighbours", neighbours));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        RopeParams here = params;
        here.y = a.pointer<void>(0), here.x = a.pointer<void>(1);
        here.positions = a.pointer<void>(2);
        here.sin = a.pointer<void>(3), here.cos = a.pointer<void>(4);
        here.whole = is_aligned(here.y, size_t(word)) && is_aligned(here.x, size_t(word)) &&
                     is_aligned(here.sin, size_t(word)) && is_aligned(here.cos, size_t(word));
        return kernel->launch(stream, divide_up(here.vectors.count, 256), 256, here);
    });
}

std::unique_ptr<Plan> plan_mrope(const Operation &operation, Device &device) {
    MropeParams params = {};
    params.head_size = operation.integer(0), params.half = operation.integer(1) / 2;
    const Tensor cos = operation.tensor(4), sin = operation.tensor(5);
    const Tensor positions = operation.tensor(6);
    const int64_t element = int64_t(dtype_bytes(cos.dtype));
    int64_t bits = params.half | params.head_size, heads[2];
    for (int k = 0; k < 2; ++k) {
        heads[k] = operation.tensor(k).size(1) / params.head_size;
        params.y_token[k] = operation.tensor(k).stride(0);
        params.x_token[k] = operation.tensor(k + 2).stride(0);
        bits |= params.y_token[k] | params.x_token[k];
    }
    params.tokens = operation.tensor(0).size(0);
    if (params.tokens == 0 || heads[0] + heads[1] == 0) return make_empty_plan();
    const int64_t word = common_word({bits * element}), n = word / element;
    const int64_t vectors = params.half / n + (params.head_size - 2 * params.half) / n;
    params.cos_row = cos.stride(0), params.cos_step = cos.stride(1);
    params.sin_row = sin.stride(0), params.sin_step = sin.stride(1);
    params.rows = cos.size(0);
    params.positions_axis = positions.ndim == 2 ? positions.stride(0) : 0;
    params.positions_token = positions.stride(-1);
    params.section_t = operation.integer(2);
    params.section_h = operation.integer(3), params.section_w = operation.integer(4);
    params.interleaved = operation.integer(5) != 0;
    params.vectors = Divider(uint32_t(vectors));
    params.heads = Divider(uint32_t(heads[0] + heads[1]));
    params.rotated = int32_t(params.half / n), params.queries = int32_t(heads[0]);
    Source source("rope/rope.cuh:mrope");
    source.type("T", cos.dtype).type("P", positions.dtype).constant("kVector", n);
    const auto kernel = device.compile(source);
    const int64_t rows = std::min<int64_t>(params.tokens, 65535);
    const Grid grid(divide_up(vectors * (heads[0] + heads[1]), 256), rows,
                    divide_up(params.tokens, rows));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        MropeParams here = params;
        here.whole = true;
        for (int k = 0; k < 2; ++k) {
            here.y[k] = a.pointer<void>(k), here.x[k] = a.pointer<void>(k + 2);
            here.whole = here.whole && is_aligned(here.y[k], size_t(word)) &&
                         is_aligned(here.x[k], size_t(word));
        }
        here.cos = a.pointer<void>(4), here.sin = a.pointer<void>(5);
        here.positions = a.pointer<void>(6);
        return kernel->launch(stream, grid, 256, here);
    });
}

std::unique_ptr<Plan> plan_rotation(const Operation &operation, Device &device) {
    return operation.is("mrope") ? plan_mrope(operation, device) : plan_rope(operation, device);
}

INFINI_CUDA_KERNEL("rope", plan_rotation);

}  // namespace
}  // namespace infini::cuda
