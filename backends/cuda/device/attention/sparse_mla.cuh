// fp8_sparse_mla: MLA of each token with the entries of an e4m3 cache that are selected by its
// indices. A block processes 16 entries at a time, as floats in shared memory; each of its warps
// has one head, with the query and the sums in registers, lanes across the depth.
//
// An entry: 512 e4m3 codes, an F32 scale for each 128 of them, and 64 BF16 elements of the rotary
// key.
#include "sparse_params.h"

namespace infini {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = kWarps * kWarp;
inline constexpr int kTile = 16;  // entries per tile
inline constexpr int kLatent = 512, kDepth = 576, kScalesAt = 512, kRopeAt = 528;
inline constexpr int kPieces = kDepth / 16;  // chunks of an entry, 16 elements each
inline constexpr int kPerLane = (kDepth + kWarp - 1) / kWarp, kValuesPerLane = kLatent / kWarp;
inline constexpr int kPitch = kPerLane * kWarp;  // row length of keys; padded with zeros
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

// 16 bytes of an entry, possibly unaligned.
INFINI_DEVICE Vec<uint8_t, 16> load_bytes(const uint8_t *from, bool vector) {
    if (vector) return load<16>(from);
    Vec<uint8_t, 16> bytes;
#pragma unroll
    for (int i = 0; i < 16; ++i) bytes[i] = from[i];
    return bytes;
}

// An unaligned F32 value.
INFINI_DEVICE float load_scale(const uint8_t *from) {
    return bit_cast<float>(from[0] | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16 |
                           uint32_t(from[3]) << 24);
}

// 16 elements of an entry.
INFINI_DEVICE void read_piece(float *to, const uint8_t *entry, int piece, bool vector) {
    if (piece < kLatent / 16) {
        const Vec<uint8_t, 16> codes = load_bytes(entry + piece * 16, vector);
        const float scale = load_scale(entry + kScalesAt + piece / 8 * 4);
#pragma unroll
        for (int i = 0; i < 16; ++i) to[i] = to_float(f8{codes[i]}) * scale;
        return;
    }
    const uint8_t *from = entry + kRopeAt + (piece - kLatent / 16) * 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const Vec<uint8_t, 16> bytes = load_bytes(from + half * 16, vector);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            to[half * 8 + i] =
                to_float(bf16{uint16_t(bytes[2 * i] | uint16_t(bytes[2 * i + 1]) << 8)});
    }
}

INFINI_ENTRY(SparseMlaParams, kThreads, 1) {
    INFINI_SHARED float keys[kTile][kPitch];
    INFINI_SHARED int32_t known[kTile];
    const int64_t token = blockIdx.x / p.parts;
    const int head = int(blockIdx.x % p.parts) * kWarps + warp();
    const bool present = head < p.heads;
    const bf16 *q = static_cast<const bf16 *>(p.q) + token * p.q_token + head * p.q_head;
    float query[kPerLane], sums[kValuesPerLane] = {}, greatest = kNone, total = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i)
        query[i] = present && i * kWarp + lane() < kDepth
                       ? to_float(q[i * kWarp + lane()]) * p.scale
                       : 0.0f;
    // A count that exceeds the number of indices is clamped.
    int count = p.lengths[token * p.length_stride];
    count = count < 0 ? 0 : count > p.most ? p.most : count;
    const int32_t *indices = p.indices + token * p.index_token;

    for (int key = warp(); key < kTile; key += kWarps)
        for (int i = kDepth + lane(); i < kPitch; i += kWarp) keys[key][i] = 0;
    for (int first = 0; first < count; first += kTile) {
        __syncthreads();  // the previous tile has been read
        for (int i = int(threadIdx.x); i < kTile * kPieces; i += kThreads) {
            const int key = i / kPieces, piece = i % kPieces;
            int64_t index = -1;
            if (first + key < count) index = indices[(first + key) * p.index_stride];
            const bool there = index >= 0 && index < p.entries;
            if (piece == 0) known[key] = there;
            if (there)
                read_piece(&keys[key][piece * 16], p.cache + index * p.entry, piece, p.vector);
        }
        __syncthreads();
        // Every lane receives all scores, and keeps those of the tile.
        float scores[kTile], most = kNone;
#pragma unroll
        for (int key = 0; key < kTile; ++key) {
            float sum = kNone;
            if (known[key]) {
                sum = 0;
#pragma unroll
                for (int i = 0; i < kPerLane; ++i) sum += query[i] * keys[key][i * kWarp + lane()];
                sum = fold_warp(sum, fold::Sum());
            }
            scores[key] = sum;
            most = fmaxf(most, sum);
        }
        const float now = fmaxf(greatest, most), base = now == kNone ? 0.0f : now;
        const float factor = exp2f(greatest - base);
        greatest = now;
        total *= factor;
#pragma unroll
        for (int i = 0; i < kValuesPerLane; ++i) sums[i] *= factor;
#pragma unroll
        for (int key = 0; key < kTile; ++key) {
            if (!known[key]) continue;
            const float weight = exp2f(scores[key] - base);
            total += weight;
#pragma unroll
            for (int i = 0; i < kValuesPerLane; ++i)
                sums[i] += weight * keys[key][i * kWarp + lane()];
        }
    }
    if (!present) return;
    const float inverse = total == 0 ? 0.0f : 1 / total;
    bf16 *out = static_cast<bf16 *>(p.out) + token * p.out_token + head * p.out_head;
#pragma unroll
    for (int i = 0; i < kValuesPerLane; ++i)
        out[i * kWarp + lane()] = convert<bf16>(sums[i] * inverse);
}

}  // namespace infini
