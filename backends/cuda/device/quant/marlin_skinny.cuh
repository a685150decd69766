// Products of few rows with Marlin's packed weights, using pairs of 16-bit floats in registers.
#pragma once

#include "matmul/finish.cuh"
#include "matmul/packed_params.h"
#include "mma.cuh"

namespace infini {

// a - b in both halves.
template <class T>
INFINI_DEVICE uint32_t subtract_pairs(uint32_t a, uint32_t b) {
    if constexpr (kSame<T, f16>)
        return ptx::subtract_f16x2(a, b);
    else
        return ptx::subtract_bf16x2(a, b);
}

// Two codes of `bits`, in the low bits of both halves of a word, minus an integer: exact.
template <class T, int bits>
struct CodesLess {
    // A power of two with a unit in the last place of 1: codes are simply inserted into the
    // mantissa.
    static constexpr bool kFits = kSame<T, f16> || bits == 4;
    static constexpr uint32_t kBase = kSame<T, f16> ? 0x6400u : 0x4300u;  // 1024, 128

    uint32_t less;

    CodesLess() = default;
    INFINI_DEVICE explicit CodesLess(int zero) {
        const float base = kSame<T, f16> ? 1024.0f : 128.0f;
        less = kFits ? pack_pair<T>(base + float(zero), base + float(zero)) : uint32_t(zero);
    }
    INFINI_DEVICE uint32_t operator()(uint32_t codes) const {
        if constexpr (kFits) return subtract_pairs<T>(codes | kBase | kBase << 16, less);
        const int zero = int(less);
        return pack_pair<T>(float(int(codes & 0xffffu) - zero), float(int(codes >> 16) - zero));
    }
};

}  // namespace infini

// Multiplies few rows by Marlin's weights: the codes in a lane's words are those of its fragments.
// A block has 64 columns; its warps divide the bands of 16 k. The host defines T, kBits, kZeros
// (groups have zero points), kTilesM (of 16 rows), kWarps, kSplit and kVector (pointers are aligned
// to 16 bytes, and rows of a to 4). Group lengths are multiples of 16.
namespace infini {

constexpr int kThreads = 32 * kWarps, kColumns = 64, kUnroll = kTilesM == 1 ? 4 : 2;
constexpr int kLoads = kBits / 4;  // 16-byte loads per band
constexpr uint32_t kMask = kBits == 4 ? 0x000f000fu : 0x00ff00ffu;

INFINI_DEVICE Vec<uint32_t, 4> load_words(const uint32_t *from) {
    if constexpr (kVector) return load_past_l1(from);
    return {{from[0], from[1], from[2], from[3]}};
}
INFINI_DEVICE uint32_t load_pair(const T *from) {
    if constexpr (kVector) return *reinterpret_cast<const uint32_t *>(from);
    return uint32_t(from[0].bits) | uint32_t(from[1].bits) << 16;
}

struct Band {
    uint32_t words[4 * kLoads];
    uint32_t a[kTilesM][4];
};

INFINI_DEVICE Band load_band(const PackedParams &p, int block, int band) {
    const int g = lane() / 4, t = lane() % 4, across = p.product.n / kColumns;
    const uint32_t *run = static_cast<const uint32_t *>(p.product.b.data) +
                          (int64_t(band) * across + block) * (32 * kBits) + lane() * 4 * kLoads;
    Band loaded;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
        const Vec<uint32_t, 4> words = load_words(run + 4 * i);
#pragma unroll
        for (int j = 0; j < 4; ++j) loaded.words[4 * i + j] = words[j];
    }
#pragma unroll
    for (int tile = 0; tile < kTilesM; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = tile * 16 + g + i % 2 * 8, k = band * 16 + 2 * t + i / 2 * 8;
            const T *from = static_cast<const T *>(p.product.a.data) + row * p.product.a.line + k;
            loaded.a[tile][i] = row < p.product.m ? load_pair(from) : 0;
        }
    return loaded;
}

// Zero points of the columns whose codes this lane has, 8 apart; and scales of the columns whose
// sums it has: tile j, columns 2t and 2t + 1.
struct Group {
    CodesLess<T, kBits> zero[kZeros ? 8 : 1];
    Vec<uint32_t, 4> scales[2];

