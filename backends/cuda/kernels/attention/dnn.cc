// Attention by the vendor's library of neural-network primitives, in cases where it is faster than
// our own kernels.
#include <algorithm>

#include "attention.h"
#include "kernels/dnn/graph.h"

namespace infini::cuda {
namespace {

// One query per sequence, which sees all keys, in rows that can be moved 16 bytes at a time.
bool is_possible(const AttentionCase &c) {
    constexpr int64_t kWide = 8;
    if (c.q.dtype != INFINI_DTYPE_F16 && c.q.dtype != INFINI_DTYPE_BF16) return false;
    if (c.paged() || c.ragged() || c.sloped() || c.lengths_at >= 0 || c.queries != 1) return false;
    if (c.depth != c.value_depth || c.depth % kWide != 0 || c.depth > 128) return false;
    for (const AttentionStrides *s : {&c.q_stride, &c.k_stride, &c.v_stride, &c.out_stride})
        for (int64_t step : {s->batch, s->token, s->head})
            if (s->inner != 1 || step % kWide != 0 || step <= 0) return false;
    return c.keys > 0 && c.scale > 0;
}

// On an H200, for 1 GiB of keys and values, cuDNN 9.19 reads 4.4 TB/s and our kernel 4.2. But
// compiling a kernel takes 0.7 s for each shape, so cuDNN is only used for large inputs, and not
// for varying lengths. With sequence lengths it is hardly faster, and for prefill it is slower (606
// TFLOP/s, ours 676).
bool is_faster(const AttentionCase &c, const Device &device) {
    constexpr int64_t kStep = 1024, kLeast = int64_t(1) << 27;  // elements: 256 MiB
    const int64_t elements = 2 * c.sequences * c.heads * c.keys * c.depth;
    return device.major == 9 && c.keys % kStep == 0 && elements >= kLeast;
}

// softmax(q k^T scale) v, in the pattern that the library recognizes.
std::unique_ptr<dnn::Engine> describe(const AttentionCase &c, const Device &device) {
    dnn::Graph graph(device.index);
    const auto type = c.q.dtype == INFINI_DTYPE_F16 ? dnn::kHalf : dnn::kBfloat16;
    const int64_t heads = c.heads * c.group;
    auto rows = [&](int64_t count, int64_t tokens, const AttentionStrides &s) {
        return graph.tensor(type, {c.sequences, count, tokens, c.depth},
                            {s.batch, s.head, s.token, 1});
    };
    const auto q = rows(heads, c.queries, c.q_stride);
    const auto k = graph.tensor(type, {c.sequences, c.heads, c.depth, c.keys},
                                {c.k_stride.batch, c.k_stride.head, 1, c.k_stride.token});
    const auto v = rows(c.heads, c.keys, c.v_stride);
    const auto out = rows(heads, c.queries, c.out_stride);
    const auto products = graph.inside(dnn::kFloat, {c.sequences, heads, c.queries, c.keys});
    graph.multiply(q, k, products);
    auto scores =
        graph.apply(dnn::kMultiply, dnn::kFloat, products, graph.constant(float(c.scale)));
    const auto greatest = graph.reduce(dnn::kGreatest, scores);
    const auto lower = graph.apply(dnn::kSubtract, dnn::kFloat, scores, greatest);
    const auto weights = graph.apply(dnn::kExp, dnn::kFloat, lower);
    const auto sum = graph.reduce(dnn::kSum, weights);
    // Unused, but without it the library does not recognize the graph.
    graph.apply(dnn::kAdd, dnn::kFloat, greatest, graph.apply(dnn::kLog, dnn::kFloat, sum));
    graph.multiply(graph.apply(dnn::kDivide, type, weights, sum), v, out);
    return graph.finish();
}

bool are_aligned(const std::vector<void *> &pointers) {
    uintptr_t places = 0;
    for (void *pointer : pointers) places |= reinterpret_cast<uintptr_t>(pointer);
    return places % 16 == 0;
}

}  // namespace

std::unique_ptr<Plan> plan_attention_dnn(const AttentionCase &c, Device &device,
                                         std::unique_ptr<Plan> &other, bool always) {
    if (!dnn::Graph::can() || !is_possible(c)) return nullptr;
    if (!always && !is_faster(c, device)) return nullptr;
    std::shared_ptr<const dnn::Engine> engine;
    try {
        engine = describe(c, device);
    } catch (const dnn::Declined &) {
        return nullptr;
    }
    const size_t workspace = std::max(engine->workspace(), other->workspace);
    std::shared_ptr<const Plan> unaligned = std::move(other);
    return make_plan(
        [=, q = c.q_at, k = c.k_at, v = c.v_at, out = c.out_at](const Arguments &a,
                                                                const Stream &stream) {
            const std::vector<void *> pointers{a.pointer<void>(q), a.pointer<void>(k),
                                               a.pointer<void>(v), a.pointer<void>(out)};
            if (!are_aligned(pointers)) return unaligned->run(a, stream);
            return engine->run(pointers, a.workspace(), stream.handle);
        },
        workspace);
}

}  // namespace infini::cuda
