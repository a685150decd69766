// MLA (multi-head latent attention) on Hopper: split-KV with equal shares of the tiles of all
// sequences.

#include <algorithm>

#include "kernels/tensor_map.h"

namespace infini::cuda {
namespace {

constexpr int64_t kMlaSm90Keys = 64, kPanel = 2 * kMlaSm90Keys * 64;  // bytes

// Whether TMA can copy keys.
struct KeyMap {
    MappedTensor k;
    int64_t box = 0;  // rows per copy; 0: not possible

    explicit KeyMap(const AttentionCase &c) {
        const int64_t rows = c.paged() ? std::min(c.page_size, kMlaSm90Keys) : kMlaSm90Keys;
        const int64_t page = c.paged() ? c.page_size : c.keys;
        if (c.sequences * c.heads * (c.keys / kMlaSm90Keys + 1) >= int64_t(1) << 27) return;
        if (kMlaSm90Keys % rows != 0 || rows % 16 != 0 || (c.paged() && page % rows != 0)) return;
        k = {{c.depth, page, c.heads, c.paged() ? c.pages : c.sequences},
             {1, c.k_stride.token, c.k_stride.head, c.k_stride.batch},
             {64, rows, 1, 1}};
        if (c.params().vector && k.can_map(dtype_bytes(c.q.dtype))) box = rows;
    }
    bool fill(AttentionSm90Params &p) const {
        p.box_rows = int32_t(box);
        return make_map(p.k_map, k, p.k);
    }
};

// Few rows become the columns of the products; otherwise there are 64 rows.
struct Variant {
    const char *file;
    int64_t rows, slots;  // rows per block; panels of keys in shared memory
    unsigned threads;
    size_t shared;

    Variant(int64_t rows_there, int64_t depth, size_t most) {
        const bool few = rows_there <= 32;
        file = few ? "attention/mla_few_heads.cuh" : "attention/mla_sm90.cuh";
        rows = few ? (rows_there + 15) / 16 * 16 : 64;
        threads = few ? 160 : 384;
        const int64_t panels = depth / 64, queries = 2 * rows * (depth + (few ? 64 : 0));
        slots = std::min((int64_t(most) - queries) / kPanel, 3 * panels);
        // Two warpgroups hold one tile each; a single one frees each panel before it needs more.
        if (!few) slots = 2 * panels <= slots ? 2 * panels : 0;
        if (slots < panels) slots = 0;
        shared = size_t(queries + slots * kPanel);
    }
};

}  // namespace

std::unique_ptr<Plan> plan_mla_sm90(const AttentionCase &c, Device &device) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_wgmma || !half || c.ragged() || c.value_depth % 256 != 0) return nullptr;
    // Needs a panel after the values, which may be all zeros: it holds the probabilities.
    const int64_t value = c.value_depth, depth = std::max((c.depth + 63) / 64 * 64, value + 64);
    const Variant chosen(c.rows(), depth, device.shared_bytes - 4096);
    const KeyMap map(c);
    if (map.box == 0 || value > 512 || chosen.slots == 0) return nullptr;
    Source source = c.source(chosen.file);
    source.constant("kDepth", depth).constant("kValue", value).constant("kSlots", chosen.slots);
    source.constant("kRows", chosen.rows).architecture_specific();
    auto kernel = device.compile(source);

    AttentionParams fixed = c.params();
    const int64_t units = c.sequences * c.heads;
    const int64_t each = std::max<int64_t>(1, (c.keys + kMlaSm90Keys - 1) / kMlaSm90Keys);
    const int64_t row_tiles = (c.rows() + chosen.rows - 1) / chosen.rows;
    // Ranges of whole units, if they leave few multiprocessors idle.
    int64_t ranges = std::clamp<int64_t>(device.multiprocessors / row_tiles, 1, units * each);
    if (units <= ranges && units * 8 >= ranges * 7) ranges = units;
    fixed.splits = int32_t(ranges), fixed.tiles = int32_t(row_tiles);
    fixed.chunk = int32_t(std::min(chosen.rows, c.rows()));
    const int64_t partial = (c.value_depth + 3) / 4 * 4 + 4;
    const int64_t blocks = ranges * row_tiles;
    // Without lengths all units have the same size.
    const bool whole = ranges == 1 || (c.lengths_at < 0 && units % ranges == 0);
    Source joining = c.source("attention/combine.cuh:parts");
    joining.constant("kKeys", kMlaSm90Keys);
    // Most units may be whole and need no combining, so only as many blocks as run at once.
    const int64_t joined =
        units *
        std::clamp<int64_t>(16 * device.multiprocessors / std::max<int64_t>(units, 1), 1, c.rows());
    const auto join = whole ? nullptr : device.compile(joining);
    const size_t workspace = whole ? 0 : size_t(blocks * 2 * fixed.chunk * partial) * sizeof(float);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionSm90Params p{};
            static_cast<AttentionParams &>(p) = c.params(fixed, a);
            p.partials = reinterpret_cast<float *>(a.workspace());
            p.bulk = map.fill(p);
            if (!p.bulk) return infinirtErrorInvalidValue;
            const Error error = kernel->launch(stream, blocks, chosen.threads, p, chosen.shared);
            if (error != infinirtSuccess || whole) return error;
            return join->launch(stream, joined, 128u, static_cast<AttentionParams &>(p));
        },
        workspace);
}

}  // namespace infini::cuda
