// Attention to keys in a paged cache: paged_attention and paged_attention_prefill.
#include "attention.h"

namespace infini::cuda {
namespace {

// Of both operators; `next` is the place of the slopes.
AttentionCase paged_case(const Operation &operation, int next) {
    AttentionCase c;
    c.out = operation.tensor(0), c.q = operation.tensor(1);
    c.k = operation.tensor(2), c.v = operation.tensor(3);
    c.table = operation.tensor(4), c.lengths = operation.tensor(5),
    c.slopes = operation.tensor(next);
    c.out_at = 0, c.q_at = 1, c.k_at = 2, c.v_at = 3, c.table_at = 4, c.lengths_at = 5;
    if (c.slopes) c.slopes_at = next;
    c.heads = c.k.size[1], c.group = c.q.size[1] / c.heads;
    c.sequences = c.lengths.size[0];
    c.pages = c.k.size[0], c.page_size = c.k.size[2], c.keys = c.table.size[1] * c.page_size;
    c.depth = c.k.size[3], c.value_depth = c.v.size[3];
    c.k_stride = {c.k.stride[0], c.k.stride[2], c.k.stride[1], 1};
    c.v_stride = {c.v.stride[0], c.v.stride[2], c.v.stride[1], 1};
    c.scale = operation.number(0);
    c.causal = true;
    return c;
}

std::unique_ptr<Plan> plan_paged_attention(const Operation &operation, Device &device) {
    AttentionCase c = paged_case(operation, 6);
    c.queries = 1, c.tokens = c.sequences;
    c.q_stride = {c.q.stride[0], 0, c.q.stride[1], 1};
    c.out_stride = {c.out.stride[0], 0, c.out.stride[1], 1};
    return plan_attention_case(c, device);
}
INFINI_CUDA_KERNEL("paged_attention", plan_paged_attention);

std::unique_ptr<Plan> plan_paged_attention_prefill(const Operation &operation, Device &device) {
    AttentionCase c = paged_case(operation, 7);
    c.bounds = operation.tensor(6), c.bounds_at = 6;
    c.queries = c.tokens = c.q.size[0];
    c.q_stride = {0, c.q.stride[0], c.q.stride[1], 1};
    c.out_stride = {0, c.out.stride[0], c.out.stride[1], 1};
    return plan_attention_case(c, device);
}
INFINI_CUDA_KERNEL("paged_attention_prefill", plan_paged_attention_prefill);

}  // namespace
}  // namespace infini::cuda
