// recurrent_gated_delta_rule, chunk_gated_delta_rule and kimi_delta_attention.
#include <cmath>

#include "requests.h"

namespace infini::cuda {
namespace {

constexpr int kLanes = 8, kDeltaThreads = 128, kRows = kDeltaThreads / kLanes;

struct Settings {
    float scale = 1, lower_bound = 0;
    bool normalise = false, kimi = false;
};

std::unique_ptr<Plan> plan(const Operation &op, const Settings &settings, int bounds, int indices,
                           Device &device) {
    const Shape out = op.tensor(0), initial = op.tensor(1), final_state = op.tensor(2);
    const Shape q = op.tensor(3), k = op.tensor(4), v = op.tensor(5);
    const Shape g = op.tensor(6), beta = op.tensor(7);
    const Requests requests(op, bounds, indices, op.tensor(0), op.tensor(1), op.tensor(2));
    const int64_t wide = int64_t(16 / dtype_bytes(out.dtype));

    DeltaParams fixed{};
    bool vector = k.size[3] % wide == 0;
    auto strides = [](int64_t (&to)[3], const Shape &shape) {
        for (int i = 0; i < 3; ++i) to[i] = shape.stride[i];
    };
    auto wide_strides = [&](const Shape &shape) {
        for (int i = 0; i < 3; ++i) vector = vector && shape.stride[i] % wide == 0;
    };
    strides(fixed.out_stride, out), strides(fixed.q_stride, q), strides(fixed.k_stride, k);
    strides(fixed.v_stride, v), strides(fixed.g_stride, g), strides(fixed.beta_stride, beta);
    strides(fixed.initial_stride, initial);
    strides(fixed.final_stride, requests.pooled() ? initial : final_state);
    wide_strides(q), wide_strides(k), wide_strides(initial);
    if (!requests.pooled()) wide_strides(final_state);
    if (settings.kimi) wide_strides(g);
    fixed.heads = int32_t(v.size[2]), fixed.group = int32_t(k.size[2] ? v.size[2] / k.size[2] : 1);
    fixed.rows = int32_t(v.size[3]), fixed.columns = int32_t(k.size[3]);
    fixed.parts = (fixed.rows + kRows - 1) / kRows;
    fixed.scale = settings.scale, fixed.lower_bound = settings.lower_bound;
    fixed.normalise = settings.normalise;
    const int64_t blocks = requests.groups() * fixed.heads * fixed.parts;
    if (blocks == 0) return make_empty_plan();

    Source source("recurrence/delta.cuh");
    source.type("T", out.dtype).type("Gate", g.dtype).constant("kKimi", settings.kimi);
    const int64_t step = kLanes * wide;
    source.constant("kPer", std::max<int64_t>(1, (k.size[3] + step - 1) / step) * wide);
    requests.describe(source);
    auto kernel = device.compile(source);
    return make_plan([=, kimi = settings.kimi](const Arguments &a, const Stream &stream) {
        DeltaParams p = fixed;
        p.requests = requests.params(a);
        p.out = a.pointer<void>(0), p.initial = a.pointer<void>(1);
        p.final_state = a.pointer<void>(requests.pooled() ? 1 : 2);
        p.q = a.pointer<void>(3), p.k = a.pointer<void>(4), p.v = a.pointer<void>(5);
        p.g = a.pointer<void>(6), p.beta = a.pointer<void>(7);
        if (kimi) p.a_log = a.pointer<float>(8), p.dt_bias = a.pointer<float>(9);
        p.vector = vector && lies_wide(p.initial) && lies_wide(p.final_state) && lies_wide(p.q) &&
                   lies_wide(p.k) && (!kimi || lies_wide(p.g));
        return kernel->launch(stream, blocks, kDeltaThreads, p);
    });
}

float key_scale(const Operation &op) {
    const int64_t size = op.tensor(4).size(-1);
    return size ? float(1.0 / std::sqrt(double(size))) : 1.0f;
}

std::unique_ptr<Plan> plan_delta_rule(const Operation &op, Device &device) {
    if (op.is("kimi_delta_attention"))
        return plan(op, {float(op.number(0)), float(op.number(1)), op.integer(2) != 0, true}, 10,
                    11, device);
    const bool chunks = op.is("chunk_gated_delta_rule");
    return plan(op, {key_scale(op), 0, op.integer(0) != 0, false}, chunks ? 8 : -1, chunks ? 9 : 8,
                device);
}

INFINI_CUDA_KERNEL("delta_rule", plan_delta_rule);

}  // namespace
}  // namespace infini::cuda
