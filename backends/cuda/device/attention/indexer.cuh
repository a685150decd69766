// The lightning indexer of sparse attention (DSA): quantised queries and keys, and the logits by
// which keys are selected.
#pragma once

#include "sparse_params.h"

namespace infini {

struct IndexerQuantParams {
    uint8_t *out;
    float *weights_out;
    const void *q, *weights;
    int64_t rows, vectors;  // rows of the table; vectors of a row
    int32_t whole;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#ifdef INFINI_KERNEL_INDEXER_SELECT
// fused_fp8_indexer. Each warp processes one head of a token's queries, or its key: rotates it,
// rounds it to T, then to e4m3 with a power-of-two scale. Keys are first normalised in doubles,
// which is cheap because there is only one for many queries.
//
// Requires types T, Angle, NormWeight, NormBias.
namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kDepth = 128;
// Each lane has whole pairs; in warps of 64 some lanes have none.
inline constexpr int kLanes = kWarp < kDepth / 2 ? kWarp : kDepth / 2, kPer = kDepth / kLanes;

// The smallest power of two that makes max(greatest, 1e-4) representable in e4m3.
INFINI_DEVICE float power_scale(float greatest) {
    const uint32_t bits = bit_cast<uint32_t>(fmaxf(greatest, 1e-4f) / 448.0f);
    return bit_cast<float>((bits + 0x007fffffu) & 0x7f800000u);
}

// y0, y1 = x0 c - x1 s, x0 s + x1 c for neighbours.
template <class C>
INFINI_DEVICE void rotate(C (&x)[kPer], const Angle *angles, int rope) {
#pragma unroll
    for (int i = 0; i < kPer; i += 2) {
        const int pair = (lane() * kPer + i) / 2;
        if (2 * pair >= rope || lane() >= kLanes) continue;
        const C c = convert<C>(angles[pair]), s = convert<C>(angles[rope / 2 + pair]);
        const C a = x[i], b = x[i + 1];
        x[i] = a * c - b * s;
        x[i + 1] = a * s + b * c;
    }
}

// Rounds to T, then to e4m3; returns the scale.
template <class C>
INFINI_DEVICE float quantise(uint8_t *to, const C (&x)[kPer]) {
    float rounded[kPer], greatest = 0;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        rounded[i] = to_float(convert<T>(x[i]));
        if (lane() < kLanes) greatest = fmaxf(greatest, fabsf(rounded[i]));
    }
    const float scale = power_scale(fold_warp(greatest, fold::Max())), inverse = 1 / scale;
    if (lane() < kLanes)
#pragma unroll
        for (int i = 0; i < kPer; ++i)
            to[lane() * kPer + i] = convert<f8>(rounded[i] * inverse).bits;  // saturates at 448
    return scale;
}

// Normalises and rotates the key, and stores it in its slot.
INFINI_DEVICE void store_key(const IndexerParams &p, int64_t token, const Angle *angles) {
    const int64_t slot = p.slots[token];
    if (slot < 0 || slot >= p.pages * p.page_size) return;  // not in the cache: skipped
    // If two tokens have the same slot, the later one is stored.
    bool later = false;
    for (int64_t t = token + 1 + lane(); t < p.tokens; t += kWarp)
        later = later || p.slots[t] == slot;
    if (any_lane(later)) return;
    const T *from = static_cast<const T *>(p.k_weights) + token * (kDepth + p.heads);
    double x[kPer], mean = 0, variance = 0;
#pragma unroll
    for (int i = 0; i < kPer; ++i)
        mean += x[i] = lane() < kLanes ? convert<double>(from[lane() * kPer + i]) : 0.0;
    mean = fold_warp(mean, fold::Sum()) / kDepth;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        x[i] = lane() < kLanes ? x[i] - mean : 0.0;
        variance += x[i] * x[i];
    }
    const double factor = 1 / sqrt(fold_warp(variance, fold::Sum()) / kDepth + p.eps);
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        const int at = lane() % kLanes * kPer + i;
        x[i] = x[i] * factor * convert<double>(static_cast<const NormWeight *>(p.norm_weight)[at]) +
               convert<double>(static_cast<const NormBias *>(p.norm_bias)[at]);
    }
    rotate(x, angles, p.rope);
    const int64_t page = slot / p.page_size, row = slot % p.page_size;
    uint8_t *to = p.cache + page * p.page_size * (kDepth + 4);
    const float scale = quantise(to + row * kDepth, x);
    const uint32_t bits = bit_cast<uint32_t>(scale);
    if (lane() < 4) to[p.page_size * kDepth + row * 4 + lane()] = uint8_t(bits >> 8 * lane());
}

