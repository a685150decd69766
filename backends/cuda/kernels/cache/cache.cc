// Appends keys and values to caches: kv_caching and paged_caching.
#include "kernels/cache/slots.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_kv_caching(const Operation &operation, Device &device) {
    const Tensor past = operation.tensor(4);
    const int64_t element = int64_t(dtype_bytes(operation.tensor(0).dtype));
    const Tensor appended = operation.tensor(2);
    if (appended.numel() == 0) return make_empty_plan();

    // The word size that divides rows of both caches and of the appended tensors.
    int64_t bits = appended.size(3);
    bool dense = true;
    for (int i = 0; i < 4; ++i) {
        const Tensor t = operation.tensor(i);
        dense = dense && (t.stride(3) == 1 || t.size(3) == 1);
        for (int d = 0; d < 3; ++d) bits |= t.size(d) == 1 ? 0 : t.stride(d);
    }
    const int64_t word = dense ? common_word({bits * element}) : element;
    const int64_t n = word / element;
    AppendParams params = {};
    params.rows = operation.tensor(0).size(2);
    for (int k = 0; k < 2; ++k) {
        const Tensor cache = operation.tensor(k), from = operation.tensor(k + 2);
        Dims<4> dims;
        dims.add(from.size(0), cache.stride(0) * element, from.stride(0) * element, 0,
                 past.stride(0));
        dims.add(from.size(1), cache.stride(1) * element, from.stride(1) * element, 0, 0);
        dims.add(from.size(2), 0, from.stride(2) * element, 1, 0);
        dims.add(from.size(3) / n, cache.stride(3) * word, from.stride(3) * word, 0, 0);
        params.words[k] = dims.places();
        params.row[k] = cache.stride(2) * element;
    }
    Source source("cache/slots.cuh:append");
    source.type("E", bytes_type(size_t(element))).type("W", word_type(word));
    const auto kernel = device.compile(source.type("L", past.dtype));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        AppendParams here = params;
        here.whole = true;
        for (int k = 0; k < 2; ++k) {
            here.cache[k] = a.pointer<void>(k), here.from[k] = a.pointer<void>(k + 2);
            here.whole = here.whole && is_aligned(here.cache[k], size_t(word)) &&
                         is_aligned(here.from[k], size_t(word));
        }
        here.past = a.pointer<void>(4);
        return kernel->launch(stream, Grid(divide_up(here.words[0].count, 256), 2), 256, here);
    });
}

std::unique_ptr<Plan> plan_paged_caching(const Operation &operation, Device &device) {
    const Tensor first = operation.tensor(0);
    const int64_t element = int64_t(dtype_bytes(first.dtype));
    PagedCacheParams params = {};
    params.page_size = first.size(2);
    int64_t bits = 0;
    for (int k = 0; k < 2; ++k) {
        const Tensor cache = operation.tensor(k), from = operation.tensor(k + 2);
        bits |= from.size(2) | cache.stride(0) | cache.stride(1) | cache.stride(2) |
                from.stride(0) | from.stride(1);
    }
    const int64_t word = common_word({bits * element});
    for (int k = 0; k < 2; ++k) {
        const Tensor cache = operation.tensor(k), from = operation.tensor(k + 2);
        params.page[k] = cache.stride(0) * element,
        params.cache_head[k] = cache.stride(1) * element;
        params.row[k] = cache.stride(2) * element;
        params.token[k] = from.stride(0) * element, params.head[k] = from.stride(1) * element;
        const int64_t words = from.size(2) * element / word;
        params.words[k] = Divider(uint32_t(std::max<int64_t>(words, 1)));
        params.count[k] = int32_t(words * from.size(1));
    }
    const Slots slots(device, operation.tensor(4), first.size(0) * first.size(2));
    if (first.size(0) * first.size(2) == 0 || slots.tokens() == 0) return make_empty_plan();
    Source source("cache/slots.cuh:paged");
    source.type("E", bytes_type(size_t(element))).type("W", word_type(word));
    const auto kernel = device.compile(source);
    auto run = [=](const Arguments &a, const Stream &stream) {
        PagedCacheParams here = params;
        INFINI_CUDA_TRY(slots.find(stream, a.pointer<void>(4), a.workspace(), here.slots));
        here.whole = true;
        for (int k = 0; k < 2; ++k) {
            here.cache[k] = a.pointer<void>(k), here.from[k] = a.pointer<void>(k + 2);
            here.whole = here.whole && is_aligned(here.cache[k], size_t(word)) &&
                         is_aligned(here.from[k], size_t(word));
        }
        return kernel->launch(stream, slots.tokens(), 256, here);
    };
    return make_plan(run, slots.workspace());
}

std::unique_ptr<Plan> plan_caching(const Operation &operation, Device &device) {
    return operation.is("paged_caching") ? plan_paged_caching(operation, device)
                                         : plan_kv_caching(operation, device);
}

INFINI_CUDA_KERNEL("kv_caching", plan_caching);

}  // namespace
}  // namespace infini::cuda
