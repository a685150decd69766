// fp8_mla_rmsnorm_cache: a block normalises a token's latent and stores it in e4m3. An entry is 512
// codes, a F32 scale for each 128 of them, and 64 BF16 of rotary key. T: the type of the weights.
#include "slots.cuh"

namespace infini {

constexpr int kThreads = 128, kLatent = 512, kGroup = 128, kRope = 64;
constexpr int kScalesAt = kLatent, kRopeAt = kScalesAt + 16, kEntry = kRopeAt + 2 * kRope;
constexpr float kLargestCode = 448.0f;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LatentCacheParams, kThreads, 1) {
    const int64_t token = blockIdx.x, slot = slot_of_block(p.slots, token);
    if (slot < 0) return;
    const int thread = int(threadIdx.x);
    const bf16 *latent = static_cast<const bf16 *>(p.latent) + token * p.latent_stride;
    uint8_t *entry = p.cache + slot * kEntry;
    bf16 *plain = p.plain ? static_cast<bf16 *>(p.plain) + slot * (kLatent + kRope) : nullptr;
    // Element g * kGroup + thread for each of the groups: doubles, since rounding to codes follows.
    double x[kLatent / kGroup], squares = 0;
#pragma unroll
    for (int g = 0; g < kLatent / kGroup; ++g) {
        x[g] = double(to_float(latent[g * kGroup + thread]));
        squares += x[g] * x[g];
    }
    squares = fold_block<kThreads>(squares, fold::Sum());
    const double factor = 1 / sqrt(squares / kLatent + p.eps);
#pragma unroll
    for (int g = 0; g < kLatent / kGroup; ++g) {
        const int at = g * kGroup + thread;
        const double weight = convert<double>(static_cast<const T *>(p.weight)[at]);
        const float value = to_float(convert<bf16>(x[g] * factor * weight));
        const float size = value < 0 ? -value : value;
        const float most = fold_block<kThreads>(size == size ? size : 0.0f, fold::Max());
        const float scale = most / kLargestCode;
        const f8 code = convert<f8>(scale > 0 ? value / scale : 0.0f);
        entry[at] = code.bits;
        if (plain) plain[at] = convert<bf16>(to_float(code) * scale);
        if (thread < 4)  // entries are aligned to bytes only
            entry[kScalesAt + 4 * g + thread] = uint8_t(bit_cast<uint32_t>(scale) >> (8 * thread));
    }
    if (thread >= kRope) return;
    const bf16 rope = static_cast<const bf16 *>(p.rope)[token * p.rope_stride + thread];
    entry[kRopeAt + 2 * thread] = uint8_t(rope.bits);
    entry[kRopeAt + 2 * thread + 1] = uint8_t(rope.bits >> 8);
    if (plain) plain[kLatent + thread] = rope;
}
