// The indexer's scores of all keys: fp8_indexer_logits. Vector lanes hold heads; see wide.h.
#include "../kernel.h"
#include "../threads.h"
#include "indexer_rows.h"
#include "wide.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPageSize = 64;
constexpr int64_t kHeads = 64;      // at a time: their float queries are on the stack
constexpr int64_t kTaskPages = 16;  // per task

struct Logits {
    int64_t tokens, context, heads, pages, requests, most_pages;

    // Scores the keys begin .. end of one token.
    void run(const Arguments &a, int64_t token, int64_t begin, int64_t end) const {
        float *logits = a.pointer<float>(0) + token * context;
        int64_t position = a.pointer<const int64_t>(5)[token];
        int64_t request = a.pointer<const int32_t>(6)[token];
        // Keys after the query's position, or outside the tables, keep a score of -inf.
        bool known = request >= 0 && request < requests;
        int64_t seen = known ? std::min(most_pages * kPageSize, context) : 0;
        if (position < seen) seen = std::max<int64_t>(0, position + 1);
        std::fill(logits + begin, logits + end, kNone);
        end = std::min(end, seen);
        if (begin >= end) return;
        const int32_t *table = a.pointer<const int32_t>(3) + request * most_pages;
        alignas(64) float q[kHeads * kIndexDepth], weights[kHeads];
        for (int64_t head = 0; head == 0 || head < heads; head += kHeads) {
            int64_t count = std::min(kHeads, heads - head);
            int64_t panels = (count + kPanel - 1) / kPanel;
            std::fill_n(weights, kHeads, 0.0f);
            std::fill_n(q, panels * kPanel * kIndexDepth, 0.0f);
            for (int64_t h = 0; h < count; ++h) {
                int64_t at = token * heads + head + h;
                const f8 *from = a.pointer<const f8>(1) + at * kIndexDepth;
                float *to = q + h / kPanel * kPanel * kIndexDepth + h % kPanel;
                weights[h] = a.pointer<const float>(4)[at];
                for (int64_t d = 0; d < kIndexDepth; ++d) to[d * kPanel] = to_float(from[d]);
            }
            for (int64_t t = begin; t < end; t += kPageSize) {
                int64_t page = table[t / kPageSize];
                if (page < 0 || page >= pages) continue;
                score_page(a.pointer<const char>(2) + page * kPageSize * kIndexEntry, q, weights,
                           panels, logits + t, std::min(kPageSize, end - t), head == 0);
            }
        }
    }

    // Adds the heads' sums for the first `count` keys of a page; stores those of the first heads.
    static void score_page(const char *page, const float *q, const float *weights, int64_t panels,
                           float *logits, int64_t count, bool first) {
        float scales[kPageSize];
        std::memcpy(scales, page + kPageSize * kIndexDepth, sizeof scales);
        for (int64_t t = 0; t < count; t += kStrip) {
            alignas(64) float keys[kStrip * kIndexDepth], scores[kStrip * kPanel];
            const float *strip[kStrip];
            const f8 *codes = reinterpret_cast<const f8 *>(page) + t * kIndexDepth;
            for (int64_t i = 0; i < int64_t(kStrip) * kIndexDepth; i += kWidth<float>)
                store(keys + i, load_f32(codes + i));  // a page consists of whole strips
            for (size_t i = 0; i < kStrip; ++i) strip[i] = keys + i * kIndexDepth;
            F32 sums[kStrip] = {};
            for (int64_t p = 0; p < panels; ++p) {
                score_strip<kPanelVectors>(scores, strip, kIndexDepth,
                                           q + p * kPanel * kIndexDepth);
                for (size_t i = 0; i < kStrip; ++i)
                    for (int64_t j = 0; j < kPanel; j += kWidth<float>) {
                        F32 score = load(scores + int64_t(i) * kPanel + j) * scales[t + int64_t(i)];
                        score = maximum(score, F32{});
                        sums[i] = fma(score, load(weights + p * kPanel + j), sums[i]);
                    }
            }
            for (int64_t i = 0; i < std::min<int64_t>(kStrip, count - t); ++i) {
                float sum = reduce_add(sums[i]);
                logits[t + i] = first ? sum : logits[t + i] + sum;
            }
        }
    }
};

std::unique_ptr<Plan> plan_logits(const Operation &operation) {
    Logits l;
    l.tokens = operation.tensor(0).size(0), l.context = operation.tensor(0).size(1);
    l.heads = operation.tensor(1).size(1), l.pages = operation.tensor(2).size(0);
    l.requests = operation.tensor(3).size(0), l.most_pages = operation.tensor(3).size(1);
    return make_plan([l](const Arguments &a) {
        constexpr int64_t step = kTaskPages * kPageSize;
        int64_t pieces = (l.context + step - 1) / step;
        parallel_for(size_t(l.tokens * pieces), 1, [&](size_t begin, size_t end) {
            for (size_t task = begin; task < end; ++task) {
                int64_t first = int64_t(task) % pieces * step;
                l.run(a, int64_t(task) / pieces, first, std::min(l.context, first + step));
            }
        });
    });
}
INFINI_KERNEL("fp8_indexer_logits", plan_logits);

}  // namespace
}  // namespace infini::cpu
