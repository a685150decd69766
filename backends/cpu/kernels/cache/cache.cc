// Writes keys and values to caches: kv_caching, paged_caching, nsa_compress_paged_cache.
#include <algorithm>

#include "../attention/rows.h"
#include "../kernel.h"
#include "../threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kGrain = 65536;  // bytes that justify a thread

// Whether one of the first `count` sizes is 0. Then nothing is written, and the other sizes are
// arbitrary.
bool is_empty(const Shape &shape, int count) {
    return std::find(shape.size, shape.size + count, 0) != shape.size + count;
}

std::unique_ptr<Plan> plan_kv_caching(const Operation &operation) {
    Shape cache[2] = {operation.tensor(0), operation.tensor(1)};
    Shape from[2] = {operation.tensor(2), operation.tensor(3)};
    Tensor past = operation.tensor(4);
    int past_dtype = past.dtype;
    int64_t past_stride = past.stride(0);
    return make_plan([=](const Arguments &a) {
        if (is_empty(cache[0], 4) || is_empty(from[0], 4)) return;
        int64_t size = element_bytes(cache[0].dtype), heads = cache[0].size[1];
        int64_t most = cache[0].size[2], rows = from[0].size[2], n = from[0].size[3];
        size_t grain = size_t(kGrain / std::max<int64_t>(1, rows * n * size * 2)) + 1;
        parallel_for(size_t(cache[0].size[0] * heads), grain, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                int64_t b = int64_t(i) / heads, h = int64_t(i) % heads;
                int64_t first =
                    load_as<int64_t>(past_dtype, a.pointer<const void>(4), b * past_stride);
                // Rows first .. first + rows - 1; those outside the cache are skipped.
                if (first >= most || first <= -rows) continue;
                int64_t skip = first < 0 ? -first : 0;
                int64_t count = std::min(rows, most - first) - skip;
                for (int k = 0; k < 2; ++k) {
                    const int64_t *to = cache[k].stride, *at = from[k].stride;
                    copy_rows(a.pointer<char>(k) +
                                  (b * to[0] + h * to[1] + (first + skip) * to[2]) * size,
                              to[2], to[3],
                              a.pointer<const char>(k + 2) +
                                  (b * at[0] + h * at[1] + skip * at[2]) * size,
                              at[2], at[3], count, n, size);
                }
            }
        });
    });
}

std::unique_ptr<Plan> plan_paged_caching(const Operation &operation) {
    Shape cache[2] = {operation.tensor(0), operation.tensor(1)};
    Shape from[2] = {operation.tensor(2), operation.tensor(3)};
    int64_t slot_stride = operation.tensor(4).stride(0);
    return make_plan([=](const Arguments &a) {
        if (is_empty(cache[0], 3) || is_empty(from[0], 2)) return;
        const int64_t *slots = a.pointer<const int64_t>(4);
        int64_t size = element_bytes(cache[0].dtype);
        int64_t tokens = from[0].size[0], heads = from[0].size[1], block_size = cache[0].size[2];
        int64_t all = cache[0].size[0] * block_size;
        // Each thread writes its own blocks, so that the later of two tokens for one slot wins.
        int64_t bytes = tokens * heads * (from[0].size[2] + from[1].size[2]) * size;
        int64_t shares = std::clamp<int64_t>(bytes / kGrain, 1, int64_t(thread_count()));
        parallel_for(size_t(shares), 1, [&](size_t begin, size_t end) {
            for (int64_t t = 0; t < tokens; ++t) {
                int64_t slot = slots[t * slot_stride];
                if (slot < 0 || slot >= all) continue;  // outside the cache: skipped
                int64_t block = slot / block_size, row = slot % block_size;
                if (size_t(block % shares) < begin || size_t(block % shares) >= end) continue;
                for (int k = 0; k < 2; ++k)
                    copy_rows(a.pointer<char>(k) +
                                  (block * cache[k].stride[0] + row * cache[k].stride[2]) * size,
                              cache[k].stride[1], 1,
                              a.pointer<const char>(k + 2) + t * from[k].stride[0] * size,
                              from[k].stride[1], 1, heads, from[k].size[2], size);
            }
        });
    });
}

