// Attention to keys in ordinary tensors: attention and flash_attention.
#include <cmath>

#include "attention.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

// Stores the new keys and values of `attention` into its caches.
std::unique_ptr<Plan> plan_store(const Shape (&from)[2], const Shape (&to)[2], int64_t pos,
                                 Device &device) {
    const int64_t heads = from[0].size[0], rows = from[0].size[1], size = from[0].size[2];
    const int64_t bytes = int64_t(dtype_bytes(from[0].dtype)), wide = 16 / bytes;
    bool wide_rows = size % wide == 0;
    for (int i = 0; i < 2; ++i)
        for (const Shape *shape : {&from[i], &to[i]})
            wide_rows = wide_rows && shape->stride[0] % wide == 0 && shape->stride[1] % wide == 0;
    std::shared_ptr<const Kernel> kernel[2];  // for elements, for 16-byte chunks
    for (int i = 0; i < (wide_rows ? 2 : 1); ++i) {
        Source source("attention/combine.cuh:store");
        source.type("T", bytes_type(i ? 16 : size_t(bytes)));
        kernel[i] = device.compile(source);
    }
    struct Call {
        StoreRowsParams params;
        int64_t blocks;
    } calls[2] = {};
    for (int i = 0; i < 2; ++i) {
        StoreRowsParams &p = calls[i].params;
        const int64_t piece = i ? wide : 1, pieces = size / piece;
        for (int j = 0; j < 2; ++j) {
            p.from_head[j] = from[j].stride[0] / piece, p.from_row[j] = from[j].stride[1] / piece;
            p.to_head[j] = to[j].stride[0] / piece, p.to_row[j] = to[j].stride[1] / piece;
        }
        p.count = 2 * heads * rows * pieces;
        p.pieces = Divider(uint32_t(pieces ? pieces : 1)), p.rows = Divider(uint32_t(rows));
        p.heads = Divider(uint32_t(heads));
        calls[i].blocks = device.blocks_for(p.count, 256);
    }
    const int64_t skip[2] = {pos * to[0].stride[1] * bytes, pos * to[1].stride[1] * bytes};
    return make_plan([=](const Arguments &a, const Stream &stream) {
        uintptr_t places = 0;
        char *target[2];
        for (int i = 0; i < 2; ++i) {
            target[i] = a.pointer<char>(4 + i) + skip[i];
            places |= reinterpret_cast<uintptr_t>(target[i]) |
                      reinterpret_cast<uintptr_t>(a.pointer<char>(2 + i));
        }
        const int which = kernel[1] && places % 16 == 0 ? 1 : 0;
        StoreRowsParams p = calls[which].params;
        for (int i = 0; i < 2; ++i) p.from[i] = a.pointer<char>(2 + i), p.to[i] = target[i];
        return kernel[which]->launch(stream, calls[which].blocks, 256, p);
    });
}

std::unique_ptr<Plan> plan_attention(const Operation &operation, Device &device) {
    const Shape from[2] = {operation.tensor(2), operation.tensor(3)};
    const Shape cache[2] = {operation.tensor(4), operation.tensor(5)};
    AttentionCase c;
    c.out = operation.tensor(0), c.q = operation.tensor(1), c.k = cache[0], c.v = cache[1];
    c.out_at = 0, c.q_at = 1, c.k_at = 4, c.v_at = 5;
    const int64_t pos = operation.integer(0);
    c.heads = c.k.size[0], c.group = c.q.size[0] / c.heads;
    c.queries = c.tokens = c.q.size[1], c.keys = pos + c.queries;
    c.depth = c.value_depth = c.q.size[2];
    c.q_stride = {0, c.q.stride[1], c.q.stride[0], 1};
    c.out_stride = {0, c.out.size[1] * c.out.size[2], c.out.size[2], 1};
    c.k_stride = {0, c.k.stride[1], c.k.stride[0], 1};
    c.v_stride = {0, c.v.stride[1], c.v.stride[0], 1};
    c.scale = 1 / std::sqrt(double(c.depth));
    c.causal = true, c.invariant = operation.batch_invariant();
    c.tf32 = operation.allows_tf32();
    if (c.tokens * c.heads == 0) return make_empty_plan();
    if (2 * from[0].size[0] * from[0].size[1] * c.depth >= int64_t(1) << 31)
        refuse_shape("so many new keys are not possible");
    return plan_attention_case(c, device, plan_store(from, cache, pos, device));
}

std::unique_ptr<Plan> plan_flash_attention(const Operation &operation, Device &device) {
    AttentionCase c;
    c.out = operation.tensor(0), c.q = operation.tensor(1);
    c.k = operation.tensor(2), c.v = operation.tensor(3), c.lengths = operation.tensor(4);
    c.out_at = 0, c.q_at = 1, c.k_at = 2, c.v_at = 3;
    if (c.lengths) c.lengths_at = 4;
    c.sequences = c.q.size[0], c.heads = c.k.size[1], c.group = c.q.size[1] / c.heads;
    c.queries = c.q.size[2], c.tokens = c.sequences * c.queries, c.keys = c.k.size[2];
    c.depth = c.value_depth = c.q.size[3];
    auto strides = [](const Shape &s) {
        return AttentionStrides{s.stride[0], s.stride[2], s.stride[1], s.stride[3]};
    };
    c.q_stride = strides(c.q), c.out_stride = strides(c.out);
    c.k_stride = strides(c.k), c.v_stride = strides(c.v);
    c.scale = operation.number(0);
    c.causal = operation.integer(1) != 0, c.invariant = operation.batch_invariant();
    c.tf32 = operation.allows_tf32();
    return plan_attention_case(c, device);
}

std::unique_ptr<Plan> plan_dense(const Operation &operation, Device &device) {
    return operation.is("flash_attention") ? plan_flash_attention(operation, device)
                                           : plan_attention(operation, device);
}

INFINI_CUDA_KERNEL("dense_attention", plan_dense);

}  // namespace
}  // namespace infini::cuda
