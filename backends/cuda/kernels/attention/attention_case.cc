#include "attention.h"
#include "environment.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

// Whether rows can be moved 16 bytes at a time, if the first one is aligned.
bool has_wide_rows(const AttentionStrides &s, int64_t size, int64_t wide) {
    return s.inner == 1 && size % wide == 0 && s.batch % wide == 0 && s.token % wide == 0 &&
           s.head % wide == 0;
}

}  // namespace

AttentionParams AttentionCase::params() const {
    AttentionParams p{};
    const int64_t wide = int64_t(16 / dtype_bytes(q.dtype));
    p.q_stride = q_stride, p.k_stride = k_stride;
    p.v_stride = v_stride, p.out_stride = out_stride;
    if (paged()) p.table_batch = table.stride[0], p.table_stride = table.stride[1];
    if (lengths_at >= 0) p.length_stride = lengths.stride[0];
    if (sloped()) p.slope_stride = slopes.stride[0];
    p.pages = pages;
    p.page_size = Divider(uint32_t(page_size)), p.group = Divider(uint32_t(group));
    p.sequences = int32_t(sequences), p.heads = int32_t(heads);
    p.queries = int32_t(queries), p.keys = int32_t(keys);
    p.depth = int32_t(depth), p.value_depth = int32_t(value_depth);
    p.splits = 1, p.rows = int32_t(rows());
    p.scale = float(scale * kLog2E);
    if (capped()) p.cap = float(softcap * kLog2E), p.cap_inverse = float(1 / (softcap * kLog2E));
    p.window = int32_t(std::min<int64_t>(window, int64_t(1) << 30));
    p.vector = has_wide_rows(q_stride, depth, wide) && has_wide_rows(k_stride, depth, wide) &&
               has_wide_rows(v_stride, value_depth, wide);
    p.store_vector = has_wide_rows(out_stride, value_depth, wide);
    return p;
}

AttentionParams AttentionCase::params(const AttentionParams &fixed, const Arguments &a) const {
    AttentionParams p = fixed;
    p.q = a.pointer<void>(q_at), p.k = a.pointer<void>(k_at), p.v = a.pointer<void>(v_at);
    p.out = a.pointer<void>(out_at);
    if (paged()) p.table = a.pointer<void>(table_at);
    if (lengths_at >= 0) p.lengths = a.pointer<void>(lengths_at);
    if (sloped()) p.slopes = a.pointer<float>(slopes_at);
    p.vector = p.vector && is_aligned(p.q) && is_aligned(p.k) && is_aligned(p.v);
    p.store_vector = p.store_vector && is_aligned(p.out);
    return p;
}

Source AttentionCase::source(const char *file) const {
    Source source(file);
    source.type("T", q.dtype);
    source.type("Table", paged() ? table.dtype : INFINI_DTYPE_I32);
    source.type("Length", lengths_at >= 0 ? lengths.dtype : INFINI_DTYPE_I32);
    source.constant("kPaged", paged()).constant("kRagged", ragged());
    source.constant("kCausal", causal).constant("kSloped", sloped());
    source.constant("kWindow", windowed()).constant("kCapped", capped());
    return source;
}

// ---- Segments -----------------------------------------------------------------------------------

Segments::Segments(const AttentionCase &c, Device &device, int64_t tile_rows) {
    most_tiles_ = (c.rows() + tile_rows - 1) / tile_rows * c.sequences;
    if (!c.ragged()) return;
    Source source("attention/segments.cuh");
    source.type("Bound", c.bounds.dtype);
    kernel_ = device.compile(source);
    params_.stride = c.bounds.stride[0];
    params_.sequences = int32_t(c.sequences), params_.tokens = int32_t(c.tokens);
    params_.group = int32_t(c.group), params_.tile_rows = int32_t(tile_rows);
    bytes_ = (size_t(c.sequences + 3) * 2 + 1) * sizeof(int32_t);
    bytes_ = (bytes_ + 255) / 256 * 256;
    // Every segment can have one partial tile.
    most_tiles_ = c.tokens * c.group / tile_rows + c.sequences + 2;
}