// ---- Means of blocks ----------------------------------------------------------------------------

struct Compress {
    Shape mean[2], cache[2], tables, lengths;
    int64_t block;  // tokens per mean
    bool last_only;

    // The mean of `count` rows of 128.
    template <class T>
    static void average(T *to, const T *from, int64_t stride, int64_t count) {
        float sum[128] = {};
        for (int64_t r = 0; r < count; ++r, from += stride)
            for (size_t i = 0; i < 128; i += kWidth<float>)
                store(sum + i, load(sum + i) + load_wide_f32(from + i));
        for (size_t i = 0; i < 128; i += kWidth<float>)
            store_f32(to + i, load(sum + i) / float(count));
    }

    template <class T>
    void run(const Arguments &a, int64_t share, int64_t shares) const {
        int64_t pages = cache[0].size[0], heads = cache[0].size[1], page_size = cache[0].size[2];
        for (int64_t s = 0; s < tables.size[0]; ++s) {
            int64_t length = limited(lengths.dtype, a.pointer<const void>(5), s * lengths.stride[0],
                                     tables.size[1] * page_size);
            // Counts blocks: the first token after the last one may overflow int64_t.
            const int64_t last = length > 0 ? (length - 1) / block : -1;
            for (int64_t b = last_only ? std::max<int64_t>(last, 0) : 0; b <= last; ++b) {
                const int64_t begin = b * block;
                int64_t place = s * tables.stride[0] + begin / page_size * tables.stride[1];
                int64_t page = load_as<int64_t>(tables.dtype, a.pointer<const void>(4), place);
                if (page < 0 || page >= pages || page % shares != share) continue;  // bad: skipped
                int64_t row = begin % page_size, count = std::min(block, length - begin);
                int64_t target = (page * page_size + row) / block;
                for (int k = 0; k < 2; ++k)
                    for (int64_t h = 0; h < heads; ++h)
                        average(
                            a.pointer<T>(k) + target * mean[k].stride[0] + h * mean[k].stride[1],
                            a.pointer<const T>(k + 2) + page * cache[k].stride[0] +
                                h * cache[k].stride[1] + row * cache[k].stride[2],
                            cache[k].stride[2], count);
            }
        }
    }
};

std::unique_ptr<Plan> plan_compress(const Operation &operation) {
    Compress c;
    for (int k = 0; k < 2; ++k)
        c.mean[k] = operation.tensor(k), c.cache[k] = operation.tensor(k + 2);
    c.tables = operation.tensor(4), c.lengths = operation.tensor(5);
    c.block = operation.integer(0), c.last_only = operation.integer(1) != 0;
    return make_plan([c](const Arguments &a) {
        if (is_empty(c.cache[0], 3)) return;
        // Pages are assigned to threads, like blocks in paged_caching.
        int64_t blocks = c.tables.size[0] * (c.last_only ? 1 : c.tables.size[1]);
        int64_t bytes = blocks * c.cache[0].size[2] * c.cache[0].size[1] * 512;
        int64_t shares = std::clamp<int64_t>(bytes / kGrain, 1, int64_t(thread_count()));
        parallel_for(size_t(shares), 1, [&](size_t begin, size_t end) {
            for (size_t share = begin; share < end; ++share)
                if (c.cache[0].dtype == INFINI_DTYPE_BF16)
                    c.run<bf16>(a, int64_t(share), shares);
                else
                    c.run<f16>(a, int64_t(share), shares);
        });
    });
}
INFINI_KERNEL("nsa_compress_paged_cache", plan_compress);

std::unique_ptr<Plan> plan_caching(const Operation &operation) {
    return operation.is("paged_caching") ? plan_paged_caching(operation)
                                         : plan_kv_caching(operation);
}

INFINI_KERNEL("kv_caching", plan_caching);

}  // namespace
}  // namespace infini::cpu
