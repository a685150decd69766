// Attention to keys in a paged cache: paged_attention, paged_attention_prefill and
// paged_attention_varlen.
#include "attention.h"

namespace infini::cuda {
namespace {

// Shared by all operators; `bounds` and `slopes` are tensor indices. If bounds is -1, each sequence
// has one query.
AttentionCase paged_case(const Operation &operation, int bounds_at, int slopes_at) {
    AttentionCase c;
    c.out = operation.tensor(0), c.q = operation.tensor(1);
    c.k = operation.tensor(2), c.v = operation.tensor(3);
    c.table = operation.tensor(4), c.lengths = operation.tensor(5),
    c.slopes = operation.tensor(slopes_at);
    c.out_at = 0, c.q_at = 1, c.k_at = 2, c.v_at = 3, c.table_at = 4, c.lengths_at = 5;
    if (c.slopes) c.slopes_at = slopes_at;
    c.heads = c.k.size[1], c.group = c.q.size[1] / c.heads;
    c.sequences = c.lengths.size[0];
    c.pages = c.k.size[0], c.page_size = c.k.size[2], c.keys = c.table.size[1] * c.page_size;
    c.depth = c.k.size[3], c.value_depth = c.v.size[3];
    c.k_stride = {c.k.stride[0], c.k.stride[2], c.k.stride[1], 1};
    c.v_stride = {c.v.stride[0], c.v.stride[2], c.v.stride[1], 1};
    c.scale = operation.number(0);
    c.causal = true, c.invariant = operation.batch_invariant();
    c.tf32 = operation.allows_tf32();
    if (bounds_at < 0) {
        c.queries = 1, c.tokens = c.sequences;
        c.q_stride = {c.q.stride[0], 0, c.q.stride[1], 1};
        c.out_stride = {c.out.stride[0], 0, c.out.stride[1], 1};
        return c;
    }
    c.bounds = operation.tensor(bounds_at), c.bounds_at = bounds_at;
    c.queries = c.tokens = c.q.size[0];
    c.q_stride = {0, c.q.stride[0], c.q.stride[1], 1};
    c.out_stride = {0, c.out.stride[0], c.out.stride[1], 1};
    return c;
}

std::unique_ptr<Plan> plan_paged_attention(const Operation &operation, Device &device) {
    return plan_attention_case(paged_case(operation, -1, 6), device);
}

std::unique_ptr<Plan> plan_paged_attention_prefill(const Operation &operation, Device &device) {
    return plan_attention_case(paged_case(operation, 6, 7), device);
}

std::unique_ptr<Plan> plan_paged_attention_varlen(const Operation &operation, Device &device) {
    AttentionCase c = paged_case(operation, operation.tensor(6) ? 6 : -1, 7);
    c.window = operation.integer(1), c.softcap = operation.number(2);
    if (c.window >= c.keys) c.window = 0;
    return plan_attention_case(c, device);
}

std::unique_ptr<Plan> plan_paged(const Operation &operation, Device &device) {
    if (operation.is("paged_attention")) return plan_paged_attention(operation, device);
    if (operation.is("paged_attention_prefill"))
        return plan_paged_attention_prefill(operation, device);
    return plan_paged_attention_varlen(operation, device);
}

INFINI_CUDA_KERNEL("paged_attention", plan_paged);

}  // namespace
}  // namespace infini::cuda