Error Segments::run(const AttentionCase &c, const Arguments &a, void *workspace,
                    const Stream &stream) const {
    if (!kernel_) return infinirtSuccess;
    SegmentParams p = params_;
    p.bounds = a.pointer<void>(c.bounds_at);
    p.segments = static_cast<int32_t *>(workspace);
    return kernel_->launch(stream, 1, 256, p);
}

// ---- Selection ----------------------------------------------------------------------------------

std::string wished_attention() {
    return read_choice("INFINI_CUDA_ATTENTION", {"rows", "tiles", "groups", "dnn", "own"});
}

std::unique_ptr<Plan> plan_attention_case(const AttentionCase &c, Device &device,
                                          std::unique_ptr<Plan> before) {
    constexpr int64_t kMost = int64_t(1) << 30;
    if (c.keys > kMost || c.rows() > kMost || c.tokens * c.group * c.heads > kMost ||
        c.sequences > kMost || c.page_size > kMost || c.depth > kMost || c.value_depth > kMost)
        refuse_shape("attention to so many keys, or of so many queries, is not possible");
    std::unique_ptr<Plan> plan;
    if (c.tokens == 0 || c.heads == 0 || c.group == 0 || c.value_depth == 0)
        plan = make_empty_plan();
    const std::string name = wished_attention();
    // Tensor-core kernels compute the running maximum of unscaled scores.
    const bool any = name != "rows" && (c.scale > 0 || c.sloped() || c.capped());
    const bool plain = any && !c.windowed() && !c.capped();
    if (!plan && any && c.invariant) {
        plan = plan_attention_tiles(c, device);
        if (!plan) plan = plan_attention_rows(c, device);
    }
    if (!plan && any && name == "tiles") plan = plan_attention_tiles(c, device);
    if (!plan && any && name == "groups") plan = plan_attention_groups(c, device, true);
    if (!plan && any) plan = plan_attention_decode(c, device);
    if (!plan && any) plan = plan_attention_groups(c, device, false);
    if (!plan && any) plan = plan_attention_tiles(c, device);
    if (!plan && plain) plan = plan_mla_sm80(c, device, false);
    if (!plan) plan = plan_attention_rows(c, device);
    if (plain && !c.invariant && c.tokens * c.keys > 0 && (name.empty() || name == "dnn"))
        if (auto faster = plan_attention_dnn(c, device, plan, name == "dnn"))
            plan = std::move(faster);
    if (!before) return plan;
    const size_t workspace = plan->workspace;
    struct Both final : Plan {
        std::unique_ptr<Plan> first, second;
        Error run(const Arguments &arguments, const Stream &stream) const override {
            const Error error = first->run(arguments, stream);
            return error != infinirtSuccess ? error : second->run(arguments, stream);
        }
    };
    auto both = std::make_unique<Both>();
    both->first = std::move(before), both->second = std::move(plan);
    both->workspace = workspace;
    return both;
}

std::unique_ptr<Plan> plan_attention_rows(const AttentionCase &c, Device &device) {
    constexpr int kWarps = 4;
    const size_t shared = size_t(c.depth + kWarps * c.value_depth) * sizeof(float);
    if (shared + 1024 > device.shared_bytes)
        refuse_shape("heads are too large for attention on this device");
    auto kernel = device.compile(c.source("attention/rows.cuh"));
    const Segments segments(c, device, 1);
    const AttentionParams fixed = c.params();
    const int64_t blocks = c.tokens * c.heads * c.group;
    const unsigned threads = unsigned(kWarps * device.warp);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionParams p = c.params(fixed, a);
            p.segments = reinterpret_cast<const int32_t *>(a.workspace());
            const Error error = segments.run(c, a, a.workspace(), stream);
            if (error != infinirtSuccess) return error;
            return kernel->launch(stream, blocks, threads, p, shared);
        },
        segments.workspace());
}

}  // namespace infini::cuda
