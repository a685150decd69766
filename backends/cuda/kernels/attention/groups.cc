// Attention of many rows, with Hopper's wgmma.
#include <algorithm>

#include "attention.h"

namespace infini::cuda {

std::unique_ptr<Plan> plan_attention_groups(const AttentionCase &c, Device &device, bool always) {
    constexpr int64_t kRows = 128, kKeys = 128, kStages = 2;
    constexpr unsigned kThreads = 384;
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_wgmma || !half || c.depth > 192 || c.value_depth > 128) return nullptr;
    const int64_t depth = (c.depth + 63) / 64 * 64, value = (c.value_depth + 63) / 64 * 64;
    const size_t shared = size_t(2 * (kRows * depth + kStages * kKeys * (depth + value)));
    if (shared + 8192 > device.shared_bytes) return nullptr;
    // Blocks of 128 rows that fill a multiprocessor each: not for cases that have few of them, nor
    // where half of the sizes would be padding.
    const int64_t tiles = (c.rows() + kRows - 1) / kRows * (c.ragged() ? 1 : c.sequences);
    const bool few = tiles * c.heads * 2 < device.multiprocessors || c.rows() < 96 || c.keys < 128;
    if (!always && (few || c.depth < 48 || c.value_depth < 48)) return nullptr;

    Source source = c.source("attention/groups.cuh");
    source.constant("kDepth", depth).constant("kValue", value).architecture_specific();
    auto kernel = device.compile(source);
    const Segments segments(c, device, kRows);
    AttentionParams fixed = c.params();
    fixed.tiles = int32_t(c.ragged() ? segments.most_tiles() : (c.rows() + kRows - 1) / kRows);
    const int64_t units = c.heads * (c.ragged() ? 1 : c.sequences), items = fixed.tiles * units;
    const int64_t bytes = 2 * std::max<int64_t>(1, c.keys) * (c.depth + c.value_depth);
    fixed.chunk = int32_t(std::clamp<int64_t>(int64_t(device.l2_bytes) / 2 / bytes, 1, units));
    const int64_t blocks = std::min<int64_t>(items, device.multiprocessors);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionParams p = c.params(fixed, a);
            p.segments = reinterpret_cast<const int32_t *>(a.workspace());
            const Error error = segments.run(c, a, a.workspace(), stream);
            if (error != infinirtSuccess) return error;
            return kernel->launch(stream, blocks, kThreads, p, shared);
        },
        segments.workspace());
}

}  // namespace infini::cuda
