// Latent attention on Hopper: blocks have ranges of a row of tiles, those of all sequences.
#include "latent_groups.h"

#include <algorithm>

#include "kernels/tensor_map.h"

namespace infini::cuda {
namespace {

constexpr int64_t kRows = 64, kKeys = 64, kStages = 2;
constexpr unsigned kThreads = 384;

// Where the bulk engine can copy keys and values.
struct KeyMaps {
    MappedTensor k, v;
    int64_t box = 0;  // rows that a copy takes; 0: it cannot

    explicit KeyMaps(const AttentionCase &c) {
        const int64_t rows = c.paged() ? std::min(c.page_size, kKeys) : kKeys;
        const int64_t page = c.paged() ? c.page_size : c.keys;
        if (c.sequences * c.heads * (c.keys / kKeys + 1) >= int64_t(1) << 30) return;
        if (kKeys % rows != 0 || rows % 16 != 0 || (c.paged() && page % rows != 0)) return;
        auto map = [&](const AttentionStrides &s, int64_t size) {
            return MappedTensor{{size, page, c.heads, c.paged() ? c.pages : c.sequences},
                                {1, s.token, s.head, s.batch},
                                {64, rows, 1, 1}};
        };
        k = map(c.k_stride, c.depth), v = map(c.v_stride, c.value_depth);
        const size_t bytes = dtype_bytes(c.q.dtype);
        if (c.params().vector && k.can_map(bytes) && v.can_map(bytes)) box = rows;
    }
    bool fill(GroupParams &p) const {
        p.box_rows = int32_t(box);
        return make_map(p.k_map, k, p.k) && make_map(p.v_map, v, p.v);
    }
};

}  // namespace

std::unique_ptr<Plan> plan_latent_groups(const AttentionCase &c, Device &device) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_wgmma || !half || c.ragged() || c.value_depth % 256 != 0) return nullptr;
    const int64_t depth = (c.depth + 63) / 64 * 64, value = c.value_depth;
    const size_t shared = size_t(2 * (kRows + kStages * kKeys) * depth + 2 * kRows * kKeys);
    const KeyMaps maps(c);
    if (maps.box == 0 || value > 512 || shared + 2048 > device.shared_bytes) return nullptr;
    Source source = c.source("attention/latent_groups.cuh");
    source.constant("kDepth", depth).constant("kValue", value).constant("kStages", kStages);
    source.architecture_specific();
    auto kernel = device.compile(source);

    AttentionParams fixed = c.params();
    const int64_t units = c.sequences * c.heads;
    const int64_t each = std::max<int64_t>(1, (c.keys + kKeys - 1) / kKeys);
    const int64_t row_tiles = (c.rows() + kRows - 1) / kRows;
    // Ranges of whole units, if that leaves few multiprocessors without one.
    int64_t ranges = std::clamp<int64_t>(device.multiprocessors / row_tiles, 1, units * each);
    if (units <= ranges && units * 8 >= ranges * 7) ranges = units;
    fixed.splits = int32_t(ranges), fixed.tiles = int32_t(row_tiles);
    fixed.chunk = int32_t(std::min(kRows, c.rows()));
    const int64_t partial = (c.value_depth + 3) / 4 * 4 + 4;
    const int64_t blocks = ranges * row_tiles;
    // Without lengths all units are equal.
    const bool whole = ranges == 1 || (c.lengths_at < 0 && units % ranges == 0);
    Source joining = c.source("attention/join.cuh");
    joining.constant("kKeys", kKeys);
    const auto join = whole ? nullptr : device.compile(joining);
    const size_t workspace = whole ? 0 : size_t(blocks * 2 * fixed.chunk * partial) * sizeof(float);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            GroupParams p{};
            static_cast<AttentionParams &>(p) = c.params(fixed, a);
            p.partials = reinterpret_cast<float *>(a.workspace());
            p.bulk = maps.fill(p);
            if (!p.bulk) return infinirtErrorInvalidValue;
            const Error error = kernel->launch(stream, blocks, kThreads, p, shared);
            if (error != infinirtSuccess || whole) return error;
            return join->launch(stream, units * c.rows(), 128u, static_cast<AttentionParams &>(p));
        },
        workspace);
}

}  // namespace infini::cuda
