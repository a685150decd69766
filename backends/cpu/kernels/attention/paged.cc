// Attention over keys in a paged cache: paged_attention, paged_attention_prefill and
// paged_attention_varlen.
#include "../kernel.h"
#include "flash.h"

namespace infini::cpu {
namespace {

struct Paged {
    Heads heads;
    Shape q, out, k, v, tables, lengths, bounds, slopes;
    int64_t size;

    // Common to all operators; `slopes_at` is the tensor index of the slopes.
    explicit Paged(const Operation &operation, int slopes_at)
        : q(operation.tensor(1)),
          out(operation.tensor(0)),
          k(operation.tensor(2)),
          v(operation.tensor(3)),
          tables(operation.tensor(4)),
          lengths(operation.tensor(5)),
          slopes(operation.tensor(slopes_at)),
          size(element_bytes(q.dtype)) {
        heads.dtype = q.dtype, heads.heads = k.size[1], heads.group = q.size[1] / k.size[1];
        heads.depth = k.size[3], heads.value_depth = v.size[3];
        heads.q_token = q.stride[0], heads.q_head = q.stride[1];
        heads.out_token = out.stride[0], heads.out_head = out.stride[1];
        heads.k_head = k.stride[1], heads.v_head = v.stride[1];
        heads.scale = float(operation.number(0));
        heads.causal = true, heads.invariant = operation.batch_invariant();
        if (slopes) heads.slope_stride = slopes.stride[0];
    }

    int64_t most_keys() const { return tables.size[1] * k.size[2]; }
    // The maximum number of keys that a query sees.
    int64_t most_seen() const {
        return heads.window > 0 ? std::min(heads.window, most_keys()) : most_keys();
    }

    // Sequence s, with queries at tokens first .. first + count - 1. A length that exceeds the
    // table is clamped.
    Sequence sequence(const Arguments &a, int64_t s, int64_t first, int64_t count) const {
        Sequence sequence{a.pointer<const char>(1) + first * q.stride[0] * size,
                          a.pointer<char>(0) + first * out.stride[0] * size,
                          count,
                          0,
                          {}};
        sequence.keys =
            limited(lengths.dtype, a.pointer<const void>(5), s * lengths.stride[0], most_keys());
        KeyRows &rows = sequence.rows;
        rows.k = a.pointer<const char>(2), rows.v = a.pointer<const char>(3);
        rows.k_row = k.stride[2], rows.v_row = v.stride[2];
        rows.k_page = k.stride[0], rows.v_page = v.stride[0];
        rows.pages = k.size[0], rows.page_size = k.size[2];
        rows.table_dtype = tables.dtype, rows.table_stride = tables.stride[1];
        int64_t entry = tables.dtype == INFINI_DTYPE_I64 ? 8 : 4;
        rows.table = a.pointer<const char>(4) + s * tables.stride[0] * entry;
        return sequence;
    }
};

// One query per sequence.
std::unique_ptr<Plan> plan_one_query(const Paged &p, int slopes_at) {
    int64_t sequences = p.q.size[0];
    Division division(p.heads, sequences, sequences * p.heads.group, p.heads.group, p.most_seen());
    return make_plan(
        [=](const Arguments &a) {
            Heads heads = p.heads;
            heads.slopes = p.slopes ? a.pointer<const float>(slopes_at) : nullptr;
            attend_all(
                heads, division, a.workspace(), [&](int64_t s) { return p.sequence(a, s, s, 1); },
                attend_block);
        },
        division.workspace());
}

// Any number of queries per sequence; bounds are tensor 6, slopes tensor 7.
std::unique_ptr<Plan> plan_bounded_queries(const Paged &p) {
    int64_t tokens = p.q.size[0], sequences = p.lengths.size[0];
    int64_t rows = tokens * p.heads.group;
    // With as many tokens as sequences, each sequence probably has one.
    int64_t longest = tokens == sequences ? p.heads.group : rows;
    Division division(p.heads, sequences, rows, longest, p.most_seen());
    int64_t bound_bytes = round_up((sequences + 1) * int64_t(sizeof(int64_t)), 64);
    return make_plan(
        [=](const Arguments &a) {
            Heads heads = p.heads;
            heads.slopes = p.slopes ? a.pointer<const float>(7) : nullptr;
            // Bounds are clamped to the number of tokens and made non-decreasing, so that no token
            // belongs to two sequences.
            int64_t *bound = reinterpret_cast<int64_t *>(a.workspace());
            for (int64_t s = 0; s <= sequences; ++s) {
                bound[s] = limited(p.bounds.dtype, a.pointer<const void>(6), s * p.bounds.stride[0],
                                   tokens);
                if (s > 0) bound[s] = std::max(bound[s], bound[s - 1]);
            }
            // Tokens that belong to no sequence give zeros.
            auto clear = [&](int64_t begin, int64_t end) {
                for (int64_t t = begin; t < end; ++t)
                    for (int64_t h = 0; h < p.out.size[1]; ++h)
                        std::memset(a.pointer<char>(0) +
                                        (t * p.out.stride[0] + h * p.out.stride[1]) * p.size,
                                    0, size_t(p.out.size[2] * p.size));
            };
            clear(0, bound[0]);
            clear(bound[sequences], tokens);
            attend_all(
                heads, division, a.workspace() + bound_bytes,
                [&](int64_t s) { return p.sequence(a, s, bound[s], bound[s + 1] - bound[s]); },
                attend_block);
        },
        size_t(bound_bytes) + division.workspace());
}

std::unique_ptr<Plan> plan_paged_attention(const Operation &operation) {
    return plan_one_query(Paged(operation, 6), 6);
}

std::unique_ptr<Plan> plan_paged_attention_prefill(const Operation &operation) {
    Paged p(operation, 7);
    p.bounds = operation.tensor(6);
    return plan_bounded_queries(p);
}

std::unique_ptr<Plan> plan_paged_attention_varlen(const Operation &operation) {
    Paged p(operation, 7);
    p.bounds = operation.tensor(6);
    p.heads.window = operation.integer(1), p.heads.softcap = float(operation.number(2));
    return p.bounds ? plan_bounded_queries(p) : plan_one_query(p, 7);
}

std::unique_ptr<Plan> plan_paged(const Operation &operation) {
    if (operation.is("paged_attention")) return plan_paged_attention(operation);
    if (operation.is("paged_attention_prefill")) return plan_paged_attention_prefill(operation);
    return plan_paged_attention_varlen(operation);
}

INFINI_KERNEL("paged_attention", plan_paged);

}  // namespace
}  // namespace infini::cpu
