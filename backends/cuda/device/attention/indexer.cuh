// fused_fp8_indexer. A warp has one head of a token's queries, or its key: rotated, rounded to T,
// then in e4m3 with a scale that is a power of two. Keys are normalised before, in doubles: there
// is one for many queries.
//
// Before this: types T, Angle, NormWeight, NormBias.
#include "sparse_params.h"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kDepth = 128;
// Lanes have whole pairs; of wide warps some have none.
inline constexpr int kLanes = kWarp < kDepth / 2 ? kWarp : kDepth / 2, kPer = kDepth / kLanes;

// The least power of two that lets `greatest` (1e-4 at least) fit into e4m3.
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

// Rounds to T, then to e4m3; gives the scale.
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
            to[lane() * kPer + i] = convert<f8>(rounded[i] * inverse).bits;  // limits to 448
    return scale;
}

// Normalised, rotated, into its slot.
INFINI_DEVICE void store_key(const IndexerParams &p, int64_t token, const Angle *angles) {
    const int64_t slot = p.slots[token];
    if (slot < 0 || slot >= p.pages * p.page_size) return;  // not in the cache: skipped
    // Of two tokens for one slot the later one stays.
    bool later = false;
    for (int64_t t = token + 1 + lane(); t < p.tokens; t += kWarp)
        later = later || p.slots[t] == slot;
    if (__any_sync(kAllLanes, later)) return;
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
    const int head = int(item % (p.heads + 1));  // the last one: the key
    if (token >= p.tokens) return;
    // A position that the table does not have uses row 0.
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
