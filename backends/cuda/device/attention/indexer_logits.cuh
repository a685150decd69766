// fp8_indexer_logits: for each token the score of every key, the sum over heads of weight * relu(q
// . k * scale). A block has one token and one page of 64 keys; the page and 16 heads at a time
// stand in shared memory as floats. Each thread has a key and every fourth head.
#include "sparse_params.h"

namespace infini {

inline constexpr int kKeys = 64, kDepth = 128, kHeads = 16, kParts = 4;
inline constexpr int kThreads = kKeys * kParts;
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

// A F32 that may lie anywhere.
INFINI_DEVICE float load_scale(const uint8_t *from) {
    return bit_cast<float>(from[0] | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16 |
                           uint32_t(from[3]) << 24);
}

INFINI_DEVICE void read_codes(float *to, const uint8_t *from, bool vector) {
    if (vector) {
        const Vec<uint8_t, 16> codes = load<16>(from);
#pragma unroll
        for (int i = 0; i < 16; ++i) to[i] = to_float(f8{codes[i]});
        return;
    }
    for (int i = 0; i < 16; ++i) to[i] = to_float(f8{from[i]});
}

INFINI_ENTRY(IndexerLogitsParams, kThreads, 1) {
    INFINI_SHARED float keys[kKeys][kDepth + 1];
    INFINI_SHARED float queries[kHeads][kDepth];
    INFINI_SHARED float parts[kParts][kKeys];
    const int64_t token = blockIdx.x / p.blocks, block = blockIdx.x % p.blocks;
    const int key = int(threadIdx.x) % kKeys, part = int(threadIdx.x) / kKeys;
    const int64_t first = block * kKeys;
    // What lies behind the position, or what the tables do not have, is -inf.
    const int64_t request = p.requests[token], position = p.positions[token];
    int64_t seen = p.most_pages * kKeys < p.context ? p.most_pages * kKeys : p.context;
    if (request < 0 || request >= p.request_count) seen = 0;
    if (position < seen) seen = position + 1;  // none for negative ones
    int64_t page = -1;
    if (first < seen) page = p.tables[request * p.most_pages + block];
    float score = 0;
    const bool known = page >= 0 && page < p.pages;
    if (known) {
        const uint8_t *from = p.cache + page * kKeys * (kDepth + 4);
        for (int i = int(threadIdx.x); i < kKeys * kDepth / 16; i += kThreads)
            read_codes(&keys[i / (kDepth / 16)][i % (kDepth / 16) * 16], from + i * 16, p.vector);
        const float scale = load_scale(from + kKeys * kDepth + key * 4);
        for (int head = 0; head < p.heads; head += kHeads) {
            const int count = p.heads - head < kHeads ? p.heads - head : kHeads;
            __syncthreads();  // the last heads have been used
            for (int i = int(threadIdx.x); i < count * kDepth / 16; i += kThreads)
                read_codes(&queries[i / (kDepth / 16)][i % (kDepth / 16) * 16],
                           p.q + (token * p.heads + head) * kDepth + i * 16, p.vector);
            __syncthreads();
            for (int h = part; h < count; h += kParts) {
                float sum = 0;
#pragma unroll 16
                for (int d = 0; d < kDepth; ++d) sum += queries[h][d] * keys[key][d];
                sum *= scale;
                score +=
                    (sum > 0 || sum != sum ? sum : 0.0f) * p.weights[token * p.heads + head + h];
            }
        }
    }
    parts[part][key] = score;
    __syncthreads();
    if (part != 0 || first + key >= p.context) return;
    score = parts[0][key];
#pragma unroll
    for (int i = 1; i < kParts; ++i) score += parts[i][key];
    p.logits[token * p.context + first + key] = known && first + key < seen ? score : kNone;
}

}  // namespace infini
