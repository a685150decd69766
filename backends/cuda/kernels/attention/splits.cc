// Split-KV (flash decoding): one range of keys per block, for cases with few rows.
#include <cmath>

#include "attention.h"

namespace infini::cuda {

int64_t choose_splits(int64_t units, int64_t slots, int64_t most) {
    for (int64_t splits = 1; splits < most; ++splits) {
        const double waves = double(units * splits) / double(slots);
        if (waves >= 1 && waves / std::ceil(waves) >= 0.85) return splits;
    }
    return most;
}

std::shared_ptr<const Kernel> compile_combine(const AttentionCase &c, Device &device) {
    Source source("attention/combine.cuh:rows");
    source.type("T", c.q.dtype);
    return device.compile(source);
}

std::unique_ptr<Plan> plan_splits(const AttentionCase &c, Device &device,
                                  std::shared_ptr<const Kernel> kernel,
                                  const AttentionParams &fixed, int64_t blocks, unsigned threads,
                                  size_t shared) {
    if (fixed.splits == 1)
        return make_plan([=](const Arguments &a, const Stream &stream) {
            return kernel->launch(stream, blocks, threads, c.params(fixed, a), shared);
        });
    constexpr int kWarps = 4;
    auto combine = compile_combine(c, device);
    CombineSplitsParams join{};
    join.out_stride = c.out_stride, join.units = c.sequences * c.heads * c.rows();
    join.group = fixed.group, join.rows = Divider(uint32_t(c.rows()));
    join.heads = Divider(uint32_t(c.heads));
    join.splits = fixed.splits, join.value_depth = int32_t(c.value_depth);
    const int64_t partial = (c.value_depth + 3) / 4 * 4 + 4;
    const size_t workspace = size_t(join.units * fixed.splits * partial) * sizeof(float);
    const unsigned width = unsigned(kWarps * device.warp);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionParams p = c.params(fixed, a);
            p.partials = reinterpret_cast<float *>(a.workspace());
            const Error error = kernel->launch(stream, blocks * p.splits, threads, p, shared);
            if (error != infinirtSuccess) return error;
            CombineSplitsParams j = join;
            j.partials = p.partials, j.out = p.out;
            return combine->launch(stream, j.units, width, j);
        },
        workspace);
}

}  // namespace infini::cuda
