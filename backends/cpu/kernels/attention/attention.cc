// Attention over keys in ordinary tensors: attention and flash_attention.
#include <cmath>

#include "../kernel.h"
#include "flash.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_attention(const Operation &operation) {
    Shape out = operation.tensor(0), q = operation.tensor(1);
    Shape from[2] = {operation.tensor(2), operation.tensor(3)};
    Shape cache[2] = {operation.tensor(4), operation.tensor(5)};
    int64_t pos = operation.integer(0), queries = q.size[1], size = element_bytes(q.dtype);
    Heads h;
    h.dtype = q.dtype, h.heads = from[0].size[0], h.group = q.size[0] / h.heads;
    h.depth = h.value_depth = q.size[2];
    h.q_head = q.stride[0], h.q_token = q.stride[1];
    h.out_token = out.size[1] * out.size[2], h.out_head = out.size[2];
    h.k_head = cache[0].stride[0], h.v_head = cache[1].stride[0];
    h.scale = float(1 / std::sqrt(double(h.depth)));
    h.causal = true, h.invariant = operation.batch_invariant();
    int64_t rows = queries * h.group;
    Division division(h, 1, rows, rows, pos + queries);
    return make_plan(
        [=](const Arguments &a) {
            size_t grain = size_t(65536 / std::max<int64_t>(1, queries * h.depth * size)) + 1;
            parallel_for(size_t(2 * h.heads), grain, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    int k = int(i % 2);
                    int64_t head = int64_t(i / 2);
                    copy_rows(a.pointer<char>(4 + k) +
                                  (head * cache[k].stride[0] + pos * cache[k].stride[1]) * size,
                              cache[k].stride[1], 1,
                              a.pointer<const char>(2 + k) + head * from[k].stride[0] * size,
                              from[k].stride[1], 1, queries, h.depth, size);
                }
            });
            attend_all(
                h, division, a.workspace(),
                [&](int64_t) {
                    Sequence s{
                        a.pointer<const char>(1), a.pointer<char>(0), queries, pos + queries, {}};
                    s.rows.k = a.pointer<const char>(4), s.rows.v = a.pointer<const char>(5);
                    s.rows.k_row = cache[0].stride[1], s.rows.v_row = cache[1].stride[1];
                    return s;
                },
                attend_block);
        },
        division.workspace());
}

std::unique_ptr<Plan> plan_flash_attention(const Operation &operation) {
    Shape out = operation.tensor(0), q = operation.tensor(1);
    Shape k = operation.tensor(2), v = operation.tensor(3), lengths = operation.tensor(4);
    int64_t batch = q.size[0], queries = q.size[2], most = k.size[2];
    int64_t size = element_bytes(q.dtype);
    Heads h;
    h.dtype = q.dtype, h.heads = k.size[1], h.group = q.size[1] / h.heads;
    h.depth = h.value_depth = q.size[3];
    h.q_head = q.stride[1], h.q_token = q.stride[2], h.q_inner = q.stride[3];
    h.out_head = out.stride[1], h.out_token = out.stride[2], h.out_inner = out.stride[3];
    h.k_head = k.stride[1], h.v_head = v.stride[1];
    h.scale = float(operation.number(0));
    h.causal = operation.integer(1) != 0, h.invariant = operation.batch_invariant();
    int64_t rows = queries * h.group;
    Division division(h, batch, batch * rows, rows, most);
    return make_plan(
        [=](const Arguments &a) {
            attend_all(
                h, division, a.workspace(),
                [&](int64_t b) {
                    Sequence s{a.pointer<const char>(1) + b * q.stride[0] * size,
                               a.pointer<char>(0) + b * out.stride[0] * size,
                               queries,
                               0,
                               {}};
                    // A length that exceeds the tensors is clamped to their size.
                    s.keys = lengths ? limited(lengths.dtype, a.pointer<const void>(4),
                                               b * lengths.stride[0], most)
                                     : most;
                    s.rows.k = a.pointer<const char>(2) + b * k.stride[0] * size;
                    s.rows.v = a.pointer<const char>(3) + b * v.stride[0] * size;
                    s.rows.k_row = k.stride[2], s.rows.k_inner = k.stride[3];
                    s.rows.v_row = v.stride[2], s.rows.v_inner = v.stride[3];
                    return s;
                },
                attend_block);
        },
        division.workspace());
}

std::unique_ptr<Plan> plan_dense(const Operation &operation) {
    return operation.is("flash_attention") ? plan_flash_attention(operation)
                                           : plan_attention(operation);
}

INFINI_KERNEL("dense_attention", plan_dense);

}  // namespace
}  // namespace infini::cpu
