// Attention of many rows, with Hopper's wgmma.
#include <algorithm>
#include <vector>

#include "attention.h"
#include "kernel_loader.h"
#include "kernels/tensor_map.h"
#include "libraries.h"

namespace infini::cuda {
namespace {

constexpr int64_t kSm90Rows = 128, kSm90Keys = 128;

// Pages of one key, as in packed sequences: those of a tile are mostly contiguous.
bool is_single(const AttentionCase &c) { return c.paged() && c.page_size == 1; }

// Whether TMA can copy queries, keys and values.
struct Maps {
    MappedTensor q, k, v;
    bool bulk = false, bulk_queries = false;

    explicit Maps(const AttentionCase &c) {
        const size_t bytes = dtype_bytes(c.q.dtype);
        const bool single = is_single(c);
        const int64_t rows = c.paged() && !single ? std::min(c.page_size, kSm90Keys) : kSm90Keys;
        // Ragged key sequences do not begin at the first row.
        const int64_t count = c.paged() ? c.pages : c.sequences;
        auto keys = [&](const AttentionStrides &s, int64_t size) {
            if (single)
                return MappedTensor{{size, c.pages, c.heads, 1},
                                    {1, s.batch, s.head, s.batch * c.pages},
                                    {64, rows, 1, 1}};
            return MappedTensor{{size, c.paged() ? c.page_size : c.keys, c.heads, count},
                                {1, s.token, s.head, s.batch},
                                {64, rows, 1, 1}};
        };
        k = keys(c.k_stride, c.depth), v = keys(c.v_stride, c.value_depth);
        bulk = kSm90Keys % rows == 0 && rows % 8 == 0 &&
               (!c.paged() || single || c.page_size % rows == 0) && k.can_map(bytes) &&
               v.can_map(bytes) && c.k_stride.inner == 1 && c.v_stride.inner == 1;
        if (!c.paged()) bulk = bulk && !c.ragged();
        q = {{c.depth, c.heads * c.group, c.ragged() ? c.tokens : c.queries,
              c.ragged() ? 1 : c.sequences},
             {1, c.q_stride.head, c.q_stride.token, c.q_stride.batch},
             {64, c.group, kSm90Rows / c.group, 1}};
        bulk_queries = kSm90Rows % c.group == 0 && c.q_stride.inner == 1 && q.can_map(bytes);
    }

    void fill(AttentionSm90Params &p) const {
        p.box_rows = int32_t(k.box[1]);
        auto is_aligned = [](const void *at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
        p.bulk = bulk && p.vector && is_aligned(p.k) && is_aligned(p.v) &&
                 make_map(p.k_map, k, p.k) && make_map(p.v_map, v, p.v);
        p.bulk_queries = bulk_queries && is_aligned(p.q) && make_map(p.q_map, q, p.q);
    }
};

// The order of work: the number of units (sequences and heads) processed together, whose keys stay
// in L2, and whether blocks alternate their order.
struct Order {
    int64_t chunk;
    bool turns;
};

// Selects the order with the best balanced blocks, as far as lengths are known here.
Order choose_order(const AttentionCase &c, int64_t tiles, int64_t units, int64_t blocks,
                   int64_t fitting) {
    constexpr int64_t kMost = 1 << 15;  // maximum number of simulated work items
    fitting = std::clamp<int64_t>(fitting, 1, units);
    if (c.ragged() || tiles * units > kMost || tiles * units <= blocks) return {fitting, false};
    std::vector<int> cost(static_cast<size_t>(tiles));  // in units of 64 keys
    for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t last = std::min(c.rows(), (tile + 1) * kSm90Rows) - 1;
        const int64_t hidden = c.causal ? c.queries - 1 - last / c.group : 0;
        cost[size_t(tile)] =
            int(2 * ((std::max<int64_t>(0, c.keys - hidden) + 127) / kSm90Keys) + 1);
    }
    std::vector<int64_t> load(static_cast<size_t>(blocks));
    auto longest = [&](const Order &order) {
        std::fill(load.begin(), load.end(), 0);
        int64_t item = 0;
        for (int64_t first = 0; first < units; first += order.chunk) {
            const int64_t count = std::min(order.chunk, units - first);
            for (int64_t i = 0; i < count * tiles; ++i, ++item) {
                const int64_t block = item % blocks;
                const bool turned = order.turns && item / blocks % 2;
                load[size_t(turned ? blocks - 1 - block : block)] += cost[tiles - 1 - i / count];
            }
        }
        return *std::max_element(load.begin(), load.end());
    };
    Order best = {fitting, false};
    int64_t least = longest(best);
    for (int64_t eighths : {8, 7, 6, 5, 4, 9, 10, 12})
        for (bool turns : {false, true}) {
            const Order order = {std::clamp<int64_t>(fitting * eighths / 8, 1, units), turns};
            const int64_t length = longest(order);
            if (length * 200 < least * 199) best = order, least = length;
        }
    return best;
}

// Compiles a kernel on first use.
Error launch_late(const Source &source, const Stream &stream, int64_t blocks, unsigned threads,
                  const AttentionSm90Params &p, size_t shared) try {
    std::shared_ptr<const Kernel> kernel;
    {
        OutsideCapture outside;    // loading code is not captured
        CompileTogether together;  // on a thread whose stack is large enough
        kernel = stream.device.compile(source);
        together.finish();
    }
    return kernel->launch(stream, blocks, threads, p, shared);
} catch (const Refusal &refusal) {
    return fail(infinirtErrorUnknown, "%s", refusal.sentence.c_str());
} catch (const std::exception &error) {
    return fail(infinirtErrorMemoryAllocation, "%s", error.what());
}

}  // namespace

std::unique_ptr<Plan> plan_attention_groups(const AttentionCase &c, Device &device, bool always) {
    constexpr unsigned kThreads = 384;
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_wgmma || !half || c.depth > 192 || c.value_depth > 128) return nullptr;
    if (c.windowed() && c.capped()) return nullptr;  // too few registers for both
    const int64_t depth = (c.depth + 63) / 64 * 64, value = (c.value_depth + 63) / 64 * 64;
    const int64_t room = int64_t(device.shared_bytes) - (c.paged() ? 3072 : 1024);
    auto bytes_with = [&](int64_t queries, int64_t keys, int64_t values) {
        return 2 * (queries * kSm90Rows * depth + kSm90Keys * (keys * depth + values * value));
    };
    auto fits = [&](int64_t queries, int64_t keys, int64_t values) {
        return bytes_with(queries, keys, values) <= room;
    };
    const int64_t query_stages = fits(2, 2, 2) ? 2 : 1;
    const int64_t key_stages = fits(query_stages, 3, 2) ? 3 : 2;
    const int64_t value_stages = fits(query_stages, key_stages, 3) ? 3 : 2;
    if (!fits(query_stages, key_stages, value_stages)) return nullptr;
    const size_t shared = size_t(bytes_with(query_stages, key_stages, value_stages));
    // Blocks of 128 rows occupy one multiprocessor each: not used if half of each size would be
    // padding, or if blocks are few and keys so many that split-KV is faster (flash_sm80.cc).
    const int64_t tiles = (c.rows() + kSm90Rows - 1) / kSm90Rows * (c.ragged() ? 1 : c.sequences);
    const bool few =
        c.rows() < 64 || c.seen() < 64 ||
        (!c.ragged() && tiles * c.heads * 4 < device.multiprocessors && c.keys >= 2048);
    if (!always && (few || c.depth < 48 || c.value_depth < 48)) return nullptr;

