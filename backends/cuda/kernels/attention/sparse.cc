// Attention to selected keys in e4m3: fp8_sparse_mla, fp8_indexer_logits, fused_fp8_indexer.
#include "attention.h"
#include "device/attention/sparse_params.h"

namespace infini::cuda {
namespace {

bool lies_wide(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// Treated as paged attention with pages of one entry, selected by the indices.
std::unique_ptr<Plan> plan_sparse_tiles(const Operation &operation, Device &device) {
    AttentionCase c;
    c.out = operation.tensor(0), c.q = operation.tensor(1), c.k = c.v = operation.tensor(2);
    c.lengths = operation.tensor(4);
    c.out_at = 0, c.q_at = 1, c.k_at = c.v_at = 2, c.table_at = 3, c.lengths_at = 4;
    const Shape indices = operation.tensor(3);
    c.table.dtype = indices.dtype, c.table.ndim = 2;
    c.table.stride[0] = indices.stride[0], c.table.stride[1] = indices.stride[2];
    c.sequences = c.tokens = c.q.size[0], c.group = c.q.size[1], c.queries = 1;
    c.keys = indices.size[2], c.pages = c.k.size[0], c.depth = 576, c.value_depth = 512;
    c.q_stride = {c.q.stride[0], 0, c.q.stride[1], 1};
    c.out_stride = {c.out.stride[0], 0, c.out.stride[1], 1};
    c.k_stride = c.v_stride = {c.k.stride[0], 0, 0, 1};
    c.scale = operation.number(0);
    return plan_mla_sm80(c, device, true);
}

std::unique_ptr<Plan> plan_sparse_mla(const Operation &operation, Device &device) {
    constexpr int kWarps = 8;
    const Shape out = operation.tensor(0), q = operation.tensor(1), cache = operation.tensor(2);
    const Shape indices = operation.tensor(3), lengths = operation.tensor(4);
    if (q.size[0] * q.size[1] == 0) return make_empty_plan();
    if (wished_attention() != "rows")
        if (auto plan = plan_sparse_tiles(operation, device)) return plan;
    SparseMlaParams fixed{};
    fixed.out_token = out.stride[0], fixed.out_head = out.stride[1];
    fixed.q_token = q.stride[0], fixed.q_head = q.stride[1];
    fixed.entry = cache.stride[0], fixed.entries = cache.size[0];
    fixed.index_token = indices.stride[0], fixed.index_stride = indices.stride[2];
    fixed.length_stride = lengths.stride[0];
    fixed.heads = int32_t(q.size[1]), fixed.most = int32_t(indices.size[2]);
    fixed.parts = (fixed.heads + kWarps - 1) / kWarps;
    fixed.scale = float(operation.number(0) * kLog2E);
    const int64_t blocks = q.size[0] * fixed.parts;
    auto kernel = device.compile(Source("attention/sparse_mla.cuh"));
    const unsigned threads = unsigned(kWarps * device.warp);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        SparseMlaParams p = fixed;
        p.out = a.pointer<void>(0), p.q = a.pointer<void>(1), p.cache = a.pointer<uint8_t>(2);
        p.indices = a.pointer<int32_t>(3), p.lengths = a.pointer<int32_t>(4);
        p.vector = p.entry % 16 == 0 && lies_wide(p.cache);
        return kernel->launch(stream, blocks, threads, p);
    });
}
INFINI_CUDA_KERNEL("fp8_sparse_mla", plan_sparse_mla);

std::unique_ptr<Plan> plan_logits(const Operation &operation, Device &device) {
    constexpr int64_t kKeys = 64;
    const Shape logits = operation.tensor(0), tables = operation.tensor(3);
    IndexerLogitsParams fixed{};
    fixed.context = logits.size[1], fixed.tokens = int32_t(logits.size[0]);
    fixed.heads = int32_t(operation.tensor(1).size(1)), fixed.pages = operation.tensor(2).size(0);
    fixed.request_count = int32_t(tables.size[0]), fixed.most_pages = tables.size[1];
    const int64_t pages = (fixed.context + kKeys - 1) / kKeys;
    if (fixed.tokens * pages == 0) return make_empty_plan();
    // On the tensor cores if the queries of all heads fit into shared memory.
    const int64_t heads = (fixed.heads + 15) / 16 * 16;
    size_t shared = size_t((kKeys + heads) * (128 + 8) * 2 + heads * 4);
    const bool tiles =
        device.has_mma && shared + 4096 <= device.shared_bytes && wished_attention() != "rows";
    if (!tiles) shared = 0;
    // A block processes enough pages to amortise decoding its queries, if there are enough blocks.
    int64_t at_once = tiles ? 8 : 1;
    while (at_once > 1 && fixed.tokens * pages / at_once < 4 * device.multiprocessors) at_once /= 2;
    fixed.pages_at_once = int32_t(at_once);
    fixed.blocks = int32_t((pages + at_once - 1) / at_once);
    const int64_t blocks = int64_t(fixed.tokens) * fixed.blocks;
    const unsigned threads = tiles ? 128 : 256;
    auto kernel = device.compile(
        Source(tiles ? "attention/indexer.cuh:tiles" : "attention/indexer.cuh:logits"));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        IndexerLogitsParams p = fixed;
        p.logits = a.pointer<float>(0), p.q = a.pointer<uint8_t>(1);
        p.cache = a.pointer<uint8_t>(2), p.tables = a.pointer<int32_t>(3);
        p.weights = a.pointer<float>(4), p.positions = a.pointer<int64_t>(5);
        p.requests = a.pointer<int32_t>(6);
        p.vector = lies_wide(p.q) && lies_wide(p.cache);
        return kernel->launch(stream, blocks, threads, p, shared);
    });
}
INFINI_CUDA_KERNEL("fp8_indexer_logits", plan_logits);

std::unique_ptr<Plan> plan_indexer(const Operation &operation, Device &device) {
    constexpr int kWarps = 4;
    const Shape q = operation.tensor(3), cache = operation.tensor(2);
    IndexerParams fixed{};
    fixed.tokens = int32_t(q.size[0]), fixed.heads = int32_t(q.size[1]);
    fixed.pages = cache.size[0], fixed.page_size = cache.size[1];
    fixed.rows = operation.tensor(8).size(0), fixed.rope = int32_t(operation.integer(0));
    fixed.eps = operation.number(1), fixed.weights_scale = operation.number(2);
    const int64_t items = q.size[0] * (q.size[1] + 1);
    if (items == 0) return make_empty_plan();
    Source source("attention/indexer.cuh:select");
    source.type("T", q.dtype).type("Angle", operation.tensor(8).dtype);
    source.type("NormWeight", operation.tensor(5).dtype);
    source.type("NormBias", operation.tensor(6).dtype);
    auto kernel = device.compile(source);
    const unsigned threads = unsigned(kWarps * device.warp);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        IndexerParams p = fixed;
        p.q_out = a.pointer<uint8_t>(0), p.weights_out = a.pointer<float>(1);
        p.cache = a.pointer<uint8_t>(2), p.q = a.pointer<void>(3), p.k_weights = a.pointer<void>(4);
        p.norm_weight = a.pointer<void>(5), p.norm_bias = a.pointer<void>(6);
        p.positions = a.pointer<int64_t>(7), p.angles = a.pointer<void>(8);
        p.slots = a.pointer<int64_t>(9);
        return kernel->launch(stream, (items + kWarps - 1) / kWarps, threads, p);
    });
}
INFINI_CUDA_KERNEL("fused_fp8_indexer", plan_indexer);

}  // namespace
}  // namespace infini::cuda
