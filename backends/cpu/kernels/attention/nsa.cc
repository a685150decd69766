// Native sparse attention with one query per sequence: nsa_paged_attention.
#include <atomic>

#include "../kernel.h"
#include "../threads.h"
#include "block.h"

namespace infini::cpu {
namespace {

constexpr int64_t kDepth = 128;
constexpr int64_t kMostSelected = 32;

struct Nsa {
    Shape out, q, k_mean, v_mean, k, v, tables, lengths, gates;
    int64_t heads, group, per_page;  // key heads, query heads per key head, means in a page
    int64_t block, window, selected;
    float scale;

    int64_t most_means() const { return tables.size[1] * per_page; }
    int64_t chunks() const { return (group + kThinRows - 1) / kThinRows; }  // of a key head's rows
    int64_t score_bytes() const { return round_up(kThinRows * most_means() * 4, 64); }
    int64_t worker_bytes() const {
        return score_bytes() + int64_t(BlockScratch::bytes(kThinRows, kDepth, kDepth)) +
               kThinRows * kDepth * 4;
    }

    KeyRows rows(const Arguments &a, int64_t s, int64_t head, bool means) const {
        const Shape &keys = means ? k_mean : k, &values = means ? v_mean : v;
        int64_t head_dim = 1, row_dim = means ? 0 : 2;
        KeyRows r;
        r.k = a.pointer<const char>(means ? 2 : 4) + head * keys.stride[head_dim] * 2;
        r.v = a.pointer<const char>(means ? 3 : 5) + head * values.stride[head_dim] * 2;
        r.k_row = keys.stride[row_dim], r.v_row = values.stride[row_dim];
        r.page_size = means ? per_page : k.size[2], r.pages = k.size[0];
        r.k_page = keys.stride[0] * (means ? per_page : 1);
        r.v_page = values.stride[0] * (means ? per_page : 1);
        r.table_dtype = tables.dtype, r.table_stride = tables.stride[1];
        int64_t entry = tables.dtype == INFINI_DTYPE_I64 ? 8 : 4;
        r.table = a.pointer<const char>(6) + s * tables.stride[0] * entry;
        return r;
    }

    // The blocks with the highest scores, the first ones among equals, in ascending order. Returns
    // how many were selected.
    int64_t select(const float *scores, int64_t count, int64_t *chosen) const {
        float best[kMostSelected];
        int64_t n = 0;
        for (int64_t b = 0; b < count; ++b) {
            float score = scores[b];
            if (score == kNone || (n == selected && (n == 0 || !(score > best[n - 1])))) continue;
            int64_t at = n < selected ? n++ : n - 1;
            for (; at > 0 && score > best[at - 1]; --at)
                best[at] = best[at - 1], chosen[at] = chosen[at - 1];
            best[at] = score, chosen[at] = b;
        }
        std::sort(chosen, chosen + n);
        return n;
    }

