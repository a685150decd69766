// Stores latents in an e4m3 cache: fp8_mla_rmsnorm_cache. Means of blocks:
// nsa_compress_paged_cache.
#include "kernels/cache/slots.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_mla_cache(const Operation &operation, Device &device) {
    const Tensor cache = operation.tensor(0), latent = operation.tensor(2);
    MlaCacheParams params = {};
    params.latent_stride = latent.stride(0), params.rope_stride = operation.tensor(4).stride(0);
    params.eps = operation.number(0);
    const bool plain = bool(operation.tensor(1));
    const Slots slots(device, operation.tensor(5), cache.size(0) * cache.size(1));
    const auto kernel =
        device.compile(Source("cache/slots.cuh:mla").type("T", operation.tensor(3).dtype));
    auto run = [=](const Arguments &a, const Stream &stream) {
        MlaCacheParams here = params;
        INFINI_CUDA_TRY(slots.find(stream, a.pointer<void>(5), a.workspace(), here.slots));
        here.cache = a.pointer<uint8_t>(0), here.plain = plain ? a.pointer<void>(1) : nullptr;
        here.latent = a.pointer<void>(2), here.weight = a.pointer<void>(3);
        here.rope = a.pointer<void>(4);
        return kernel->launch(stream, slots.tokens(), 128, here);
    };
    return make_plan(run, slots.workspace());
}

std::unique_ptr<Plan> plan_compress(const Operation &operation, Device &device) {
    const Tensor first = operation.tensor(2), tables = operation.tensor(4);
    const Tensor lengths = operation.tensor(5), means = operation.tensor(0);
    CompressParams params = {};
    params.block = operation.integer(0), params.last_only = operation.integer(1) != 0;
    params.pages = first.size(0), params.heads = int32_t(first.size(1));
    params.page_size = first.size(2);
    params.sequences = tables.size(0), params.table_size = tables.size(1);
    params.table_row = tables.stride(0), params.table_step = tables.stride(1);
    params.length_step = lengths.stride(0);
    params.blocks = params.last_only ? 1 : params.table_size * (params.page_size / params.block);
    int64_t bits = 0;
    for (int k = 0; k < 2; ++k) {
        const Tensor mean = operation.tensor(k), cache = operation.tensor(k + 2);
        params.mean_row[k] = mean.stride(0), params.mean_head[k] = mean.stride(1);
        params.page[k] = cache.stride(0), params.head[k] = cache.stride(1);
        params.row[k] = cache.stride(2);
        bits |=
            mean.stride(0) | mean.stride(1) | cache.stride(0) | cache.stride(1) | cache.stride(2);
    }
    const int64_t entries = params.sequences * params.blocks;
    if (entries == 0 || means.size(0) == 0 || params.heads == 0) return make_empty_plan();
    if (entries >= int64_t(1) << 31)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "more than 2^31 blocks of tokens"};
    std::shared_ptr<const Kernel> steps[3];
    for (int step = 0; step < 3; ++step) {
        Source source("cache/slots.cuh:compress");
        source.type("T", first.dtype).type("N", tables.dtype).constant("kStep", step);
        steps[step] = device.compile(source);
    }
    const bool whole = bits % 8 == 0;  // 16 bytes
    auto run = [=, clear = steps[0], raise = steps[1], write = steps[2]](const Arguments &a,
                                                                         const Stream &stream) {
        CompressParams here = params;
        here.whole = whole;
        for (int k = 0; k < 2; ++k) {
            here.mean[k] = a.pointer<void>(k), here.cache[k] = a.pointer<void>(k + 2);
            here.whole =
                here.whole && is_aligned(here.mean[k], 16) && is_aligned(here.cache[k], 16);
        }
        here.tables = a.pointer<void>(4), here.lengths = a.pointer<void>(5);
        here.last = reinterpret_cast<int32_t *>(a.workspace());
        INFINI_CUDA_TRY(clear->launch(stream, divide_up(entries, 256), 256, here));
        INFINI_CUDA_TRY(raise->launch(stream, divide_up(entries, 256), 256, here));
        return write->launch(stream, entries, 256, here);
    };
    return make_plan(run, size_t(means.size(0)) * sizeof(int32_t));
}

INFINI_CUDA_KERNEL("fp8_mla_rmsnorm_cache", plan_mla_cache);
INFINI_CUDA_KERNEL("nsa_compress_paged_cache", plan_compress);

}  // namespace
}  // namespace infini::cuda
