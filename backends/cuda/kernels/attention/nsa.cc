// Native sparse attention: nsa_paged_attention.
#include "device/attention/sparse_params.h"
#include "kernel.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr double kLog2E = 1.4426950408889634;

std::unique_ptr<Plan> plan_nsa(const Operation &operation, Device &device) {
    constexpr int kWarps = 4;
    const Shape out = operation.tensor(0), q = operation.tensor(1);
    const Shape k_mean = operation.tensor(2), v_mean = operation.tensor(3);
    const Shape k = operation.tensor(4), v = operation.tensor(5);
    const Shape tables = operation.tensor(6), lengths = operation.tensor(7);
    const Shape gates = operation.tensor(8);
    if (gates.dtype != q.dtype && gates.dtype != INFINI_DTYPE_F32)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                      "gates have the data type of the queries or F32"};
    const int64_t block = operation.integer(1), page_size = k.size[2];
    const int64_t keys = tables.size[1] * page_size;
    if (keys > 1 << 30) refuse_shape("attention to so many keys is not possible");
    NsaParams fixed{};
    auto strides = [](int64_t *to, const Shape &shape, int count) {
        for (int i = 0; i < count; ++i) to[i] = shape.stride[i];
    };
    strides(fixed.out_stride, out, 2), strides(fixed.q_stride, q, 2);
    strides(fixed.k_mean_stride, k_mean, 2), strides(fixed.v_mean_stride, v_mean, 2);
    strides(fixed.k_stride, k, 3), strides(fixed.v_stride, v, 3);
    strides(fixed.table_stride, tables, 2), strides(fixed.gate_stride, gates, 3);
    fixed.length_stride = lengths.stride[0];
    fixed.pages = k.size[0], fixed.most_means = tables.size[1] * (page_size / block);
    fixed.page_size = Divider(uint32_t(page_size)), fixed.block = Divider(uint32_t(block));
    fixed.per_page = Divider(uint32_t(page_size / block));
    fixed.heads = int32_t(k.size[1]), fixed.group = int32_t(q.size[1] / k.size[1]);
    fixed.most_keys = int32_t(keys);
    fixed.window = int32_t(std::min<int64_t>(operation.integer(2), keys));
    fixed.selected = int32_t(operation.integer(3));
    fixed.scale = float(operation.number(0) * kLog2E);
    bool vector = true;
    for (int64_t stride :
         {k.stride[0], k.stride[1], k.stride[2], k_mean.stride[0], k_mean.stride[1]})
        vector = vector && stride % 8 == 0;
    const int64_t blocks = q.size[0] * q.size[1];
    if (blocks == 0) return make_empty_plan();

    Source source("attention/nsa.cuh");
    source.type("T", q.dtype).type("Gate", gates.dtype).type("Table", tables.dtype);
    auto kernel = device.compile(source);
    const unsigned threads = unsigned(kWarps * device.warp);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            NsaParams p = fixed;
            p.out = a.pointer<void>(0), p.q = a.pointer<void>(1);
            p.k_mean = a.pointer<void>(2), p.v_mean = a.pointer<void>(3);
            p.k = a.pointer<void>(4), p.v = a.pointer<void>(5);
            p.tables = a.pointer<void>(6), p.lengths = a.pointer<void>(7);
            p.gates = a.pointer<void>(8);
            p.scores = reinterpret_cast<float *>(a.workspace());
            p.vector =
                vector &&
                (reinterpret_cast<uintptr_t>(p.k) | reinterpret_cast<uintptr_t>(p.k_mean)) % 16 ==
                    0;
            return kernel->launch(stream, blocks, threads, p);
        },
        size_t(blocks * fixed.most_means) * sizeof(float));
}
INFINI_CUDA_KERNEL("nsa_paged_attention", plan_nsa);

}  // namespace
}  // namespace infini::cuda