    // Up to kThinRows query heads of one key head of sequence s.
    template <class T>
    void run(const Arguments &a, int64_t s, int64_t head, int64_t first, char *memory) const {
        float *scores = reinterpret_cast<float *>(memory);
        float *sum = reinterpret_cast<float *>(memory + score_bytes());
        BlockScratch scratch;
        scratch.carve(memory + score_bytes() + kThinRows * kDepth * 4, kThinRows, kDepth, kDepth);
        const int64_t count = std::min(kThinRows, group - first), query = head * group + first;
        const T *queries = a.pointer<const T>(1) + s * q.stride[0] + query * q.stride[1];
        // A length that exceeds the table is clamped.
        int64_t length = limited(lengths.dtype, a.pointer<const void>(7), s * lengths.stride[0],
                                 tables.size[1] * k.size[2]);
        int64_t means = (length + block - 1) / block;

        // Adds one gated branch for rows r .. r + n - 1: attention over the key ranges that go()
        // adds, times its gate.
        auto part = [&](int64_t r, int64_t n, int gate, auto go) {
            scratch.rows.count = n;
            std::fill_n(scratch.rows.limit, n, length);
            thin_begin(scratch, [&](int64_t i, float *row) {
                load_row<kDepth>(row, queries + (r + i) * q.stride[1]);
                for (int64_t d = 0; d < kDepth; ++d) row[d] *= scale * kLog2E;
            });
            go();
            thin_end(scratch, [&](int64_t i, float *row) {
                int64_t at = s * gates.stride[0] + gate * gates.stride[1] +
                             (query + r + i) * gates.stride[2];
                float total = scratch.rows.sum[i];
                if (total == 0) return;  // no keys: contributes nothing, whatever the gate
                float factor = load_as<float>(gates.dtype, a.pointer<const void>(8), at) / total;
                float *to = sum + (r + i) * kDepth;
                for (int64_t d = 0; d < kDepth; ++d) to[d] = fma(factor, row[d], to[d]);
            });
        };
        std::fill_n(sum, count * kDepth, 0.0f);
        KeyRows mean_rows = rows(a, s, head, true), token_rows = rows(a, s, head, false);
        part(0, count, 0, [&] {
            thin_tile_scores<T, true>(scratch, mean_rows, 0, means, scores, most_means());
            thin_range<T>(scratch, mean_rows, 0, means);
        });
        for (int64_t r = 0; r < count; ++r)
            part(r, 1, 1, [&] {
                int64_t chosen[kMostSelected];
                int64_t n = select(scores + r * most_means(), means, chosen);
                for (int64_t i = 0; i < n; ++i)
                    thin_range<T>(scratch, token_rows, chosen[i] * block,
                                  std::min(length, (chosen[i] + 1) * block));
            });
        part(0, count, 2, [&] {
            thin_range<T>(scratch, token_rows, std::max<int64_t>(0, length - window), length);
        });
        for (int64_t r = 0; r < count; ++r)
            store_row<kDepth>(a.pointer<T>(0) + s * out.stride[0] + (query + r) * out.stride[1],
                              sum + r * kDepth);
    }
};

std::unique_ptr<Plan> plan_nsa(const Operation &operation) {
    Nsa n;
    n.out = operation.tensor(0), n.q = operation.tensor(1);
    n.k_mean = operation.tensor(2), n.v_mean = operation.tensor(3);
    n.k = operation.tensor(4), n.v = operation.tensor(5);
    n.tables = operation.tensor(6), n.lengths = operation.tensor(7), n.gates = operation.tensor(8);
    if (n.gates.dtype != n.q.dtype && n.gates.dtype != INFINI_DTYPE_F32)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                      "gates have the data type of the queries or F32"};
    n.heads = n.k.size[1], n.group = n.q.size[1] / n.heads;
    n.scale = float(operation.number(0));
    n.block = operation.integer(1), n.window = operation.integer(2);
    n.selected = operation.integer(3);
    n.per_page = n.k.size[2] / n.block;
    int64_t tasks = n.q.size[0] * n.heads * n.chunks();
    int64_t workers = std::clamp<int64_t>(tasks, 1, int64_t(thread_count()));
    return make_plan(
        [=](const Arguments &a) {
            std::atomic<int64_t> next{0};
            parallel_for(size_t(std::min(tasks, workers)), 1, [&](size_t begin, size_t) {
                char *memory = a.workspace() + int64_t(begin) * n.worker_bytes();
                for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
                    int64_t chunk = task % n.chunks(), rest = task / n.chunks();
                    int64_t head = rest % n.heads, s = rest / n.heads;
                    if (n.q.dtype == INFINI_DTYPE_BF16)
                        n.run<bf16>(a, s, head, chunk * kThinRows, memory);
                    else
                        n.run<f16>(a, s, head, chunk * kThinRows, memory);
                }
            });
        },
        size_t(workers * n.worker_bytes()));
}
INFINI_KERNEL("nsa_paged_attention", plan_nsa);

}  // namespace
}  // namespace infini::cpu