INFINI_ENTRY(IndexerParams, kWarps *kWarp, 1) {
    const int64_t item = int64_t(blockIdx.x) * kWarps + warp();
    const int64_t token = item / (p.heads + 1);
    const int head = int(item % (p.heads + 1));  // the last index is the key
    if (token >= p.tokens) return;
    // A position outside the table uses row 0.
    int64_t position = p.positions[token];
    position = position >= 0 && position < p.rows ? position : 0;
    const Angle *angles = static_cast<const Angle *>(p.angles) + position * p.rope;
    if (head == p.heads) return store_key(p, token, angles);
    const int64_t at = token * p.heads + head;
    const T *from = static_cast<const T *>(p.q) + at * kDepth;
    float x[kPer];
#pragma unroll
    for (int i = 0; i < kPer; ++i)
        x[i] = lane() < kLanes ? to_float(from[lane() * kPer + i]) : 0.0f;
    rotate(x, angles, p.rope);
    const float scale = quantise(p.q_out + at * kDepth, x);
    if (lane() == 0) {
        const T given =
            static_cast<const T *>(p.k_weights)[token * (kDepth + p.heads) + kDepth + head];
        const T weight = convert<T>(convert<double>(given) * p.weights_scale);
        p.weights_out[at] = to_float(weight) * scale;
    }
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_INDEXER_LOGITS
// fp8_indexer_logits: for each token the score of every key, the sum over heads of weight * relu(q
// . k * scale). A block processes one token and pages of 64 keys; the page and 16 heads at a time
// are in shared memory as floats. Each thread processes one key and every fourth head.
namespace infini {

inline constexpr int kKeys = 64, kDepth = 128, kHeads = 16, kParts = 4;
inline constexpr int kThreads = kKeys * kParts;
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

// An unaligned F32 value.
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
    // Keys after the position, or that are not in the tables, get -inf.
    const int64_t request = p.requests[token], position = p.positions[token];
    int64_t seen = p.most_pages * kKeys < p.context ? p.most_pages * kKeys : p.context;
    if (request < 0 || request >= p.request_count) seen = 0;
    if (position < seen) seen = position + 1;  // no keys for negative positions
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
            __syncthreads();  // the previous heads have been used
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
#endif

#ifdef INFINI_KERNEL_INDEXER_TILES
#include "mma.cuh"

// fp8_indexer_logits on the tensor cores: a block processes one token and some pages of 64 keys.
// Codes are converted to bf16, which is exact; each warp processes 16 heads at a time, with all
// keys of a page.
//
// FLOPs: 2 * 128 per head and key; bytes: 132 per key.
namespace infini {

inline constexpr int kKeys = 64, kDepth = 128, kWarps = 4, kThreads = kWarps * 32;
inline constexpr int kPitch = kDepth + 8;  // so that rows are in different banks
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

// Converts 16 codes to bf16.
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
    // Keys after the position, or that are not in the tables, get -inf.
    const int64_t request = p.requests[token], position = p.positions[token];
    int64_t seen = p.most_pages * kKeys < p.context ? p.most_pages * kKeys : p.context;
    if (request < 0 || request >= p.request_count) seen = 0;
    if (position < seen) seen = position + 1;  // no keys for negative positions

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
        __syncthreads();  // the previous page has been used
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
        float sums[kKeys / 8][2] = {};  // for keys 8 n + 2 t, + 1, over the heads of this thread
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
                        // NaN is preserved; padding heads have scores of 0.
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
#endif

#ifdef INFINI_KERNEL_INDEXER_QUANT
#include "words.cuh"

// fp8_indexer_quant: rounds rows of T to e4m3 with a power-of-two scale, and multiplies the scale
// into the row's weight of type U. A warp processes one row in vectors of kVector elements.
namespace infini {

constexpr int kWarps = 8;
constexpr float kLargestCode = 448.0f;

// The smallest power of two not less than max(absolute value, 1e-4) / (largest code).
INFINI_DEVICE float power_scale(float greatest) {
    const uint32_t bits = bit_cast<uint32_t>((greatest > 1e-4f ? greatest : 1e-4f) / kLargestCode);
    return bit_cast<float>((bits + 0x007fffffu) & 0x7f800000u);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(IndexerQuantParams, kWarps *kWarp, 1) {
    constexpr int n = kVector;
    const int64_t row = int64_t(blockIdx.x) * kWarps + warp();
    if (row >= p.rows) return;
    const T *q = static_cast<const T *>(p.q) + row * p.vectors * n;
    float most = 0;
    for (int64_t i = lane(); i < p.vectors; i += kWarp) {
        float v[n];
        widen(load_some<n>(q + i * n, p.whole), v);
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const float size = v[k] < 0 ? -v[k] : v[k];
            most = size > most ? size : most;
        }
    }
    const float scale = power_scale(fold_warp(most, fold::Max())), inverse = 1 / scale;
    for (int64_t i = lane(); i < p.vectors; i += kWarp) {
        float v[n];
        widen(load_some<n>(q + i * n, p.whole), v);
        Vec<uint8_t, n> codes;
#pragma unroll
        for (int k = 0; k < n; ++k) codes[k] = convert<f8>(v[k] * inverse).bits;
        store_some<n>(p.out + (row * p.vectors + i) * n, codes, p.whole);
    }
    if (lane() == 0)
        p.weights_out[row] = convert<float>(static_cast<const U *>(p.weights)[row]) * scale;
}
#endif

#endif  // INFINI_DEVICE
