// Writes normalised latent vectors to an e4m3 cache: fp8_mla_rmsnorm_cache.
#include <cmath>

#include "../attention/indexer_rows.h"
#include "../attention/mla.h"
#include "../attention/rows.h"
#include "../kernel.h"
#include "../threads.h"

namespace infini::cpu {
namespace {

struct MlaCache {
    int64_t tokens, slots, page_size;
    int64_t latent_stride, rope_stride;
    int weight_dtype;
    bool plain;  // there is a second cache, in BF16
    double eps;

    void token(const Arguments &a, int64_t t, int64_t slot) const {
        alignas(64) float x[kLatent], weight[kLatent];
        alignas(64) f8 codes[kLatent];
        load_row<kLatent>(x, a.pointer<const bf16>(2) + t * latent_stride);
        to_f32(weight, a.pointer<const void>(3), weight_dtype, size_t(kLatent));
        double squares = 0;
        for (float value : x) squares += double(value) * double(value);
        double factor = 1 / std::sqrt(squares / double(kLatent) + eps);
        bf16 rounded[kLatent];
        for (int64_t i = 0; i < kLatent; ++i)
            store_element(rounded[i], double(x[i]) * factor * double(weight[i]));
        load_row<kLatent>(x, rounded);

        char *entry = a.pointer<char>(0) + slot * kEntryBytes;
        bf16 *values = plain ? a.pointer<bf16>(1) + slot * kLatentDepth : nullptr;
        float scales[kLatent / kLatentGroup];
        for (int64_t g = 0; g < kLatent / kLatentGroup; ++g) {
            const float *group = x + g * kLatentGroup;
            f8 *to = codes + g * kLatentGroup;
            float scale = scales[g] = greatest_of(group, kLatentGroup) / kLargestCode;
            for (int64_t i = 0; i < kLatentGroup; i += kWidth<float>) {
                F32 code = scale > 0 ? load(group + i) / scale : F32{};
                store_f32(to + i, code);
                if (values) store_f32(values + g * kLatentGroup + i, load_f32(to + i) * scale);
            }
        }
        std::memcpy(entry, codes, sizeof codes);
        std::memcpy(entry + kScalesAt, scales, sizeof scales);
        const bf16 *rope = a.pointer<const bf16>(4) + t * rope_stride;
        std::memcpy(entry + kRopeAt, rope, kLatentRope * sizeof(bf16));
        if (values) std::memcpy(values + kLatent, rope, kLatentRope * sizeof(bf16));
    }
};

std::unique_ptr<Plan> plan_mla_cache(const Operation &operation) {
    MlaCache c;
    Tensor cache = operation.tensor(0), latent = operation.tensor(2);
    c.tokens = latent.size(0), c.page_size = cache.size(1);
    c.slots = cache.size(0) * cache.size(1);
    c.latent_stride = latent.stride(0), c.rope_stride = operation.tensor(4).stride(0);
    c.weight_dtype = operation.tensor(3).dtype, c.plain = bool(operation.tensor(1));
    c.eps = operation.number(0);
    return make_plan([c](const Arguments &a) {
        // Each thread writes its own pages, so that the later of two tokens for one slot wins.
        int64_t shares = std::clamp<int64_t>(c.tokens / 16, 1, int64_t(thread_count()));
        parallel_for(size_t(shares), 1, [&](size_t begin, size_t end) {
            for (int64_t t = 0; t < c.tokens; ++t) {
                int64_t slot = a.pointer<const int64_t>(5)[t];
                if (slot < 0 || slot >= c.slots) continue;  // outside the cache: skipped
                size_t share = size_t(slot / c.page_size % shares);
                if (share >= begin && share < end) c.token(a, t, slot);
            }
        });
    });
}
INFINI_KERNEL("fp8_mla_rmsnorm_cache", plan_mla_cache);

}  // namespace
}  // namespace infini::cpu