    Source source = c.source("attention/flash_sm90.cuh");
    source.constant("kDepth", depth).constant("kValue", value);
    source.constant("kQueryStages", query_stages).constant("kKeyStages", key_stages);
    source.constant("kValueStages", value_stages).constant("kSingle", is_single(c));
    source.architecture_specific();
    const Maps maps(c);
    // If TMA supports all strides, only unaligned pointers need the other code, which is rare, so
    // it is compiled on demand.
    const bool all_bulk =
        maps.bulk && maps.bulk_queries && !c.paged() && c.lengths_at < 0 && c.params().store_vector;
    const Source any = Source(source).constant("kBulk", false);
    auto kernel = device.compile(all_bulk ? source.constant("kBulk", true) : any);
    const Segments segments(c, device, kSm90Rows);
    AttentionParams fixed = c.params();
    fixed.tiles =
        int32_t(c.ragged() ? segments.most_tiles() : (c.rows() + kSm90Rows - 1) / kSm90Rows);
    const int64_t units = c.heads * (c.ragged() ? 1 : c.sequences), items = fixed.tiles * units;
    const int64_t bytes = 2 * std::max<int64_t>(1, c.keys) * (c.depth + c.value_depth);
    const int64_t blocks = std::min<int64_t>(items, device.multiprocessors);
    const Order order =
        choose_order(c, fixed.tiles, units, blocks, int64_t(device.l2_bytes) / 2 / bytes);
    fixed.chunk = int32_t(order.chunk);
    const int64_t chunks = units ? (units + order.chunk - 1) / order.chunk : 0;
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionSm90Params p;
            static_cast<AttentionParams &>(p) = c.params(fixed, a);
            maps.fill(p);
            p.turns = order.turns;
            p.items = int32_t(items), p.chunks = int32_t(chunks);
            p.chunk_items = Divider(uint32_t(order.chunk * fixed.tiles));
            p.chunk_units = Divider(uint32_t(order.chunk));
            p.last_units = Divider(uint32_t(units - (chunks - 1) * order.chunk));
            p.unit_heads = Divider(uint32_t(c.heads));
            p.segments = reinterpret_cast<const int32_t *>(a.workspace());
            const Error error = segments.run(c, a, a.workspace(), stream);
            if (error != infinirtSuccess) return error;
            if (!all_bulk || (p.bulk && p.bulk_queries && p.store_vector))
                return kernel->launch(stream, blocks, kThreads, p, shared);
            return launch_late(any, stream, blocks, kThreads, p, shared);
        },
        segments.workspace());
}

}  // namespace infini::cuda