    INFINI_DEVICE Group(const PackedParams &p, int block, int group) {
        const int g = lane() / 4, t = lane() % 4;
#pragma unroll
        for (int j = 0; j < (kZeros ? 8 : 1); ++j) {
            int value = int(p.offset);
            if constexpr (kZeros) {
                const MarlinPlace at = marlin_zero<kBits>(block * kColumns + 8 * j + g);
                const uint32_t *words = p.zeros + int64_t(group) * (p.product.n * kBits / 32);
                value += int(words[at.word] >> at.shift & (kMask & 0xffffu));
            }
            zero[j] = CodesLess<T, kBits>(value);
        }
        // See marlin_scale: eight tiles of column 2t + i; with one group, both columns of four
        // tiles.
        const T *from = static_cast<const T *>(p.scales) + int64_t(group) * p.product.n;
        const int step = p.groups == 1 ? 32 : 8;
        from += block * kColumns + (p.groups == 1 ? t * 8 : t * 16);
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int i = 0; i < 4; ++i) scales[half][i] = load_pair(from + half * step + 2 * i);
    }

    template <int j, int i>
    INFINI_DEVICE float scale(bool one_group) const {
        const uint32_t one = scales[j / 4][j % 4] >> (16 * i);
        const uint32_t many = scales[i][j / 2] >> (16 * (j % 2));
        return convert<float>(T{uint16_t(one_group ? one : many)});
    }
};

template <int j = 0>
INFINI_DEVICE void add_scaled(float (&sums)[kTilesM][8][4], const float (&part)[kTilesM][8][4],
                              const Group &group, bool one_group) {
    if constexpr (j < 8) {
        const float scale[2] = {group.scale<j, 0>(one_group), group.scale<j, 1>(one_group)};
#pragma unroll
        for (int tile = 0; tile < kTilesM; ++tile)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[tile][j][i] += part[tile][j][i] * scale[i % 2];
        add_scaled<j + 1>(sums, part, group, one_group);
    }
}

}  // namespace infini

INFINI_ENTRY(infini::PackedParams, infini::kThreads, 1) {
    using namespace infini;
    INFINI_SHARED float parts[kWarps][16][kColumns];
    const TilePlace place(p.product);
    const int block = place.column;
    // The bands of this warp.
    const int all = (place.end - place.k) / 16, each = (all + kWarps - 1) / kWarps;
    const int first = place.k / 16 + warp() * each;
    const int last = place.k / 16 + all < first + each ? place.k / 16 + all : first + each;
    const int group_bands = p.group_size / 16;
    float sums[kTilesM][8][4] = {};
#pragma unroll 1
    for (int begin = first; begin < last;) {
        // Until the end of the group.
        const int number = begin / group_bands, beyond = (number + 1) * group_bands;
        const int end = beyond < last ? beyond : last;
        const Group group(p, block, number);
        float part[kTilesM][8][4] = {};
#pragma unroll 1
        for (int band = begin; band < end; band += kUnroll) {
            Band bands[kUnroll];
#pragma unroll
            for (int u = 0; u < kUnroll; ++u)
                if (band + u < end) bands[u] = load_band(p, block, band + u);
#pragma unroll
            for (int u = 0; u < kUnroll; ++u) {
                if (band + u >= end) continue;
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    // 4 bits: one word per two tiles. 8 bits: one word per tile.
                    const uint32_t word = kBits == 4 ? bands[u].words[j / 2] >> (j % 2 * 8)
                                                     : bands[u].words[kLoads == 2 ? j : 0];
                    const CodesLess<T, kBits> &less = group.zero[kZeros ? j : 0];
                    const uint32_t b[2] = {less(word & kMask), less(word >> kBits & kMask)};
#pragma unroll
                    for (int tile = 0; tile < kTilesM; ++tile)
                        mma<T>(part[tile][j], bands[u].a[tile], b);
                }
            }
        }
        add_scaled(sums, part, group, p.groups == 1);
        begin = end;
    }

    const int g = lane() / 4, t = lane() % 4;
    auto finish_with = [&](const auto &finish) {
#pragma unroll
        for (int tile = 0; tile < kTilesM; ++tile) {
            if (tile) __syncthreads();
#pragma unroll
            for (int j = 0; j < 8; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    parts[warp()][g + i / 2 * 8][8 * j + 2 * t + i % 2] = sums[tile][j][i];
            __syncthreads();
#pragma unroll 1
            for (int run = int(threadIdx.x); run < 16 * 16; run += kThreads) {
                const int row = tile * 16 + run / 16, j = run % 16 * 4;
                if (row >= p.product.m) continue;
                float values[4] = {};
#pragma unroll
                for (int w = 0; w < kWarps; ++w)
#pragma unroll
                    for (int i = 0; i < 4; ++i) values[i] += parts[w][run / 16][j + i];
                finish(row, block * kColumns + j, values, 4);
            }
        }
    };
    if constexpr (kSplit)
        finish_with(KeepPartial<float>(p.product, 0, place.split));
    else
        finish_with(Finish<T, float>(p.product, 0));
}
