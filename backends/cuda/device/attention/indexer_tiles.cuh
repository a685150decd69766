// fp8_indexer_logits on the tensor cores: a block has one token and some pages of 64 keys. Codes
// become bf16, which holds them exactly; each warp has 16 heads at a time, with all keys of a page.
//
// FLOPs: 2 * 128 for each head and key; bytes: 132 for each key.
#include "mma.cuh"
#include "sparse_params.h"

namespace infini {

inline constexpr int kKeys = 64, kDepth = 128, kWarps = 4, kThreads = kWarps * 32;
inline constexpr int kPitch = kDepth + 8;  // so that rows lie in different banks
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

// 16 codes as bf16.
INFINI_DEVICE void decode_codes(bf16 *to, const uint8_t *from, bool vector) {
    Vec<uint8_t, 16> codes;
    if (vector) {
        codes = load<16>(from);
    } else {
#pragma unroll
        for (int i = 0; i < 16; ++i) codes[i] = from[i];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float values[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] = to_float(f8{codes[8 * half + i]});
        store(to + 8 * half, narrow<bf16>(values));
    }
}

INFINI_ENTRY(IndexerLogitsParams, kThreads, 2) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED float scales[kKeys], parts[kWarps][kKeys];
    const int head_tiles = (p.heads + 15) / 16;
    bf16 *keys = reinterpret_cast<bf16 *>(memory), *queries = keys + kKeys * kPitch;
    float *weights = reinterpret_cast<float *>(queries + head_tiles * 16 * kPitch);
    const int64_t token = blockIdx.x / p.blocks;
    const int64_t first_page = blockIdx.x % p.blocks * p.pages_at_once;
    // What lies behind the position, or what the tables do not have, is -inf.
    const int64_t request = p.requests[token], position = p.positions[token];
    int64_t seen = p.most_pages * kKeys < p.context ? p.most_pages * kKeys : p.context;
    if (request < 0 || request >= p.request_count) seen = 0;
    if (position < seen) seen = position + 1;  // none for negative ones

    for (int i = int(threadIdx.x); i < head_tiles * 16 * (kDepth / 16); i += kThreads) {
        const int head = i / (kDepth / 16), column = i % (kDepth / 16) * 16;
        bf16 *to = queries + head * kPitch + column;
        if (head < p.heads)
            decode_codes(to, p.q + (token * p.heads + head) * kDepth + column, p.vector);
        else
            for (int j = 0; j < 16; ++j) to[j] = bf16{0};
    }
    for (int i = int(threadIdx.x); i < head_tiles * 16; i += kThreads)
        weights[i] = i < p.heads ? p.weights[token * p.heads + i] : 0.0f;

    for (int step = 0; step < p.pages_at_once; ++step) {
        const int64_t block = first_page + step, first = block * kKeys;
        if (first >= p.context) return;
        int64_t page = -1;
        if (first < seen) page = p.tables[request * p.most_pages + block];
        const bool known = page >= 0 && page < p.pages;
        __syncthreads();  // the last page has been used
        if (known) {
            const uint8_t *from = p.cache + page * kKeys * (kDepth + 4);
            for (int i = int(threadIdx.x); i < kKeys * (kDepth / 16); i += kThreads)
                decode_codes(keys + i / (kDepth / 16) * kPitch + i % (kDepth / 16) * 16,
                             from + i * 16, p.vector);
            if (threadIdx.x < kKeys) {
                const uint8_t *at = from + kKeys * kDepth + threadIdx.x * 4;
                scales[threadIdx.x] = bit_cast<float>(
                    at[0] | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24);
            }
        }
        __syncthreads();
        float sums[kKeys / 8][2] = {};  // of keys 8 n + 2 t, + 1, over the heads of this thread
        if (known)
            for (int tile = warp(); tile < head_tiles; tile += kWarps) {
                const int row = lane() / 8 % 2 * 8 + lane() % 8, column = lane() / 16 * 8;
                const bf16 *a_row = queries + (tile * 16 + row) * kPitch + column;
                const bf16 *b_row =
                    keys + (lane() / 16 * 8 + lane() % 8) * kPitch + lane() / 8 % 2 * 8;
                float scores[kKeys / 8][4] = {};
#pragma unroll
                for (int k = 0; k < kDepth / 16; ++k) {
                    uint32_t a[4];
                    load_matrices<4>(a, a_row + 16 * k);
#pragma unroll
                    for (int n = 0; n < kKeys / 16; ++n) {
                        uint32_t b[4];
                        load_matrices<4>(b, b_row + 16 * n * kPitch + 16 * k);
                        const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
                        mma<bf16>(scores[2 * n], a, low);
                        mma<bf16>(scores[2 * n + 1], a, high);
                    }
                }
#pragma unroll
                for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        const float score = scores[n][i] * scales[8 * n + 2 * (lane() % 4) + i % 2];
                        const float weight = weights[tile * 16 + lane() / 4 + i / 2 * 8];
                        // A NaN stays one; heads that are only padding have scores of 0.
                        sums[n][i % 2] += (score > 0 || score != score ? score : 0.0f) * weight;
                    }
            }
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                float sum = sums[n][i];
                sum += shuffle_xor(sum, 4);
                sum += shuffle_xor(sum, 8);
                sum += shuffle_xor(sum, 16);
                if (lane() < 4) parts[warp()][8 * n + 2 * lane() + i] = sum;
            }
        __syncthreads();
        if (threadIdx.x < kKeys && first + threadIdx.x < p.context) {
            float sum = parts[0][threadIdx.x];
#pragma unroll
            for (int i = 1; i < kWarps; ++i) sum += parts[i][threadIdx.x];
            const bool visible = known && first + threadIdx.x < seen;
            p.logits[token * p.context + first + threadIdx.x] = visible ? sum : kNone;
        }
    }
}

}  // namespace infini
